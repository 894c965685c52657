#include "mesh/entity.h"

int sp_slot_corners(int slot, int corners[4]) {
  if (slot < SP_EDGE_SLOT) {
    corners[0] = slot;
    return 1;
  }
  if (slot < SP_FACE_SLOT) {
    const int d = (slot - SP_EDGE_SLOT) / 4, q = (slot - SP_EDGE_SLOT) % 4;
    const int low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
    corners[0] = (q & 1) << low | (q >> 1) << high;
    corners[1] = corners[0] | 1 << d;
    return 2;
  }
  const int d = (slot - SP_FACE_SLOT) / 2, side = (slot - SP_FACE_SLOT) % 2;
  const int low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
  for (int c = 0; c < 4; c++) corners[c] = side << d | (c & 1) << low | (c >> 1) << high;
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
