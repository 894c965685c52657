/* Surfaces of faces between two ranks: the parts of a split file may list such a face only once. */
#pragma once

#include "mesh/topology.h"

/* Give each shared face without a surface the surface that it has on the other rank. Only the first
 * `halo` elements have shared faces. Collective over `comm`. Errors: SP_ERR_SYSTEM. */
sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                            sp_hexes *hexes);

/* values[halo]: each shared face gets the value from the other rank's element; other faces get -1.
 * Collective over `comm`. Errors: SP_ERR_SYSTEM. */
sp_status sp_surfaces_swap(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                           int (*values)[SP_FACES]);

/* values[elements]: each face gets the value from the element on its other side, on any rank; faces
 * without one get -1. Collective over `comm`. Errors: SP_ERR_SYSTEM. */
sp_status sp_surfaces_across(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                             int (*values)[SP_FACES]);
