/* The vertices, edges and faces of one element, and their keys, equal in all elements and ranks.
 *
 * Slots of an element: 0..7 are its corners (mesh/hexes.h), 8..19 its edges, 20..25 its faces. Edge
 * 8 + 4 d + q runs along direction d. The low bit of q is the edge's side (0 or 1) in the lower of
 * the other two directions, the high bit its side in the higher one. All functions are Local. */
#pragma once

#include <stddef.h>

#include "io/rendezvous.h"
#include "mesh/types.h"

enum { SP_SLOTS = 26, SP_EDGE_SLOT = 8, SP_FACE_SLOT = 20 };

/* Corners of a slot in lexicographic order of (t, s, r); returns their number: 1, 2 or 4. */
int sp_slot_corners(int slot, int corners[4]);

/* Index of the node at a corner among the (order + 1)^3 nodes of an element. */
size_t sp_corner_node(int order, int corner);

/* Indices of the nodes on face f among the (order + 1)^3 nodes of an element, in the order of the
 * face's two directions, the lower one fastest: nodes[(order + 1)^2]. */
void sp_face_nodes(int order, int face, int *nodes);

/* The key of a vertex, edge or face: its `count` vertices (1, 2, 4) in ascending order, then -1s.
 */
void sp_entity_key(int count, const sp_gid *vertices, sp_gid key[4]);

/* -1, 0 or 1: the lexicographic order of keys. */
int sp_entity_compare(const sp_gid a[4], const sp_gid b[4]);

/* Two hashes of a key; unique in practice. */
sp_row_name sp_entity_name(const sp_gid key[4]);

/* Node i on an edge in direction `along` of an element with n nodes per direction. Bit 0 of `edge`
 * is the side in direction along + 1, bit 1 the side in along + 2, modulo 3. */
static inline size_t sp_edge_node(int n, int along, int edge, int i) {
  const size_t step[3] = {1, (size_t)n, (size_t)n * (size_t)n}, last = (size_t)n - 1;
  return (size_t)i * step[along] + (size_t)(edge & 1) * last * step[(along + 1) % 3] +
         (size_t)(edge >> 1) * last * step[(along + 2) % 3];
}
