/* kappa of a material as a symmetric positive definite tensor K: three components (xx, yy, zz) or
 * six (xx, yy, zz, xy, xz, yz), numbers or formulas of x, y and z, in axes of the material. With
 * the axes e_1, e_2, e_3, unit vectors, and the components k_ab,
 *
 *     K = sum over a and b of k_ab e_a e_b^T.
 *
 * `axes = x1, x2, x3, y1, y2, y3` gives e_1 along (x1, x2, x3) and e_2 in the plane of both vectors
 * (Gram-Schmidt); e_3 = e_1 x e_2. */
#pragma once

#include "solver/problem/statement.h"

enum { SP_TENSOR = 6 }; /* components xx, yy, zz, xy, xz, yz */

typedef struct sp_conductivity {
  const sp_formula *text, *axes_text; /* of the statement; axes_text is NULL without axes */
  sp_expression *formulas[SP_TENSOR]; /* NULL: the constant */
  double constants[SP_TENSOR], axes[3][3];
  bool is_constant;
} sp_conductivity;

/* NULL-safe; sets *conductivity to NULL. Local. */
void sp_conductivity_destroy(sp_conductivity **conductivity);

/* k[6][n] = K at n points, and divergence[j][p] = sum over i of d K_ij / d x_i, [3][n], unless
 * NULL. Errors: SP_ERR_INPUT with the first point at which a value is not finite or K is not
 * positive definite. Local. */
sp_status sp_conductivity_evaluate(const sp_conductivity *conductivity, size_t n,
                                   const double *const xyz[3], double *k,
                                   double *const divergence[3]);
