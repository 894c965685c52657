/* The same case on 1, 2 and 4 ranks: the first ten residuals agree to 1e-10 relative, solutions to
 * a small multiple of the tolerance; on the same ranks and threads, to the last bit; on a GPU,
 * whose iteration uses no threads, whatever the number of threads. Run on 4 ranks; results are read
 * back from the run log and the field file. */
#include <float.h>
#include <unistd.h>

#include <hdf5.h>

#include "io/threads.h"
#include "tests/check.h"
#include "tests/run_case.h"

static const int ELEMENTS = 4 * 4 * 3;
enum { ORDER = 4, NODES = (ORDER + 1) * (ORDER + 1) * (ORDER + 1), RESIDUALS = 10 };

#define LOG "reproducibility.h5"
#define FIELD "reproducibility.hdf"

typedef struct outcome {
  sp_status status;
  sp_results results;
  int count;
  double *residuals; /* [count], absolute */
  double *points;    /* [elements][NODES][3], elements by their first point */
  double *u;         /* [elements][NODES] */
} outcome;

static double *read_dataset(hid_t file, const char *name, hid_t type, size_t *count) {
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  CHECK(points > 0, "%s is empty", name);
  *count = points > 0 ? (size_t)points : 0;
  double *values = test_array(*count + 1, sizeof *values);
  if (!values) abort();
  CHECK(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "cannot read %s", name);
  H5Sclose(space);
  H5Dclose(set);
  return values;
}

typedef struct cell {
  const double *points, *u;
} cell;

static int compare_cells(const void *left, const void *right) {
  const double *a = ((const cell *)left)->points, *b = ((const cell *)right)->points;
  for (int d = 2; d >= 0; d--)
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  return 0;
}

/* The values of all elements, though elements of a rank share points in the file: `connectivity`
 * counts them from the first point of the rank. */
static void read_field(outcome *out) {
  size_t points_count, u_count, ids, pieces;
  const hid_t file = H5Fopen(FIELD, H5F_ACC_RDONLY, H5P_DEFAULT);
  double *points = read_dataset(file, "VTKHDF/Points", H5T_NATIVE_DOUBLE, &points_count);
  double *u = read_dataset(file, "VTKHDF/PointData/u", H5T_NATIVE_DOUBLE, &u_count);
  double *connectivity = read_dataset(file, "VTKHDF/Connectivity", H5T_NATIVE_DOUBLE, &ids);
  double *piece_points = read_dataset(file, "VTKHDF/NumberOfPoints", H5T_NATIVE_DOUBLE, &pieces);
  double *piece_cells = read_dataset(file, "VTKHDF/NumberOfCells", H5T_NATIVE_DOUBLE, &pieces);
  H5Fclose(file);
  const size_t elements = (size_t)ELEMENTS;
  CHECK(points_count == 3 * u_count && ids == elements * NODES, "%zu coordinates, %zu u, %zu ids",
        points_count, u_count, ids);
  if (points_count != 3 * u_count || ids != elements * NODES) abort();
  double *all = test_array(ids * 4, sizeof *all); /* of each element: points, then u */
  cell *cells = test_array(elements, sizeof *cells);
  out->points = test_array(3 * ids, sizeof(double));
  out->u = test_array(ids, sizeof(double));
  if (!all || !cells || !out->points || !out->u) abort();
  size_t e = 0, first = 0;
  for (size_t piece = 0; piece < pieces; piece++) {
    for (size_t end = e + (size_t)piece_cells[piece]; e < end; e++) {
      double *at = &all[e * NODES * 4], *values = at + 3 * NODES;
      cells[e] = (cell){at, values};
      for (size_t n = 0; n < NODES; n++) {
        const size_t id = first + (size_t)connectivity[e * NODES + n];
        memcpy(&at[3 * n], &points[3 * id], 3 * sizeof(double));
        values[n] = u[id];
      }
    }
    first += (size_t)piece_points[piece];
  }
  qsort(cells, elements, sizeof *cells, compare_cells);
  for (e = 0; e < elements; e++) {
    memcpy(&out->points[e * NODES * 3], cells[e].points, NODES * 3 * sizeof(double));
    memcpy(&out->u[e * NODES], cells[e].u, NODES * sizeof(double));
  }
}

static void read_log(int ranks, outcome *out) {
  size_t count;
  const hid_t memory = H5Tcreate(H5T_COMPOUND, sizeof(double));
  H5Tinsert(memory, "absolute", 0, H5T_NATIVE_DOUBLE);
  const hid_t file = H5Fopen(LOG, H5F_ACC_RDONLY, H5P_DEFAULT);
  out->residuals = read_dataset(file, "residual", memory, &count);
  out->count = (int)count;
  if (strstr(run_case_device, "cuda")) {
    char *exchange = NULL;
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    const hid_t attribute = H5Aopen(file, "exchange", H5P_DEFAULT);
    CHECK(H5Aread(attribute, text, &exchange) >= 0, "no exchange in the log");
    if (exchange) device_check_exchange(ranks, exchange, SP_TRANSPORT_AUTO);
    H5free_memory(exchange);
    H5Aclose(attribute);
    H5Tclose(text);
  }
  H5Fclose(file);
  H5Tclose(memory);
}

