/* A saved solve by conjugate gradients continues with the same bits; with the argument `cuda` on a
 * GPU, and also if a device runs whole iterations. */
#include "tests/cg_system.h"

#include <stdlib.h>

static int rank, size;
static bench backend; /* stays open */

enum { HISTORY = 400 };

/* One rank makes a request once, after `request_at` iterations; the first saved state is kept. */
typedef struct saving {
  int calls;
  double residual[HISTORY];
  const system_t *system;
  int request_at, request_on, seen;
  sp_cg_request request;
  int saves;
  int64_t saved_at[HISTORY];
  sp_cg_progress progress;
  double *x, *r, *p;
} saving;

static sp_status count_iterations(const sp_cg_iteration *iteration, void *context) {
  saving *s = context;
  const int place = (int)iteration->iteration;
  if (place < HISTORY) s->residual[place] = iteration->residual;
  CHECK(iteration->applied == (s->calls > 0), "iteration %d", place);
  s->calls++;
  s->seen = place;
  return SP_OK;
}

/* In iteration seen + 1. */
static sp_cg_request request(void *context) {
  const saving *s = context;
  const bool due = rank == s->request_on && s->seen + 1 >= s->request_at && s->saves == 0;
  return due ? s->request : SP_CG_CONTINUE;
}

static sp_status keep(const sp_cg_progress *progress, const sp_cg_vectors *vectors, void *context) {
  saving *s = context;
  const size_t n = (size_t)s->system->op->dofs;
  if (s->saves < HISTORY) s->saved_at[s->saves] = progress->iteration;
  if (s->saves++ > 0) return SP_OK;
  s->progress = *progress;
  bench_download(s->system->bench, n, vectors->x, s->x);
  bench_download(s->system->bench, n, vectors->r, s->r);
  bench_download(s->system->bench, n, vectors->p, s->p);
  return SP_OK;
}

static void forget(saving *s, sp_cg_request wanted, int at) {
  s->calls = 0;
  s->request = wanted;
  s->request_at = at;
  s->request_on = size - 1;
  s->saves = s->seen = 0;
}

/* Requests to a device are seen between batches only. After an odd number of iterations the two
 * buffers of directions are swapped. */
