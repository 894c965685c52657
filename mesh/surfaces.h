/* Surfaces of faces between two ranks: parts of a split file may list such a face once only. */
#pragma once

#include "mesh/topology.h"

/* Give each face that another rank has, too, the surface that it has there, unless it has one. Only
 * the first `halo` elements have such faces. Collective over `comm`. Errors: SP_ERR_SYSTEM. */
sp_status sp_surfaces_share(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                            sp_hexes *hexes);

/* values[halo]: each face of an element that another rank has, too, gets the value that the element
 * there gave it; others get -1. Collective over `comm`. Errors: SP_ERR_SYSTEM. */
sp_status sp_surfaces_swap(MPI_Comm comm, const sp_topology *topology, sp_lid halo,
                           int (*values)[SP_FACES]);
