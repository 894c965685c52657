/* The rounding error of a residual b - A x, to see if r has anything left to solve for.
 *
 * An entry of A x is uncertain by eps times the root of the sum of (A_ij x_j)^2, which is the size
 * of (A v)_i for v = x with random signs. So r.z is about eps^2 v.A v for z = A^-1 r, and
 * eps^2 |A v|^2 for z = r. */
#pragma once

#include "operators/operator.h"

/* *rounding = r.z if r is only the rounding error of b - A x, for z = A^-1 r if `preconditioned`,
 * else for z = r. The signs are the same on all ranks that hold a DOF. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_rounding_estimate(sp_operator *op, bool preconditioned, const sp_vector *x,
                               double *rounding);