static void check_continuation(system_t *s, preconditioning with) {
  const size_t n = (size_t)s->op->dofs;
  static saving whole, part;
  const bool in_batches = s->op->iterates && with != APPLIED;
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
                           .request = request,
                           .save = keep};

  forget(&whole, SP_CG_CONTINUE, 1);
  options.context = &whole;
  reset(s);
  CHECK(solve(s, s->by[with], &options, &expected) == SP_OK, "%s", sp_error_message());
  memcpy(x, s->x, n * sizeof *x);
  CHECK(whole.saves == 1 && whole.saved_at[0] == expected.iterations && expected.saves == 1,
        "%d saves without a request", whole.saves);

  const int at[] = {1, 2, 7, 12, (int)expected.iterations - 1};
  for (int a = 0; a < 5; a++)
    for (int stop = 0; stop < 2; stop++) {
      forget(&part, stop ? SP_CG_STOP : SP_CG_SAVE, at[a]);
      options.context = &part;
      reset(s);
      const sp_status status = solve(s, s->by[with], &options, &result);
      const int64_t saved = part.saved_at[0];
      CHECK(in_batches ? saved >= at[a] : saved == at[a], "requested at %d, saved at %d", at[a],
            (int)saved);
      CHECK(part.progress.iteration == saved && part.progress.norm_b == whole.residual[0] &&
                part.progress.residual == whole.residual[saved],
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

      /* Overwrite the vectors of the solve with garbage before it continues. */
      reset(s);
      memcpy(s->x, part.x, n * sizeof *x);
      memcpy(s->b, part.r, n * sizeof *x);
      const sp_cg_progress progress = part.progress;
      options.start = &progress;
      options.start_p = part.p;
      forget(&part, SP_CG_CONTINUE, 1);
      CHECK(solve(s, s->by[with], &options, &result) == SP_OK, "%s", sp_error_message());
      CHECK(result.iterations == expected.iterations && result.first == saved,
            "%d iterations from %d, not %d", (int)result.iterations, (int)result.first,
            (int)expected.iterations);
      CHECK(part.calls == expected.iterations - saved + 1, "%d calls", part.calls);
      CHECK(memcmp(&part.residual[saved], &whole.residual[saved],
                   (size_t)part.calls * sizeof(double)) == 0,
            "the residuals from iteration %d on differ", (int)saved);
      CHECK(memcmp(x, s->x, n * sizeof *x) == 0, "continued from %d, the solution differs",
            (int)saved);
      /* The limit counts all iterations. */
      if (stop == 0 && a == 2) {
        options.max_iterations = (int)saved;
        forget(&part, SP_CG_CONTINUE, 1);
        memcpy(s->x, part.x, n * sizeof *x);
        CHECK(solve(s, s->by[with], &options, &result) == SP_ERR_NOT_CONVERGED &&
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

/* A state saved at the end can continue to a smaller tolerance. */
static void check_smaller_tolerance(system_t *s, preconditioning with) {
  const size_t n = (size_t)s->op->dofs;
  static saving whole, part;
  sp_cg_result result, expected;
  double *x = test_allocate(n, sizeof *x), *kept = test_allocate(6 * n, sizeof *kept);
  saving *const both[] = {&whole, &part};
  for (int i = 0; i < 2; i++) {
    both[i]->system = s;
    both[i]->x = kept + (size_t)(3 * i) * n;
    both[i]->r = both[i]->x + n;
    both[i]->p = both[i]->r + n;
    forget(both[i], SP_CG_CONTINUE, 1);
  }
  sp_cg_options options = {.tolerance = 1e-10,
                           .max_iterations = 300,
                           .on_iteration = count_iterations,
                           .save = keep,
                           .context = &whole};
  reset(s);
  CHECK(solve(s, s->by[with], &options, &expected) == SP_OK, "%s", sp_error_message());
  memcpy(x, s->x, n * sizeof *x);

  options.tolerance = 1e-4;
  options.context = &part;
  reset(s);
  CHECK(solve(s, s->by[with], &options, &result) == SP_OK, "%s", sp_error_message());
  CHECK(part.saves == 1 && part.progress.iteration == result.iterations &&
            result.iterations < expected.iterations,
        "%d saves, %d iterations", part.saves, (int)result.iterations);

  const sp_cg_progress progress = part.progress;
  memcpy(s->x, part.x, n * sizeof *x);
  memcpy(s->b, part.r, n * sizeof *x);
  options.tolerance = 1e-10;
  options.start = &progress;
  options.start_p = part.p;
  forget(&part, SP_CG_CONTINUE, 1);
  CHECK(solve(s, s->by[with], &options, &result) == SP_OK, "%s", sp_error_message());
  CHECK(result.iterations == expected.iterations, "%d iterations, not %d", (int)result.iterations,
        (int)expected.iterations);
  CHECK(memcmp(x, s->x, n * sizeof *x) == 0, "the solution differs");
  free(kept);
  free(x);
}

/* A state saved with one preconditioner and continued with another: the iteration starts anew from
 * x, as from a state without an old direction, and converges. */
static void check_other_preconditioner(system_t *s, preconditioning before,
                                       preconditioning afterwards) {
  const size_t n = (size_t)s->op->dofs;
  static saving part;
  sp_cg_result result;
  double *x = test_allocate(4 * n, sizeof *x);
  part.system = s;
  part.x = x + n;
  part.r = part.x + n;
  part.p = part.r + n;
  sp_cg_options options = {.tolerance = 1e-3,
                           .max_iterations = 300,
                           .on_iteration = count_iterations,
                           .save = keep,
                           .context = &part};
  forget(&part, SP_CG_CONTINUE, 1);
  reset(s);
  CHECK(solve(s, s->by[before], &options, &result) == SP_OK, "%s", sp_error_message());
  CHECK(part.saves == 1, "%d saves", part.saves);
  sp_cg_progress progress = part.progress;
  options.tolerance = 1e-10;
  options.save = NULL;
  options.start = &progress;
  options.start_p = part.p;
  for (int anew = 0; anew < 2; anew++) {
    if (anew) progress.rz = progress.beta = 0;
    forget(&part, SP_CG_CONTINUE, 1);
    memcpy(s->x, part.x, n * sizeof *x);
    memcpy(s->b, part.r, n * sizeof *x);
    CHECK(solve(s, s->by[afterwards], &options, &result) == SP_OK, "%s", sp_error_message());
    if (!anew) memcpy(x, s->x, n * sizeof *x);
  }
  CHECK(memcmp(x, s->x, n * sizeof *x) == 0, "preconditioner %d after %d: not started anew",
        (int)afterwards, (int)before);
  free(x);
}

static void check_all(system_t *s) {
  check_other_preconditioner(s, PLAIN, JACOBI);
  check_other_preconditioner(s, PLAIN, APPLIED);
  check_other_preconditioner(s, APPLIED, PLAIN);
  for (preconditioning with = PLAIN; with < PRECONDITIONINGS; with++) {
    check_continuation(s, with);
    check_smaller_tolerance(s, with);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bench_open(argc, argv, &backend);
  const sp_box box = {.elements = {4, 3, 3}, .upper = {1, 1, 1}, .map = SP_MAP_SINE};
  system_t s;
  system_create(&backend, &box, 5, 1, &s);
  check_all(&s);
  if (backend.backend == &sp_backend_host) {
    stand_in(&s, true);
    check_all(&s);
    stand_in(&s, false);
  }
  system_destroy(&s);
  if (backend.backend->sweep) {
    one_sweep = true;
    system_create(&backend, &box, 5, 1, &s);
    check_all(&s);
    system_destroy(&s);
  }
  bench_close(&backend);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
