#include "solver/bench/residual.h"

#include <float.h>
#include <math.h>

static double norm(const sp_bench_system *s, const double *values) {
  double sum = 0;
  for (sp_lid i = 0; i < s->op->owned; i++) sum += values[i] * values[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, s->op->comm);
  return sqrt(sum);
}

/* work = A x. */
static sp_status apply(const sp_bench_system *s) {
  SP_TRY(sp_agree(s->op->comm, sp_operator_apply(s->op, true, s->x, s->y)));
  return sp_agree(s->op->comm, sp_vector_read(s->y, s->work));
}

/* The difference grows by a rounding of ||A|| ||x|| per iteration (A. Greenbaum, SIAM J. Matrix
 * Anal. Appl. 18 (1997) 535); ||A b|| / ||b|| for random b is somewhat below ||A||. A wrong
 * iteration makes a much larger difference. */
sp_status sp_bench_check_residual(const sp_bench_system *s, const sp_cg_result *result,
                                  double *error, double *tolerance) {
  SP_TRY(sp_agree(s->op->comm, sp_vector_read(s->x, s->work)));
  const double b = norm(s, s->b), x = norm(s, s->work);
  *error = *tolerance = 0;
  if (b == 0 && x == 0) return SP_OK; /* no free DOF */
  SP_TRY(apply(s));
  for (sp_lid i = 0; i < s->op->dofs; i++) s->work[i] = s->b[i] - s->work[i];
  const double r = norm(s, s->work);
  SP_TRY(sp_agree(s->op->comm, sp_vector_write(s->b, s->x)));
  SP_TRY(apply(s));
  *tolerance = 10 * DBL_EPSILON * (double)result->iterations * norm(s, s->work) / b * x / b;
  *error = fabs(r - result->residual) / b;
  if (!isfinite(*error)) *error = INFINITY;
  return SP_OK;
}
