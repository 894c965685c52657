#include "solver/linear/cg.h"

#include <math.h>
#include <stdlib.h>

#include "solver/linear/energy.h"

typedef struct solve {
  sp_operator *op;
  sp_preconditioner
      *preconditioner; /* NULL if there is none, or a diagonal that the passes apply */
  const sp_cg_options *options;
  const sp_vector *b;
  sp_vector p, next_p, ap, z; /* next_p and z only if they are needed */
  sp_cg_vectors vectors;
  double norm_b, residual; /* ||b||, ||r|| */
  double rz, beta;         /* r.z, and the factor of p in the next direction */
  sp_energy energy;
  sp_cg_result *result;
  bool in_sweeps;          /* one sweep over memory per iteration */
  bool interrupted;        /* on any rank, as of the last iteration */
  sp_status reported;      /* last result of this rank's on_iteration */
  double pending;          /* alpha of the deferred update of x and r; 0: none */
  double begun, last_time; /* MPI_Wtime at the start of the loop and in the last `since` */
  double known;            /* MPI_Wtime when this rank got the residual */
  double *seconds; /* [SP_CG_BATCH][ranks] on rank 0: of the last matvecs; NULL on other ranks */
} solve;

/* Call on_iteration. If it fails it is not called again, and the next reduction tells all ranks.
 * Times of the matvec: own_seconds on this rank, seconds[rank] on rank 0; applied = false: there
 * was no matvec. */
static void report_iteration(solve *s, bool applied, double own_seconds, const double *seconds) {
  const sp_cg_options *options = s->options;
  sp_cg_result *result = s->result;
  result->residual = s->residual;
  result->relative = s->norm_b > 0 ? s->residual / s->norm_b : 0;
  result->error = s->residual > 0 ? sp_energy_error(&s->energy) : 0;
  result->energy = sqrt(s->energy.sum);
  if (!options->on_iteration || s->reported) return;
  const int size = sp_comm_size(s->op->comm);
  double longest = own_seconds;
  for (int r = 0; r < size && seconds; r++) longest = fmax(longest, seconds[r]);
  const sp_cg_iteration iteration = {.iteration = result->iterations,
                                     .applied = applied,
                                     .residual = result->residual,
                                     .relative = result->relative,
                                     .error = result->error,
                                     .seconds = s->known - s->begun,
                                     .matvec_seconds = longest,
                                     .seconds_by_rank = seconds};
  s->reported = options->on_iteration(&iteration, options->context);
}

/* A time stamp, and the seconds that sums over ranks had taken by then. */
typedef struct moment {
  double now, in_sums;
} moment;

static moment read_clock(const solve *s) {
  return (moment){MPI_Wtime(), sp_reduction_seconds(s->op->reduction)};
}

/* Return the seconds since `then`, without sums over ranks, which have their own row in the
 * profile. */
static double seconds_since(solve *s, moment then) {
  const moment at = read_clock(s);
  s->last_time = at.now;
  return at.now - then.now - (at.in_sums - then.in_sums);
}

static sp_status fail_breakdown(const solve *s, const char *what, double value) {
  return sp_fail(SP_ERR_BREAKDOWN,
                 "conjugate gradients broke down in iteration %lld: %s = %g; expected a finite, "
                 "positive number (is the operator positive definite, are the data finite?)",
                 (long long)s->result->iterations, what, value);
}

static bool is_converged(const solve *s) {
  const bool by_energy = s->options->criterion == SP_CG_ENERGY;
  return s->residual == 0 || (by_energy ? sp_energy_is_met(&s->energy)
                                        : s->residual <= s->options->tolerance * s->norm_b);
}

/* Let the next reduction tell the other ranks of an interruption. */
static void request_end(const solve *s) {
  const sp_cg_options *options = s->options;
  if (options->is_interrupted)
    sp_reduction_request(s->op->reduction, options->is_interrupted(options->context));
}

static void see_requests(solve *s) {
  s->interrupted = sp_reduction_requested(s->op->reduction) > 0;
}

