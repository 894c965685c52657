/* The field file contains the written data, in VTK's order, for every order and any distribution of
 * elements; if one rank fails, all fail. The test field_sharing.py reads fields with VTK. */
#include "io/field_file.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/field_reader.h"
#include "io/file.h"
#include "tests/folders.h"

enum { HIGHEST_ORDER = 15 };

/* A box of elements with trilinear geometry: vertex (a, b, c) is displaced by less than a quarter
 * of an element. */
static const int small_box[3] = {2, 2, 3}, large_box[3] = {8, 8, 24};

static void vertex(int a, int b, int c, double *x) {
  x[0] = a + 0.1 * sin(1 + a + 2 * b + 3 * c);
  x[1] = b + 0.1 * sin(2 + 3 * a + b + 2 * c);
  x[2] = c + 0.1 * sin(3 + 2 * a + 3 * b + c);
}

static void position(const int *box, int64_t element, const double *xi, double *x) {
  const int e = (int)element;
  const int at[3] = {e % box[0], e / box[0] % box[1], e / box[0] / box[1]};
  x[0] = x[1] = x[2] = 0;
  for (int corner = 0; corner < 8; corner++) {
    double v[3], weight = 1;
    vertex(at[0] + corner % 2, at[1] + corner / 2 % 2, at[2] + corner / 4, v);
    for (int d = 0; d < 3; d++) weight *= corner >> d & 1 ? xi[d] : 1 - xi[d];
    for (int d = 0; d < 3; d++) x[d] += weight * v[d];
  }
}

/* Lattice point q of an element as a point of the box's grid of lattice points, box[d] N + 1 in
 * direction d: its indices, and its number. */
static int64_t grid_point(const int *box, int order, int64_t element, int64_t q, int64_t at[3]) {
  const int64_t n = order + 1;
  const int64_t cell[3] = {element % box[0], element / box[0] % box[1], element / box[0] / box[1]};
  const int64_t index[3] = {q % n, q / n % n, q / n / n};
  for (int d = 0; d < 3; d++) at[d] = cell[d] * order + index[d];
  return at[0] + (box[0] * order + 1) * (at[1] + (box[1] * order + 1) * at[2]);
}

/* Of degree N in each direction of the grid, not symmetric in them. */
static double polynomial(const int *box, int order, const int64_t at[3]) {
  double s[3];
  for (int d = 0; d < 3; d++) s[d] = (double)at[d] / (order * box[d]);
  return 1 + pow(s[0], order) * (1 - 2 * s[1]) + pow(s[1], order) * s[2] -
         pow(s[2] - 0.5, order) * (1 + pow(s[0], order));
}

/* Number of elements of a rank: none on the first of several ranks, increasing on the others. */
static int64_t first_element(int64_t total, int of_rank) {
  if (world_size == 1) return of_rank == 0 ? 0 : total;
  return total * of_rank * (of_rank - 1) / (world_size * (world_size - 1));
}

/* Number the points of elements first, ... as they first occur; returns their number. */
static int64_t number_points(const int *box, int order, int64_t first, int64_t elements,
                             int32_t *nodes) {
  const int64_t n = order + 1, np = n * n * n;
  size_t grid = 1;
  for (int d = 0; d < 3; d++) grid *= (size_t)(box[d] * order + 1);
  int32_t *number = test_array(grid, sizeof *number), points = 0; /* number + 1 */
  for (int64_t e = 0; e < elements; e++)
    for (int64_t q = 0; q < np; q++) {
      int64_t at[3];
      int32_t *known = &number[grid_point(box, order, first + e, q, at)];
      if (*known == 0) *known = ++points;
      nodes[e * np + q] = *known - 1;
    }
  return points;
}

static const char *const texts[] = {"first", "the second one", ""};

