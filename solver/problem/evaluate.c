#include "solver/problem/evaluate.h"

#include <float.h>
#include <math.h>

#include "io/clones.h"

/* No branches, so that compilers vectorise it. */
SP_CLONES static bool all_finite(size_t n, const double *values) {
  unsigned long long bad = 0; /* as wide as a double */
  for (size_t p = 0; p < n; p++) bad |= !(fabs(values[p]) <= DBL_MAX);
  return !bad;
}

/* Find the first point at which an array is not finite; n if there is none. */
static size_t find_infinite(size_t n, const double *value, double *const gradient[3],
                            const double *laplacian) {
  bool finite = all_finite(n, value) && (!laplacian || all_finite(n, laplacian));
  for (int d = 0; d < 3 && gradient; d++) finite = finite && all_finite(n, gradient[d]);
  if (finite) return n;
  for (size_t p = 0; p < n; p++) {
    if (!isfinite(value[p]) || (laplacian && !isfinite(laplacian[p]))) return p;
    for (int d = 0; d < 3 && gradient; d++)
      if (!isfinite(gradient[d][p])) return p;
  }
  return n;
}

sp_status sp_problem_evaluate(const sp_expression *formula, size_t n, const double *xyz[3],
                              const double *given, double *value, double *const gradient[3],
                              double *laplacian) {
  SP_TRY(sp_expression_evaluate(formula, n, xyz, given, value, gradient, laplacian));
  const size_t p = find_infinite(n, value, gradient, laplacian);
  if (p == n) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s' or a derivative of it is not finite at (%.12g, %.12g, %.12g)",
                 formula->where, formula->text, xyz[0][p], xyz[1][p], xyz[2][p]);
}

sp_status sp_problem_refuse(const sp_expression *formula, double value, const double *xyz[3],
                            size_t p, const char *expected) {
  return sp_fail(SP_ERR_INPUT, "%s: '%s' is %g at (%.12g, %.12g, %.12g), expected %s",
                 formula->where, formula->text, value, xyz[0][p], xyz[1][p], xyz[2][p], expected);
}

sp_status sp_problem_evaluate_coefficient(const sp_expression *formula, bool zero_allowed, size_t n,
                                          const double *xyz[3], const double *given, double *value,
                                          double *const gradient[3]) {
  SP_TRY(sp_problem_evaluate(formula, n, xyz, given, value, gradient, NULL));
  for (size_t p = 0; p < n; p++)
    if (!(zero_allowed ? value[p] >= 0 : value[p] > 0))
      return sp_problem_refuse(formula, value[p], xyz, p,
                               zero_allowed ? "a value >= 0" : "a value > 0");
  return SP_OK;
}
