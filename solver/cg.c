#include "solver/cg.h"

#include <math.h>

/* Tell the caller; ranks that fail there are agreed on in the next reduction. */
static sp_status report(const sp_operator *op, const sp_cg_options *options,
                        const sp_cg_result *result, double matvec_seconds) {
  if (!options->on_iteration) return SP_OK;
  const sp_cg_iteration iteration = {.iteration = result->iterations,
                                     .residual = result->residual,
                                     .relative = result->relative,
                                     .matvec_seconds = matvec_seconds,
                                     .seconds_by_rank = sp_exchange_seconds(op->exchange)};
  return options->on_iteration(&iteration, options->context);
}

static double longest(const sp_operator *op) {
  int size;
  MPI_Comm_size(op->comm, &size);
  const double *seconds = sp_exchange_seconds(op->exchange);
  double result = 0;
  for (int r = 0; r < size; r++) result = seconds[r] > result ? seconds[r] : result;
  return result;
}

static sp_status breakdown(const sp_cg_result *result, const char *what, double value) {
  return sp_fail(SP_ERR_BREAKDOWN,
                 "conjugate gradients broke down in iteration %lld: %s = %g; expected a finite, "
                 "positive number (is the operator positive definite, are the data finite?)",
                 (long long)result->iterations, what, value);
}

static sp_status not_converged(const sp_cg_options *options, const sp_cg_result *result) {
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "not converged: relative residual %.3g after %d iterations, the tolerance is %.3g",
                 result->relative, options->max_iterations, options->tolerance);
}

static sp_status iterate(sp_operator *op, const sp_cg_options *options, sp_cg_vectors *vectors,
                         double rz, double norm_b, sp_cg_result *result) {
  double beta = 0;
  sp_status reported = report(op, options, result, 0);
  while (!(result->residual <= options->tolerance * norm_b)) {
    if (result->iterations == options->max_iterations) {
      SP_TRY(sp_agree(op->comm, reported));
      return not_converged(options, result);
    }
    double p_ap, rr, rz_new;
    SP_TRY(sp_operator_direction(op, beta, vectors, reported, &p_ap));
    result->matvec_seconds += op->seconds;
    result->iterations++;
    if (!(p_ap > 0) || isinf(p_ap)) return breakdown(result, "p.Ap", p_ap);

    const double start = MPI_Wtime();
    SP_TRY(sp_operator_update(op, rz / p_ap, vectors, &rr, &rz_new));
    result->update_seconds += MPI_Wtime() - start;
    result->residual = sqrt(rr);
    result->relative = result->residual / norm_b;
    if (!isfinite(rr)) return breakdown(result, "r.r", rr);
    reported = report(op, options, result, longest(op));
    beta = rz_new / rz;
    rz = rz_new;
  }
  return sp_agree(op->comm, reported);
}

/* The same on devices that do whole iterations by themselves: the host looks at the residuals of a
 * batch when it is over, and the batches grow, so that a short solve does not wait for a long
 * batch. All ranks see the same sums and decide alike. */
static sp_status iterate_on_device(sp_operator *op, const sp_cg_options *options,
                                   sp_cg_vectors *vectors, double rz, double norm_b,
                                   sp_cg_result *result) {
  enum { LARGEST_BATCH = 64 };
  sp_cg_record records[LARGEST_BATCH];
  sp_cg_state state = {.rz = rz, .target = pow(options->tolerance * norm_b, 2)};
  sp_status reported = report(op, options, result, 0);
  for (int batch = 4; !(result->residual <= options->tolerance * norm_b);) {
    SP_TRY(sp_agree(op->comm, reported));
    if (result->iterations == options->max_iterations) return not_converged(options, result);
    const int64_t left = options->max_iterations - result->iterations;
    int done;
    const sp_status status = op->backend->iterate(op->local, vectors, &state,
                                                  left < batch ? (int)left : batch, records, &done);
    SP_TRY(sp_agree(op->comm, status));
    for (int i = 0; i < done; i++) {
      const sp_cg_record *record = &records[i];
      result->iterations++;
      if (!(record->p_ap > 0) || isinf(record->p_ap))
        return breakdown(result, "p.Ap", record->p_ap);
      result->matvec_seconds += record->seconds;
      result->residual = sqrt(record->rr);
      result->relative = result->residual / norm_b;
      if (!isfinite(record->rr)) return breakdown(result, "r.r", record->rr);
      SP_TRY(sp_exchange_sum(op->exchange, 0, NULL, record->seconds, reported));
      reported = report(op, options, result, longest(op));
      state.beta = record->rz / state.rz;
      state.rz = record->rz;
    }
    if (batch < LARGEST_BATCH) batch *= 2;
  }
  return sp_agree(op->comm, reported);
}

sp_status sp_cg_solve(sp_operator *op, const double *inverse_diagonal, const sp_cg_options *options,
                      double *b, double *x, sp_cg_result *result) {
  const sp_backend *backend = op->backend;
  const size_t dofs = (size_t)op->dofs;
  sp_cg_vectors vectors = {.x = x, .r = b, .inverse_diagonal = inverse_diagonal};
  *result = (sp_cg_result){0};
  sp_status status = backend->vector_create(op->device, dofs, &vectors.p);
  if (!status) status = backend->vector_create(op->device, dofs, &vectors.ap);
  if (backend->two_directions) {
    if (!status) status = backend->vector_create(op->device, dofs, &vectors.next_p);
  } else {
    vectors.next_p = vectors.p;
  }
  status = sp_agree(op->comm, status);
  if (!status) {
    /* With a step of zero, pass 2 leaves x and r = b alone and gives the first sums. */
    const double start = MPI_Wtime();
    double rr, rz;
    status = sp_operator_update(op, 0, &vectors, &rr, &rz);
    if (!status && !isfinite(rr)) status = breakdown(result, "b.b", rr);
    if (!status) {
      result->residual = sqrt(rr);
      result->relative = rr > 0 ? 1 : 0;
      status = op->iterates ? iterate_on_device(op, options, &vectors, rz, result->residual, result)
                            : iterate(op, options, &vectors, rz, result->residual, result);
    }
    result->seconds = MPI_Wtime() - start;
  }
  if (backend->two_directions) backend->vector_destroy(op->device, &vectors.next_p);
  backend->vector_destroy(op->device, &vectors.p);
  backend->vector_destroy(op->device, &vectors.ap);
  return status;
}