/* Apply the deferred update of x and r, and sum the new r. */
static sp_status apply_deferred_update(solve *s, double *rr, double *rz) {
  const moment start = read_clock(s);
  const double alpha = s->pending;
  s->pending = 0;
  const sp_status status = sp_operator_update(s->op, alpha, &s->vectors, rr, rz);
  s->result->update_seconds += seconds_since(s, start);
  return status;
}

static sp_status not_converged(const solve *s) {
  const sp_cg_result *r = s->result;
  const bool of_error = s->options->criterion == SP_CG_ENERGY;
  const bool known = of_error && isfinite(r->error), met = r->error <= s->options->tolerance;
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "not converged: %s %.3g after %lld iteration%s, the tolerance is %.3g%s",
                 known ? "estimated error" : "relative residual", known ? r->error : r->relative,
                 (long long)r->iterations, sp_plural(r->iterations), s->options->tolerance,
                 known && met         ? ", but too few iterations in a row meet it"
                 : of_error && !known ? " on the error"
                                      : "");
}

/* Check the limit of iterations and signals before the next iteration. All ranks decide alike. */
static sp_status before_next(solve *s) {
  const bool exhausted = s->result->iterations >= s->options->max_iterations;
  if (!exhausted && !s->interrupted) return SP_OK;
  SP_TRY(sp_agree(s->op->comm, s->reported));
  double rr, rz;
  if (s->pending != 0) SP_TRY(apply_deferred_update(s, &rr, &rz));
  if (exhausted) return not_converged(s);
  return sp_fail(
      SP_ERR_INTERRUPTED, "interrupted after %lld iteration%s with a relative residual of %.3g",
      (long long)s->result->iterations, sp_plural(s->result->iterations), s->result->relative);
}

/* Compute z = B r and *rz = r.z if the passes have not; `norm` is ||r||. */
static sp_status precondition_residual(solve *s, double norm, double *rz) {
  if (!s->preconditioner) return SP_OK;
  const moment start = read_clock(s);
  const sp_status status =
      s->preconditioner->apply(s->preconditioner, norm, s->vectors.r, s->vectors.z);
  SP_TRY(sp_operator_dot(s->op, s->vectors.r, s->vectors.z, status, rz));
  s->result->preconditioner_seconds += seconds_since(s, start);
  if (*rz > 0 && !isinf(*rz)) return SP_OK;
  return sp_fail(SP_ERR_BREAKDOWN,
                 "conjugate gradients broke down in iteration %lld: r.z = %g; expected a finite, "
                 "positive number: the preconditioner '%s' is not positive definite here%s%s",
                 (long long)s->result->iterations, *rz, s->preconditioner->name,
                 s->preconditioner->cure ? ", try " : "",
                 s->preconditioner->cure ? s->preconditioner->cure : "");
}

/* The tolerance is met: also compare the error with the solution. In one sweep x is one step
 * behind. */
static sp_status measure_solution(solve *s) {
  const moment start = read_clock(s);
  double energy;
  SP_TRY(s->options->measure(s->vectors.x, s->options->measured, &energy));
  sp_energy_limit(&s->energy, energy);
  s->result->residual_seconds += seconds_since(s, start);
  return SP_OK;
}

/* Record the residual after a step; `energy` = alpha r.z of the step. */
static sp_status note_step(solve *s, double energy, double rr) {
  if (!isfinite(rr)) return fail_breakdown(s, "r.r", rr);
  s->residual = sqrt(rr);
  SP_TRY(sp_energy_add(&s->energy, energy));
  const bool measures = s->options->measure && s->options->criterion == SP_CG_ENERGY;
  return measures && sp_energy_is_met(&s->energy) ? measure_solution(s) : SP_OK;
}

static void set_direction(solve *s, double rz) {
  s->beta = rz / s->rz;
  s->rz = rz;
}

