/* The coarsest problem of multigrid: the operator at order 1 with GLL quadrature, assembled into a
 * sparse matrix A, and an approximate inverse of it: symmetric, and the same from one application
 * to the next.
 *
 * It is solved in one of three places:
 *
 * - on every rank: each has the whole problem and solves it, by an inverse, or by a cycle of
 *   algebraic multigrid (amg.h) if A has more rows. Right-hand sides travel like shared DOFs
 *   (operators/exchange.h), so each rank sends to all others. For few ranks.
 * - on one rank: the same on rank 0, which gathers right-hand sides and scatters solutions. The
 *   memory of the other ranks does not grow with the number of rows.
 * - by hypre: all ranks take part in one V-cycle of its BoomerAMG (coarse_boomer.h), on CPUs.
 *
 * If the operator has a null space of constants, one per connected component, the right-hand side
 * and the solution are projected. The matrix is made definite by doubling the diagonal of one row
 * per component. */
#pragma once

#include "operators/system.h"
#include "solver/linear/options.h"

typedef struct sp_coarse sp_coarse;

/* Return the largest number of rows, without constrained ones, for which a direct solution is
 * possible; on a device SP_COARSE_AUTO takes it up to this size. Local. */
int sp_coarse_direct_most(const sp_backend *backend);

typedef enum sp_coarse_place {
  SP_COARSE_CHOOSE, /* one of the others */
  SP_COARSE_EVERYWHERE,
  SP_COARSE_ONE_RANK,
  SP_COARSE_HYPRE
} sp_coarse_place;

/* Start the solver for a system of order 1, or one of sp_bars_create; only its space is used
 * afterwards. `kind` is not SP_COARSE_CHEBYSHEV. Vectors have `precision`. With several threads the
 * set-up of the levels continues in the background until sp_coarse_complete. The caller destroys
 * *out. Errors: SP_ERR_INPUT for more DOFs than hypre's integers count, and for a direct solution
 * of too many; SP_ERR_SYSTEM. Collective. */
sp_status sp_coarse_create(const sp_system *system, sp_coarse_kind kind, sp_coarse_place place,
                           sp_precision precision, sp_coarse **out);

/* Complete the creation. Call it once, before the functions below. Errors: SP_ERR_SYSTEM;
 * SP_ERR_INPUT for more entries than int counts. Collective. */
sp_status sp_coarse_complete(sp_coarse *coarse);

/* NULL-safe; sets *coarse to NULL. Collective. */
void sp_coarse_destroy(sp_coarse **coarse);

/* x = B b, L-vectors; x is zero at constrained DOFs, and b counts as zero there. Returns `status`
 * if that is a failure, else a failure of this rank, or with hypre of any rank. A rank that fails
 * still takes part. Collective over all ranks: the coarsest problem couples all of them. */
sp_status sp_coarse_apply(sp_coarse *coarse, sp_status status, const sp_vector *b, sp_vector *x);

/* True if sp_coarse_apply only queues work, so that it can be recorded. Local. */
bool sp_coarse_only_queues(const sp_coarse *coarse);

/* Return the traffic of a rank in one solution, if it shares `shared` DOFs with `neighbours` ranks
 * and all ranks have the same number of rows. Messages of hypre, and of rank 0 to the others if
 * only rank 0 solves, are not counted. Local. */
sp_traffic sp_coarse_traffic(const sp_coarse *coarse, double neighbours, double shared);

/* Return the DOFs of the problem, or with bars its rows, over all ranks. Local. */
sp_gid sp_coarse_size(const sp_coarse *coarse);

/* Describe the solver: "algebraic multigrid (3 levels), 35937 rows". Local. */
const char *sp_coarse_describe(const sp_coarse *coarse);
