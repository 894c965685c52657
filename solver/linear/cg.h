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
 * It stops when ||r|| <= tolerance ||b||, where r is the recursively updated, unpreconditioned
 * residual in the Euclidean norm over global DOFs.
 *
 * Between two iterations the vectors x, r and p and the few numbers of sp_cg_progress are the whole
 * state: a solve can be saved there, and another one continue it to the same bits. */
#ifndef SP_SOLVER_LINEAR_CG_H
#define SP_SOLVER_LINEAR_CG_H

#include <stdint.h>

#include "solver/linear/preconditioner.h"

typedef struct sp_cg_iteration {
  int64_t iteration;             /* 0: before the first */
  bool applied;                  /* false before the first of this solve: without a matvec */
  double residual, relative;     /* ||r||, ||r|| / ||b|| */
  double seconds;                /* from the start of the loop until this rank knew the residual,
                                  * without `save`. Where a device does whole iterations, those of
                                  * a batch are taken to be equally long. */
  double matvec_seconds;         /* on rank 0 the longest of all ranks, elsewhere this rank's */
  const double *seconds_by_rank; /* [ranks] on rank 0, NULL elsewhere */
} sp_cg_iteration;

/* Where the iteration stands, besides x, r and p. */
typedef struct sp_cg_progress {
  int64_t iteration;       /* how many are done, in all solves that continue each other */
  double norm_b, residual; /* ||b||, ||r|| */
  double rz, beta;         /* r.z, and the factor of p in the next direction */
} sp_cg_progress;

/* What a rank requests between two iterations; the largest request of all ranks counts. */
typedef enum sp_cg_request { SP_CG_CONTINUE, SP_CG_SAVE, SP_CG_STOP } sp_cg_request;

typedef struct sp_cg_options {
  double tolerance;
  int max_iterations; /* counts those before `start` too */
  /* Called on every rank after each iteration, and once before the first. A failure on any rank
   * ends the solve on all of them with the next reduction. May be NULL. */
  sp_status (*on_iteration)(const sp_cg_iteration *iteration, void *context);
  /* Called on every rank in each iteration (where a device iterates without the host: in each
   * batch), before a reduction that carries the answer to all ranks. Local. May be NULL. */
  sp_cg_request (*request)(void *context);
  /* Called on all ranks after one requested SP_CG_SAVE, and at the end unless the solve fails: r
   * and p of `vectors` are those to continue with. A failure, the same on all ranks, ends the
   * solve. Collective. May be NULL. */
  sp_status (*save)(const sp_cg_progress *progress, const sp_cg_vectors *vectors, void *context);
  void *context;
  /* NULL, or where to continue: `b` is r then, `x` the iterate, and start_p, [dofs] in host memory
   * with the owners' bits on copies, the last direction. */
  const sp_cg_progress *start;
  const double *start_p;
} sp_cg_options;

typedef struct sp_cg_result {
  int64_t iterations, first; /* in all, and those before `start` */
  double residual, relative;
  double seconds; /* of the loop without `save`, on this rank */
  /* Parts of `seconds` on this rank, which do not overlap: all passes 1; all passes 2 with the one
   * before the first iteration (where a device does whole iterations, all that is not pass 1; in
   * one sweep, all vector updates, that of p too, and their sums, timed block by block); all
   * applications of B; all sums over ranks and gathers of times (operators/reduction.h). What is
   * left is the loop itself and `on_iteration`. */
  double matvec_seconds, update_seconds, preconditioner_seconds, reduction_seconds;
  double wait_seconds; /* of matvec_seconds: waiting for neighbours' values (operator.h) */
  double save_seconds; /* in `save`, on this rank */
  int64_t saves;
} sp_cg_result;

/* Whether an operator is to be built for CG in one sweep: the backend can, and it is faster. Local.
 */
bool sp_cg_prefers_one_sweep(const sp_backend *backend, sp_operator_kind kind,
                             sp_geometry_kind geometry, int order);

/* Whether sp_cg_solve works in one sweep. Local. */
bool sp_cg_is_in_one_sweep(const sp_operator *op, const sp_preconditioner *preconditioner);

/* Solve from x = 0, or continue. `b` and `x` are L-vectors in the backend's memory; b is
 * overwritten with r. `preconditioner` may be NULL: none. x must be zero, unless it is continued.
 * *result is filled in every case, x holds the last iterate. Errors: SP_ERR_NOT_CONVERGED;
 * SP_ERR_INTERRUPTED after SP_CG_STOP; SP_ERR_BREAKDOWN if p.Ap or r.z is not positive or anything
 * is not a number. Collective. */
sp_status sp_cg_solve(sp_operator *op, sp_preconditioner *preconditioner,
                      const sp_cg_options *options, double *b, double *x, sp_cg_result *result);

#endif