/* State `states` of a series, whose polynomial is `states` larger; state NULL: of none. */
static sp_status write_state(const char *path, int order, const int *box, int64_t states,
                             const sp_field_state *state) {
  ARRAYS_OF_SCOPE;
  const int64_t n = order + 1, np = n * n * n, total = (int64_t)box[0] * box[1] * box[2];
  const int64_t first = first_element(total, world_rank);
  const int64_t elements = first_element(total, world_rank + 1) - first;
  double *coordinates = test_array((size_t)(elements * np * 3 + 1), sizeof *coordinates);
  double *values = test_array((size_t)(elements * np + 1), sizeof *values);
  double *places = test_array((size_t)(elements * np + 1), sizeof *places);
  int32_t *nodes = test_array((size_t)(elements * np + 1), sizeof *nodes);
  int64_t *numbers = test_array((size_t)(elements + 1), sizeof *numbers);
  int64_t *ranks = test_array((size_t)(elements + 1), sizeof *ranks);
  const int64_t points = number_points(box, order, first, elements, nodes);
  for (int64_t e = 0; e < elements; e++) {
    numbers[e] = first + e;
    ranks[e] = world_rank;
    for (int64_t q = 0; q < np; q++) {
      const int64_t i = q % n, j = q / n % n, k = q / n / n, point = nodes[e * np + q];
      const double xi[3] = {(double)i / order, (double)j / order, (double)k / order};
      int64_t at[3];
      position(box, first + e, xi, &coordinates[point * 3]);
      places[point] = (double)grid_point(box, order, first + e, q, at);
      values[point] = (double)states + polynomial(box, order, at);
    }
  }
  const sp_field_data data = {
      .order = order,
      .elements = elements,
      .points = points,
      .nodes = nodes,
      .coordinates = coordinates,
      .value_count = 4,
      .values = (const sp_field_values[]){{"polynomial", values, false, false, 1, false, "K"},
                                          {"place", places, false, false, 1, state != NULL, NULL},
                                          {"number", numbers, true, true, 1, false, NULL},
                                          {"rank", ranks, true, true, 1, false, NULL}},
      .text_count = 3,
      .text_name = "texts",
      .texts = texts};
  return sp_field_file_write(MPI_COMM_WORLD, path, &data, states, state);
}

static sp_status write_field(const char *path, int order, const int *box) {
  return write_state(path, order, box, 0, NULL);
}

/* A whole dataset as doubles (exact for the integers here), checked for its shape. */
static double *read_dataset(hid_t file, const char *name, int64_t rows, int64_t columns) {
  double *values = test_array((size_t)(rows * columns), sizeof *values);
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t shape[3] = {0, 1, 0};
  const int dimensions = H5Sget_simple_extent_dims(space, shape, NULL);
  CHECK(dimensions == (columns > 1 ? 2 : 1) && shape[0] == (hsize_t)rows &&
            shape[1] == (hsize_t)columns,
        "%s is %dD, %lld %lld", name, dimensions, (long long)shape[0], (long long)shape[1]);
  CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "%s", name);
  H5Sclose(space);
  H5Dclose(set);
  return values;
}

static void check_file(const char *path, int order, const int *box) {
  ARRAYS_OF_SCOPE;
  const int64_t n = order + 1, np = n * n * n, total = (int64_t)box[0] * box[1] * box[2];
  int32_t *nodes = test_array((size_t)(total * np), sizeof *nodes);
  int64_t point_total = 0;
  for (int piece = 0; piece < world_size; piece++) {
    const int64_t first = first_element(total, piece);
    point_total += number_points(box, order, first, first_element(total, piece + 1) - first,
                                 &nodes[first * np]);
  }
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0, "%s opens", path);
  if (file < 0) return;
  double *points = read_dataset(file, "VTKHDF/Points", point_total, 3);
  double *values = read_dataset(file, "VTKHDF/PointData/polynomial", point_total, 1);
  double *places = read_dataset(file, "VTKHDF/PointData/place", point_total, 1);
  double *numbers = read_dataset(file, "VTKHDF/CellData/number", total, 1);
  double *ranks = read_dataset(file, "VTKHDF/CellData/rank", total, 1);
  double *ids = read_dataset(file, "VTKHDF/Connectivity", total * np, 1);
  double *offsets = read_dataset(file, "VTKHDF/Offsets", total + world_size, 1);
  double *types = read_dataset(file, "VTKHDF/Types", total, 1);
  double *cells = read_dataset(file, "VTKHDF/NumberOfCells", world_size, 1);
  double *point_counts = read_dataset(file, "VTKHDF/NumberOfPoints", world_size, 1);
  double *id_counts = read_dataset(file, "VTKHDF/NumberOfConnectivityIds", world_size, 1);
  int *lattice = test_array((size_t)np, sizeof *lattice);
  sp_vtk_hexahedron_order(order, lattice);

  int64_t wrong = 0, before = 0; /* points of the pieces before */
  for (int piece = 0; piece < world_size; piece++) {
    const int64_t first = first_element(total, piece);
    const int64_t elements = first_element(total, piece + 1) - first;
    const int64_t piece_points = number_points(box, order, first, elements, &nodes[first * np]);
    CHECK(cells[piece] == (double)elements && point_counts[piece] == (double)piece_points &&
              id_counts[piece] == (double)(elements * np),
          "sizes of piece %d", piece);
    for (int64_t e = 0; e <= elements; e++)
      CHECK(offsets[first + piece + e] == (double)(e * np), "offset %d of piece %d", (int)e, piece);
    for (int64_t e = first; e < first + elements; e++) {
      CHECK(types[e] == 72, "type %g", types[e]);
      CHECK(numbers[e] == (double)e && ranks[e] == piece, "cell data of element %d", (int)e);
      for (int64_t p = 0; p < np; p++) {
        const int64_t id = nodes[e * np + lattice[p]], row = before + id;
        const int i = lattice[p] % (int)n, j = lattice[p] / (int)n % (int)n;
        const int k = lattice[p] / (int)(n * n);
        const double xi[3] = {(double)i / order, (double)j / order, (double)k / order};
        double x[3];
        int64_t at[3];
        position(box, e, xi, x);
        wrong += places[row] != (double)grid_point(box, order, e, lattice[p], at);
        wrong += ids[e * np + p] != (double)id || values[row] != polynomial(box, order, at) ||
                 memcmp(&points[row * 3], x, sizeof x);
      }
    }
    before += piece_points;
  }
  CHECK(wrong == 0, "order %d: %lld points differ", order, (long long)wrong);
  H5Fclose(file);
}

