/* Conjugate gradients: results and stopping criteria; all ranks stop together, also if a device
 * runs whole iterations. */
#include "tests/cg_system.h"

#include <float.h>

static bench backend; /* stays open */

/* Stop at |r| <= tolerance |b|. */
static sp_cg_options to_residual(double tolerance, int most) {
  return (sp_cg_options){
      .criterion = SP_CG_RESIDUAL, .tolerance = tolerance, .max_iterations = most};
}

enum { HISTORY = 400 };

typedef struct history {
  int calls;
  double residual[HISTORY], relative[HISTORY];
  double seconds; /* of the last call */
  bool consistent;
  int fails_at, fails_on; /* iteration and rank in which the callback fails; -1: never */
} history;

static sp_status record(const sp_cg_iteration *iteration, void *context) {
  history *h = context;
  const double seconds = iteration->matvec_seconds, *by_rank = iteration->seconds_by_rank;
  double longest = 0;
  for (int r = 0; r < world_size && by_rank; r++) longest = fmax(longest, by_rank[r]);
  h->consistent = h->consistent && iteration->iteration == h->calls &&
                  iteration->applied == (h->calls > 0) &&
                  (by_rank != NULL) == (world_rank == 0 && h->calls > 0) &&
                  (h->calls > 0 ? seconds > 0 : seconds == 0) && (!by_rank || seconds == longest) &&
                  iteration->seconds > h->seconds;
  h->seconds = iteration->seconds;
  if (h->calls < HISTORY) {
    h->residual[h->calls] = iteration->residual;
    h->relative[h->calls] = iteration->relative;
  }
  h->calls++;
  if (iteration->iteration == h->fails_at && world_rank == h->fails_on)
    return sp_fail(SP_ERR_SYSTEM, "rank %d has no disk left", world_rank);
  return SP_OK;
}

/* The parts of the loop do not overlap, and waiting is a part of the matvec; one rank has nothing
 * to wait for. Only the host times its waiting. Differences of times are exact to a few clock
 * ticks. */
static void check_parts(const system_t *s, const sp_cg_result *result) {
  const double parts = result->matvec_seconds + result->update_seconds +
                       result->preconditioner_seconds + result->reduction_seconds;
  const double ticks = 4 * (double)(result->iterations + 1) * MPI_Wtick();
  CHECK(parts <= result->seconds + ticks, "parts of %g s, %g s in all", parts, result->seconds);
  CHECK(result->wait_seconds <= result->matvec_seconds + ticks, "%g s of waiting in %g s of matvec",
        result->wait_seconds, result->matvec_seconds);
  CHECK((result->reduction_seconds > 0) == (world_size > 1), "%g s in sums over %d ranks",
        result->reduction_seconds, world_size);
  if (backend.backend == &sp_backend_host && !s->op->iterates)
    CHECK((result->wait_seconds > 0) == (world_size > 1), "%g s of waiting on %d ranks",
          result->wait_seconds, world_size);
}

