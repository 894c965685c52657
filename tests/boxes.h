/* Boxes whose elements have random local axes, curved or not. Failures abort. */
#pragma once

#include "mesh/box.h"
#include "mesh/mesh.h"
#include "tests/check.h"

/* Other local axes, so that tests cover every relative orientation: the same hexahedra at the same
 * positions, with corners, lattice points and surfaces listed in another order. */
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

/* With seed 0 all elements have the axes of the box. Collective over `comm`. */
static inline sp_hexes *box_hexes(MPI_Comm comm, const sp_box *box, unsigned seed) {
  sp_hexes *hexes;
  require(sp_box_hexes(comm, box, &hexes));
  if (seed) rotate_elements(hexes, seed);
  return hexes;
}

static inline sp_mesh *box_mesh(MPI_Comm comm, const sp_box *box, unsigned seed) {
  sp_hexes *hexes = box_hexes(comm, box, seed);
  sp_mesh *mesh;
  require(sp_mesh_create(comm, &hexes, &mesh));
  return mesh;
}

/* Elements of another degree from trilinear ones; `move`, unless NULL, moves their points. */
static inline void curve_elements(int map_order, void (*move)(double point[3]), sp_hexes **hexes) {
  const sp_hexes *flat = *hexes;
  const int n = map_order + 1, points = n * n * n;
  ARRAYS_OF_SCOPE;
  double nodes[16], *xyz = (double *)test_array((size_t)points * 3, sizeof *xyz);
  sp_hexes *curved;
  require(sp_hexes_create(flat->count, map_order, &curved));
  for (int i = 0; i < n; i++) nodes[i] = -1 + 2.0 * i / map_order;
  for (sp_lid e = 0; e < flat->count; e++) {
    sp_hexes_coordinates(flat, e, n, nodes, xyz);
    for (int p = 0; p < points; p++) {
      double *point = &curved->lattice[((size_t)e * (size_t)points + (size_t)p) * 3];
      for (int d = 0; d < 3; d++) point[d] = xyz[d * points + p];
      if (move) move(point);
    }
    memcpy(curved->vertices[e], flat->vertices[e], sizeof flat->vertices[e]);
    memcpy(curved->surfaces[e], flat->surfaces[e], sizeof flat->surfaces[e]);
    curved->tags[e] = flat->tags[e];
  }
  require(sp_hexes_copy_groups(flat, curved));
  sp_hexes_destroy(hexes);
  *hexes = curved;
}

/* Elements of degree 2 that fill the unit cube, side^3 of them. */
static inline sp_hexes *quadratic_box(int side) {
  sp_hexes *hexes =
      box_hexes(MPI_COMM_WORLD, &(sp_box){.elements = {side, side, side}, .upper = {1, 1, 1}}, 1);
  curve_elements(2, NULL, &hexes);
  return hexes;
}

/* With periods in its first directions; without a period it is deformed. Face pairs of direction d
 * are the groups 2 d and 2 d + 1. The caller destroys the mesh. Collective over MPI_COMM_WORLD. */
static inline sp_mesh *periodic_box(const int elements[3], int periods, int seed) {
  const sp_box shape = {.elements = {elements[0], elements[1], elements[2]},
                        .upper = {1.5, 1, 0.8},
                        .map = periods == 0 ? SP_MAP_SINE : SP_MAP_NONE};
  sp_mesh *mesh = box_mesh(MPI_COMM_WORLD, &shape, (unsigned)seed);
  sp_periodic_pair pairs[3];
  for (int d = 0; d < periods; d++) pairs[d] = (sp_periodic_pair){{2 * d, 2 * d + 1}};
  if (periods > 0) require(sp_mesh_identify(mesh, periods, pairs));
  return mesh;
}