/* Each lattice index occurs once; the order of the 27 points of order 2 is that drawn in VTK's
 * description of file formats. field_sharing.py has VTK itself interpolate in cells. */
static void test_order(void) {
  for (int order = 1; order <= HIGHEST_ORDER; order++) {
    const int np = (order + 1) * (order + 1) * (order + 1);
    int *lattice = test_array((size_t)np, sizeof *lattice);
    bool *seen = test_array((size_t)np, sizeof *seen);
    sp_vtk_hexahedron_order(order, lattice);
    int distinct = 0;
    for (int p = 0; p < np; p++)
      if (lattice[p] >= 0 && lattice[p] < np && !seen[lattice[p]]) {
        seen[lattice[p]] = true;
        distinct++;
      }
    CHECK(distinct == np, "order %d: %d of %d indices", order, distinct, np);
  }
  static const int quadratic[27] = {0,  2,  8, 6,  18, 20, 26, 24, 1,  5,  7, 3,  19, 23,
                                    25, 21, 9, 11, 17, 15, 12, 14, 10, 16, 4, 22, 13};
  int lattice[27];
  sp_vtk_hexahedron_order(2, lattice);
  CHECK(memcmp(lattice, quadratic, sizeof lattice) == 0, "order 2");
}

/* All ranks report the same error. */
static void check_failure(sp_status status, const char *path, const char *reason) {
  char first[256] = "";
  const char *expected = test_text("cannot write field %s: %s", path, reason);
  CHECK(status == SP_ERR_SYSTEM, "status %d", (int)status);
  CHECK(strncmp(sp_error_message(), expected, strlen(expected)) == 0, "message '%s'",
        sp_error_message());
  snprintf(first, sizeof first, "%s", sp_error_message());
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK_TEXT(first, sp_error_message());
}

