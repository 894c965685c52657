/* The same case on 1, 2 and 4 ranks: the first ten residuals agree to 1e-10 relative, solutions to
 * a small multiple of the tolerance. On the same ranks and threads they agree to the last bit; on a
 * GPU, whose iteration uses no threads, for any number of threads. Run on 4 ranks; results are read
 * back from the run log. */
#include <unistd.h>

#include "io/threads.h"
#include "tests/log_table.h"
#include "tests/run_case.h"

enum { RESIDUALS = 10, SAMPLES = 200, MOST = 400 };

#define LOG "reproducibility.h5"

typedef struct outcome {
  sp_status status;
  sp_results results;
  int count;
  double residuals[MOST], u[SAMPLES]; /* absolute; along a line */
} outcome;

static void read_log(int ranks, outcome *out) {
  const hid_t file = H5Fopen(LOG, H5F_ACC_RDONLY, H5P_DEFAULT);
  out->count = log_table(file, "residual", 1, TEXTS("absolute"), MOST, out->residuals);
  const int samples = log_table(file, "lines", 1, TEXTS("u"), SAMPLES, out->u);
  CHECK(samples == SAMPLES, "%d samples", samples);
  if (strstr(run_case_device, "cuda"))
    device_check_exchange(ranks, log_text(file, "exchange"), SP_TRANSPORT_AUTO);
  H5Fclose(file);
}

/* The case on the first `ranks` ranks with `threads` threads each; rank 0 gets the outcome. */
static void run_on(int ranks, int threads, const char *const *own, outcome *out) {
  const char *settings[RUN_CASE_OVERRIDES + 1] = {test_text("backend.threads=%d", threads)};
  run_case_append(own, 1, settings);
  MPI_Comm comm;
  const char *const common[] = {"output.log=" LOG,
                                test_text("line.l=0.01 0.02 0.03, 0.98 0.97 0.99, %d", SAMPLES),
                                "mesh.elements=4 4 3; mesh.map=sine; discretization.order=4; "
                                "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)",
                                NULL};
  *out = (outcome){0};
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < ranks ? 0 : MPI_UNDEFINED, world_rank, &comm);
  if (comm == MPI_COMM_NULL) return;
  out->status = run_case(comm, common, settings, &out->results);
  CHECK(out->status == SP_OK, "%d ranks: %s", ranks, sp_error_message());
  CHECK(sp_threads() == threads, "%d threads, expected %d", sp_threads(), threads);
  MPI_Comm_free(&comm);
  if (world_rank > 0 || out->status) return;
  read_log(ranks, out);
  unlink(LOG);
}

/* On rank 0: compare two runs, on different numbers of ranks or, with `same`, on the same number.
 * Algebraic multigrid coarsens by ranks, so that with multigrid only the number of iterations and
 * the solution agree. */
static void compare(const outcome *one, const outcome *other, double tolerance, bool multigrid,
                    bool same) {
  double largest = 0, difference = 0;
  CHECK(multigrid || (one->count > RESIDUALS && other->count > RESIDUALS), "%d and %d residuals",
        one->count, other->count);
  CHECK(!multigrid || abs(one->count - other->count) <= 1, "%d and %d residuals", one->count,
        other->count);
  for (int i = 0; i <= RESIDUALS && !multigrid; i++)
    CHECK_CLOSE(other->residuals[i] / one->residuals[i], 1, 1e-10);
  for (int n = 0; n < SAMPLES; n++) {
    largest = fmax(largest, fabs(one->u[n]));
    difference = fmax(difference, fabs(one->u[n] - other->u[n]));
  }
  CHECK(largest > 0.5, "u is below %g", largest);
  CHECK(difference <= 100 * tolerance * largest, "solutions differ by %g", difference);
  if (!same) return;
  CHECK(one->count == other->count &&
            memcmp(one->residuals, other->residuals, (size_t)one->count * sizeof(double)) == 0,
        "residuals of two equal runs differ");
  CHECK(memcmp(one->u, other->u, sizeof one->u) == 0, "two equal runs differ");
  CHECK(memcmp(&one->results.norms, &other->results.norms, sizeof one->results.norms) == 0,
        "error norms of two equal runs differ");
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
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
    for (int ranks = 1; ranks <= world_size; ranks *= 2) {
      run_on(ranks, 1, cases[c], &parallel);
      run_on(ranks, 3, cases[c], &threaded);
      run_on(ranks, 3, cases[c], &repeated);
      if (world_rank == 0 && !serial.status && !parallel.status && !threaded.status &&
          !repeated.status) {
        const bool is_multigrid = cases[c][0] == multigrid;
        compare(&serial, &parallel, 1e-9, is_multigrid, ranks == 1);
        compare(&parallel, &threaded, 1e-9, is_multigrid, device_is_cuda(argc, argv));
        compare(&threaded, &repeated, 1e-9, is_multigrid, true);
      }
    }
  }
  return check_end();
}
