/* Chebyshev's iteration of the fourth kind with optimal weights, as a multigrid smoother for
 * A x = b (J. Lottes, Optimal polynomial smoothers for multigrid V-cycles, arXiv 2202.08830):
 *
 *     r = b - A x,  d = 4 / (3 L) S r,  x += beta_1 d,
 *     r -= A d,  d = (2i - 1) / (2i + 3) d + (8i + 4) / ((2i + 3) L) S r,  x += beta_(i+1) d,
 *                                                                          i = 1 .. degree - 1
 *
 * S is the inverse diagonal of A, or additive Schwarz (operators/schwarz.h), and L a bound on the
 * largest eigenvalue of S A: 1.1 times what Lanczos' method finds in twelve steps. No sums over all
 * ranks, except at creation. */
#ifndef SP_SOLVER_LINEAR_CHEBYSHEV_H
#define SP_SOLVER_LINEAR_CHEBYSHEV_H

#include "operators/operator.h"
#include "operators/schwarz.h"

enum { SP_CHEBYSHEV_MOST = 6 }; /* degree */

typedef struct sp_chebyshev sp_chebyshev;

/* Of degree 1 .. SP_CHEBYSHEV_MOST for `op`, which was built from `setup` and must outlive *out.
 * With `boxes` (sp_separable_fill), which are not used afterwards, S is Schwarz, which needs order
 * 2 or more; NULL: the diagonal. The caller destroys *out. Errors: SP_ERR_SYSTEM; SP_ERR_BREAKDOWN
 * where A is not positive definite. Collective. */
sp_status sp_chebyshev_create(sp_operator *op, const sp_operator_setup *setup, int degree,
                              const sp_separable *boxes, sp_chebyshev **out);

/* NULL-safe; sets *chebyshev to NULL. Local. */
void sp_chebyshev_destroy(sp_chebyshev **chebyshev);

/* Improve x, which counts as zero, and may hold anything, with `from_zero`. Vectors of the
 * operator's precision, zero at constrained DOFs. Returns this rank's failure, for the next
 * reduction. Collective among neighbours. */
sp_status sp_chebyshev_smooth(sp_chebyshev *chebyshev, bool from_zero, const void *b, void *x);

/* *r = b - A x, in the smoother's memory, where it stays until the next call. Returns and
 * Collective as above. */
sp_status sp_chebyshev_residual(sp_chebyshev *chebyshev, const void *b, const void *x,
                                const void **r);

/* The numbers of step i = 0 .. degree - 1 with the bound L, and `first` with from_zero in step 0;
 * vectors are left NULL. Local. */
sp_correction sp_chebyshev_step(int degree, int i, double bound, bool from_zero);

/* The bound L. Local. */
double sp_chebyshev_bound(const sp_chebyshev *chebyshev);

#endif