/* Count an iteration after its pass over the operator. */
static sp_status count_pass(solve *s, const sp_pass_times *times, double p_ap) {
  s->result->matvec_seconds += times->matvec;
  s->result->wait_seconds += times->waited;
  s->result->iterations++;
  return p_ap > 0 && !isinf(p_ap) ? SP_OK : fail_breakdown(s, "p.Ap", p_ap);
}

static sp_status iterate_on_host(solve *s) {
  sp_operator *op = s->op;
  while (!is_converged(s)) {
    SP_TRY(before_next(s));
    double p_ap, rr, rz;
    sp_pass_times times;
    SP_TRY(sp_operator_direction(op, s->beta, &s->vectors, s->reported, &p_ap, &times));
    SP_TRY(count_pass(s, &times, p_ap));

    const moment start = read_clock(s);
    const double alpha = s->rz / p_ap;
    request_end(s);
    SP_TRY(sp_operator_update(op, alpha, &s->vectors, &rr, &rz));
    see_requests(s);
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, 1, &times.matvec, s->seconds);
    s->result->update_seconds += seconds_since(s, start);
    s->known = s->last_time;
    SP_TRY(note_step(s, alpha * s->rz, rr));
    if (!is_converged(s)) {
      SP_TRY(precondition_residual(s, s->residual, &rz));
      set_direction(s, rz);
    }
    report_iteration(s, true, times.matvec, s->seconds);
  }
  return SP_OK;
}

/* Return a - 2 alpha b + alpha^2 c: the sum a after a step of alpha. *exact becomes false if
 * cancellation is so strong that the rounding of sums, 1e-15 of `a`, may exceed 1e-11 of the
 * result. */
static double after_step(double alpha, double a, double b, double c, bool *exact) {
  const double after = a - 2 * alpha * b + alpha * alpha * c;
  *exact = *exact && after >= 1e-4 * a;
  return after;
}

/* Iterate with one sweep over memory per iteration (arXiv 2205.08909). A sweep does the vector
 * updates of the previous iteration. Its sums give the norms of the next residual before it exists
 * (cg.h). Errors of the formula do not accumulate: r is updated as always, and its sums are
 * computed anew in each sweep. If the formula cancels, the update is done at once. */
static sp_status iterate_in_sweeps(solve *s) {
  sp_operator *op = s->op;
  while (!is_converged(s)) {
    SP_TRY(before_next(s));
    double sums[SP_CG_SUMS];
    request_end(s);
    const double pending = s->pending;
    s->pending = 0;
    sp_pass_times times;
    SP_TRY(sp_operator_sweep(op, pending, s->beta, &s->vectors, s->reported, sums, &times));
    see_requests(s);
    s->result->update_seconds += times.updating;
    SP_TRY(count_pass(s, &times, sums[SP_CG_P_AP]));

    const moment start = read_clock(s);
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, 1, &times.matvec, s->seconds);
    s->result->update_seconds += seconds_since(s, start);
    s->known = s->last_time;
    bool exact = true;
    const double alpha = sums[SP_CG_RZ] / sums[SP_CG_P_AP];
    double rr = after_step(alpha, sums[SP_CG_RR], sums[SP_CG_R_AP], sums[SP_CG_AP_AP], &exact);
    double rz = after_step(alpha, sums[SP_CG_RZ], sums[SP_CG_Z_AP], sums[SP_CG_AP_D_AP], &exact);
    s->rz = sums[SP_CG_RZ];
    s->pending = alpha;
    if (!exact) SP_TRY(apply_deferred_update(s, &rr, &rz));
    SP_TRY(note_step(s, alpha * s->rz, rr));
    set_direction(s, rz);
    report_iteration(s, true, times.matvec, s->seconds);
  }
  double unused[2];
  return s->pending != 0 ? apply_deferred_update(s, &unused[0], &unused[1]) : SP_OK;
}

/* Return the largest rr with sqrt(rr) <= norm. Devices compare squares, and must stop at the same
 * iteration as the host. */
