/* Convergence as in theory, through the whole program: under refinement, with the degree, and
 * exactness for polynomials. */

#include "tests/rates.h"

static const char *const OPERATORS[] = {"mass", "bp3.5", "bp3.0"};
enum { MASS, BP35, BP30 };

/* Three ways to divide the boundary; the mass problem has none. */
static const char *const DIRICHLET[] = {"boundary.default=dirichlet", NULL};
static const char *const NEUMANN[] = {"boundary.default=neumann", NULL};
static const char *const MIXED[] = {
    "boundary.default=neumann; boundary.xmin=dirichlet; boundary.ymax=dirichlet", NULL};
static const char *const NOTHING[] = {NULL};

static sp_error_norms solve(int kind, int order, const char *map, const char *solution,
                            const char *const *boundary) {
  return rates_solve(
      TEXTS(test_text("discretization.operator=%s; discretization.order=%d; mesh.elements=2 2 2; "
                      "%s; %s",
                      OPERATORS[kind], order, map, kind == SP_MASS ? "" : "problem.lambda=1"),
            solution, RATES_SOLVER),
      boundary);
}

/* On elements of width h, functions of wave number k are approximated with an error that falls by
 * about k h / (4 (N + 2)) from N to N + 1 (the remainder of Chebyshev interpolation), faster than
 * any q^N. Here k = 2.9 and h <= 0.6; a factor of two is left for the neglected terms. */
static void check_decay(int kind, const char *const *boundary, const char *name) {
  double previous = 0;
  for (int order = 1; order <= 10; order++) {
    const double error = solve(kind, order, "mesh.map=sine", RATES_SMOOTH, boundary).l2;
    const double limit = 2 * 2.9 * 0.6 / (4.0 * (order + 1));
    if (order > 1 && previous > RATES_FLOOR)
      CHECK(error <= limit * previous, "%s N = %d %s: L2 falls from %.3g to %.3g only",
            OPERATORS[kind], order, name, previous, error);
    if (order == 10)
      CHECK(error <= RATES_FLOOR, "%s N = 10 %s: L2 error %.3g", OPERATORS[kind], name, error);
    previous = error;
  }
}

/* Trilinear maps take polynomials of total degree p to degree p in each reference coordinate, which
 * the space contains for p <= N. The discrete solution is exact if the quadrature is exact for both
 * sides of the integration by parts, grad u . grad v |J| and lap u v |J|. Their degree is N + p in
 * each coordinate on deformed elements (the cofactors of the map add one), and N + p - 1 on bricks.
 *
 *     GL with N + 2 points, exact to degree 2 N + 3:    p <= N always       (bp3.0, mass)
 *     GLL with N + 1 points, exact to degree 2 N - 1:   p <= N - 1 deformed, p <= N bricks  (bp3.5)
 */
static bool is_exact(int kind, int order, int degree, bool deformed) {
  return degree <= (kind == BP35 && deformed ? order - 1 : order);
}

/* Cases that should not be exact must not pass by accident: up to N = 5 their H1 error is well
 * above the solver's error. */
static void check_polynomial(int kind, int order, int degree, bool deformed,
                             const char *const *boundary) {
  const char *map = deformed ? "mesh.map=sine" : "mesh.map=none";
  const char *solution = test_text(
      "problem.solution=(0.3+0.6*x-0.4*y+0.5*z)^%d-(0.2*x+0.7*y-0.3*z)^%d", degree, degree);
  const sp_error_norms norms = solve(kind, order, map, solution, boundary);
  if (is_exact(kind, order, degree, deformed))
    CHECK(norms.h1 <= 0.1 * RATES_FLOOR && norms.max <= 0.1 * RATES_FLOOR,
          "%s N = %d degree %d %s %s: H1 error %.3g, max %.3g", OPERATORS[kind], order, degree, map,
          boundary[0] ? boundary[0] : "", norms.h1, norms.max);
  else if (order <= 5)
    CHECK(norms.h1 > RATES_FLOOR, "%s N = %d degree %d %s %s: H1 error %.3g, as if exact",
          OPERATORS[kind], order, degree, map, boundary[0] ? boundary[0] : "", norms.h1);
}

static void check_polynomials(int kind, int highest, const char *const *boundary) {
  for (int order = 1; order <= highest; order++)
    for (int degree = order - 1; degree <= order + 1; degree++)
      for (int deformed = 0; deformed < 2; deformed++)
        check_polynomial(kind, order, degree, deformed, boundary);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  const char *const *const boundaries[] = {DIRICHLET, NEUMANN, MIXED};
  const char *const names[] = {"Dirichlet", "Neumann", "mixed"};
  for (int kind = MASS; kind <= BP30; kind++)
    for (int c = 0; c < (kind == 0 ? 1 : 3); c++) {
      const char *const *boundary = kind == SP_MASS ? NOTHING : boundaries[c];
      for (int order = 1; order <= 4; order += all ? 1 : 2)
        check_smooth(test_text("discretization.operator=%s", OPERATORS[kind]), order,
                     kind == SP_MASS ? "" : "problem.lambda=1", boundary);
      if (all) check_decay(kind, boundary, kind == SP_MASS ? "" : names[c]);
      check_polynomials(kind, all ? 8 : 3, boundary);
    }
  return check_end();
}
