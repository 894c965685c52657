#include "solver/linear/cg.h"

#include <math.h>

typedef struct solve {
  sp_operator *op;
  const sp_cg_options *options;
  sp_cg_vectors vectors;
  sp_cg_progress at;
  sp_cg_result *result;
  sp_cg_wish wish;    /* of all ranks, as of the last iteration */
  sp_status reported; /* what this rank's on_iteration returned last */
} solve;

/* Tell the caller; a failure there is agreed on in the next reduction, and the last thing it hears.
 * `seconds` are those of the ranks. */
static void report(solve *s, bool applied, const double *seconds) {
  const sp_cg_options *options = s->options;
  s->result->iterations = s->at.iteration;
  s->result->residual = s->at.residual;
  s->result->relative = s->at.norm_b > 0 ? s->at.residual / s->at.norm_b : 0;
  if (!options->on_iteration || s->reported) return;
  int size;
  double longest = 0;
  MPI_Comm_size(s->op->comm, &size);
  for (int r = 0; r < size && applied; r++) longest = fmax(longest, seconds[r]);
  const sp_cg_iteration iteration = {.iteration = s->at.iteration,
                                     .applied = applied,
                                     .residual = s->result->residual,
                                     .relative = s->result->relative,
                                     .matvec_seconds = longest,
                                     .seconds_by_rank = seconds};
  s->reported = options->on_iteration(&iteration, options->context);
}

static sp_status breakdown(const solve *s, const char *what, double value) {
  return sp_fail(SP_ERR_BREAKDOWN,
                 "conjugate gradients broke down in iteration %lld: %s = %g; expected a finite, "
                 "positive number (is the operator positive definite, are the data finite?)",
                 (long long)s->result->iterations, what, value);
}

static bool is_converged(const solve *s) {
  return s->at.residual <= s->options->tolerance * s->at.norm_b;
}

/* What the next reduction is to carry to the other ranks. */
static void make_wish(const solve *s) {
  const sp_cg_options *options = s->options;
  if (options->wish) sp_exchange_set_wish(s->op->exchange, (int)options->wish(options->context));
}

static sp_status save(solve *s) {
  if (!s->options->save) return SP_OK;
  const double start = MPI_Wtime();
  const sp_status status = s->options->save(&s->at, &s->vectors, s->options->context);
  s->result->save_seconds += MPI_Wtime() - start;
  s->result->saves++;
  return status;
}

/* Between two iterations: whether there shall be another one. All ranks decide alike. */
static sp_status before_next(solve *s) {
  const bool exhausted = s->at.iteration >= s->options->max_iterations;
  if (!exhausted && s->wish == SP_CG_CONTINUE) return SP_OK;
  SP_TRY(sp_agree(s->op->comm, s->reported));
  SP_TRY(save(s));
  if (exhausted)
    return sp_fail(SP_ERR_NOT_CONVERGED,
                   "not converged: relative residual %.3g after %lld iterations, the tolerance is "
                   "%.3g",
                   s->result->relative, (long long)s->at.iteration, s->options->tolerance);
  if (s->wish == SP_CG_STOP)
    return sp_fail(SP_ERR_INTERRUPTED,
                   "interrupted after %lld iterations with a relative residual of %.3g",
                   (long long)s->at.iteration, s->result->relative);
  s->wish = SP_CG_CONTINUE;
  return SP_OK;
}

static void advance(solve *s, double rr, double rz) {
  s->at.iteration = s->result->iterations;
  s->at.residual = sqrt(rr);
  s->at.beta = rz / s->at.rz;
  s->at.rz = rz;
}

static sp_status iterate(solve *s) {
  sp_operator *op = s->op;
  while (!is_converged(s)) {
    SP_TRY(before_next(s));
    double p_ap, rr, rz;
    SP_TRY(sp_operator_direction(op, s->at.beta, &s->vectors, s->reported, &p_ap));
    s->result->matvec_seconds += op->seconds;
    s->result->iterations++;
    if (!(p_ap > 0) || isinf(p_ap)) return breakdown(s, "p.Ap", p_ap);

    const double start = MPI_Wtime();
    make_wish(s);
    SP_TRY(sp_operator_update(op, s->at.rz / p_ap, &s->vectors, &rr, &rz));
    s->wish = (sp_cg_wish)sp_exchange_wish(op->exchange);
    s->result->update_seconds += MPI_Wtime() - start;
    if (!isfinite(rr)) return breakdown(s, "r.r", rr);
    advance(s, rr, rz);
    report(s, true, sp_exchange_seconds(op->exchange));
  }
  return SP_OK;
}

/* The largest rr with sqrt(rr) <= norm: devices compare squares, and have to end where the host
 * would. */
static double largest_square(double norm) {
  double square = norm * norm;
  while (sqrt(square) > norm) square = nextafter(square, 0);
  while (sqrt(nextafter(square, INFINITY)) <= norm) square = nextafter(square, INFINITY);
  return square;
}