static double largest_square(double norm) {
  double square = norm * norm;
  while (sqrt(square) > norm) square = nextafter(square, 0);
  while (sqrt(nextafter(square, INFINITY)) <= norm) square = nextafter(square, INFINITY);
  return square;
}

/* Iterate on a device that does whole iterations without the host, which reads the residuals after
 * each batch. Batches grow, so that a short solve does not wait for a long batch. All ranks see the
 * same sums and decide alike. The device stops at the same iterations as the host: at the tolerance
 * on ||r||, or when the host estimates the error (solver/linear/energy.h). */
static sp_status iterate_on_device(solve *s) {
  sp_operator *op = s->op;
  sp_cg_record records[SP_CG_BATCH];
  double seconds[SP_CG_BATCH];
  const int size = sp_comm_size(op->comm);
  const bool by_energy = s->options->criterion == SP_CG_ENERGY;
  const double target = by_energy ? 0 : largest_square(s->options->tolerance * s->norm_b);
  for (int batch = 4; !is_converged(s);) {
    SP_TRY(sp_agree(op->comm, s->reported));
    SP_TRY(before_next(s));
    const sp_cg_state state = {.beta = s->beta,
                               .rz = s->rz,
                               .target = target,
                               .energy = s->energy.sum,
                               .share = by_energy ? s->energy.share : -1};
    const int64_t left = s->options->max_iterations - s->result->iterations;
    int done = 0;
    const moment start = read_clock(s);
    const sp_status status = sp_operator_iterate(op, &s->vectors, &state,
                                                 left < batch ? (int)left : batch, records, &done);
    request_end(s);
    SP_TRY(sp_reduction_sum(op->reduction, 0, NULL, status ? status : s->reported));
    see_requests(s);
    for (int i = 0; i < done; i++) seconds[i] = records[i].seconds;
    if (s->options->on_iteration) sp_reduction_gather(op->reduction, done, seconds, s->seconds);
    s->result->update_seconds += seconds_since(s, start);
    for (int i = 0; i < done; i++) {
      const sp_cg_record *record = &records[i];
      SP_TRY(count_pass(s, &(sp_pass_times){.matvec = record->seconds}, record->p_ap));
      s->result->update_seconds -= record->seconds;
      SP_TRY(note_step(s, s->rz / record->p_ap * s->rz, record->rr));
      set_direction(s, record->rz);
      s->known = start.now + (s->last_time - start.now) * (i + 1) / done;
      report_iteration(s, true, record->seconds,
                       s->seconds ? s->seconds + (ptrdiff_t)i * size : NULL);
    }
    if (batch < SP_CG_BATCH) batch *= 2;
  }
  return SP_OK;
}

/* Compute r = b - A x, or r = b if x is zero, and its sums. Pass 2 with alpha = 0 gives the sums
 * and does not change x and r. */
static sp_status compute_residual(solve *s, bool from_zero) {
  sp_operator *op = s->op;
  sp_vector *r = s->vectors.r;
  double rr;
  const moment start = read_clock(s);
  sp_status status = SP_OK;
  if (from_zero) {
    status = sp_vector_copy(s->b, r);
  } else {
    status = sp_operator_apply(op, true, s->vectors.x, r);
    if (!status) status = sp_vector_axpby(1, s->b, -1, r);
  }
  SP_TRY(sp_agree(op->comm, status));
  SP_TRY(sp_operator_update(op, 0, &s->vectors, &rr, &s->rz));
  s->result->residual_seconds += seconds_since(s, start);
  s->known = s->last_time;
  if (!isfinite(rr)) return fail_breakdown(s, "r.r", rr);
  s->residual = sqrt(rr);
  return SP_OK;
}

static sp_status find_norm_b(solve *s) {
  double bb;
  const moment start = read_clock(s);
  SP_TRY(sp_operator_dot(s->op, s->b, s->b, SP_OK, &bb));
  s->result->residual_seconds += seconds_since(s, start);
  if (!isfinite(bb)) return fail_breakdown(s, "b.b", bb);
  s->norm_b = sqrt(bb);
  return SP_OK;
}

