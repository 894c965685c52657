/* Vertices, edges and faces of the local elements, and the other ranks that have them too. */
#pragma once

#include <stdbool.h>

#include "mesh/entity.h"
#include "mesh/hexes.h"
#include "mesh/periodic.h"

typedef struct sp_topology {
  const sp_hexes *hexes;       /* borrowed */
  const sp_periodic *periodic; /* borrowed, or NULL */
  sp_lid elements;
  sp_lid entities; /* distinct vertices, edges and faces on this rank */
  /* Vertices are [start[0], start[1]), edges up to start[2], faces up to start[3] = entities. Each
   * kind is in the order in which elements first touch it. */
  sp_lid start[4];
  sp_lid (*slots)[SP_SLOTS]; /* [elements], entity of each slot */
  sp_lid *first;             /* [entities], the first element that touches it */
  int *touching;             /* [entities], number of local elements that touch it */
  sp_lid *sharer_start;      /* [entities + 1] */
  int *sharers;              /* other ranks that have entity i, ascending: from sharer_start[i] */
} sp_topology;

/* The entities of `hexes`, by vertex numbers; the eight of an element are different
 * (but for contacts, mesh/interlayer.h); `periodic` (or
 * NULL) identifies some of them. Sharers are found through a distributed directory: the hash of a
 * key selects the rank that collects all ranks that have the entity. No rank sees all entities.
 * Errors: SP_ERR_INPUT if more than two elements share a face. The caller destroys *out. Collective
 * over `comm`. */
sp_status sp_topology_create(MPI_Comm comm, const sp_hexes *hexes, const sp_periodic *periodic,
                             sp_topology **out);

/* NULL-safe; sets *topology to NULL. Local. */
void sp_topology_destroy(sp_topology **topology);

/* The key of an entity, sp_entity_key; if it is periodic, that of its representative. Local. */
static inline void sp_topology_key(const sp_topology *t, sp_lid entity, sp_gid key[4]) {
  const sp_lid e = t->first[entity];
  int slot = entity < t->start[1] ? 0 : entity < t->start[2] ? SP_EDGE_SLOT : SP_FACE_SLOT;
  sp_gid vertices[4];
  while (t->slots[e][slot] != entity) slot++;
  const int count = sp_periodic_vertices(t->periodic, t->hexes->vertices[e], slot, vertices);
  sp_entity_key(count, vertices, key);
}

/* True if no other element, here or on another rank, holds this face. Local. */
bool sp_topology_is_exterior(const sp_topology *topology, sp_lid face_entity);

/* Follow sp_hexes_permute: new element n is old element order[n]. Entities get new numbers. Local.
 */
sp_status sp_topology_permute(sp_topology *topology, const sp_lid *order);
