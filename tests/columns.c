/* Columns of strongly coupled elements: their elements and frames; ranks do not cut them. Elements
 * have random local axes. */
#include "mesh/columns.h"

#include <float.h>

#include "mesh/geometry.h"
#include "mesh/partition.h"
#include "tests/boxes.h"
#include "tests/mesh_files.h"
#include "tests/run_case.h"

enum { SEED = 7 };

/* The corner of an element at an end (0 or 1) of each direction of a frame. */
static int corner_at(const sp_frame *frame, int along, int b, int c) {
  const int end[3] = {along, b, c};
  int corner = 0;
  for (int d = 0; d < 3; d++) corner |= (end[d] ^ frame->flip[d]) << frame->axis[d];
  return corner;
}

/* The upper face of one element is the lower face of the next, in the same order. */
static void check_interface(const sp_topology *t, const sp_columns *columns, sp_lid lower,
                            sp_lid upper) {
  for (int n = 0; n < 4; n++) {
    const int below = corner_at(&columns->frames[lower], 1, n & 1, n >> 1);
    const int above = corner_at(&columns->frames[upper], 0, n & 1, n >> 1);
    const sp_lid a = t->slots[columns->elements[lower]][below];
    const sp_lid b = t->slots[columns->elements[upper]][above];
    CHECK(a == b, "elements %d and %d: vertices %d and %d", columns->elements[lower],
          columns->elements[upper], a, b);
  }
}

/* Frames match, and no element is in two columns; returns the number of elements in columns. */
static sp_lid check_frames(const sp_topology *t, const sp_columns *columns) {
  int *times = test_array((size_t)t->elements, sizeof *times);
  for (sp_lid c = 0; c < columns->count; c++) {
    const sp_lid first = columns->start[c], end = columns->start[c + 1];
    CHECK(end - first >= 2 || columns->closed[c], "a column of %d", end - first);
    for (sp_lid n = first; n < end; n++) {
      const unsigned char *axis = columns->frames[n].axis;
      CHECK(axis[0] + axis[1] + axis[2] == 3 && axis[0] != axis[1] && axis[1] != axis[2],
            "axes %d %d %d", axis[0], axis[1], axis[2]);
      times[columns->elements[n]]++;
      if (n + 1 < end) check_interface(t, columns, n, n + 1);
    }
    if (columns->closed[c]) check_interface(t, columns, end - 1, first);
  }
  for (sp_lid e = 0; e < t->elements; e++) CHECK(times[e] <= 1, "element %d is in %d", e, times[e]);
  return columns->start[columns->count];
}

/* The columns of elements, by sp_columns_couple. */
static sp_columns *find_columns(const sp_hexes *hexes, const sp_topology *t) {
  double(*couplings)[3] = test_array((size_t)hexes->count, sizeof *couplings);
  sp_columns *columns;
  for (sp_lid e = 0; e < hexes->count; e++) sp_columns_couple(hexes, e, couplings[e]);
  require(sp_columns_create(t, couplings, &columns));
  check_frames(t, columns);
  return columns;
}

/* The same as the integral for affine elements, with any local axes. */
static void check_couplings(void) {
  static const double edges[3][3] = {{1, 0.2, -0.1}, {0.3, 2, 0.4}, {-0.02, 0.01, 0.05}};
  AUTO(sp_hexes) hexes = NULL;
  sp_rule rule;
  sp_rule_gl(2, &rule);
  require(sp_hexes_create(1, 1, &hexes));
  for (int index = 0; index < ROTATIONS; index++) {
    double a[3], factors[SP_FACTORS * 8];
    for (int c = 0; c < SP_CORNERS; c++)
      for (int m = 0; m < 3; m++) {
        hexes->lattice[3 * c + m] = 0;
        for (int d = 0; d < 3; d++) hexes->lattice[3 * c + m] += (c >> d & 1) * edges[d][m];
      }
    rotate_element(hexes, 0, index);
    CHECK_OK(sp_geometry_factors(hexes, 0, &rule, factors));
    sp_columns_couple(hexes, 0, a);
    for (int d = 0; d < 3; d++) {
      static const int diagonal[3] = {SP_G_RR, SP_G_SS, SP_G_TT};
      double sum = 0;
      for (int q = 0; q < 8; q++) sum += factors[diagonal[d] * 8 + q] / 8;
      /* The condition of the Jacobian, 40, times the operations of an inverse. */
      CHECK_CLOSE(a[d], sum, 40 * 30 * DBL_EPSILON * sum);
    }
  }
}

