/* The bilinear forms of BP1.0, BP3.5 and BP3.0 on one element, point by point without sum
 * factorization: the reference for every fast operator.
 *
 *     y_i = sum over points q of w_q |J| (grad l_i . grad u + lambda l_i u),   u = sum_j x_j l_j
 *
 * with gradients in physical space (mass: only w_q |J| l_i u). It uses only the nodes and weights
 * of the quadrature rules from the libraries. */
#pragma once

#include "operators/backend.h"
#include "tests/deformed_box.h"

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

/* y[Np] as above, but w_q |J| (grad l_i . kappa_q grad u + lambda_q l_i u) with the coefficients of
 * the setup, whose space is not used; or, of factors[SP_FACTORS][points] of the element, with its
 * gradients, G and wJ. The same sum with the absolute value of every term, |x| <= 1 and sizes[]
 * like factors[] is scale[Np]: the rounding errors of any evaluation of y are small multiples of
 * it. */
void reference_apply(const sp_operator_setup *setup, int order, const double *factors,
                     const double *sizes, const sp_hexes *hexes, sp_lid element, const double *x,
                     double *y, double *scale);

/* The same for this rank's elements and an L-vector x: elements and scale are [elements][Np]. */
void reference_elements(const deformed_box *box, const sp_operator_setup *setup, const double *x,
                        double *elements, double *scale);

/* elements[elements][Np], and a rank's part[local] unless NULL, summed over all elements and ranks:
 * sum[local]. Collective over the box's communicator. */
void reference_sum(const deformed_box *box, const double *elements, const double *part,
                   double *sum);

/* The largest |a - b| / scale of n entries; infinite for a NaN. */
double reference_error(size_t n, const double *a, const double *b, const double *scale);

/* Relative error against `scale` of operators in a precision with this machine epsilon (DBL_EPSILON
 * or FLT_EPSILON), to which matrices, factors and x are rounded. Passes along a line are three to
 * interpolate, two to differentiate in the even and the odd part, and their transposes. In each
 * pass a sum of M = N + 2 terms is off by at most M epsilons of the sum of absolute values.
 * Geometric factors are off by about 30 epsilons. BP3.0 differentiates the interpolant, whose terms
 * are larger than the terms of the direct derivative by up to the norm of the interpolation, less
 * than 3. */
double reference_tolerance(int order, double epsilon);