static void check_callback(system_t *s) {
  ARRAYS_OF_SCOPE;
  static history first, second;
  double *x = test_array((size_t)s->op->dofs, sizeof *x);
  sp_cg_result result;
  first = second = (history){.consistent = true, .fails_at = -1};
  sp_cg_options options = to_residual(1e-10, 300);
  options.on_iteration = record;
  options.context = &first;

  reset(s);
  const double norm_b = norm(s, s->b);
  CHECK_OK(solve(s, s->by[JACOBI], &options, &result));
  memcpy(x, s->x, (size_t)s->op->dofs * sizeof *x);
  CHECK(first.calls == result.iterations + 1, "%d calls in %d iterations", first.calls,
        (int)result.iterations);
  CHECK(first.consistent, "iteration numbers and times");
  CHECK(first.seconds <= result.seconds, "the last residual after %g s of %g s", first.seconds,
        result.seconds);
  /* The same sum in another order differs by at most 1e-16 times the root of its 1e4 terms. */
  CHECK_CLOSE(first.residual[0] / norm_b, 1, 1e-13);
  CHECK(first.relative[0] == 1, "starts at %g", first.relative[0]);
  for (int i = 0; i < first.calls; i++) {
    CHECK(first.relative[i] == first.residual[i] / first.residual[0], "relative residual %d", i);
    CHECK((first.relative[i] <= options.tolerance) == (i == first.calls - 1), "stops at %d", i);
  }
  /* The true residual differs by rounding times the number of iterations. */
  CHECK(fabs(result.relative - first.relative[first.calls - 1]) <= 1e-12,
        "%g is far from the last residual", result.relative);
  CHECK_CLOSE(result.residual / (result.relative * first.residual[0]), 1, 1e-15);
  check_parts(s, &result);
  CHECK(result.matvec_seconds > 0 && result.update_seconds > 0 &&
            result.preconditioner_seconds == 0,
        "%g s of matvec, %g s of updates, %g s of the preconditioner", result.matvec_seconds,
        result.update_seconds, result.preconditioner_seconds);

  /* The same bits again. */
  reset(s);
  options.context = &second;
  CHECK_OK(solve(s, s->by[JACOBI], &options, &result));
  CHECK(second.calls == first.calls &&
            memcmp(first.residual, second.residual, sizeof first.residual) == 0,
        "the residuals of a second run differ");
  CHECK(memcmp(x, s->x, (size_t)s->op->dofs * sizeof *x) == 0, "the second solution differs");

  /* A failure before, in, and after the last iteration, and at the limit of iterations. */
  const int last = (int)result.iterations, failing[] = {0, 3, last, last / 2};
  for (int f = 0; f < 4; f++) {
    second = (history){.consistent = true, .fails_at = failing[f], .fails_on = world_size - 1};
    options.max_iterations = f == 3 ? last / 2 : 300;
    reset(s);
    const sp_status status = solve(s, NULL, &options, &result);
    const char *expected = test_text("rank %d has no disk left", world_size - 1);
    /* Without Jacobi it takes more iterations than `last`, so all four cases occur. */
    CHECK(status == SP_ERR_SYSTEM && strcmp(sp_error_message(), expected) == 0,
          "failing at %d: status %d, '%s'", failing[f], (int)status, sp_error_message());
    /* If iterations run in batches, the other ranks still see the rest of the batch. */
    if (!s->op->iterates || world_rank == world_size - 1)
      CHECK(second.calls == failing[f] + 1, "%d calls after failing at %d", second.calls,
            failing[f]);
  }
  /* After the iteration that converges there is no reduction left to carry the failure. */
  second = (history){.consistent = true, .fails_at = last, .fails_on = world_size - 1};
  options.max_iterations = 300;
  reset(s);
  CHECK(solve(s, s->by[JACOBI], &options, &result) == SP_ERR_SYSTEM,
        "a failure at the end is lost");
}

static void check_ends(system_t *s) {
  sp_cg_result result;
  sp_cg_options options = to_residual(1e-10, 300);

  const applied *a = applied_reset(s, NO_FAULT, 0);
  for (preconditioning p = PLAIN; p < PRECONDITIONINGS; p++) { /* nothing to do for b = 0 */
    memset(s->b, 0, (size_t)s->op->dofs * sizeof *s->b);
    memset(s->x, 0, (size_t)s->op->dofs * sizeof *s->x);
    CHECK_OK(solve(s, s->by[p], &options, &result));
    CHECK(result.iterations == 0 && result.residual == 0 && result.relative == 0 &&
              norm(s, s->x) == 0 && a->applications == 0,
          "b = 0: %d iterations, residual %g", (int)result.iterations, result.residual);
  }

  /* The iterate at the limit is the best of its Krylov space, so better than zero; b becomes its
   * residual. */
  reset(s);
  options.max_iterations = 40;
  CHECK_FAILS(solve(s, NULL, &options, &result), SP_ERR_NOT_CONVERGED, "after 40 iterations");
  CHECK(result.iterations == 40 && result.relative > options.tolerance && isfinite(result.relative),
        "%d iterations, %g", (int)result.iterations, result.relative);
  /* The recursive residual differs from the true one by rounding times the number of iterations. */
  CHECK_CLOSE(true_residual(s), result.relative, 1e-12);

  reset(s);
  options.max_iterations = 300;
  if (world_rank == world_size - 1) s->b[s->op->owned / 2] = NAN;
  CHECK(solve(s, s->by[JACOBI], &options, &result) == SP_ERR_BREAKDOWN, "NaN in b");
  CHECK(strstr(sp_error_message(), "b.b = ") && strstr(sp_error_message(), "nan"), "message '%s'",
        sp_error_message());
  CHECK(result.iterations == 0, "NaN in b: %d iterations", (int)result.iterations);

  reset(s);
  double *entry = &s->inverse_diagonal[s->op->owned / 2];
  const double diagonal = *entry;
  if (world_rank == 0) *entry = NAN;
  sp_vector with_nan = bench_upload(s->bench, (size_t)s->op->dofs, s->inverse_diagonal);
  sp_preconditioner broken = {.name = "broken", .inverse_diagonal = &with_nan};
  CHECK(solve(s, &broken, &options, &result) == SP_ERR_BREAKDOWN, "NaN in the diagonal");
  sp_vector_destroy(&with_nan);
  *entry = diagonal;

  reset(s);
  if (world_rank == 0) s->b[s->op->owned / 2] = 1e300;
  CHECK(solve(s, NULL, &options, &result) == SP_ERR_BREAKDOWN, "overflow in b.b");
}

