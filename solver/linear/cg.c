#include "solver/linear/cg.h"

#include <math.h>
#include <stdlib.h>

typedef struct solve {
  sp_operator *op;
  sp_preconditioner *preconditioner; /* NULL where the passes do it: none, or a diagonal */
  const sp_cg_options *options;
  sp_cg_vectors vectors;
  sp_cg_progress at;
  sp_cg_result *result;
  sp_cg_request requested; /* of all ranks, as of the last iteration */
  sp_status reported;      /* what this rank's on_iteration returned last */
  double pending;          /* alpha of the step that x and r lack; 0: none */
  double begun, looked;    /* MPI_Wtime at the start of the loop and in the last `since` */
  double known;            /* and when this rank knew the residual */
  double *seconds;         /* [SP_CG_BATCH][ranks] on rank 0: of the last matvecs; else NULL */
} solve;

/* Tell the caller; a failure there is agreed on in the next reduction, and is the last call.
 * `seconds`: of the matvec on this rank, and by rank on rank 0; applied = false: there was none. */
static void report(solve *s, bool applied, double own_seconds, const double *seconds) {
  const sp_cg_options *options = s->options;
  s->result->iterations = s->at.iteration;
  s->result->residual = s->at.residual;
  s->result->relative = s->at.norm_b > 0 ? s->at.residual / s->at.norm_b : 0;
  if (!options->on_iteration || s->reported) return;
  int size;
  double longest = own_seconds;
  MPI_Comm_size(s->op->comm, &size);
  for (int r = 0; r < size && seconds; r++) longest = fmax(longest, seconds[r]);
  const sp_cg_iteration iteration = {.iteration = s->at.iteration,
                                     .applied = applied,
                                     .residual = s->result->residual,
                                     .relative = s->result->relative,
                                     .seconds = s->known - s->begun - s->result->save_seconds,
                                     .matvec_seconds = longest,
                                     .seconds_by_rank = seconds};
  s->reported = options->on_iteration(&iteration, options->context);
}

/* A moment, and the seconds that sums over ranks had taken until then. */
typedef struct moment {
  double now, in_sums;
} moment;

static moment look(const solve *s) {
  return (moment){MPI_Wtime(), sp_reduction_seconds(s->op->reduction)};
}