/* The case on the first `ranks` ranks with so many threads each; rank 0 gets the outcome. */
static void run_on(int ranks, int threads, const char *const *own, outcome *out) {
  int rank;
  const char *settings[RUN_CASE_OVERRIDES + 1] = {test_text("backend.threads=%d", threads)};
  run_case_append(own, 1, settings);
  MPI_Comm comm;
  static const char *const common[] = {
      "output.log=" LOG, "output.field=" FIELD,
      "mesh.elements=4 4 3; mesh.map=sine; discretization.order=4; "
      "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)",
      NULL};
  *out = (outcome){0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
  if (comm == MPI_COMM_NULL) return;
  out->status = run_case(comm, common, settings, &out->results);
  CHECK(out->status == SP_OK, "%d ranks: %s", ranks, sp_error_message());
  CHECK(sp_threads() == threads, "%d threads, expected %d", sp_threads(), threads);
  MPI_Comm_free(&comm);
  if (rank > 0 || out->status) return;
  read_log(ranks, out);
  read_field(out);
  unlink(LOG);
  unlink(FIELD);
}

/* On rank 0: compare two runs, on different numbers of ranks or, with `same`, on the same number.
 * Algebraic multigrid coarsens by ranks, so that with multigrid only the number of iterations and
 * the solution agree. */
static void compare(const outcome *one, const outcome *other, double tolerance, bool multigrid,
                    bool same) {
  const size_t nodes = (size_t)ELEMENTS * NODES;
  double largest = 0, difference = 0;
  CHECK(multigrid || (one->count > RESIDUALS && other->count > RESIDUALS), "%d and %d residuals",
        one->count, other->count);
  CHECK(!multigrid || abs(one->count - other->count) <= 1, "%d and %d residuals", one->count,
        other->count);
  for (int i = 0; i <= RESIDUALS && !multigrid; i++)
    CHECK_CLOSE(other->residuals[i] / one->residuals[i], 1, 1e-10);
  /* On other ranks a shared point may be computed from another of its elements. */
  double apart = 0;
  for (size_t i = 0; i < 3 * nodes; i++)
    apart = fmax(apart, fabs(one->points[i] - other->points[i]));
  CHECK(apart <= (same ? 0 : 8 * DBL_EPSILON), "points are %g apart", apart);
  for (size_t n = 0; n < nodes; n++) {
    largest = fmax(largest, fabs(one->u[n]));
    difference = fmax(difference, fabs(one->u[n] - other->u[n]));
  }
  CHECK(largest > 0.5, "u is below %g", largest);
  CHECK(difference <= 100 * tolerance * largest, "solutions differ by %g", difference);
  if (!same) return;
  CHECK(one->count == other->count &&
            memcmp(one->residuals, other->residuals, (size_t)one->count * sizeof(double)) == 0,
        "residuals of two equal runs differ");
  CHECK(memcmp(one->u, other->u, nodes * sizeof(double)) == 0, "two equal runs differ");
  CHECK(memcmp(&one->results.norms, &other->results.norms, sizeof one->results.norms) == 0,
        "error norms of two equal runs differ");
}

int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  run_case_begin(argc, argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static const char tolerance[] = "solver.tolerance=1e-9";
  static const char none[] = "solver.preconditioner=none",
                    jacobi[] = "solver.preconditioner=jacobi";
  static const char multigrid[] = "solver.preconditioner=multigrid";
  static const char *const cases[][6] = {
      {jacobi, tolerance, "discretization.operator=mass"},
      {none, tolerance, "discretization.operator=bp3.5", "boundary.xmin=neumann",
       "problem.lambda=1"},
      {jacobi, tolerance, "discretization.operator=bp3.0", "problem.lambda=1"},
      {none, tolerance, "discretization.operator=bp3.5", "boundary.default=neumann",
       "problem.lambda=0"},
      {multigrid, tolerance, "discretization.operator=bp3.5", "boundary.xmin=neumann"},
      {multigrid, tolerance, "discretization.operator=bp3.0", "boundary.default=neumann",
       "problem.lambda=0"},
  };
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    outcome serial, parallel, threaded, repeated;
    run_on(1, 1, cases[c], &serial);
    for (int ranks = 1; ranks <= size; ranks *= 2) {
      run_on(ranks, 1, cases[c], &parallel);
      run_on(ranks, 3, cases[c], &threaded);
      run_on(ranks, 3, cases[c], &repeated);
      if (rank == 0 && !serial.status && !parallel.status && !threaded.status && !repeated.status) {
        const bool is_multigrid = cases[c][0] == multigrid;
        compare(&serial, &parallel, 1e-9, is_multigrid, ranks == 1);
        compare(&parallel, &threaded, 1e-9, is_multigrid, device_is_cuda(argc, argv));
        compare(&threaded, &repeated, 1e-9, is_multigrid, true);
      }
    }
  }
  return check_end();
}
