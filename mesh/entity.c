#include "mesh/entity.h"

#include <string.h>

#include "io/hash.h"

int sp_slot_corners(int slot, int corners[4]) {
  static const int edges[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                   {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  static const int faces[6][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 1, 4, 5},
                                  {2, 3, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
  if (slot < SP_EDGE_SLOT) {
    corners[0] = slot;
    return 1;
  }
  if (slot < SP_FACE_SLOT) {
    memcpy(corners, edges[slot - SP_EDGE_SLOT], sizeof edges[0]);
    return 2;
  }
  memcpy(corners, faces[slot - SP_FACE_SLOT], sizeof faces[0]);
  return 4;
}

size_t sp_corner_node(int order, int corner) {
  const size_t g = (size_t)order, n = g + 1, c = (size_t)corner;
  return ((c >> 2) * g * n + (c >> 1 & 1) * g) * n + (c & 1) * g;
}

void sp_face_nodes(int order, int face, int *nodes) {
  const int d = face / 2, low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
  const int nq = order + 1, stride[3] = {1, nq, nq * nq};
  const int base = face % 2 ? order * stride[d] : 0;
  for (int b = 0; b < nq; b++)
    for (int a = 0; a < nq; a++) nodes[b * nq + a] = base + a * stride[low] + b * stride[high];
}

void sp_entity_key(int count, const sp_gid *vertices, sp_gid key[4]) {
  for (int c = 0; c < 4; c++) key[c] = -1;
  for (int c = 0; c < count; c++) {
    int i = c;
    for (; i > 0 && key[i - 1] > vertices[c]; i--) key[i] = key[i - 1];
    key[i] = vertices[c];
  }
}

int sp_entity_compare(const sp_gid a[4], const sp_gid b[4]) {
  for (int c = 0; c < 4; c++)
    if (a[c] != b[c]) return a[c] < b[c] ? -1 : 1;
  return 0;
}

sp_row_name sp_entity_name(const sp_gid key[4]) {
  uint64_t hash[2] = {1, 2};
  for (int half = 0; half < 2; half++)
    for (int c = 0; c < 4; c++) hash[half] = sp_hash_fold(hash[half], (uint64_t)key[c]);
  return (sp_row_name){{(int64_t)hash[0], (int64_t)hash[1]}};
}