/* The same on devices that do whole iterations by themselves: the host looks at the residuals of a
 * batch when it is over, and the batches grow, so that a short solve does not wait for a long
 * batch. All ranks see the same sums and decide alike. */
static sp_status iterate_on_device(solve *s) {
  enum { LARGEST_BATCH = SP_EXCHANGE_TIMES };
  sp_operator *op = s->op;
  sp_cg_record records[LARGEST_BATCH];
  double seconds[LARGEST_BATCH];
  int size;
  MPI_Comm_size(op->comm, &size);
  const double target = largest_square(s->options->tolerance * s->at.norm_b);
  for (int batch = 4; !is_converged(s);) {
    SP_TRY(sp_agree(op->comm, s->reported));
    SP_TRY(before_next(s));
    const sp_cg_state state = {.beta = s->at.beta, .rz = s->at.rz, .target = target};
    const int64_t left = s->options->max_iterations - s->at.iteration;
    int done;
    const double start = MPI_Wtime();
    const sp_status status = op->backend->iterate(op->local, &s->vectors, &state,
                                                  left < batch ? (int)left : batch, records, &done);
    SP_TRY(sp_agree(op->comm, status));
    s->result->update_seconds += MPI_Wtime() - start;
    make_wish(s);
    for (int i = 0; i < done; i++) seconds[i] = records[i].seconds;
    SP_TRY(sp_exchange_times(op->exchange, done, seconds, s->reported));
    for (int i = 0; i < done; i++) {
      const sp_cg_record *record = &records[i];
      s->result->iterations++;
      if (!(record->p_ap > 0) || isinf(record->p_ap)) return breakdown(s, "p.Ap", record->p_ap);
      s->result->matvec_seconds += record->seconds;
      s->result->update_seconds -= record->seconds;
      if (!isfinite(record->rr)) return breakdown(s, "r.r", record->rr);
      advance(s, record->rr, record->rz);
      report(s, true, sp_exchange_seconds(op->exchange) + (ptrdiff_t)i * size);
    }
    s->wish = (sp_cg_wish)sp_exchange_wish(op->exchange);
    if (batch < LARGEST_BATCH) batch *= 2;
  }
  return SP_OK;
}

/* With a step of zero, pass 2 leaves x and r = b alone and gives the first sums. */
static sp_status begin(solve *s) {
  double rr, rz;
  SP_TRY(sp_operator_update(s->op, 0, &s->vectors, &rr, &rz));
  if (!isfinite(rr)) return breakdown(s, "b.b", rr);
  s->at = (sp_cg_progress){.norm_b = sqrt(rr), .residual = sqrt(rr), .rz = rz};
  return SP_OK;
}

static sp_status create_vectors(solve *s) {
  const sp_backend *backend = s->op->backend;
  const size_t dofs = (size_t)s->op->dofs;
  SP_TRY(backend->vector_create(s->op->device, dofs, &s->vectors.p));
  SP_TRY(backend->vector_create(s->op->device, dofs, &s->vectors.ap));
  if (backend->two_directions)
    SP_TRY(backend->vector_create(s->op->device, dofs, &s->vectors.next_p));
  else
    s->vectors.next_p = s->vectors.p;
  if (!s->options->start) return SP_OK;
  s->at = *s->options->start;
  return backend->upload(s->op->device, dofs, s->options->start_p, s->vectors.p);
}

static void destroy_vectors(solve *s) {
  const sp_backend *backend = s->op->backend;
  if (backend->two_directions) backend->vector_destroy(s->op->device, &s->vectors.next_p);
  backend->vector_destroy(s->op->device, &s->vectors.p);
  backend->vector_destroy(s->op->device, &s->vectors.ap);
}

sp_status sp_cg_solve(sp_operator *op, const double *inverse_diagonal, const sp_cg_options *options,
                      double *b, double *x, sp_cg_result *result) {
  solve s = {.op = op,
             .options = options,
             .vectors = {.x = x, .r = b, .inverse_diagonal = inverse_diagonal},
             .result = result};
  *result = (sp_cg_result){0};
  sp_status status = sp_agree(op->comm, create_vectors(&s));
  if (!status) {
    const double start = MPI_Wtime();
    result->first = s.at.iteration;
    if (!options->start) status = begin(&s);
    if (!status) {
      report(&s, false, sp_exchange_seconds(op->exchange));
      status = op->iterates ? iterate_on_device(&s) : iterate(&s);
    }
    if (!status) status = sp_agree(op->comm, s.reported);
    if (!status) status = save(&s);
    result->seconds = MPI_Wtime() - start - result->save_seconds;
  }
  sp_exchange_set_wish(op->exchange, SP_CG_CONTINUE);
  destroy_vectors(&s);
  return status;
}
