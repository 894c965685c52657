/* The bilinear forms of BP1.0, BP3.5 and BP3.0 on one element, point by point without sum
 * factorization: the reference for every fast operator.
 *
 *     y_i = sum over points q of w_q |J| (grad l_i . grad u + lambda l_i u),   u = sum_j x_j l_j
 *
 * with gradients in physical space (mass: w_q |J| l_i u alone). It uses only the nodes and weights
 * of the quadrature rules from the libraries. */
#ifndef SP_TESTS_REFERENCE_OPERATOR_H
#define SP_TESTS_REFERENCE_OPERATOR_H

#include "operators/kinds.h"
#include "mesh/hexes.h"

/* The reference takes N^6 operations per element: minutes at the highest orders with sanitizers. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif
#ifdef SANITIZED
enum { HIGHEST_ORDER = 9 };
#else
enum { HIGHEST_ORDER = SP_MAX_ORDER };
#endif

/* The Lagrange map of the element's equispaced lattice (mesh/hexes.h) at (r, s, t): the point, and
 * jacobian[a][b] = d x_a / d r_b. Returns |J|. */
double reference_map(const sp_hexes *hexes, sp_lid element, const double at[3], double point[3],
                     double jacobian[3][3]);

/* y[Np] as above. scale[Np] is the same sum with the absolute value of every term and with |x| <=
 * 1: the rounding errors of any evaluation of y are small multiples of it. */
void reference_apply(sp_operator_kind kind, int order, double lambda, const sp_hexes *hexes,
                     sp_lid element, const double *x, double *y, double *scale);

/* The same with coefficients at the points, in the order of the rule's tensor grid (the first
 * direction fastest):
 *     y_i = sum over points q of w_q |J| (kappa_q grad l_i . grad u + lambda_q l_i u)
 * kappa or lambda may be NULL: one. With is_tensor, kappa_q is a symmetric matrix, and kappa has
 * its components xx, yy, zz, xy, xz, yz one after another, [6][points]; scale has their sizes. */
void reference_apply_coefficients(sp_operator_kind kind, int order, const double *kappa,
                                  bool is_tensor, const double *lambda, const sp_hexes *hexes,
                                  sp_lid element, const double *x, double *y, double *scale);

/* Relative error against `scale` of operators in a precision with this machine epsilon (DBL_EPSILON
 * or FLT_EPSILON), which matrices, factors and x are rounded to: in each of the passes along a line
 * (three to interpolate, two to differentiate in the even and the odd part, and their transposes) a
 * sum of M = N + 2 terms is off by at most M epsilons of the sum of absolute values, and the
 * geometric factors by some 30. BP3.0 differentiates the interpolant, whose terms are larger than
 * those of the direct derivative by up to the norm of the interpolation, less than 3. */
double reference_tolerance(int order, double epsilon);

#endif
