/* The inverse of a column of boxes (mesh/columns.h) by static condensation. In the lateral
 * eigenvectors (a, b) the column's operator is, for each element k, the one-dimensional matrix
 *
 *     T_k = kappa_k K^ + s_k M^,    s_k = mu1_a a1_k + mu2_b a2_k + reaction_k,
 *
 * with the GLL matrices of [-1, 1]. The eigenvectors phi_j of its interior nodes, K^ phi_j =
 * theta_j M^ phi_j, do not depend on k. With b_Bj = (K^ phi_j) at end B = 0, 1, condensation of an
 * element leaves the matrix of its ends
 *
 *     S_BB' = +-kappa/2
 *             + s (w delta_BB' + sum over j of b_Bj b_B'j / theta_j kappa / (kappa theta_j + s)),
 *
 * and the interfaces of a column form a tridiagonal matrix. It is factorized without cancellation:
 * pivots are sums of rows, which are not negative, plus couplings. */
#pragma once

#include <stdbool.h>

/* Data of one order that all columns share. */
typedef struct sp_column_modes {
  int n;
  const double *theta;     /* [n]; the end nodes' are not used */
  const double *couplings; /* b, [2][n]; 0 at the end nodes */
  double end_weight;       /* w */
} sp_column_modes;

typedef struct sp_column {
  int length; /* elements */
  bool closed;
  const double *kappa, *lateral[2], *reaction; /* [length]: kappa, a1 and a2, and s's last term */
  const double *eigenvalues[2];                /* mu1 and mu2, [n] */
  /* Terms at the lower and the upper end of an open column: added to K^ and to M^ of the element
   * there; `fixed` if the node at the end is eliminated. */
  double stiffness[2], mass[2];
  bool fixed[2];
} sp_column;

/* The factors of one column at interfaces 0 .. length, each [length + 1][n][n] with index
 * [interface][b][a]. An open column is solved from g by
 *
 *     g_k+1 -= ratio_k g_k  (k = 0 ..),    u_length = inverse_length g_length,
 *     u_k = inverse_k g_k - ratio_k u_k+1  (k = length - 1 ..).
 *
 * The last interface of a closed column is its first one, so it has unknowns 0 .. length - 1. The
 * same steps for only 1 .. length - 1 give p; then
 *
 *     u_0 = inverse_0 (g_0 - ratio_0 p_1 - ratio_length p_length-1),    u_k = p_k + ring_k u_0. */
typedef struct sp_column_factors {
  double *inverse, *ratio, *ring; /* ring: NULL if not closed */
} sp_column_factors;

/* Local. */
void sp_column_factorize(const sp_column_modes *modes, const sp_column *column,
                         const sp_column_factors *out);
