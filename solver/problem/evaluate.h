/* Evaluate a formula of the case at points, and check each value. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"
#include "io/formula/expression.h"

/* Compute values at the n points (xyz[0][p], xyz[1][p], xyz[2][p]), and gradient and Laplacian
 * unless these are NULL. value, gradient[d] and laplacian are [n]; `given`: as in
 * sp_expression_evaluate. Errors: SP_ERR_INPUT with the formula's line and the first point at which
 * one of them is not finite. Local. */
sp_status sp_problem_evaluate(const sp_expression *formula, size_t n, const double *xyz[3],
                              const double *given, double *value, double *const gradient[3],
                              double *laplacian);

/* Evaluate a coefficient likewise, whose values must be > 0, or >= 0 with `zero_allowed`. Errors:
 * as above; SP_ERR_INPUT with the first point at which the value is out of range. Local. */
sp_status sp_problem_evaluate_coefficient(const sp_expression *formula, bool zero_allowed, size_t n,
                                          const double *xyz[3], const double *given, double *value,
                                          double *const gradient[3]);

/* Return SP_ERR_INPUT: the formula's value at point p, and what was expected. Local. */
sp_status sp_problem_refuse(const sp_expression *formula, double value, const double *xyz[3],
                            size_t p, const char *expected);
