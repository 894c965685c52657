/* Norms of the error against the manufactured solution, over-integrated with N + 4 Gauss points in
 * each direction:
 *
 *     L2 = (integral of (u_h - u)^2)^1/2,
 *     H1 = (integral of |grad (u_h - u)|^2)^1/2   (the seminorm),
 *     max = largest |u_h - u| at those points. */
#pragma once

#include "operators/space.h"
#include "solver/problem/null_space.h"

typedef struct sp_error_norms {
  double l2, h1, max;
  double solution_l2, solution_h1; /* of u itself, at the same points, for relative errors */
} sp_error_norms;

/* Norms for the host L-vector x, or if that is NULL, for the solution interpolated at the nodes;
 * the problem must have a solution. If a value of x is NaN, so are l2, h1 and max. Errors:
 * SP_ERR_INPUT if the solution or its gradient is not finite. Collective. */
sp_status sp_errors_compute(const sp_problem *problem, const sp_space *space, const double *x,
                            sp_error_norms *norms);

/* Add to x the constant on each component that gives u_h the mean of the exact solution in the mass
 * inner product, or mean zero if the problem has none. Collective. */
sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_space *space, double *x);
