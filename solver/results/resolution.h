/* Resolution of the solution by the elements, from the decay of its Legendre coefficients. In an
 * element u = sum of a_ijk P_i(r) P_j(s) P_k(t), i, j, k <= N. With the shells
 *
 *     c_m^2 = sum over max(i, j, k) = m of a_ijk^2 / ((2i+1) (2j+1) (2k+1)),
 *
 * which are mean squares over the reference element, and pairs of them, since a symmetric u has
 * every other shell only,
 *
 *     E_0 = c_N^2 + c_{N-1}^2,   E_1 = c_{N-2}^2 + c_{N-3}^2,   q = min(E_0 / E_1, 0.8),
 *     indicator = (E_0 q / (1 - q))^1/2,
 *
 * the root mean square, in the unit of u, of the shells above N if they go on to fall like q. The
 * mean of u does not count: at order 3, E_1 = c_1^2 and q is the square of the ratio; at orders 1
 * and 2, E_0 = c_N^2 and q = 1/16, the decay of a smooth u. Source: Mavriplis, Adaptive mesh
 * strategies for the spectral element method, CMAME 116 (1994). */
#pragma once

#include "operators/space.h"

/* Fill indicator[elements] for the host L-vector x. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_resolution_indicate(const sp_space *space, const double *x, double *indicator);

/* The elements of all ranks whose indicator is above `limit`, and the largest indicator with the
 * volume group of its element (NULL: in none), the lowest rank's. */
typedef struct sp_resolution {
  int64_t coarse;
  double largest;
  const char *group;
} sp_resolution;

/* Collective. */
sp_resolution sp_resolution_find(const sp_mesh *mesh, const double *indicator, double limit);
