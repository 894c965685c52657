/* Values of a formula of the case at points, with a check of each. */
#ifndef SP_SOLVER_PROBLEM_EVALUATE_H
#define SP_SOLVER_PROBLEM_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"
#include "io/expression.h"

/* Values at n points, and gradient and Laplacian where these are not NULL. Errors: SP_ERR_INPUT
 * with the formula's place and the first point where one of them is not finite. Local. */
sp_status sp_problem_evaluate(const sp_expression *formula, size_t n, const double *xyz[3],
                              double *value, double *const gradient[3], double *laplacian);

/* The same of a coefficient, whose values must be > 0, or >= 0 with `zero_allowed`. Errors:
 * SP_ERR_INPUT, as above and with the first point of another value. Local. */
sp_status sp_problem_evaluate_coefficient(const sp_expression *formula, bool zero_allowed, size_t n,
                                          const double *xyz[3], double *value,
                                          double *const gradient[3]);

#endif