static sp_status begin_iteration(solve *s) {
  SP_TRY(find_norm_b(s));
  SP_TRY(compute_residual(s, s->options->from_zero));
  if (s->residual > 0) SP_TRY(precondition_residual(s, s->residual, &s->rz));
  report_iteration(s, false, 0, NULL);
  return SP_OK;
}

/* ---- Final check ---- */

/* Replace r by b - A x and compare the two. *done becomes false if CG must continue from there.
 * `before` is r.z of the last comparison, infinite at the first. */
static sp_status look_at_residual(solve *s, double *before, bool *done) {
  const bool by_energy = s->options->criterion == SP_CG_ENERGY;
  const double updated = s->residual, tolerance = s->options->tolerance;
  double rounding;
  *done = true;
  SP_TRY(compute_residual(s, false));
  if (s->residual <= 2 * updated) return SP_OK;
  if (!by_energy && s->residual <= tolerance * s->norm_b) return SP_OK;
  SP_TRY(precondition_residual(s, s->residual, &s->rz));
  const bool preconditioned = s->preconditioner || s->vectors.inverse_diagonal;
  if (preconditioned && by_energy &&
      s->rz <= tolerance * tolerance * sp_energy_reference(&s->energy))
    return SP_OK;
  SP_TRY(sp_rounding_estimate(s->op, preconditioned, s->vectors.x, &rounding));
  s->result->rounding = s->rz <= rounding;
  if (s->result->rounding) return SP_OK;
  if (s->rz > 0.25 * *before)
    return sp_fail(SP_ERR_NOT_CONVERGED,
                   "not converged: ||b - A x|| stays at %.3g ||b||, although the residual that "
                   "conjugate gradients update is %.3g ||b||: the data are too ill-conditioned for "
                   "double precision",
                   s->residual / s->norm_b, updated / s->norm_b);
  *before = s->rz;
  *done = false;
  s->beta = 0;
  s->result->restarts++;
  sp_energy_restart(&s->energy);
  return SP_OK;
}

/* Check r without a preconditioner: soft rows hardly count in ||r||, nor in the steps of CG, if
 * others are stiff. One step of steepest descent with the diagonal would reduce the square of the
 * error by (r.z)^2 / z.A z, z = D^-1 r, which is a lower bound. */
static sp_status look_at_soft_rows(solve *s) {
  const sp_vector *diagonal = s->options->inverse_diagonal;
  const double limit = 4 * s->options->tolerance; /* the error is only an estimate */
  const double square = limit * limit * sp_energy_reference(&s->energy);
  double rz, zaz, rounding;
  if (!diagonal || s->options->criterion != SP_CG_ENERGY) return SP_OK;
  sp_status status = sp_vector_multiply(diagonal, s->vectors.r, s->vectors.p);
  SP_TRY(sp_operator_dot(s->op, s->vectors.r, s->vectors.p, status, &rz));
  status = sp_operator_apply(s->op, true, s->vectors.p, s->vectors.ap);
  SP_TRY(sp_operator_dot(s->op, s->vectors.p, s->vectors.ap, status, &zaz));
  if (!(rz * rz > square * zaz)) return SP_OK;
  SP_TRY(sp_rounding_estimate(s->op, true, s->vectors.x, &rounding));
  if (rz * rz <= rounding * zaz) return SP_OK;
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "not converged: the error is at least %.3g, the tolerance is %.3g: without a "
                 "preconditioner conjugate gradients lose small coefficients beside large ones",
                 rz / sqrt(zaz * sp_energy_reference(&s->energy)), s->options->tolerance);
}

/* *done = true if r is only the rounding of b - A x, so that nothing is left to solve. Checked only
 * if r is small compared with b. */
