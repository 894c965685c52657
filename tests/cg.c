/* Conjugate gradients: what they return, when they stop, and that all ranks stop together, also
 * where a device does whole iterations. */
#include "tests/cg_system.h"

#include <stdlib.h>

static int rank, size;
static bench backend; /* stays open */

/* ---- What on_iteration sees ---- */

enum { HISTORY = 400 };

typedef struct history {
  int calls;
  double residual[HISTORY], relative[HISTORY];
  bool consistent;
  int fails_at, fails_on; /* iteration and rank where the callback fails; -1: never */
} history;

static sp_status record(const sp_cg_iteration *iteration, void *context) {
  history *h = context;
  double longest = 0;
  for (int r = 0; r < size; r++)
    if (iteration->seconds_by_rank[r] > longest) longest = iteration->seconds_by_rank[r];
  h->consistent = h->consistent && iteration->iteration == h->calls &&
                  iteration->matvec_seconds == (h->calls ? longest : 0) &&
                  (h->calls == 0 || longest > 0);
  if (h->calls < HISTORY) {
    h->residual[h->calls] = iteration->residual;
    h->relative[h->calls] = iteration->relative;
  }
  h->calls++;
  if (iteration->iteration == h->fails_at && rank == h->fails_on)
    return sp_fail(SP_ERR_SYSTEM, "rank %d has no disk left", rank);
  return SP_OK;
}

static void check_callback(system_t *s) {
  static history first, second;
  double *x = test_allocate((size_t)s->op->dofs, sizeof *x);
  sp_cg_result result;
  first = second = (history){.consistent = true, .fails_at = -1};
  sp_cg_options options = {
      .tolerance = 1e-10, .max_iterations = 300, .on_iteration = record, .context = &first};

  reset(s);
  const double norm_b = norm(s, s->b);
  CHECK(solve(s, true, &options, &result) == SP_OK, "%s", sp_error_message());
  memcpy(x, s->x, (size_t)s->op->dofs * sizeof *x);
  CHECK(first.calls == result.iterations + 1, "%d calls in %d iterations", first.calls,
        (int)result.iterations);
  CHECK(first.consistent, "iteration numbers and times");
  /* The same sum in another order: 1e-16 times the root of its 1e4 terms at most. */
  CHECK_CLOSE(first.residual[0] / norm_b, 1, 1e-13);
  CHECK(first.relative[0] == 1, "starts at %g", first.relative[0]);
  for (int i = 0; i < first.calls; i++) {
    CHECK(first.relative[i] == first.residual[i] / first.residual[0], "relative residual %d", i);
    CHECK((first.relative[i] <= options.tolerance) == (i == first.calls - 1), "stops at %d", i);
  }
  CHECK(result.residual == first.residual[first.calls - 1], "%g is not the last residual",
        result.residual);
  CHECK(result.relative == first.relative[first.calls - 1], "%g is not the last residual",
        result.relative);
  CHECK(result.seconds >= result.matvec_seconds + result.update_seconds &&
            result.matvec_seconds > 0 && result.update_seconds > 0,
        "%g s with %g s of matvec and %g s of updates", result.seconds, result.matvec_seconds,
        result.update_seconds);

  /* The same bits again. */
  reset(s);
  options.context = &second;
  CHECK(solve(s, true, &options, &result) == SP_OK, "%s", sp_error_message());
  CHECK(second.calls == first.calls &&
            memcmp(first.residual, second.residual, sizeof first.residual) == 0,
        "the residuals of a second run differ");
  CHECK(memcmp(x, s->x, (size_t)s->op->dofs * sizeof *x) == 0, "the second solution differs");

  /* A failure before, in, and after the last iteration, and where the limit ends it. */
  const int last = (int)result.iterations, failing[] = {0, 3, last, last / 2};
  for (int f = 0; f < 4; f++) {
    second = (history){.consistent = true, .fails_at = failing[f], .fails_on = size - 1};
    options.max_iterations = f == 3 ? last / 2 : 300;
    reset(s);
    const sp_status status = solve(s, false, &options, &result);
    char expected[64];
    snprintf(expected, sizeof expected, "rank %d has no disk left", size - 1);
    /* Without Jacobi it takes more iterations than `last`, so all four happen. */
    CHECK(status == SP_ERR_SYSTEM && strcmp(sp_error_message(), expected) == 0,
          "failing at %d: status %d, '%s'", failing[f], (int)status, sp_error_message());
    /* Where iterations come in batches the others hear of the rest of one. */
    if (!s->op->iterates || rank == size - 1)
      CHECK(second.calls == failing[f] + 1, "%d calls after failing at %d", second.calls,
            failing[f]);
  }
  /* After the iteration that converges there is no reduction left to carry the failure. */
  second = (history){.consistent = true, .fails_at = last, .fails_on = size - 1};
  options.max_iterations = 300;
  reset(s);
  CHECK(solve(s, true, &options, &result) == SP_ERR_SYSTEM, "a failure at the end is lost");
  free(x);
}

