/* Conjugate gradients: what they return, when they stop, that all ranks stop together, and that a
 * saved solve continues to the same bits (with the argument `cuda` on a GPU), also where a device
 * does whole iterations. */
#include "solver/cg.h"

#include <stdlib.h>
#include <string.h>

#include "mesh/box.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

static int rank, size;
static bench backend; /* stays open */

/* A system A x = b: an operator of the unit cube, Dirichlet on its whole boundary. */
typedef struct system {
  bench bench;
  sp_mesh *mesh;
  sp_numbering *numbering;
  sp_operator *op;
  bool *constrained;
  double *b, *x, *inverse_diagonal; /* [op->dofs] */
} system_t;

static void require(sp_status status) {
  CHECK(status == SP_OK, "%s", sp_error_message());
  if (status) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void constrain_boundary(system_t *s) {
  int places[(SP_MAX_ORDER + 1) * (SP_MAX_ORDER + 1)];
  const sp_numbering *numbering = s->numbering;
  const int nq = numbering->order + 1;
  double *mark = test_allocate((size_t)numbering->local, sizeof *mark);
  for (sp_lid e = 0; e < s->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (s->mesh->hexes->surfaces[e][f] == SP_SURFACE_INTERIOR) continue;
      sp_face_places(numbering->order, f, places);
      for (int n = 0; n < nq * nq; n++) mark[numbering->nodes[e * nq * nq * nq + places[n]]] = -1;
    }
  sp_exchange *exchange;
  require(sp_exchange_create(MPI_COMM_WORLD, numbering, &exchange));
  sp_exchange_now(exchange, SP_MIN, mark);
  sp_exchange_destroy(&exchange);
  for (sp_lid i = 0; i < numbering->local; i++) s->constrained[i] = mark[i] < 0;
  free(mark);
}

/* b becomes random on free DOFs, x zero. */
static void reset(system_t *s) {
  for (sp_lid i = 0; i < s->op->dofs; i++) {
    s->x[i] = 0;
    s->b[i] = s->constrained[i] ? 0 : random_value(3, sp_numbering_global(s->numbering, i));
  }
}

static void system_create(const sp_box *box, int order, double lambda, system_t *s) {
  *s = (system_t){.bench = backend};
  sp_hexes *hexes;
  require(sp_box_hexes(MPI_COMM_WORLD, box, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &s->mesh));
  require(sp_numbering_create(s->mesh, order, &s->numbering));
  const size_t dofs = (size_t)s->numbering->local;
  s->constrained = test_allocate(dofs, sizeof *s->constrained);
  s->b = test_allocate(dofs, sizeof *s->b);
  s->x = test_allocate(dofs, sizeof *s->x);
  s->inverse_diagonal = test_allocate(dofs, sizeof *s->inverse_diagonal);
  constrain_boundary(s);
  const sp_operator_setup setup = {.mesh = s->mesh,
                                   .numbering = s->numbering,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = lambda,
                                   .constrained = s->constrained};
  s->op = bench_operator(&s->bench, &setup);
  require(sp_operator_inverse_diagonal(s->op->exchange, &setup, s->inverse_diagonal));
  reset(s);
}

static void system_destroy(system_t *s) {
  sp_operator_destroy(&s->op);
  sp_numbering_destroy(&s->numbering);
  sp_mesh_destroy(&s->mesh);
  free(s->constrained);
  free(s->b);
  free(s->x);
  free(s->inverse_diagonal);
}

/* Solve; s->x becomes the solution and s->b the final residual. */
static sp_status solve(system_t *s, bool jacobi, const sp_cg_options *options,
                       sp_cg_result *result) {
  const bench *bn = &s->bench;
  const size_t n = (size_t)s->op->dofs;
  double *b = bench_upload(bn, n, s->b), *x = bench_upload(bn, n, s->x);
  double *d = bench_upload(bn, n, s->inverse_diagonal);
  const sp_status status = sp_cg_solve(s->op, jacobi ? d : NULL, options, b, x, result);
  bench_download(bn, n, x, s->x);
  bench_download(bn, n, b, s->b);
  bn->backend->vector_destroy(bn->device, &b);
  bn->backend->vector_destroy(bn->device, &x);
  bn->backend->vector_destroy(bn->device, &d);
  return status;
}

static double norm(const system_t *s, const double *values) {
  double sum = 0;
  for (sp_lid i = 0; i < s->op->owned; i++) sum += values[i] * values[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(sum);
}

/* |b - A x| / |b| for the right-hand side that `reset` makes. */
static double true_residual(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  double *x = test_allocate(2 * n, sizeof *x), *ax = x + n;
  memcpy(x, s->x, n * sizeof *x);
  bench_apply(&s->bench, s->op, true, x, ax);
  reset(s);
  const double scale = norm(s, s->b);
  for (size_t i = 0; i < n; i++) ax[i] = s->b[i] - ax[i];
  const double result = norm(s, ax) / scale;
  memcpy(s->x, x, n * sizeof *x);
  free(x);
  return result;
}

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
  system_create(&box, 3, -1000, &s);
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
    system_create(&box, 1, 1, &s);
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
  system_create(&box, 4, 1, &s);
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

/* ---- Saved and continued ---- */

/* One rank wishes something after `wish_at` iterations, once; what is saved last is kept. */
typedef struct saving {
  history history;
  const system_t *system;
  int wish_at, wish_on, seen;
  sp_cg_wish wish;
  int saves;
  int64_t saved_at[HISTORY];
  sp_cg_progress progress;
  double *x, *r, *p;
} saving;

static sp_status count_iterations(const sp_cg_iteration *iteration, void *context) {
  saving *s = context;
  const int place = (int)iteration->iteration;
  if (place < HISTORY) s->history.residual[place] = iteration->residual;
  CHECK(iteration->applied == (s->history.calls > 0), "iteration %d", place);
  s->history.calls++;
  s->seen = place;
  return SP_OK;
}

/* In iteration seen + 1. */
static sp_cg_wish wish(void *context) {
  const saving *s = context;
  return rank == s->wish_on && s->seen + 1 >= s->wish_at && s->saves == 0 ? s->wish
                                                                          : SP_CG_CONTINUE;
}

static sp_status keep(const sp_cg_progress *progress, const sp_cg_vectors *vectors, void *context) {
  saving *s = context;
  const size_t n = (size_t)s->system->op->dofs;
  if (s->saves < HISTORY) s->saved_at[s->saves] = progress->iteration;
  if (s->saves++ > 0) return SP_OK;
  s->progress = *progress;
  bench_download(&s->system->bench, n, vectors->x, s->x);
  bench_download(&s->system->bench, n, vectors->r, s->r);
  bench_download(&s->system->bench, n, vectors->p, s->p);
  return SP_OK;
}

static void forget(saving *s, sp_cg_wish wanted, int at) {
  s->history = (history){.calls = 0};
  s->wish = wanted;
  s->wish_at = at;
  s->wish_on = size - 1;
  s->saves = s->seen = 0;
}

/* A device is asked between batches only. Odd numbers of iterations leave the directions of two
 * buffers in each other's places. */
static void check_continuation(system_t *s, bool jacobi) {
  const size_t n = (size_t)s->op->dofs;
  static saving whole, part;
  sp_cg_result result, expected;
  double *x = test_allocate(n, sizeof *x);
  saving *const both[] = {&whole, &part};
  for (int i = 0; i < 2; i++) {
    both[i]->system = s;
    both[i]->x = test_allocate(3 * n, sizeof(double));
    both[i]->r = both[i]->x + n;
    both[i]->p = both[i]->r + n;
  }
  sp_cg_options options = {.tolerance = 1e-10,
                           .max_iterations = 300,
                           .on_iteration = count_iterations,
                           .wish = wish,
                           .save = keep};

  forget(&whole, SP_CG_CONTINUE, 1);
  options.context = &whole;
  reset(s);
  CHECK(solve(s, jacobi, &options, &expected) == SP_OK, "%s", sp_error_message());
  memcpy(x, s->x, n * sizeof *x);
  CHECK(whole.saves == 1 && whole.saved_at[0] == expected.iterations && expected.saves == 1,
        "%d saves without a wish", whole.saves);

  const int at[] = {1, 2, 7, 12, (int)expected.iterations - 1};
  for (int a = 0; a < 5; a++)
    for (int stop = 0; stop < 2; stop++) {
      forget(&part, stop ? SP_CG_STOP : SP_CG_SAVE, at[a]);
      options.context = &part;
      reset(s);
      const sp_status status = solve(s, jacobi, &options, &result);
      const int64_t saved = part.saved_at[0];
      CHECK(s->op->iterates ? saved >= at[a] : saved == at[a], "wished at %d, saved at %d", at[a],
            (int)saved);
      CHECK(part.progress.iteration == saved && part.progress.norm_b == whole.history.residual[0] &&
                part.progress.residual == whole.history.residual[saved],
            "the numbers saved at %d", (int)saved);
      if (stop && saved < expected.iterations) {
        CHECK(status == SP_ERR_INTERRUPTED && strstr(sp_error_message(), "interrupted"),
              "status %d: %s", (int)status, sp_error_message());
        CHECK(part.saves == 1 && result.iterations == saved && result.first == 0,
              "%d saves, %d iterations", part.saves, (int)result.iterations);
      } else {
        CHECK(status == SP_OK && memcmp(x, s->x, n * sizeof *x) == 0,
              "saving changes the solution");
        CHECK(part.saves == (saved < expected.iterations ? 2 : 1), "%d saves", part.saves);
      }

      /* Rubbish where the vectors of the continued solve have been. */
      reset(s);
      memcpy(s->x, part.x, n * sizeof *x);
      memcpy(s->b, part.r, n * sizeof *x);
      const sp_cg_progress progress = part.progress;
      options.start = &progress;
      options.start_p = part.p;
      forget(&part, SP_CG_CONTINUE, 1);
      CHECK(solve(s, jacobi, &options, &result) == SP_OK, "%s", sp_error_message());
      CHECK(result.iterations == expected.iterations && result.first == saved,
            "%d iterations from %d, not %d", (int)result.iterations, (int)result.first,
            (int)expected.iterations);
      CHECK(part.history.calls == expected.iterations - saved + 1, "%d calls", part.history.calls);
      CHECK(memcmp(&part.history.residual[saved], &whole.history.residual[saved],
                   (size_t)part.history.calls * sizeof(double)) == 0,
            "the residuals from iteration %d on differ", (int)saved);
      CHECK(memcmp(x, s->x, n * sizeof *x) == 0, "continued from %d, the solution differs",
            (int)saved);
      /* The limit counts all iterations. */
      if (stop == 0 && a == 2) {
        options.max_iterations = (int)saved;
        forget(&part, SP_CG_CONTINUE, 1);
        memcpy(s->x, part.x, n * sizeof *x);
        CHECK(solve(s, jacobi, &options, &result) == SP_ERR_NOT_CONVERGED &&
                  result.iterations == saved,
              "%d iterations past the limit", (int)(result.iterations - saved));
        options.max_iterations = 300;
      }
      options.start = NULL;
    }
  free(whole.x);
  free(part.x);
  free(x);
}

/* ---- Whole iterations ---- */

static sp_operator *iterated;

/* A device that iterates by itself, in batches of 7 at most, as the host would. */
static sp_status iterate(sp_local_operator *local, sp_cg_vectors *vectors, const sp_cg_state *state,
                         int count, sp_cg_record *records, int *done) {
  double beta = state->beta, rz = state->rz;
  CHECK(local == iterated->local && count >= 1 && count <= SP_EXCHANGE_TIMES, "%d iterations",
        count);
  for (*done = 0; *done < count && *done < 7;) {
    sp_cg_record *made = &records[(*done)++];
    require(sp_operator_direction(iterated, beta, vectors, SP_OK, &made->p_ap));
    made->seconds = iterated->seconds;
    if (!(made->p_ap > 0) || isinf(made->p_ap)) break;
    require(sp_operator_update(iterated, rz / made->p_ap, vectors, &made->rr, &made->rz));
    beta = made->rz / rz;
    rz = made->rz;
    if (!(made->rr > state->target) || isinf(made->rr)) break;
  }
  return SP_OK;
}

/* The same solutions to the bit, and the same answers, as without. */
static void check_iterating(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  double *x = test_allocate(n, sizeof *x);
  sp_backend device = *s->op->backend;
  device.iterate = iterate;
  iterated = s->op;
  sp_cg_result results[2];
  for (int tries = 0; tries < 40; tries++) {
    const sp_cg_options options = {.tolerance = pow(10, -0.25 * tries), .max_iterations = 300};
    for (int by_device = 0; by_device < 2; by_device++) {
      s->op->backend = by_device ? &device : backend.backend;
      s->op->iterates = by_device;
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
  for (int jacobi = 0; jacobi < 2; jacobi++) check_continuation(s, jacobi);
  s->op->backend = backend.backend;
  s->op->iterates = false;
  free(x);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!bench_open(argc, argv, &backend)) {
    MPI_Finalize();
    return BENCH_SKIPPED;
  }
  const bool on_host = backend.backend == &sp_backend_host;
  const sp_box box = {.elements = {4, 3, 3}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  system_t s;
  system_create(&box, 5, 1, &s);
  if (on_host) {
    check_callback(&s);
    check_ends(&s);
  }
  for (int jacobi = 0; jacobi < 2; jacobi++) check_continuation(&s, jacobi);
  if (on_host) check_iterating(&s);
  system_destroy(&s);
  if (on_host) {
    check_indefinite();
    check_termination();
    check_jacobi();
  }
  backend.backend->close(&backend.device);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