/* Elements of a box of random local axes between planes, from sp_box_hexes on one rank. */
static sp_hexes *make_lattice(const int n[3], double *const planes[3]) {
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {n[0], n[1], n[2]}};
  sp_hexes *hexes = box_hexes(MPI_COMM_SELF, &box, 0);
  for (sp_lid p = 0; p < SP_CORNERS * hexes->count; p++)
    for (int d = 0; d < 3; d++) {
      double *x = &hexes->lattice[3 * p + d];
      *x = planes[d][lround(*x)];
    }
  rotate_elements(hexes, SEED);
  return hexes;
}

/* planes[n + 1] with the first interval `first` and a ratio. */
static void grade(int n, double first, double ratio, double *planes) {
  planes[0] = 0;
  for (int i = 0; i < n; i++, first *= ratio) planes[i + 1] = planes[i] + first;
}

/* The lengths of the columns are length[count] each, in any order. */
static void check_lengths(const char *what, const sp_columns *columns, int count, int length) {
  CHECK(columns->count == count, "%s: %d columns, expected %d", what, columns->count, count);
  for (sp_lid c = 0; c < columns->count; c++)
    CHECK(columns->start[c + 1] - columns->start[c] == length, "%s: a column of %d, expected %d",
          what, columns->start[c + 1] - columns->start[c], length);
}

static sp_columns *columns_alone(const sp_hexes *hexes) {
  AUTO(sp_topology) t = NULL;
  require(sp_topology_create(MPI_COMM_SELF, hexes, NULL, &t));
  sp_columns *columns = find_columns(hexes, t);
  return columns;
}

static void check_lattice(const char *what, const int n[3], double *const planes[3], int count,
                          int length) {
  AUTO(sp_hexes) hexes = make_lattice(n, planes);
  AUTO(sp_columns) columns = columns_alone(hexes);
  check_lengths(what, columns, count, length);
}

static void check_lattices(void) {
  double x[16], y[16], z[16], *const planes[3] = {x, y, z};
  grade(3, 1, 1, x);
  grade(4, 1, 1, y);
  grade(5, 0.1, 1, z);
  check_lattice("flat", (const int[3]){3, 4, 5}, planes, 12, 5);
  grade(5, 1, 1, z);
  check_lattice("cubes", (const int[3]){3, 4, 5}, planes, 0, 0);
  grade(4, 0.01, 1, y);
  grade(3, 0.001, 1, x);
  check_lattice("two strong directions, one stronger", (const int[3]){3, 4, 5}, planes, 20, 3);
  /* Heights 0.1 * 1.5^k: eight up to 0.44 have a ratio of 2 to the width 1; no height is 2. */
  grade(3, 1, 1, x);
  grade(4, 1, 1, y);
  grade(8, 0.1, 1.5, z);
  check_lattice("graded", (const int[3]){3, 4, 8}, planes, 12, 4);
  /* Two plates that meet, one thin in z, the other thin in x. Columns along x end where they meet,
   * though the elements share a face. */
  x[0] = 0;
  x[1] = 1;
  x[2] = 2;
  x[3] = 2.01;
  x[4] = 2.02;
  grade(3, 1, 1, y);
  grade(2, 0.1, 1, z);
  check_lattice("corner", (const int[3]){4, 3, 2}, planes, 2 * 3 + 3 * 2, 2);
}

/* A ring of n elements whose last one is turned by `turns` quarters before it meets the first. */
static void check_ring(int n, int turns) {
  static const int next[4] = {1, 3, 0, 2}; /* a quarter turn of corners 0 to 3 */
  AUTO(sp_hexes) hexes = NULL;
  AUTO(sp_topology) t = NULL;
  AUTO(sp_columns) columns = NULL;
  double couplings[8][3];
  require(sp_hexes_create(n, 1, &hexes));
  for (int e = 0; e < n; e++)
    for (int c = 0; c < SP_CORNERS; c++) {
      int corner = c & 3;
      for (int q = 0; q < turns && c >= 4 && e == n - 1; q++) corner = next[corner];
      hexes->vertices[e][c] = 4 * ((e + (c >> 2)) % n) + corner;
      hexes->tags[e] = e + 1;
    }
  for (int e = 0; e < n; e++) {
    const int index = (7 * e + turns) % ROTATIONS;
    const rotation r = rotation_get(index);
    rotate_element(hexes, e, index);
    for (int d = 0; d < 3; d++) couplings[e][d] = r.axis[d] == 2 ? 100 : 1;
  }
  require(sp_topology_create(MPI_COMM_SELF, hexes, NULL, &t));
  require(sp_columns_create(t, couplings, &columns));
  check_lengths("ring", columns, 1, n);
  check_frames(t, columns);
  CHECK(columns->count != 1 || columns->closed[0] == (turns == 0), "%d elements, %d turns: closed",
        n, turns);
}