/* ---- Ends ---- */

static void check_ends(system_t *s) {
  sp_cg_result result;
  sp_cg_options options = {.tolerance = 1e-10, .max_iterations = 300};

  memset(s->b, 0, (size_t)s->op->dofs * sizeof *s->b);
  memset(s->x, 0, (size_t)s->op->dofs * sizeof *s->x);
  CHECK(solve(s, false, &options, &result) == SP_OK, "b = 0: %s", sp_error_message());
  CHECK(result.iterations == 0 && result.residual == 0 && result.relative == 0,
        "b = 0: %d iterations, residual %g", (int)result.iterations, result.residual);
  CHECK(norm(s, s->x) == 0, "b = 0: the solution is not zero");

  /* An iterate of the limit is the best in its Krylov space: nearer than zero, and b becomes its
   * residual. */
  reset(s);
  options.max_iterations = 40;
  CHECK(solve(s, false, &options, &result) == SP_ERR_NOT_CONVERGED, "%d iterations at the limit",
        (int)result.iterations);
  CHECK(strstr(sp_error_message(), "after 40 iterations"), "message '%s'", sp_error_message());
  CHECK(result.iterations == 40 && result.relative > options.tolerance && isfinite(result.relative),
        "%d iterations, %g", (int)result.iterations, result.relative);
  /* A recursive residual leaves the true one by rounding times the number of iterations. */
  CHECK_CLOSE(true_residual(s), result.relative, 1e-12);

  reset(s);
  options.max_iterations = 300;
  if (rank == size - 1) s->b[s->op->owned / 2] = NAN;
  CHECK(solve(s, true, &options, &result) == SP_ERR_BREAKDOWN, "NaN in b");
  CHECK(strstr(sp_error_message(), "b.b = ") && strstr(sp_error_message(), "nan"), "message '%s'",
        sp_error_message());
  CHECK(result.iterations == 0, "NaN in b: %d iterations", (int)result.iterations);

  reset(s);
  double *entry = &s->inverse_diagonal[s->op->owned / 2];
  const double diagonal = *entry;
  if (rank == 0) *entry = NAN;
  CHECK(solve(s, true, &options, &result) == SP_ERR_BREAKDOWN, "NaN in the diagonal");
  *entry = diagonal;

  reset(s);
  if (rank == 0) s->b[s->op->owned / 2] = 1e300;
  CHECK(solve(s, false, &options, &result) == SP_ERR_BREAKDOWN, "overflow in b.b");
}

/* The smallest eigenvalue of -lap on the unit cube is 3 pi^2: lambda = -1000 leaves positive and
 * negative ones. */