static void test_failures(const char *path, const char *temporary) {
  check_failure(write_field("/nowhere/field.hdf", 2, small_box), "/nowhere/field.hdf",
                "No such file or directory");
  check_failure(write_field(".", 2, small_box), ".", "");
  const char *beside = test_text("..%s.tmp", sp_file_tag());
  CHECK(world_rank > 0 || access(beside, F_OK) != 0, "the file beside it is gone");

  CHECK_OK(write_field(path, 2, small_box));
  if (world_size > 1) {
    char folder[PATH_MAX];
    CHECK(getcwd(folder, sizeof folder), "working directory");
    if (world_rank == world_size - 1) CHECK(chdir("/") == 0, "a rank that does not see the file");
    check_failure(write_field(path, 7, small_box), path, "No such file or directory");
    CHECK(chdir(folder) == 0, "back");
    CHECK(access(temporary, F_OK) != 0, "the file beside it is gone");
  }
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  /* The limit permits nearly nothing, some, or most of the 250 kB of order 7; Open MPI's own small
   * files must fit. */
  const rlim_t limits[] = {1000, 70000, 200000};
  for (int l = 0; l < 3; l++)
    for (int failing = 0; failing < world_size; failing++) {
      if (world_rank == failing)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){limits[l], before.rlim_max});
      const sp_status status = write_field(path, 7, small_box);
      setrlimit(RLIMIT_FSIZE, &before);
      if (failing > 0 && first_element(12, failing) == first_element(12, failing + 1)) {
        CHECK_OK(status);
        CHECK_OK(write_field(path, 2, small_box));
      } else {
        check_failure(status, path, failing == 0 ? "File too large" : "");
        CHECK(access(temporary, F_OK) != 0, "the file beside it is gone");
      }
      MPI_Barrier(MPI_COMM_WORLD);
      if (world_rank == 0) check_file(path, 2, small_box);
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Reads the last state: the polynomial is `states` - 1 larger than the place of the kept values. */
static void check_series(const char *path, int64_t states) {
  ARRAYS_OF_SCOPE;
  sp_field_reader *r;
  CHECK_OK(sp_field_reader_open(path, &r));
  const size_t np = (size_t)((r->order + 1) * (r->order + 1) * (r->order + 1));
  double *u = test_array(12 * np, sizeof *u), *kept = test_array(12 * np, sizeof *kept);
  double corners[12][8][3];
  const int64_t elements[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CHECK(r->states == states && r->state.time == 0.5 * (double)states && r->state.known == states,
        "%d states, t = %g", (int)r->states, r->state.time);
  CHECK_OK(sp_field_reader_values(r, "polynomial", 12, elements, u, corners));
  CHECK_OK(sp_field_reader_values(r, "place", 12, elements, kept, corners));
  for (size_t e = 0; e < 12; e++)
    for (size_t q = 0; q < np; q++) {
      int64_t at[3];
      const int64_t place = grid_point(small_box, r->order, (int64_t)e, (int64_t)q, at);
      CHECK(kept[e * np + q] == (double)place, "element %d: place", (int)e);
      CHECK(u[e * np + q] == (double)(states - 1) + polynomial(small_box, r->order, at),
            "element %d: u", (int)e);
    }
  sp_field_reader_close(&r);
}

/* A state that fails, on any rank, leaves earlier states. More states than a chunk of a list. */
static void test_series(const char *path) {
  enum { STATES = 515 };
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  for (int s = 0; s < 4; s++) {
    const sp_field_state state = {0.5 * (s + 1), s + 1, 0.5};
    for (int failing = 0; failing < world_size && s > 0; failing += world_size - 1) {
      if (world_rank == failing) setrlimit(RLIMIT_FSIZE, &(struct rlimit){70000, before.rlim_max});
      check_failure(write_state(path, 7, small_box, s, &state), path, "");
      setrlimit(RLIMIT_FSIZE, &before);
      if (world_rank == 0) check_series(path, s);
      MPI_Barrier(MPI_COMM_WORLD);
      if (world_size == 1) break;
    }
    CHECK_OK(write_state(path, 7, small_box, s, &state));
    if (world_rank == 0) check_series(path, s + 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int s = 0; s < STATES && world_size == 1; s++)
    CHECK_OK(write_state(path, 1, small_box, s, &(sp_field_state){0.5 * (s + 1), s + 1, 0.5}));
  if (world_size == 1) check_series(path, STATES);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);

  enter_folder();
  const char *const path = "field.hdf";
  char temporary[80];
  snprintf(temporary, sizeof temporary, "%s.%s.tmp", path, sp_file_tag());
  MPI_Bcast(temporary, sizeof temporary, MPI_CHAR, 0, MPI_COMM_WORLD); /* of rank 0 */

  for (int order = 1; order <= HIGHEST_ORDER; order++) {
    CHECK_OK(write_field(path, order, small_box));
    if (world_rank == 0) check_file(path, order, small_box);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  test_order();
  /* Several blocks per rank, a different number on each. */
  CHECK_OK(write_field(path, 7, large_box));
  if (world_rank == 0) check_file(path, 7, large_box);
  MPI_Barrier(MPI_COMM_WORLD);
  const int empty[3] = {0, 0, 0};
  CHECK_OK(write_field(path, 3, empty));
  MPI_Barrier(MPI_COMM_WORLD);
  test_failures(path, temporary);
  test_series(path);
  leave_folder(TEXTS(path, temporary));
  return check_end();
}