/* Layers with a period across them; one element forms a column with itself. */
static void check_periodic(int layers) {
  const sp_box box = {.elements = {4, 3, layers}, .upper = {4, 3, 0.1 * layers}};
  const sp_periodic_pair pair = {{4, 5}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, SEED);
  require(sp_mesh_identify(mesh, 1, &pair));
  AUTO(sp_columns) columns = find_columns(mesh->hexes, mesh->topology);
  check_lengths("period", columns, mesh->hexes->count / layers, layers);
  for (sp_lid c = 0; c < columns->count; c++) CHECK(columns->closed[c], "%d layers: open", layers);
  CHECK(mesh->cut_columns == 0, "%lld columns are cut", (long long)mesh->cut_columns);
}

/* n quadrilaterals around the centre of an n-gon: centre, middles of two sides, and the corner
 * between them; `layers` thin layers of them. */
static sp_hexes *make_star(int n, int layers) {
  sp_hexes *hexes;
  require(sp_hexes_create((sp_gid)n * layers, 1, &hexes));
  for (int e = 0; e < n * layers; e++) {
    const int q = e % n, k = e / n;
    for (int c = 0; c < SP_CORNERS; c++) {
      const int half = (2 * q - (c & 1) + (c >> 1 & 1) + 2 * n) % (2 * n); /* of the rim */
      const bool centre = (c & 3) == 0;
      const double angle = 3.14159265358979 * half / n, radius = centre ? 0 : 1;
      double *x = &hexes->lattice[3 * (SP_CORNERS * e + c)];
      hexes->vertices[e][c] = (2 * n + 1) * (k + (c >> 2)) + (centre         ? 2 * n
                                                              : (c & 3) == 3 ? 2 * q
                                                                             : half);
      x[0] = radius * cos(angle);
      x[1] = radius * sin(angle);
      x[2] = 0.01 * (k + (c >> 2));
    }
    hexes->tags[e] = e + 1;
  }
  rotate_elements(hexes, SEED);
  return hexes;
}

static void check_stars(void) {
  for (int n = 3; n <= 6; n++) {
    AUTO(sp_hexes) hexes = make_star(n, 4);
    AUTO(sp_columns) columns = columns_alone(hexes);
    check_lengths("star", columns, n, 4);
  }
}

/* Check by `rank_of`, the rank of each element of `all`, that columns are whole, no rank is empty
 * and none has more than twice the mean. */
static void check_whole(const char *what, const sp_hexes *all, int size, const int *rank_of) {
  AUTO(sp_columns) columns = columns_alone(all);
  int *counts = test_array((size_t)size, sizeof *counts);
  for (sp_lid c = 0; c < columns->count; c++)
    for (sp_lid n = columns->start[c] + 1; n < columns->start[c + 1]; n++)
      CHECK(rank_of[columns->elements[n]] == rank_of[columns->elements[n - 1]],
            "%s over %d: column %d is cut", what, size, c);
  for (sp_lid e = 0; e < all->count; e++) counts[rank_of[e]]++;
  for (int r = 0; r < size; r++)
    CHECK(counts[r] > 0 && counts[r] * size <= 2 * all->count,
          "%s over %d: rank %d has %d of %d elements", what, size, r, counts[r], all->count);
}

