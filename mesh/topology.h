/* Vertices, edges and faces of the local elements, and which other ranks hold them too.
 *
 * Slots of an element: 0..7 its corners (mesh/hexes.h), 8..19 its edges, 20..25 its faces. Edge
 * 8 + 4 d + q runs along direction d; q's low bit is its side in the lower of the other two
 * directions, its high bit the side in the higher one. */
#ifndef SP_MESH_TOPOLOGY_H
#define SP_MESH_TOPOLOGY_H

#include <stdbool.h>

#include "mesh/hexes.h"
#include "mesh/periodic.h"

enum { SP_SLOTS = 26, SP_EDGE_SLOT = 8, SP_FACE_SLOT = 20 };

typedef struct sp_topology {
  sp_lid elements;
  sp_lid entities;           /* distinct vertices, edges and faces on this rank */
  sp_lid (*slots)[SP_SLOTS]; /* [elements], entity of each slot */
  sp_gid (*keys)[4];         /* [entities], sp_entity_key */
  int *touching;             /* [entities], local elements that touch it */
  sp_lid *sharer_start;      /* [entities + 1] */
  int *sharers;              /* other ranks that hold entity i, ascending: from sharer_start[i] */
} sp_topology;

/* The key of a vertex, edge or face: its `count` vertices (1, 2, 4) in ascending order, then -1s.
 * Local. */
void sp_entity_key(int count, const sp_gid *vertices, sp_gid key[4]);

/* -1, 0 or 1: the lexicographic order of keys. Local. */
int sp_entity_compare(const sp_gid a[4], const sp_gid b[4]);

/* Corners of a slot in lexicographic order of their places: 1, 2 or 4; returns how many. Local. */
int sp_slot_corners(int slot, int corners[4]);

/* Vertices of a slot of an element as entities are known by them, in the order of sp_slot_corners:
 * those of the representative on a periodic boundary (`periodic` may be NULL), else the element's
 * own. All elements that touch the entity get the same ones for the same points. Returns how many.
 * Local. */
int sp_slot_vertices(const sp_periodic *periodic, const sp_gid vertices[SP_CORNERS], int slot,
                     sp_gid out[4]);

/* Entities of `hexes` by vertex numbers, with what `periodic` (or NULL) identifies, sharers through
 * a distributed directory (each entity's key is hashed to a rank that knows all holders; no rank
 * sees all). Errors: SP_ERR_INPUT if more than two elements share a face. The caller destroys *out.
 * Collective over `comm`. */
sp_status sp_topology_create(MPI_Comm comm, const sp_hexes *hexes, const sp_periodic *periodic,
                             sp_topology **out);

/* NULL-safe; sets *topology to NULL. Local. */
void sp_topology_destroy(sp_topology **topology);

/* True if no other element, here or on another rank, holds this face. Local. */
bool sp_topology_is_exterior(const sp_topology *topology, sp_lid face_entity);

/* Follow sp_hexes_permute: new element n is old element order[n]. Local. */
sp_status sp_topology_permute(sp_topology *topology, const sp_lid *order);

#endif
