/* Conjugate gradients for A x = b, with or without Jacobi's preconditioner D = diag A, in two
 * passes over memory an iteration (operators/operator.h):
 *
 *     p = z + beta p,  q = A p,  p.q                     z = D^-1 r or r
 *     x += alpha p,  r -= alpha q,  r.r,  r.z            alpha = r.z / p.q,  beta = (r.z)_new / r.z
 *
 * It stops when ||r|| <= tolerance ||b||, r being the recursively updated, unpreconditioned
 * residual in the Euclidean norm over global DOFs. */
#ifndef SP_SOLVER_CG_H
#define SP_SOLVER_CG_H

#include <stdint.h>

#include "operators/operator.h"

typedef struct sp_cg_iteration {
  int64_t iteration;             /* 0: before the first, without a matvec */
  double residual, relative;     /* ||r||, ||r|| / ||b|| */
  double matvec_seconds;         /* longest of all ranks */
  const double *seconds_by_rank; /* [ranks] */
} sp_cg_iteration;

typedef struct sp_cg_options {
  double tolerance;
  int max_iterations;
  /* Called on every rank after each iteration, and once before the first. A failure on any rank
   * ends the solve on all of them with the next reduction. May be NULL. */
  sp_status (*on_iteration)(const sp_cg_iteration *iteration, void *context);
  void *context;
} sp_cg_options;

typedef struct sp_cg_result {
  int64_t iterations;
  double residual, relative;
  double seconds;        /* of the loop, on this rank */
  double matvec_seconds; /* of all passes 1 without their reductions, on this rank */
  double update_seconds; /* of all passes 2 with their reduction, on this rank */
} sp_cg_result;

/* Solve from x = 0. `b` and `x` are L-vectors in the backend's memory; b is destroyed (it becomes
 * r). `inverse_diagonal` is NULL or an L-vector there too; x must be zero. *result is filled in
 * every case, x holds the last iterate. Errors: SP_ERR_NOT_CONVERGED; SP_ERR_BREAKDOWN if p.Ap is
 * not positive or anything is not a number. Collective. */
sp_status sp_cg_solve(sp_operator *op, const double *inverse_diagonal, const sp_cg_options *options,
                      double *b, double *x, sp_cg_result *result);

#endif
