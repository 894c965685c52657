/* The vertices, edges and faces of a rank's elements, and the other ranks that share them. */
#pragma once

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

/* The key (sp_entity_key) of an entity or, if it is periodic, of its representative. Local. */
static inline void sp_topology_key(const sp_topology *t, sp_lid entity, sp_gid key[4]) {
  const sp_lid e = t->first[entity];
  int slot = entity < t->start[1] ? 0 : entity < t->start[2] ? SP_EDGE_SLOT : SP_FACE_SLOT;
  sp_gid vertices[4];
  while (t->slots[e][slot] != entity) slot++;
  const int count = sp_periodic_vertices(t->periodic, t->hexes->vertices[e], slot, vertices);
  sp_entity_key(count, vertices, key);
}

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

/* ---- Surfaces of faces between two ranks ----
 * The parts of a split file may list such a face only once. */

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

/* ---- order.c: the order of a rank's elements ---- */

/* Reorder the elements along the Morton curve of their centres, in a grid of 2^21 cells per
 * direction over all centres of this rank. Elements in one cell keep their order. Local. */
sp_status sp_order_along_curve(sp_hexes *hexes);

/* Move the elements that share a vertex with another rank to the front; both parts keep their
 * order. *halo becomes the number of elements in front. `topology` follows. Local. */
sp_status sp_order_halo_first(sp_hexes *hexes, sp_topology *topology, sp_lid *halo);

/* ---- entities.c: what needs no other rank ---- */

/* Number the entities of `hexes`: fills `hexes`, `elements`, `start`, `entities`, `slots`, `first`
 * and `touching` of a zeroed topology. Edges and faces are compared only if they have the same
 * home, the vertex with the lowest number, so the work is linear in the elements. Errors:
 * SP_ERR_INPUT for too many entities. Local. */
sp_status sp_entities_find(const sp_hexes *hexes, sp_topology *topology);

/* Merge the entities that `periodic` identifies, with the key of the representative. Call it before
 * the sharers are known. Local. */
sp_status sp_entities_identify(const sp_periodic *periodic, sp_topology *topology);

/* ---- vertices.c ---- */

/* Number the vertices of `hexes` in the order in which elements first touch them: slots[e][c]
 * becomes the number of corner c of element e, *vertices their count. At most SP_LID_MAX /
 * SP_CORNERS elements. Runs on threads if the global numbers are dense. Errors: SP_ERR_SYSTEM.
 * Local. */
sp_status sp_vertices_number(const sp_hexes *hexes, sp_lid (*slots)[SP_SLOTS], sp_lid *vertices);

/* Number the distinct ones of keys[elements][count] in the order in which they occur: the number of
 * keys[e][i] becomes slots[e][slot + i]. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_keys_number(size_t elements, int count, const sp_gid *keys, int slot,
                         sp_lid (*slots)[SP_SLOTS], sp_lid *different);

/* Number what elements begin ... end - 1 touch first, from next[kind] on, which grows by the count.
 * Runs on several threads at a time; if `assign` is false it only counts. */
typedef void sp_touch(void *context, bool assign, sp_gid next[3], size_t begin, size_t end);

/* Number what elements touch first from 0, in the order of the elements, for up to three kinds;
 * `counts` becomes the number of each kind. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_number_touched(size_t elements, sp_touch *touch, void *context, sp_gid counts[3]);