/* Seconds since `then`, without those in sums over ranks, which have their own row. */
static double since(solve *s, moment then) {
  const moment at = look(s);
  s->looked = at.now;
  return at.now - then.now - (at.in_sums - then.in_sums);
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
static void make_request(const solve *s) {
  const sp_cg_options *options = s->options;
  if (options->request)
    sp_reduction_request(s->op->reduction, (int)options->request(options->context));
}

/* The step that x and r lack, with the sums of the new r. */
static sp_status settle(solve *s, double *rr, double *rz) {
  const moment start = look(s);
  const double alpha = s->pending;
  s->pending = 0;
  const sp_status status = sp_operator_update(s->op, alpha, &s->vectors, rr, rz);
  s->result->update_seconds += since(s, start);
  return status;
}

static sp_status save(solve *s) {
  if (!s->options->save) return SP_OK;
  const double start = MPI_Wtime();
  const sp_status status = s->options->save(&s->at, &s->vectors, s->options->context);
  s->result->save_seconds += MPI_Wtime() - start;
  s->result->saves++;
  return status;
}

/* Whether there is another iteration. All ranks decide alike. */
static sp_status before_next(solve *s) {
  const bool exhausted = s->at.iteration >= s->options->max_iterations;
  if (!exhausted && s->requested == SP_CG_CONTINUE) return SP_OK;
  SP_TRY(sp_agree(s->op->comm, s->reported));
  double rr, rz;
  if (s->pending != 0) SP_TRY(settle(s, &rr, &rz));
  SP_TRY(save(s));
  if (exhausted)
    return sp_fail(SP_ERR_NOT_CONVERGED,
                   "not converged: relative residual %.3g after %lld iterations, the tolerance is "
                   "%.3g",
                   s->result->relative, (long long)s->at.iteration, s->options->tolerance);
  if (s->requested == SP_CG_STOP)
    return sp_fail(SP_ERR_INTERRUPTED,
                   "interrupted after %lld iterations with a relative residual of %.3g",
                   (long long)s->at.iteration, s->result->relative);
  s->requested = SP_CG_CONTINUE;
  return SP_OK;
}

static void advance(solve *s, double rr, double rz) {
  s->at.iteration = s->result->iterations;
  s->at.residual = sqrt(rr);
  s->at.beta = rz / s->at.rz;
  s->at.rz = rz;
}

/* z = B r and *rz = r.z, unless the passes have done so; `norm` is ||r||. */
static sp_status precondition(solve *s, double norm, double *rz) {
  if (!s->preconditioner) return SP_OK;
  const moment start = look(s);
  const sp_status status =
      s->preconditioner->apply(s->preconditioner, norm, s->vectors.r, s->vectors.z);
  SP_TRY(sp_operator_dot(s->op, s->vectors.r, s->vectors.z, status, rz));
  s->result->preconditioner_seconds += since(s, start);
  if (*rz > 0 && !isinf(*rz)) return SP_OK;
  return sp_fail(SP_ERR_BREAKDOWN,
                 "conjugate gradients broke down in iteration %lld: r.z = %g; expected a finite, "
                 "positive number: the preconditioner '%s' is not positive definite here, try "
                 "solver.preconditioner = jacobi",
                 (long long)s->result->iterations, *rz, s->preconditioner->name);
}

static sp_status iterate(solve *s) {
  sp_operator *op = s->op;
  while (!is_converged(s)) {
    SP_TRY(before_next(s));
    double p_ap, rr, rz;
    SP_TRY(sp_operator_direction(op, s->at.beta, &s->vectors, s->reported, &p_ap));
    s->result->matvec_seconds += op->seconds;
    s->result->wait_seconds += op->waited;
    s->result->iterations++;
    if (!(p_ap > 0) || isinf(p_ap)) return breakdown(s, "p.Ap", p_ap);

    const moment start = look(s);
    make_request(s);
    SP_TRY(sp_operator_update(op, s->at.rz / p_ap, &s->vectors, &rr, &rz));
    s->requested = (sp_cg_request)sp_reduction_requested(op->reduction);
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, 1, &op->seconds, s->seconds);
    s->result->update_seconds += since(s, start);
    s->known = s->looked;
    if (!isfinite(rr)) return breakdown(s, "r.r", rr);
    /* The last application of B is for those who continue with a smaller tolerance. */
    const bool last = sqrt(rr) <= s->options->tolerance * s->at.norm_b && !s->options->save;
    if (rr > 0 && !last) SP_TRY(precondition(s, sqrt(rr), &rz));
    advance(s, rr, rz);
    report(s, true, op->seconds, s->seconds);
  }
  return SP_OK;
}

/* a - 2 alpha b + alpha^2 c, the sum a after a step of alpha. *exact becomes false where so much
 * cancels that 1e-15 of `a`, the rounding of sums, could be more than 1e-11 of the result. */
static double after_step(double alpha, double a, double b, double c, bool *exact) {
  const double after = a - 2 * alpha * b + alpha * alpha * c;
  *exact = *exact && after >= 1e-4 * a;
  return after;
}

/* The same in one sweep over memory per iteration (arXiv 2205.08909): it does the vector updates of
 * the iteration before, and its sums give those of the next residual before there is one (cg.h).
 * r itself is updated as always, and its sums are computed anew in each sweep, so errors of the
 * formula do not add up. Where it cancels, the step is done at once. A state is saved after the
 * step has been done, which changes no bit of the next sweep's. */
