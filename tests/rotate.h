/* Give elements other local axes, so that tests cover every relative orientation: the same
 * hexahedra at the same positions, with corners, lattice points and surfaces listed in another
 * order. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "mesh/hexes.h"

enum { ROTATIONS = 24 };

/* New axis d runs along old axis axis[d], backwards where flip[d]. */
typedef struct rotation {
  int axis[3], flip[3];
} rotation;

/* The 24 rotations of a cube: permutations of the axes with flips whose determinant is one. */
static inline rotation rotation_get(int index) {
  static const int axes[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  rotation r;
  const int permutation = index / 4, odd = permutation >= 3;
  memcpy(r.axis, axes[permutation], sizeof r.axis);
  r.flip[0] = index & 1;
  r.flip[1] = index >> 1 & 1;
  r.flip[2] = r.flip[0] ^ r.flip[1] ^ odd;
  return r;
}

/* The old index of the new lattice point (or corner, with g = 1) `index`, both lexicographic. */
static inline int rotation_source(const rotation *r, int g, int index) {
  const int n = g + 1, stride[3] = {1, n, n * n};
  const int ijk[3] = {index % n, index / n % n, index / (n * n)};
  int source = 0;
  for (int d = 0; d < 3; d++) source += (r->flip[d] ? g - ijk[d] : ijk[d]) * stride[r->axis[d]];
  return source;
}

static inline void rotate_element(sp_hexes *hexes, sp_lid e, int index) {
  const rotation r = rotation_get(index);
  const int g = hexes->map_order, points = (int)sp_hexes_lattice_size(hexes);
  double *lattice = &hexes->lattice[(size_t)e * (size_t)points * 3];
  double(*old)[3] = malloc((size_t)points * sizeof *old);
  sp_gid vertices[SP_CORNERS];
  int surfaces[SP_FACES];
  if (!old) abort();
  memcpy(old, lattice, (size_t)points * sizeof *old);
  memcpy(vertices, hexes->vertices[e], sizeof vertices);
  memcpy(surfaces, hexes->surfaces[e], sizeof surfaces);
  for (int p = 0; p < points; p++)
    memcpy(&lattice[3 * p], old[rotation_source(&r, g, p)], sizeof *old);
  for (int c = 0; c < SP_CORNERS; c++) hexes->vertices[e][c] = vertices[rotation_source(&r, 1, c)];
  for (int f = 0; f < SP_FACES; f++)
    hexes->surfaces[e][f] = surfaces[2 * r.axis[f / 2] + (f % 2 ^ r.flip[f / 2])];
  free(old);
}

/* Rotate every element by a rotation drawn from `seed` and its tag: the same one on any number of
 * ranks. */
static inline void rotate_elements(sp_hexes *hexes, unsigned seed) {
  for (sp_lid e = 0; e < hexes->count; e++) {
    uint64_t draw = (uint64_t)hexes->tags[e] * 0x9e3779b97f4a7c15u + seed;
    draw = (draw ^ draw >> 31) * 0xbf58476d1ce4e5b9u;
    rotate_element(hexes, e, (int)((draw >> 33) % ROTATIONS));
  }
}