/* The smallest eigenvalue of -lap on the unit cube is 3 pi^2: lambda = -1000 leaves positive and
 * negative ones. */
static void check_indefinite(void) {
  const sp_box box = {.elements = {4, 2, 2}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_cg_options options = to_residual(1e-10, 1000);
  system_t s;
  sp_cg_result result;
  system_create(&backend, &box, 3, -1000, &s);
  CHECK_FAILS(solve(&s, NULL, &options, &result), SP_ERR_BREAKDOWN, "p.Ap = -");
  CHECK(result.iterations >= 1 && result.iterations < 1000, "%d iterations",
        (int)result.iterations);
  system_destroy(&s);
}

/* 9 x 3 x 3 nodes, of which 7 x 1 x 1 are free: CG ends after 7 iterations at most. */
static void check_termination(void) {
  const sp_box box = {.elements = {8, 2, 2}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  const sp_cg_options options = to_residual(1e-12, 7);
  for (preconditioning p = PLAIN; p < PRECONDITIONINGS; p++) {
    system_t s;
    sp_cg_result result;
    system_create(&backend, &box, 1, 1, &s);
    CHECK_OK(solve(&s, s.by[p], &options, &result));
    CHECK(true_residual(&s) <= 2e-12, "the residual is %g", true_residual(&s));
    system_destroy(&s);
  }
}

/* Kershaw's mesh has entries of very different sizes on its diagonal. */
static void check_jacobi(void) {
  ARRAYS_OF_SCOPE;
  const sp_box box = {
      .elements = {6, 4, 4}, .upper = {1, 1, 1}, .map = SP_MAP_KERSHAW, .epsilon = 0.3};
  const sp_cg_options options = to_residual(1e-12, 5000);
  system_t s;
  sp_cg_result plain, jacobi;
  system_create(&backend, &box, 4, 1, &s);
  const size_t n = (size_t)s.op->dofs;
  double *x = test_array(n, sizeof *x);
  CHECK_OK(solve(&s, NULL, &options, &plain));
  memcpy(x, s.x, n * sizeof *x);
  reset(&s);
  CHECK_OK(solve(&s, s.by[JACOBI], &options, &jacobi));
  CHECK(4 * jacobi.iterations < 3 * plain.iterations, "%d iterations with Jacobi, %d without",
        (int)jacobi.iterations, (int)plain.iterations);
  /* |x1 - x2| <= |A^-1| (|r1| + |r2|) <= 2 cond(A) 1e-12 |x|, and cond(A) is below the square of
   * the number of iterations of plain CG. */
  const double iterations = (double)plain.iterations, scale = norm(&s, x);
  for (size_t i = 0; i < n; i++) x[i] -= s.x[i];
  CHECK(norm(&s, x) <= 2e-12 * iterations * iterations * scale, "the solutions differ by %g",
        norm(&s, x) / scale);
  system_destroy(&s);
}

/* Jacobi's own functions: as a diagonal in the passes, and by `apply`. */
static void check_jacobi_applied(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  sp_preconditioner *jacobi = s->by[JACOBI];
  double *z = test_array(n, sizeof *z), *inverse = test_array(n, sizeof *inverse);
  char text[32];
  for (size_t i = 0; i < n; i++) z[i] = NAN;
  reset(s);
  AUTO_VALUE(sp_vector) r = bench_upload(s->bench, n, s->b), on_z = bench_upload(s->bench, n, z);
  CHECK_OK(jacobi->apply(jacobi, 1, &r, &on_z));
  bench_download(&on_z, z);
  bench_download(jacobi->inverse_diagonal, inverse);
  CHECK(memcmp(inverse, s->inverse_diagonal, n * sizeof *inverse) == 0, "another diagonal");
  for (size_t i = 0; i < n; i++)
    CHECK(z[i] == inverse[i] * s->b[i], "z[%zu] is %g, not %g", i, z[i], inverse[i] * s->b[i]);
  jacobi->describe(jacobi, sizeof text, text);
  CHECK(!strcmp(jacobi->name, "jacobi") && text[0] == '\0', "%s: %s", jacobi->name, text);
}

static sp_status solve_with_history(system_t *s, preconditioning with, history *h,
                                    sp_cg_result *result) {
  sp_cg_options options = to_residual(1e-10, 300);
  options.on_iteration = record;
  options.context = h;
  *h = (history){.consistent = true, .fails_at = -1};
  return solve(s, s->by[with], &options, result);
}

/* spread[k] is the largest relative change of the residuals 0 to k of `base` under random relative
 * changes of b of at most `change`. */
static void measure_spread(system_t *s, double change, const history *base, double *spread) {
  enum { TIMES = 4 };
  static history other;
  sp_cg_result result;
  for (int k = 0; k < HISTORY; k++) spread[k] = 0;
  for (int time = 0; time < TIMES; time++) {
    reset(s);
    for (sp_lid i = 0; i < s->op->dofs; i++)
      s->b[i] *= 1 + change * random_value(50 + time, sp_numbering_global(s->space->numbering, i));
    CHECK_OK(solve_with_history(s, JACOBI, &other, &result));
    for (int k = 0; k < base->calls && k < other.calls; k++)
      spread[k] = fmax(spread[k], fabs(other.residual[k] / base->residual[k] - 1));
  }
  for (int k = 1; k < HISTORY; k++) spread[k] = fmax(spread[k], spread[k - 1]);
}

/* Jacobi's preconditioner by `apply` gives the same iteration as in the passes except for rounding.
 * In each iteration rounding changes alpha and beta, which are sums of n positive terms, by at most
 * n epsilons, and vectors by a few. How CG amplifies such changes is measured with Jacobi in the
 * passes: each of k + 1 iterations may add that much. */
static void check_applied(system_t *s) {
  static history expected, applied_history;
  static double spread[HISTORY];
  sp_cg_result result;
  check_jacobi_applied(s);
  reset(s);
  CHECK_OK(solve_with_history(s, JACOBI, &expected, &result));
  CHECK(result.preconditioner_seconds == 0, "%g s beside the passes",
        result.preconditioner_seconds);
  measure_spread(s, (double)s->op->global_dofs * DBL_EPSILON, &expected, spread);
  reset(s);
  const applied *a = applied_reset(s, NO_FAULT, 0);
  CHECK_OK(solve_with_history(s, APPLIED, &applied_history, &result));
  CHECK(applied_history.consistent, "iteration numbers and times");
  /* Before the first iteration and after each but the last one. */
  CHECK(a->applications == result.iterations, "%d applications in %d iterations", a->applications,
        (int)result.iterations);
  check_parts(s, &result);
  CHECK(result.preconditioner_seconds > 0, "%g s of the preconditioner",
        result.preconditioner_seconds);
  CHECK(applied_history.residual[0] == expected.residual[0], "|b| is %g, not %g",
        applied_history.residual[0], expected.residual[0]);
  CHECK(abs(expected.calls - applied_history.calls) <= 1, "%d residuals, not %d",
        applied_history.calls, expected.calls);
  for (int k = 0; k < expected.calls && k < applied_history.calls; k++) {
    const double allowed = (k + 1) * spread[k];
    const double off = fabs(applied_history.residual[k] / expected.residual[k] - 1);
    CHECK(off <= allowed, "residual %d is off by %.3g > %.3g", k, off, allowed);
  }
}

/* An error in a preconditioner ends the solve on all ranks, in the application in which it happens:
 * before the first iteration, or later. */
static void check_faults(system_t *s) {
  static const struct {
    fault fault;
    sp_status status;
    const char *words;
  } cases[] = {{NEGATIVE, SP_ERR_BREAKDOWN, "r.z = -"},
               {ZERO, SP_ERR_BREAKDOWN, "r.z = 0;"},
               {NOT_A_NUMBER, SP_ERR_BREAKDOWN, "nan"},
               {FAILURE, SP_ERR_SYSTEM, "cannot precondition"}};
  const sp_cg_options options = to_residual(1e-10, 300);
  const char *failed = test_text("rank %d cannot precondition", world_size - 1);
  for (size_t c = 0; c < COUNT_OF(cases); c++)
    for (int at = 0; at <= 3; at += 3) {
      sp_cg_result result;
      sp_fail(SP_ERR_INPUT, "an old message of rank %d", world_rank);
      reset(s);
      applied *a = applied_reset(s, cases[c].fault, at);
      const sp_status status = solve(s, s->by[APPLIED], &options, &result);
      const char *message = sp_error_message();
      const char *iteration = test_text("in iteration %d:", at);
      CHECK(status == cases[c].status && strstr(message, cases[c].words),
            "case %zu at %d: status %d, '%s'", c, at, (int)status, message);
      if (cases[c].fault == FAILURE)
        CHECK_TEXT(message, failed);
      else
        CHECK(strstr(message, "r.z = ") && strstr(message, a->base.name) &&
                  strstr(message, iteration),
              "'%s' should name r.z, '%s' and iteration %d", message, a->base.name, at);
      CHECK(result.iterations == at, "%d iterations with a fault in %d", (int)result.iterations,
            at);
      CHECK(a->applications == at + 1, "%d applications with a fault in application %d",
            a->applications, at);
    }
  applied_reset(s, NO_FAULT, 0);
}

/* ||v||_A over all ranks. Collective. */
static double energy_norm(system_t *s, const double *v) {
  double *av = test_array((size_t)s->op->dofs, sizeof *av);
  bench_apply(s->bench, s->op, true, v, av);
  return sqrt(nodal_dot(s->space, v, av));
}

/* Against the error itself. The estimate extrapolates later steps from earlier ones, so it is no
 * bound. Each must be at least 1 / 4, for b without smooth parts, where CG slows down. */
static void check_energy(system_t *s) {
  ARRAYS_OF_SCOPE;
  const size_t n = (size_t)s->op->dofs;
  double *exact = test_array(n, sizeof *exact);
  sp_cg_result result;
  sp_cg_options options = to_residual(1e-14, 1000);
  reset(s);
  CHECK_OK(solve(s, s->by[JACOBI], &options, &result));
  memcpy(exact, s->x, n * sizeof *exact);
  options.criterion = SP_CG_ENERGY;
  for (preconditioning p = PLAIN; p < PRECONDITIONINGS; p++)
    for (int digits = 1; digits <= 11; digits++) {
      options.tolerance = pow(10, -digits);
      applied_reset(s, NO_FAULT, 0);
      reset(s);
      CHECK_OK(solve(s, s->by[p], &options, &result));
      const double norm_x = energy_norm(s, s->x);
      for (size_t i = 0; i < n; i++) s->x[i] -= exact[i];
      const double error = energy_norm(s, s->x) / norm_x;
      CHECK(result.error <= options.tolerance, "stops at an estimate of %g, not %g", result.error,
            options.tolerance);
      CHECK(error <= 4 * result.error + 1e-13, "error %g is estimated as %g", error, result.error);
      CHECK(fabs(result.energy - norm_x) <= 1e-10 * norm_x, "CG has added %g, not %g",
            result.energy, norm_x);
      if (p != JACOBI || digits != 6) continue; /* a diagonal must meet the tolerance twice */
      sp_cg_options limited = options;
      limited.max_iterations = (int)result.iterations - 1;
      reset(s);
      CHECK_FAILS(solve(s, s->by[p], &limited, &result), SP_ERR_NOT_CONVERGED,
                  "the tolerance is 1e-06, but too few iterations in a row meet it");
    }
}

/* From a start of size 1e9 the updated residual reaches the tolerance, but b - A x cannot: x is
 * rounded at 1e9 epsilons at first. From b - A x the iteration continues to the rounding of A x,
 * which is about 100 epsilons of b here. */
static void check_true_residual(system_t *s) {
  static const double FAR = 1e9;
  const size_t n = (size_t)s->op->dofs;
  const bench *bn = s->bench;
  for (int c = 0; c < 2; c++) {
    const sp_cg_options options = {.criterion = c ? SP_CG_RESIDUAL : SP_CG_ENERGY,
                                   .tolerance = c ? 1e-13 : 1e-20,
                                   .max_iterations = 1000};
    sp_cg_result result;
    reset(s);
    for (sp_lid i = 0; i < s->op->dofs; i++)
      if (!s->constrained[i])
        s->x[i] = FAR * random_value(9, sp_numbering_global(s->space->numbering, i));
    AUTO_VALUE(sp_vector) b = bench_upload(bn, n, s->b), x = bench_upload(bn, n, s->x);
    AUTO_VALUE(sp_vector) r = bench_upload(bn, n, s->b);
    CHECK_OK(sp_cg_solve(s->op, s->by[JACOBI], &options, &b, &x, &r, &result));
    bench_download(&x, s->x);
    CHECK(result.restarts >= 1, "no restart from the true residual");
    CHECK_CLOSE(true_residual(s), result.relative, 1e-14);
    CHECK(result.relative <= 1e-11, "the residual is %g", result.relative);
    sp_vector_destroy(&x);
  }
}

/* The host applies a preconditioner between the passes, even if the device can run whole
 * iterations. */
static void check_applied_between(system_t *s) {
  const sp_cg_options options = to_residual(1e-10, 300);
  const size_t n = (size_t)s->op->dofs;
  double *x = test_array(n, sizeof *x);
  sp_cg_result results[2];
  for (int by_device = 0; by_device < 2; by_device++) {
    stand_in(s, by_device);
    reset(s);
    const applied *a = applied_reset(s, NO_FAULT, 0);
    CHECK_OK(solve(s, s->by[APPLIED], &options, &results[by_device]));
    CHECK(a->applications == results[by_device].iterations, "%d applications", a->applications);
    if (!by_device) memcpy(x, s->x, n * sizeof *x);
  }
  CHECK(memcmp(x, s->x, n * sizeof *x) == 0, "another solution");
  stand_in(s, false);
}

/* Solutions and results have the same bits as without whole iterations. */
static void check_iterating(system_t *s) {
  ARRAYS_OF_SCOPE;
  const size_t n = (size_t)s->op->dofs;
  double *x = test_array(n, sizeof *x);
  sp_cg_result results[2];
  for (int tries = 0; tries < 80; tries++) {
    const sp_cg_options options = {.criterion = tries % 2 ? SP_CG_RESIDUAL : SP_CG_ENERGY,
                                   .tolerance = pow(10, -0.25 * (tries / 2)),
                                   .measure = tries % 4 == 2 ? measure_small : NULL,
                                   .max_iterations = 300};
    for (int by_device = 0; by_device < 2; by_device++) {
      stand_in(s, by_device);
      reset(s);
      CHECK_OK(solve(s, s->by[JACOBI], &options, &results[by_device]));
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
}

static void check_all(void) {
  const sp_box box = {.elements = {4, 3, 3}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  system_t s;
  system_create(&backend, &box, 5, 1, &s);
  check_callback(&s);
  check_ends(&s);
  check_applied(&s);
  check_faults(&s);
  check_energy(&s);
  check_true_residual(&s);
  check_applied_between(&s);
  if (!one_sweep) check_iterating(&s); /* the mock of a device does two passes */
  system_destroy(&s);
  check_indefinite();
  check_termination();
  check_jacobi();
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &backend);
  check_all();
  if (backend.backend->sweep) {
    one_sweep = true;
    check_all();
  }
  return bench_end(&backend);
}
