/* Conjugate gradients for A x = b with a preconditioner B, in two passes over memory per iteration
 * (operators/operator.h) and, unless B is none or a diagonal, an application of B:
 *
 *     p = z + beta p,  q = A p,  p.q             z = B r, or r itself without a preconditioner
 *     x += alpha p,  r -= alpha q,  r.r, r.z     alpha = r.z / p.q,  beta = (r.z)_new / r.z
 *
 * If B is none or a diagonal and the operator was built for it (one_sweep), the second pass joins
 * the first one of the next iteration, and r.r and r.z follow from sums over r and q:
 *
 *     (r - alpha q).B (r - alpha q) = r.B r - 2 alpha r.B q + alpha^2 q.B q
 *
 * It stops when the error is small in the energy norm ||v||_A = sqrt(v.A v), which the scalars
 * alpha and r.z estimate (solver/linear/energy.h):
 *
 *     ||x - x_j||_A <= tolerance min(||x_j - x_start||_A, size of the solution)
 *
 * The size is `measure`: x_j - x_start has the energy of jumps to lifted Dirichlet values and to
 * stiff films, which grows with the order and the number of elements. Or, if the criterion is the
 * residual, when ||r|| <= tolerance ||b|| in the Euclidean norm over global DOFs. The residual says
 * little if one stiff row (a large alpha or lambda) dominates b.
 *
 * Then b - A x is computed once, in double precision. If it exceeds the updated r by more than
 * rounding explains, the iteration continues from it. If that no longer helps, the solve has not
 * converged. */
#pragma once

#include <stdint.h>

#include "solver/linear/options.h"
#include "solver/linear/preconditioner.h"

typedef struct sp_cg_iteration {
  int64_t iteration;         /* 0: before the first */
  bool applied;              /* true if a matvec preceded; false in the first call */
  double residual, relative; /* ||r||, ||r|| / ||b|| */
  double error;              /* sp_cg_result.error of this iterate */
  double seconds; /* from the start of the loop until this rank got the residual. If a device does
                     whole iterations, the iterations of a batch count as equally long. */
  double matvec_seconds;         /* rank 0: the maximum over ranks; other ranks: their own */
  const double *seconds_by_rank; /* [ranks] on rank 0, NULL elsewhere */
} sp_cg_iteration;

typedef struct sp_cg_options {
  bool from_zero; /* all of x is zero */
  sp_cg_criterion criterion;
  double tolerance;
  /* Energy (square of a norm) added to the energy of x_j - x_start, for a start that is already
   * close to the solution (solver/linear/start.h); else 0. */
  double energy;
  int max_iterations;
  /* D^-1, D the diagonal of A, to check the error at the end; NULL: no check, as preconditioners
   * need none. */
  const sp_vector *inverse_diagonal;
  /* *energy = square of the size of the solution that x belongs to. Called when the tolerance is
   * met, for the criterion of energy. Collective. NULL: no such limit. */
  sp_status (*measure)(const sp_vector *x, void *measured, double *energy);
  void *measured;
  /* Called on every rank after each iteration, and once before the first. A failure on any rank
   * ends the solve on all of them with the next reduction. May be NULL. */
  sp_status (*on_iteration)(const sp_cg_iteration *iteration, void *context);
  /* Called on every rank in each iteration, or in each batch if a device iterates without the host.
   * The next reduction carries the answer to all ranks; true on any rank ends the solve. Local. May
   * be NULL. */
  bool (*is_interrupted)(void *context);
  void *context;
} sp_cg_options;

typedef struct sp_cg_result {
  int64_t iterations;
  double norm_b, residual, relative; /* ||b||, ||r||, ||r|| / ||b||; if converged, r = b - A x */
  /* error: estimated error relative as above, infinite after fewer than two iterations; energy:
   * ||x_j - x_start||_A. */
  double error, energy;
  int restarts;   /* from b - A x, because r had drifted from it */
  bool rounding;  /* converged to rounding, not to the tolerance */
  double seconds; /* of the loop, on this rank */
  /* Parts of `seconds` on this rank, which do not overlap; the rest is the loop itself and
   * `on_iteration`. Pass 1 is in matvec and pass 2 in update. If a device does whole iterations,
   * update is all time outside pass 1; in one sweep, all vector updates (also of p) and their sums,
   * timed block by block. Applications of B are in preconditioner; b - A x at the start and the
   * end, with its sums, and ||b|| in residual; sums over ranks and gathers of times in reduction
   * (operators/reduction.h). */
  double matvec_seconds, update_seconds, preconditioner_seconds, residual_seconds;
  double reduction_seconds;
  double wait_seconds; /* part of matvec_seconds: waiting for neighbours' values (operator.h) */
} sp_cg_result;

/* True if sp_cg_solve works in one sweep. Local. */
bool sp_cg_is_in_one_sweep(const sp_operator *op, const sp_preconditioner *preconditioner);

/* Solve A x = b from the iterate in `x`, which is zero on constrained DOFs. r becomes b - A x.
 * `preconditioner` may be NULL: none. *result is filled also after an error; x holds the last
 * iterate. Errors: SP_ERR_NOT_CONVERGED; SP_ERR_INTERRUPTED; SP_ERR_BREAKDOWN if p.Ap or r.z is not
 * positive or anything is not a number. Collective. */
sp_status sp_cg_solve(sp_operator *op, sp_preconditioner *preconditioner,
                      const sp_cg_options *options, const sp_vector *b, sp_vector *x, sp_vector *r,
                      sp_cg_result *result);
