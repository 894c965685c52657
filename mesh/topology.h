/* Vertices, edges and faces of the local elements, and the other ranks that share them. */
#pragma once

#include <stdbool.h>

#include "mesh/entities.h"

/* The entities of `hexes`, by vertex numbers, which are distinct in an element (not in a contact,
 * mesh/interlayer.h); `periodic` (or NULL) identifies some. Sharers are found through a distributed
 * directory: the hash of a key selects the rank that collects all ranks that have the entity. No
 * rank holds all entities. Errors: SP_ERR_INPUT if more than two elements share a face. The caller
 * destroys *out. Collective over `comm`. */
sp_status sp_topology_create(MPI_Comm comm, const sp_hexes *hexes, const sp_periodic *periodic,
                             sp_topology **out);

/* NULL-safe; sets *topology to NULL. Local. */
void sp_topology_destroy(sp_topology **topology);

/* True if no other element, here or on another rank, holds this face. Local. */
bool sp_topology_is_exterior(const sp_topology *topology, sp_lid face_entity);

/* Follow sp_hexes_permute: new element n is old element order[n]. Entities get new numbers. Local.
 */
sp_status sp_topology_permute(sp_topology *topology, const sp_lid *order);