static void check_metis(void) {
  double x[16], y[16], z[16], *const planes[3] = {x, y, z};
  int parts[512];
  grade(8, 1, 1, x);
  grade(7, 1, 1, y);
  grade(6, 0.1, 1.6, z);
  AUTO(sp_hexes) hexes = make_lattice((const int[3]){8, 7, 6}, planes);
  for (int size = 1; size <= 56; size++) {
    CHECK_OK(sp_metis_divide(hexes, size, parts));
    check_whole("layers", hexes, size, parts);
  }
  /* More ranks than columns: as well balanced as single elements. */
  for (int size = 64; size <= 256; size *= 2) {
    int counts[256] = {0};
    CHECK_OK(sp_metis_divide(hexes, size, parts));
    for (sp_lid e = 0; e < hexes->count; e++) counts[parts[e]]++;
    for (int r = 0; r < size; r++)
      CHECK(counts[r] * size <= 2 * hexes->count, "over %d: rank %d has %d", size, r, counts[r]);
  }
  CHECK_FAILS(sp_metis_divide(hexes, hexes->count + 1, parts), SP_ERR_INPUT,
              "337 ranks for a mesh of 336 elements");
  sp_hexes_destroy(&hexes);
  hexes = make_star(5, 6);
  for (int size = 1; size <= 5; size++) {
    CHECK_OK(sp_metis_divide(hexes, size, parts));
    check_whole("star", hexes, size, parts);
  }
}

/* Prisms in thin layers, and tetrahedra that count half as much as hexahedra: missing corners. */
static void check_other_cells(void) {
  AUTO(sp_hexes) hexes = make_star(6, 5);
  int parts[512];
  for (sp_lid e = 0; e < hexes->count; e++) {
    const int q = e % 6, k = e / 6;
    for (int c = 0; c < SP_CORNERS; c++) {
      const int rim = q + (c >> 1 & 1), angle = rim % 6;
      const bool centre = (c & 3) == 0;
      double *x = &hexes->lattice[3 * (SP_CORNERS * e + c)];
      hexes->vertices[e][c] = (c & 3) == 3 ? -1 : 7 * (k + (c >> 2)) + (centre ? 6 : angle);
      x[0] = centre ? 0 : cos(3.14159265358979 / 3 * angle);
      x[1] = centre ? 0 : sin(3.14159265358979 / 3 * angle);
      x[2] = 0.01 * (k + (c >> 2));
    }
  }
  for (int size = 2; size <= 6; size++) {
    CHECK_OK(sp_metis_divide(hexes, size, parts));
    for (sp_lid e = 6; e < hexes->count; e++)
      CHECK(parts[e] == parts[e - 6], "over %d: the column of prism %d is cut", size, e);
  }
  sp_hexes_destroy(&hexes);
  /* Of 64 cells apart from each other half have four corners: parts of equal weight. */
  require(sp_hexes_create(64, 1, &hexes));
  for (sp_lid e = 0; e < 64; e++)
    for (int c = 0; c < SP_CORNERS; c++)
      hexes->vertices[e][c] = e % 2 == 0 || c == 0 || c == 1 || c == 2 || c == 4 ? 8 * e + c : -1;
  CHECK_OK(sp_metis_divide(hexes, 4, parts));
  int weight[4] = {0};
  for (sp_lid e = 0; e < 64; e++) weight[parts[e]] += e % 2 == 0 ? 2 : 1;
  for (int r = 0; r < 4; r++)
    CHECK(abs(weight[r] - 24) <= 2, "rank %d has %d of 96 halves", r, weight[r]);
}

/* The number of cuts is found, for columns of 8 elements in world_size slabs. */
static void check_cuts(void) {
  sp_hexes *hexes = NULL;
  AUTO(sp_mesh) mesh = NULL;
  int parts[128];
  if (world_rank == 0) {
    double x[16], y[16], z[16], *const planes[3] = {x, y, z};
    grade(4, 1, 1, x);
    grade(4, 1, 1, y);
    grade(8, 0.1, 1, z);
    hexes = make_lattice((const int[3]){4, 4, 8}, planes);
    for (int e = 0; e < 128; e++) parts[e] = e / 16 * world_size / 8;
  }
  require(sp_partition_distribute(MPI_COMM_WORLD, &hexes, parts));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  CHECK(mesh->cut_columns == 16 * (world_size - 1), "%lld columns are cut",
        (long long)mesh->cut_columns);
}

/* Boxes thin in each direction, and bars, in which the cross-section is whole; a box with fewer
 * columns than ranks is cut. */