static void check_indefinite(void) {
  const sp_box box = {.elements = {4, 2, 2}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_cg_options options = {.tolerance = 1e-10, .max_iterations = 1000};
  system_t s;
  sp_cg_result result;
  system_create(&backend, &box, 3, -1000, &s);
  CHECK(solve(&s, false, &options, &result) == SP_ERR_BREAKDOWN, "an indefinite operator passes");
  CHECK(strstr(sp_error_message(), "p.Ap = -"), "message '%s'", sp_error_message());
  CHECK(result.iterations >= 1 && result.iterations < 1000, "%d iterations",
        (int)result.iterations);
  system_destroy(&s);
}

/* 9 x 3 x 3 nodes, of which 7 x 1 x 1 are free: CG ends after 7 iterations at most. */
static void check_termination(void) {
  const sp_box box = {.elements = {8, 2, 2}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_cg_options options = {.tolerance = 1e-12, .max_iterations = 7};
  for (int jacobi = 0; jacobi < 2; jacobi++) {
    system_t s;
    sp_cg_result result;
    system_create(&backend, &box, 1, 1, &s);
    CHECK(solve(&s, jacobi, &options, &result) == SP_OK, "%s", sp_error_message());
    CHECK(true_residual(&s) <= 2e-12, "the residual is %g", true_residual(&s));
    system_destroy(&s);
  }
}

/* Kershaw's mesh has entries of very different sizes on its diagonal. */
static void check_jacobi(void) {
  const sp_box box = {
      .elements = {6, 4, 4}, .upper = {1, 1, 1}, .map = SP_MAP_KERSHAW, .epsilon = 0.3};
  const sp_cg_options options = {.tolerance = 1e-12, .max_iterations = 5000};
  system_t s;
  sp_cg_result plain, jacobi;
  system_create(&backend, &box, 4, 1, &s);
  const size_t n = (size_t)s.op->dofs;
  double *x = test_allocate(n, sizeof *x);
  CHECK(solve(&s, false, &options, &plain) == SP_OK, "%s", sp_error_message());
  memcpy(x, s.x, n * sizeof *x);
  reset(&s);
  CHECK(solve(&s, true, &options, &jacobi) == SP_OK, "%s", sp_error_message());
  CHECK(4 * jacobi.iterations < 3 * plain.iterations, "%d iterations with Jacobi, %d without",
        (int)jacobi.iterations, (int)plain.iterations);
  /* |x1 - x2| <= |A^-1| (|r1| + |r2|) <= 2 condition 1e-12 |x|, and the condition number is below
   * the square of the iterations that plain CG needs. */
  const double iterations = (double)plain.iterations, scale = norm(&s, x);
  for (size_t i = 0; i < n; i++) x[i] -= s.x[i];
  CHECK(norm(&s, x) <= 2e-12 * iterations * iterations * scale, "the solutions differ by %g",
        norm(&s, x) / scale);
  free(x);
  system_destroy(&s);
}

/* ---- Whole iterations ---- */

/* The same solutions to the bit, and the same answers, as without. */
static void check_iterating(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  double *x = test_allocate(n, sizeof *x);
  sp_cg_result results[2];
  for (int tries = 0; tries < 40; tries++) {
    const sp_cg_options options = {.tolerance = pow(10, -0.25 * tries), .max_iterations = 300};
    for (int by_device = 0; by_device < 2; by_device++) {
      stand_in(s, by_device);
      reset(s);
      CHECK(solve(s, true, &options, &results[by_device]) == SP_OK, "%s", sp_error_message());
      if (!by_device) memcpy(x, s->x, n * sizeof *x);
    }
    CHECK(memcmp(x, s->x, n * sizeof *x) == 0 && results[0].iterations == results[1].iterations &&
              results[0].residual == results[1].residual,
          "%d iterations by the device, %d without", (int)results[1].iterations,
          (int)results[0].iterations);
  }
  check_callback(s);
  check_ends(s);
  stand_in(s, false);
  free(x);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bench_open(1, argv, &backend); /* on the host; on a GPU: cg_restart */
  const sp_box box = {.elements = {4, 3, 3}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  system_t s;
  system_create(&backend, &box, 5, 1, &s);
  check_callback(&s);
  check_ends(&s);
  check_iterating(&s);
  system_destroy(&s);
  check_indefinite();
  check_termination();
  check_jacobi();
  backend.backend->close(&backend.device);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
