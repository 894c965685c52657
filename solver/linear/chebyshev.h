/* Chebyshev's iteration of the fourth kind with optimal weights, as a multigrid smoother for A x =
 * b (J. Lottes, Optimal polynomial smoothers for multigrid V-cycles, arXiv 2202.08830):
 *
 *     r = b - A x,  d = 4 / (3 L) S r,  x += beta_1 d,
 *     r -= A d,  d = (2i - 1) / (2i + 3) d + (8i + 4) / ((2i + 3) L) S r,  x += beta_(i+1) d,
 *                                                                          i = 1 .. degree - 1
 *
 * S is a smoother of smoother.h. L is a bound on the largest eigenvalue of S A: 1.1 times the
 * estimate of twelve steps of Lanczos' method. If it is large, S is corrected where modes with
 * large eigenvalues live. Sums over all ranks are taken only at creation, except those of a
 * corrected S. */
#pragma once

#include "solver/linear/smoother.h"

enum { SP_CHEBYSHEV_MOST = 6 }; /* degree */

typedef struct sp_chebyshev sp_chebyshev;

/* Create an iteration of degree 1 .. SP_CHEBYSHEV_MOST with S of `type` for `op`, which was built
 * from `setup`, a copy of the system's, and must outlive *out. The setup and the system's boxes
 * must outlive calls of sp_chebyshev_invert. The caller destroys *out. Errors: SP_ERR_SYSTEM;
 * SP_ERR_BREAKDOWN if A is not positive definite. Collective. */
sp_status sp_chebyshev_create(sp_operator *op, const sp_operator_setup *setup, int degree,
                              const sp_smoother_type *type, sp_system *system, sp_chebyshev **out);

/* True if A is inverted on sets of DOFs (operators/schwarz/sets.h). Local. */
bool sp_chebyshev_has_sets(const sp_chebyshev *chebyshev);

/* Fill x with pseudorandom values, 0 at constrained DOFs, the same on any number of ranks. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_chebyshev_start(const sp_chebyshev *chebyshev, sp_vector *x);

/* If there are sets, add the DOFs that carry most of the energy of x; ax is A x. *more is false if
 * they were in sets already, are too many, or if that made L larger: then nothing changes. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_chebyshev_invert(sp_chebyshev *chebyshev, sp_vector *x, const sp_vector *ax,
                              bool *more);

/* NULL-safe; sets *chebyshev to NULL. Collective. */
void sp_chebyshev_destroy(sp_chebyshev **chebyshev);

/* Improve x. With `from_zero`, x counts as zero and may hold anything. Vectors have the operator's
 * precision and are zero at constrained DOFs. Returns this rank's failure, for the next reduction.
 * Collective among neighbours. */
sp_status sp_chebyshev_smooth(sp_chebyshev *chebyshev, bool from_zero, const sp_vector *b,
                              sp_vector *x);

/* *r = b - A x, in the smoother's memory; valid until the next call. Returns this rank's failure.
 * Collective among neighbours. */
sp_status sp_chebyshev_residual(sp_chebyshev *chebyshev, const sp_vector *b, const sp_vector *x,
                                const sp_vector **r);

/* Return the coefficients of step i = 0 .. degree - 1 with the bound L; `first` is set in step 0 if
 * from_zero. Vectors are NULL. Local. */
sp_smoothing sp_chebyshev_step(int degree, int i, double bound, bool from_zero);

/* Return the columns of S. Local. */
sp_column_counts sp_chebyshev_columns(const sp_chebyshev *chebyshev);