static sp_status iterate_in_sweeps(solve *s) {
  sp_operator *op = s->op;
  while (!is_converged(s)) {
    SP_TRY(before_next(s));
    double sums[SP_CG_SUMS];
    make_request(s);
    const double pending = s->pending;
    s->pending = 0;
    SP_TRY(sp_operator_sweep(op, pending, s->at.beta, &s->vectors, s->reported, sums));
    s->requested = (sp_cg_request)sp_reduction_requested(op->reduction);
    s->result->matvec_seconds += op->seconds;
    s->result->wait_seconds += op->waited;
    s->result->update_seconds += op->updating;
    s->result->iterations++;
    const double p_ap = sums[SP_CG_P_AP];
    if (!(p_ap > 0) || isinf(p_ap)) return breakdown(s, "p.Ap", p_ap);

    const moment start = look(s);
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, 1, &op->seconds, s->seconds);
    s->result->update_seconds += since(s, start);
    s->known = s->looked;
    bool exact = true;
    const double alpha = sums[SP_CG_RZ] / p_ap;
    double rr = after_step(alpha, sums[SP_CG_RR], sums[SP_CG_R_AP], sums[SP_CG_AP_AP], &exact);
    double rz = after_step(alpha, sums[SP_CG_RZ], sums[SP_CG_Z_AP], sums[SP_CG_AP_D_AP], &exact);
    s->at.rz = sums[SP_CG_RZ];
    s->pending = alpha;
    if (!exact) SP_TRY(settle(s, &rr, &rz));
    if (!isfinite(rr)) return breakdown(s, "r.r", rr);
    advance(s, rr, rz);
    report(s, true, op->seconds, s->seconds);
  }
  double unused[2];
  return s->pending != 0 ? settle(s, &unused[0], &unused[1]) : SP_OK;
}

/* The largest rr with sqrt(rr) <= norm: devices compare squares, and must stop at the same
 * iteration as the host. */
static double largest_square(double norm) {
  double square = norm * norm;
  while (sqrt(square) > norm) square = nextafter(square, 0);
  while (sqrt(nextafter(square, INFINITY)) <= norm) square = nextafter(square, INFINITY);
  return square;
}

/* The same on devices that do whole iterations without the host: it looks at the residuals of a
 * batch when that is over. Batches grow, so that a short solve does not wait for a long batch. All
 * ranks see the same sums and decide alike. */
static sp_status iterate_on_device(solve *s) {
  sp_operator *op = s->op;
  sp_cg_record records[SP_CG_BATCH];
  double seconds[SP_CG_BATCH];
  int size;
  MPI_Comm_size(op->comm, &size);
  const double target = largest_square(s->options->tolerance * s->at.norm_b);
  for (int batch = 4; !is_converged(s);) {
    SP_TRY(sp_agree(op->comm, s->reported));
    SP_TRY(before_next(s));
    const sp_cg_state state = {.beta = s->at.beta, .rz = s->at.rz, .target = target};
    const int64_t left = s->options->max_iterations - s->at.iteration;
    int done = 0;
    const moment start = look(s);
    const sp_status status = op->backend->iterate(op->local, &s->vectors, &state,
                                                  left < batch ? (int)left : batch, records, &done);
    make_request(s);
    SP_TRY(sp_reduction_sum(op->reduction, 0, NULL, status ? status : s->reported));
    s->requested = (sp_cg_request)sp_reduction_requested(op->reduction);
    for (int i = 0; i < done; i++) seconds[i] = records[i].seconds;
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, done, seconds, s->seconds);
    s->result->update_seconds += since(s, start);
    for (int i = 0; i < done; i++) {
      const sp_cg_record *record = &records[i];
      s->result->iterations++;
      if (!(record->p_ap > 0) || isinf(record->p_ap)) return breakdown(s, "p.Ap", record->p_ap);
      s->result->matvec_seconds += record->seconds;
      s->result->update_seconds -= record->seconds;
      if (!isfinite(record->rr)) return breakdown(s, "r.r", record->rr);
      advance(s, record->rr, record->rz);
      s->known = start.now + (s->looked - start.now) * (i + 1) / done;
      report(s, true, record->seconds, s->seconds ? s->seconds + (ptrdiff_t)i * size : NULL);
    }
    if (batch < SP_CG_BATCH) batch *= 2;
  }
  return SP_OK;
}

/* With a step of zero, pass 2 leaves x and r = b alone and gives the first sums. */
static sp_status begin(solve *s) {
  double rr, rz;
  const moment start = look(s);
  SP_TRY(sp_operator_update(s->op, 0, &s->vectors, &rr, &rz));
  s->result->update_seconds += since(s, start);
  s->known = s->looked;
  if (!isfinite(rr)) return breakdown(s, "b.b", rr);
  if (rr > 0) SP_TRY(precondition(s, sqrt(rr), &rz));
  s->at = (sp_cg_progress){.norm_b = sqrt(rr), .residual = sqrt(rr), .rz = rz};
  return SP_OK;
}

/* z of the residual that a solve continues with: it is not saved, since r determines it. If r.z is
 * another one than was saved, beyond rounding, so is the preconditioner (`auto` depends on the
 * device): the iteration then starts anew from x. */
