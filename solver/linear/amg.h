/* One V-cycle of algebraic multigrid in a backend's memory. This rank has the whole matrix.
 *
 *     smooth;  r = b - A x;  b_coarse = P^T r;  ...;  x += P x_coarse;  smooth
 *
 * Smoothed aggregation makes the levels (hierarchy.h). The smoother is Chebyshev's with the inverse
 * diagonal (chebyshev.h), the same before and after. The last level is solved with a dense inverse.
 * So the cycle is symmetric. If the last level is too large for an inverse (coarsening ends early
 * if the diagonal dominates), it is smoothed. All functions are Local. */
#pragma once

#include "operators/vector.h"

typedef struct sp_amg sp_amg;

/* Rows of the largest dense inverse: 0.3 GB in single precision. */
enum { SP_AMG_INVERSE_MOST = 8192 };

/* Start building the levels of a symmetric positive definite matrix. Coarsening ends at a level
 * with at most `direct` rows; 0 < direct <= SP_AMG_INVERSE_MOST. The work is a task beside the
 * caller's if there are threads (io/threads.h). Until sp_amg_complete or sp_amg_destroy the matrix
 * must stay. The backend must have matrices; the platform must outlive
 * *out, which the caller destroys. Errors: SP_ERR_SYSTEM. */
sp_status sp_amg_create(const sp_platform *platform, sp_precision precision, const sp_csr *matrix,
                        int direct, sp_amg **out);

/* Wait for the levels and copy the levels to the device. Call it once, before the functions below.
 * Errors: SP_ERR_SYSTEM, SP_ERR_INPUT for more entries than int counts. */
sp_status sp_amg_complete(sp_amg *amg);

/* NULL-safe; sets *amg to NULL. */
void sp_amg_destroy(sp_amg **amg);

/* x = B b. Only queues work. */
sp_status sp_amg_apply(sp_amg *amg, const sp_vector *b, sp_vector *x);

/* Return the number of levels; 1 if there is only an inverse. */
int sp_amg_levels(const sp_amg *amg);
