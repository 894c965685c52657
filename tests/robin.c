/* Robin conditions through the whole program: rates, exactness, the limits alpha = 0 and alpha very
 * large, and that they remove the null space. */

#include "tests/rates.h"

static const char *const ROBIN[] = {"boundary.default=robin 1+x*y", NULL};
static const char *const MIXED[] = {
    "boundary.default=robin 2; boundary.xmin=dirichlet; boundary.ymax=neumann; "
    "boundary.zmin=robin exp(x)",
    NULL};

/* alpha u = g holds at every node, so only the flux has an error, as with Neumann conditions and
 * GLL quadrature (tests/convergence.c): degree N - 1 is exact on deformed elements, with both
 * operators; N is not. */
static void check_exactness(const char *kind, int order) {
  for (int degree = order - 1; degree <= order; degree++) {
    const char *n = test_text("discretization.order=%d", order);
    const char *solution = test_text("problem.solution=(0.3+0.6*x-0.4*y+0.5*z)^%d", degree);
    const char *const common[] = {kind,         n,   "mesh.elements=2 2 2; mesh.map=sine", solution,
                                  RATES_SOLVER, NULL};
    const sp_error_norms norms = rates_solve(common, ROBIN);
    if (degree < order)
      CHECK(norms.h1 <= 1e-9 && norms.max <= 1e-9, "%s %s: H1 error %g, max %g", n, solution,
            norms.h1, norms.max);
    else
      CHECK(norms.h1 > 1e-8, "%s %s: H1 error %g, as if exact", n, solution, norms.h1);
  }
}

/* alpha = 0 is Neumann, by the same quadrature for bp3.5: the same errors up to the solver's 1e-13
 * times the condition number, below 1e4; also in the pure Neumann problem. With alpha = 1e8 the
 * difference to the Dirichlet solution is about its flux over alpha, below 1e-6. */
static void check_limits(void) {
  static const char *const common[] = {"discretization.order=3; mesh.elements=2 2 2; mesh.map=sine",
                                       RATES_SMOOTH, RATES_SOLVER, NULL};
  static const char *const limits[][2] = {
      {"boundary.default=robin 0", "boundary.default=neumann"},
      {"boundary.default=robin 0*x", "boundary.default=neumann"},
      {"boundary.default=robin 1e8", "boundary.default=dirichlet"}};
  static const double tolerance[] = {1e-9, 1e-9, 1e-6};
  for (int limit = 0; limit < 3; limit++)
    for (int lambda = 0; lambda < 2; lambda++) {
      const char *const value = lambda ? "problem.lambda=1" : "problem.lambda=0";
      const char *const robin[] = {limits[limit][0], value, NULL};
      const char *const other[] = {limits[limit][1], value, NULL};
      const sp_error_norms a = rates_solve(common, robin), b = rates_solve(common, other);
      CHECK(b.l2 > 1e-5, "an L2 error of %g", b.l2);
      CHECK_CLOSE(a.l2, b.l2, tolerance[limit]);
      CHECK_CLOSE(a.h1, b.h1, 10 * tolerance[limit]);
    }
}

/* With lambda = 0, forcing 1 and u of the outside 0: no constant is free, so nothing has to
 * balance. -u'' = 1 with u' = -u at x = 1 and u' = 0 at x = 0: u = (3 - x^2) / 2. */
static void check_regular(void) {
  for (int kind = 0; kind < 2; kind++) {
    const char *const overrides[] = {
        KINDS[kind],
        "discretization.order=3; mesh.elements=3 2 2; problem.lambda=0; "
        "problem.forcing=1; problem.solution=(3-x^2)/2; boundary.default=neumann 0; "
        "boundary.xmax=robin 1, 0",
        RATES_SOLVER, NULL};
    const sp_error_norms norms = rates_solve(overrides, NULL);
    CHECK(norms.max <= 1e-9, "max error %g", norms.max);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  for (int k = 0; k < 2; k++) {
    for (int order = 1; order <= 4; order += all ? 1 : 2) {
      check_smooth(KINDS[k], order, "problem.lambda=0", ROBIN);
      check_smooth(KINDS[k], order, "problem.kappa=1+0.5*sin(2*x+y)*cos(1.5*z)", MIXED);
      if (order > 1) check_exactness(KINDS[k], order);
    }
  }
  check_limits();
  check_regular();
  return check_end();
}
