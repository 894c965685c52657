#include "tests/deformed_box.h"

#include "tests/boxes.h"

void *test_allocate(size_t count, size_t size) {
  void *memory;
  require(sp_allocate(count, size, "test", &memory));
  return memory;
}

double random_value(int seed, sp_gid number) {
  /* The finalizer of SplitMix64 turns consecutive numbers into independent bits. */
  uint64_t z = (uint64_t)number * 0x9e3779b97f4a7c15u + (uint64_t)seed * 0xd1b54a32d192ed03u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (double)(z >> 11) / 4503599627370496.0 - 1;
}

static void bend(double point[3]) {
  const double x = point[0], y = point[1], z = point[2];
  point[0] += 0.03 * sin(9 * y + 2 * z);
  point[1] += 0.03 * sin(8 * z + 3 * x);
  point[2] += 0.03 * sin(7 * x + 4 * y);
}

/* Parallelepipeds; in long boxes only the elements with x < 0.7. */
static void skew_elements(bool is_long, sp_hexes *hexes) {
  for (sp_lid i = 0; i < hexes->count * SP_CORNERS; i++) {
    double *x = &hexes->lattice[3 * (size_t)i];
    const double bend = is_long && x[0] > 0.7 ? 0.1 * (x[0] - 0.7) * x[1] : 0;
    x[0] += 0.3 * x[1] - 0.2 * x[2] + bend;
    x[1] += 0.4 * x[2];
  }
}

static void make_mesh(MPI_Comm comm, const int elements[3], int map_order, int order,
                      sp_mesh **mesh, sp_numbering **numbering) {
  sp_box shape = {.upper = {1.5, 1, 0.8}, .map = map_order > 0 ? SP_MAP_SINE : SP_MAP_NONE};
  memcpy(shape.elements, elements, sizeof shape.elements);
  sp_hexes *hexes = box_hexes(comm, &shape, 0);
  if (map_order > 1) curve_elements(map_order, bend, &hexes);
  if (map_order == 0) skew_elements(elements[0] > 4, hexes);
  rotate_elements(hexes, 77);
  require(sp_mesh_create(comm, &hexes, mesh));
  require(sp_numbering_create(*mesh, order, numbering));
}

/* Fill box->mask; the ranks of a face need not hold all elements of its edges. */
static void mark_faces(deformed_box *box) {
  const sp_hexes *all = box->whole->hexes;
  const int order = box->whole_numbering->order, nq = order + 1;
  const sp_lid np = nq * nq * nq;
  int *on_face = test_allocate((size_t)(nq * nq), sizeof *on_face);
  bool *whole_mask = test_allocate((size_t)box->whole_numbering->local, sizeof *whole_mask);
  for (sp_lid e = 0; e < all->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      enum { X_LOW = 0, Z_HIGH = 5 };
      if (all->surfaces[e][f] != X_LOW && all->surfaces[e][f] != Z_HIGH) continue;
      sp_face_nodes(order, f, on_face);
      for (int q = 0; q < nq * nq; q++)
        whole_mask[box->whole_numbering->nodes[e * np + on_face[q]]] = true;
    }
  box->mask = test_allocate((size_t)box->numbering->local, sizeof *box->mask);
  for (sp_lid i = 0; i < box->numbering->local; i++) box->mask[i] = whole_mask[box->whole_dof[i]];
  SP_FREE(whole_mask, on_face);
}

void deformed_box_create(MPI_Comm comm, const int elements[3], int map_order, int order,
                         deformed_box *box) {
  *box = (deformed_box){0};
  make_mesh(comm, elements, map_order, order, &box->mesh, &box->numbering);
  make_mesh(MPI_COMM_SELF, elements, map_order, order, &box->whole, &box->whole_numbering);
  const sp_hexes *hexes = box->mesh->hexes, *all = box->whole->hexes;
  const sp_lid np = (order + 1) * (order + 1) * (order + 1);
  sp_lid *by_tag = test_allocate((size_t)all->count + 1, sizeof *by_tag);
  for (sp_lid e = 0; e < all->count; e++) by_tag[all->tags[e]] = e;
  box->whole_element = test_allocate((size_t)hexes->count, sizeof(sp_lid));
  box->whole_dof = test_allocate((size_t)box->numbering->local, sizeof(sp_lid));
  for (sp_lid i = 0; i < box->numbering->local; i++) box->whole_dof[i] = -1;
  for (sp_lid e = 0; e < hexes->count; e++) {
    box->whole_element[e] = by_tag[hexes->tags[e]];
    for (sp_lid p = 0; p < np; p++) {
      sp_lid *dof = &box->whole_dof[box->numbering->nodes[e * np + p]];
      const sp_lid expected = box->whole_numbering->nodes[box->whole_element[e] * np + p];
      box->conflicts += *dof >= 0 && *dof != expected;
      *dof = expected;
    }
  }
  free(by_tag);
  mark_faces(box);
}

void deformed_box_destroy(deformed_box *box) {
  sp_numbering_destroy(&box->numbering);
  sp_numbering_destroy(&box->whole_numbering);
  sp_mesh_destroy(&box->mesh);
  sp_mesh_destroy(&box->whole);
  SP_FREE(box->whole_element, box->whole_dof, box->mask);
}

void random_vector(const deformed_box *box, int seed, double *values) {
  for (sp_lid i = 0; i < box->numbering->local; i++)
    values[i] = random_value(seed, box->whole_dof[i]);
}

double dot(const deformed_box *box, const double *a, const double *b) {
  double sum = 0;
  for (sp_lid i = 0; i < box->numbering->owned; i++) sum += a[i] * b[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, box->mesh->comm);
  return sum;
}

sp_lid count_different_bits(MPI_Comm comm, const deformed_box *box, const double *values) {
  const sp_lid n = box->whole_numbering->local;
  /* [0, n): the smallest of the bits read as integers; [n, 2n): the largest, negated, for one
   * MPI_MIN. */
  int64_t *bits = test_allocate(2 * (size_t)n, sizeof *bits);
  for (sp_lid i = 0; i < 2 * n; i++) bits[i] = INT64_MAX;
  for (sp_lid i = 0; i < box->numbering->local; i++) {
    int64_t value;
    memcpy(&value, &values[i], sizeof value);
    bits[box->whole_dof[i]] = value;
    bits[n + box->whole_dof[i]] = ~value;
  }
  MPI_Allreduce(MPI_IN_PLACE, bits, 2 * n, MPI_INT64_T, MPI_MIN, comm);
  sp_lid different = 0;
  for (sp_lid i = 0; i < n; i++) different += bits[i] != ~bits[n + i];
  free(bits);
  return different;
}

size_t element_nodes(const deformed_box *box) {
  const size_t nq = (size_t)box->numbering->order + 1;
  return nq * nq * nq;
}