static sp_status look_at_start(solve *s, bool *done) {
  static const double SMALL = 1e-9;
  double rounding;
  *done = s->residual == 0;
  if (*done || s->residual > SMALL * s->norm_b) return SP_OK;
  const bool preconditioned = s->preconditioner || s->vectors.inverse_diagonal;
  SP_TRY(sp_rounding_estimate(s->op, preconditioned, s->vectors.x, &rounding));
  s->result->rounding = *done = s->rz <= rounding;
  return SP_OK;
}

static sp_status iterate_until_true(solve *s) {
  double before = INFINITY;
  bool done;
  SP_TRY(look_at_start(s, &done));
  while (!done) {
    SP_TRY(s->in_sweeps                            ? iterate_in_sweeps(s)
           : s->op->iterates && !s->preconditioner ? iterate_on_device(s)
                                                   : iterate_on_host(s));
    SP_TRY(sp_agree(s->op->comm, s->reported));
    SP_TRY(look_at_residual(s, &before, &done));
  }
  return look_at_soft_rows(s);
}

static sp_status create_vectors(solve *s) {
  const sp_space *space = s->op->space;
  const size_t times = (size_t)sp_comm_size(s->op->comm) * SP_CG_BATCH;
  if (sp_comm_rank(s->op->comm) == 0)
    SP_TRY(sp_allocate(times, sizeof *s->seconds, "times of matvecs", &s->seconds));
  SP_TRY(sp_space_vector(space, SP_DOUBLE, &s->p));
  SP_TRY(sp_space_vector(space, SP_DOUBLE, &s->ap));
  if (s->vectors.next_p == &s->next_p) SP_TRY(sp_space_vector(space, SP_DOUBLE, &s->next_p));
  return s->vectors.z == &s->z ? sp_space_vector(space, SP_DOUBLE, &s->z) : SP_OK;
}

static void destroy_vectors(solve *s) {
  sp_energy_free(&s->energy);
  sp_vector_destroy(&s->p);
  sp_vector_destroy(&s->next_p);
  sp_vector_destroy(&s->ap);
  sp_vector_destroy(&s->z);
  free(s->seconds);
}

bool sp_cg_is_in_one_sweep(const sp_operator *op, const sp_preconditioner *preconditioner) {
  return op->sweeps && !op->iterates && (!preconditioner || preconditioner->inverse_diagonal);
}

sp_status sp_cg_solve(sp_operator *op, sp_preconditioner *preconditioner,
                      const sp_cg_options *options, const sp_vector *b, sp_vector *x, sp_vector *r,
                      sp_cg_result *result) {
  const sp_vector *inverse_diagonal = preconditioner ? preconditioner->inverse_diagonal : NULL;
  solve s = {.op = op,
             .preconditioner = inverse_diagonal ? NULL : preconditioner,
             .options = options,
             .b = b,
             .in_sweeps = sp_cg_is_in_one_sweep(op, preconditioner),
             .result = result};
  s.vectors = (sp_cg_vectors){.x = x,
                              .r = r,
                              .z = s.preconditioner ? &s.z : r,
                              .p = &s.p,
                              .next_p = op->backend->two_directions ? &s.next_p : &s.p,
                              .ap = &s.ap,
                              .inverse_diagonal = inverse_diagonal};
  *result = (sp_cg_result){0};
  /* Diagonals have plateaus. */
  sp_energy_begin(options->tolerance, options->energy, s.preconditioner ? 1 : 2, &s.energy);
  sp_status status = sp_agree(op->comm, create_vectors(&s));
  if (!status) {
    const moment start = read_clock(&s);
    s.begun = s.known = start.now;
    status = begin_iteration(&s);
    if (!status) status = iterate_until_true(&s);
    result->norm_b = s.norm_b;
    result->residual = s.residual;
    result->relative = s.norm_b > 0 ? s.residual / s.norm_b : 0;
    const moment end = read_clock(&s);
    result->seconds = end.now - start.now;
    result->reduction_seconds = end.in_sums - start.in_sums;
  }
  sp_reduction_request(op->reduction, 0);
  destroy_vectors(&s);
  return status;
}