static void check_boxes(void) {
  static const struct {
    int elements[3];
    double upper[3];
    int cuts; /* per rank but the first */
  } boxes[] = {{{4, 5, 12}, {4, 5, 1}, 0}, {{4, 12, 4}, {4, 1, 4}, 0}, {{32, 4, 4}, {1, 4, 4}, 0},
               {{8, 4, 4}, {8, 1, 1}, 0},  {{2, 2, 16}, {2, 2, 1}, 0}, {{1, 1, 8}, {1, 1, 0.1}, 1}};
  for (size_t b = 0; b < COUNT_OF(boxes); b++) {
    sp_box box = {.map = SP_MAP_NONE};
    memcpy(box.elements, boxes[b].elements, sizeof box.elements);
    memcpy(box.upper, boxes[b].upper, sizeof box.upper);
    AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0);
    const sp_hexes *hexes = mesh->hexes;
    const sp_gid all = (sp_gid)box.elements[0] * box.elements[1] * box.elements[2];
    CHECK(hexes->count * world_size <= 2 * all, "box %zu: %d elements", b, hexes->count);
    CHECK(mesh->cut_columns == boxes[b].cuts * (world_size - 1), "box %zu: %lld columns are cut", b,
          (long long)mesh->cut_columns);
  }
}

/* A column that is whole needs few iterations on any number of ranks; the solution is exact. Cut,
 * such a plate takes 15. */
static void check_solution(void) {
  static const char *const overrides[] = {
      "mesh.file=plate.geo; discretization.order=2; problem.lambda=1e-3; "
      "problem.solution=x*y+z*z; boundary.default=neumann; solver.preconditioner=multigrid",
      NULL};
  const sp_results results = run_good(overrides, NULL);
  CHECK(results.cg.iterations <= 9, "%d iterations", (int)results.cg.iterations);
  CHECK(results.have_norms && results.norms.max < 1e-6, "the error is %g", results.norms.max);
}

/* A plate with a hole, of unstructured quadrilaterals in layers of two heights. */
static void check_file(void) {
  static const char geometry[] =
      "Point(1) = {0, 0, 0, 0.6};\nPoint(2) = {5, 0, 0, 0.6};\nPoint(3) = {5, 4, 0, 0.4};\n"
      "Point(4) = {0, 4, 0, 0.6};\nPoint(5) = {2, 2, 0, 0.2};\nPoint(6) = {3, 2, 0, 0.2};\n"
      "Point(7) = {2.5, 2.7, 0, 0.2};\n"
      "Line(1) = {1, 2};\nLine(2) = {2, 3};\nLine(3) = {3, 4};\nLine(4) = {4, 1};\n"
      "Line(5) = {5, 6};\nLine(6) = {6, 7};\nLine(7) = {7, 5};\n"
      "Curve Loop(1) = {1, 2, 3, 4};\nCurve Loop(2) = {5, 6, 7};\nPlane Surface(1) = {1, 2};\n"
      "Mesh.SubdivisionAlgorithm = 1;\nRecombine Surface{1};\n"
      "Extrude {0, 0, 0.06} { Surface{1}; Layers{{4, 2}, {0.1, 1}}; Recombine; }\n";
  write_text("plate.geo", geometry);
  sp_mesh *mesh = read_mesh("plate.geo");
  if (mesh) {
    const sp_gid mine = mesh->hexes->count;
    CHECK(mesh->global_elements > 1000 && mine * world_size <= 2 * mesh->global_elements,
          "%lld of %lld elements", (long long)mine, (long long)mesh->global_elements);
    CHECK(mesh->cut_columns == 0, "%lld columns are cut", (long long)mesh->cut_columns);
    sp_columns *columns = find_columns(mesh->hexes, mesh->topology);
    check_lengths("plate", columns, (int)mine / 6, 6);
    sp_columns_destroy(&columns);
    sp_mesh_destroy(&mesh);
    check_solution();
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  if (world_rank == 0) {
    check_couplings();
    check_lattices();
    for (int turns = 0; turns < 4; turns++)
      for (int n = 3; n <= 5; n++) check_ring(n, turns);
    check_ring(2, 0);
    check_stars();
    check_metis();
    check_other_cells();
  }
  for (int layers = 1; layers <= 5; layers++) check_periodic(layers);
  check_cuts();
  check_boxes();
  enter_folder();
  check_file();
  leave_folder(TEXTS("plate.geo"));
  return check_end();
}