static sp_status resume(solve *s) {
  double rr, rz;
  if (is_converged(s)) return SP_OK;
  const moment start = look(s);
  SP_TRY(sp_operator_update(s->op, 0, &s->vectors, &rr, &rz));
  s->result->update_seconds += since(s, start);
  SP_TRY(precondition(s, s->at.residual, &rz));
  if (fabs(rz - s->at.rz) <= 1e-3 * fabs(s->at.rz)) return SP_OK;
  s->at.rz = rz;
  s->at.beta = 0;
  return SP_OK;
}

static sp_status create_vectors(solve *s) {
  const sp_backend *backend = s->op->backend;
  sp_device *device = s->op->device;
  const size_t dofs = (size_t)s->op->dofs;
  int rank, size;
  MPI_Comm_rank(s->op->comm, &rank);
  MPI_Comm_size(s->op->comm, &size);
  if (rank == 0)
    SP_TRY(sp_allocate((size_t)size * SP_CG_BATCH, sizeof *s->seconds, "times of matvecs",
                       &s->seconds));
  SP_TRY(backend->vector_create(device, SP_DOUBLE, dofs, &s->vectors.p));
  SP_TRY(backend->vector_create(device, SP_DOUBLE, dofs, &s->vectors.ap));
  s->vectors.next_p = s->vectors.p;
  if (backend->two_directions)
    SP_TRY(backend->vector_create(device, SP_DOUBLE, dofs, &s->vectors.next_p));
  s->vectors.z = s->vectors.r;
  if (s->preconditioner) SP_TRY(backend->vector_create(device, SP_DOUBLE, dofs, &s->vectors.z));
  if (!s->options->start) return SP_OK;
  s->at = *s->options->start;
  return backend->upload(device, SP_DOUBLE, dofs, s->options->start_p, s->vectors.p);
}

static void destroy_vectors(solve *s) {
  const sp_backend *backend = s->op->backend;
  sp_device *device = s->op->device;
  if (s->vectors.next_p != s->vectors.p) backend->vector_destroy(device, &s->vectors.next_p);
  if (s->vectors.z != s->vectors.r) backend->vector_destroy(device, &s->vectors.z);
  backend->vector_destroy(device, &s->vectors.p);
  backend->vector_destroy(device, &s->vectors.ap);
  free(s->seconds);
}

bool sp_cg_prefers_one_sweep(const sp_backend *backend, sp_operator_kind kind,
                             sp_geometry_kind geometry, int order) {
  return backend->sweep && backend->faster_in_one_sweep(kind, geometry, order);
}

bool sp_cg_is_in_one_sweep(const sp_operator *op, const sp_preconditioner *preconditioner) {
  return op->sweeps && !op->iterates && (!preconditioner || preconditioner->inverse_diagonal);
}

sp_status sp_cg_solve(sp_operator *op, sp_preconditioner *preconditioner,
                      const sp_cg_options *options, double *b, double *x, sp_cg_result *result) {
  const double *inverse_diagonal = preconditioner ? preconditioner->inverse_diagonal : NULL;
  solve s = {.op = op,
             .preconditioner = inverse_diagonal ? NULL : preconditioner,
             .options = options,
             .vectors = {.x = x, .r = b, .inverse_diagonal = inverse_diagonal},
             .result = result};
  *result = (sp_cg_result){0};
  sp_status status = sp_agree(op->comm, create_vectors(&s));
  if (!status) {
    const moment start = look(&s);
    s.begun = s.known = start.now;
    result->first = result->iterations = s.at.iteration;
    status = options->start ? resume(&s) : begin(&s);
    if (!status) {
      report(&s, false, 0, NULL);
      status = sp_cg_is_in_one_sweep(op, preconditioner) ? iterate_in_sweeps(&s)
               : op->iterates && !s.preconditioner       ? iterate_on_device(&s)
                                                         : iterate(&s);
    }
    if (!status) status = sp_agree(op->comm, s.reported);
    if (!status) status = save(&s);
    const moment end = look(&s);
    result->seconds = end.now - start.now - result->save_seconds;
    result->reduction_seconds = end.in_sums - start.in_sums;
  }
  sp_reduction_request(op->reduction, SP_CG_CONTINUE);
  destroy_vectors(&s);
  return status;
}
