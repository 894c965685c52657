/* Convergence as in theory, through the whole program: under refinement, with the degree, and
 * exactness for polynomials, with coefficients and conditions of all kinds. Equal problems that are
 * given in different ways have equal errors. */

#include "tests/rates.h"

static const char *const OPERATORS[] = {"mass", "bp3.5", "bp3.0"};
enum { MASS, BP35, BP30 };

#define MIXED "boundary.default=neumann; boundary.xmin=dirichlet; boundary.ymax=dirichlet"

/* Entire functions of size one; kappa varies by a factor of three, so that a solver for constant
 * kappa would not converge. */
#define KAPPA "problem.kappa=1+0.5*sin(2*x+y)*cos(1.5*z)"
#define LAMBDA "problem.lambda=2+cos(3*x)*sin(2*y+z)"
/* Positive definite, since the diagonal dominates; in axes of its own. */
#define TENSOR                                                                                     \
  "problem.kappa=1+0.4*sin(2*x+y), 2+cos(y*z), 1.5+0.5*x*y, 0.3*cos(x+z), 0.2*sin(3*y), "          \
  "-0.3*x*z; problem.axes=1,2,0, -1,1,1"

/* Problems whose errors are judged at these orders. */
static const struct {
  int first, last;
  const char *own;
} PROBLEMS[] = {
    {1, 4, MIXED "; problem.lambda=1"},
    {1, 4, "boundary.default=dirichlet; " KAPPA "; " LAMBDA},
    {1, 4, MIXED "; " KAPPA "; " LAMBDA},
    {2, 2, "boundary.default=neumann; " KAPPA "; " LAMBDA},
    {1, 4,
     "boundary.default=neumann; boundary.xmin=dirichlet; boundary.ymax=robin 1+x; " TENSOR
     "; " LAMBDA},
    {1, 4, "boundary.default=robin 1+x*y; problem.lambda=0"},
    {1, 4,
     "boundary.default=robin 2; boundary.xmin=dirichlet; boundary.ymax=neumann; "
     "boundary.zmin=robin exp(x); " KAPPA},
    /* The null space is found, also with a formula that is zero everywhere. If means were not
     * matched, the error would be of the size of the solution. */
    {1, 3, "boundary.default=neumann; problem.lambda=0"},
    {3, 3, "boundary.default=neumann; " KAPPA "; problem.lambda=0*x"},
};

static sp_error_norms solve(int kind, int order, const char *map, const char *solution,
                            const char *boundary) {
  return rates_solve(
      TEXTS(test_text("discretization.operator=%s; discretization.order=%d; mesh.elements=2 2 2; "
                      "%s; %s",
                      OPERATORS[kind], order, map, kind == MASS ? "" : "problem.lambda=1"),
            solution, RATES_SOLVER),
      TEXTS(boundary));
}

/* On elements of width h, functions of wave number k are approximated with an error that falls by
 * about k h / (4 (N + 2)) from N to N + 1 (the remainder of Chebyshev interpolation), faster than
 * any q^N. Here k = 2.9 and h <= 0.6; a factor of two is left for the neglected terms. */
static void check_decay(int kind, const char *boundary) {
  double previous = 0;
  for (int order = 1; order <= 10; order++) {
    const double error = solve(kind, order, "mesh.map=sine", RATES_SMOOTH, boundary).l2;
    const double limit = 2 * 2.9 * 0.6 / (4.0 * (order + 1));
    if (order > 1 && previous > RATES_FLOOR)
      CHECK(error <= limit * previous, "%s N = %d: L2 falls from %.3g to %.3g only",
            OPERATORS[kind], order, previous, error);
    if (order == 10)
      CHECK(error <= RATES_FLOOR, "%s N = 10: L2 error %.3g", OPERATORS[kind], error);
    previous = error;
  }
}

/* The ways to divide the boundary; the mass problem has none. */
enum { ROBIN = 3 };
static const char *const BOUNDARIES[] = {"boundary.default=dirichlet", "boundary.default=neumann",
                                         MIXED, "boundary.default=robin 1+x*y; problem.lambda=0"};

/* Trilinear maps take polynomials of total degree p to degree p in each reference coordinate, which
 * the space contains for p <= N. The discrete solution is exact if the quadrature is exact for both
 * sides of the integration by parts, grad u . grad v |J| and lap u v |J|. Their degree is N + p in
 * each coordinate on deformed elements (the cofactors of the map add one), and N + p - 1 on bricks.
 *
 *     GL with N + 2 points, exact to degree 2 N + 3:    p <= N always       (bp3.0, mass)
 *     GLL with N + 1 points, exact to degree 2 N - 1:   p <= N - 1 deformed, p <= N bricks  (bp3.5)
 *
 * Robin conditions hold at every node, and their flux has the GLL quadrature with both operators.
 */
static bool is_exact(int kind, int boundary, int order, int degree, bool deformed) {
  return degree <= ((kind == BP35 || boundary == ROBIN) && deformed ? order - 1 : order);
}

/* Cases that should not be exact must not pass by accident: up to N = 5 their H1 error is well
 * above the solver's error. */
static void check_polynomial(int kind, int boundary, int order, int degree, bool deformed) {
  const char *map = deformed ? "mesh.map=sine" : "mesh.map=none";
  const char *conditions = kind == MASS ? "" : BOUNDARIES[boundary];
  const char *solution = test_text(
      "problem.solution=(0.3+0.6*x-0.4*y+0.5*z)^%d-(0.2*x+0.7*y-0.3*z)^%d", degree, degree);
  const sp_error_norms norms = solve(kind, order, map, solution, conditions);
  if (is_exact(kind, boundary, order, degree, deformed))
    CHECK(norms.h1 <= 0.1 * RATES_FLOOR && norms.max <= 0.1 * RATES_FLOOR,
          "%s N = %d degree %d %s %s: H1 error %.3g, max %.3g", OPERATORS[kind], order, degree, map,
          conditions, norms.h1, norms.max);
  else if (order <= 5)
    CHECK(norms.h1 > RATES_FLOOR, "%s N = %d degree %d %s %s: H1 error %.3g, as if exact",
          OPERATORS[kind], order, degree, map, conditions, norms.h1);
}

static void check_polynomials(int kind, int boundary, int highest) {
  for (int order = 1; order <= highest; order++)
    for (int degree = order - 1; degree <= order + 1; degree++)
      for (int deformed = 0; deformed < 2; deformed++)
        check_polynomial(kind, boundary, order, degree, deformed);
}

/* Coefficients and geometries that give the same discrete problem. A formula of x with a constant
 * value is the constant; a multiple of the whole equation. */
static const char *const SCALARS[] = {
    "problem.kappa=3; problem.lambda=1.5; discretization.geometry=auto",
    "problem.kappa=3; problem.lambda=1.5; discretization.geometry=trilinear",
    "problem.kappa=3; problem.lambda=1.5; discretization.geometry=stored",
    "problem.kappa=3+0*x; problem.lambda=1.5; discretization.geometry=stored",
    "problem.kappa=3; problem.lambda=1.5+0*y; discretization.geometry=auto",
    "problem.kappa=3+0*z; problem.lambda=1.5+0*z; discretization.geometry=auto",
    "problem.kappa=1; problem.lambda=0.5; discretization.geometry=trilinear",
    "problem.kappa=3,3,3; problem.lambda=1.5; discretization.geometry=auto",
};

/* 2 e_1 e_1^T + 5 e_2 e_2^T + e_3 e_3^T with e_1 = (0.6, 0.8, 0), e_2 = (-0.8, 0.6, 0). */
#define TURNED "; problem.axes=6,8,0, -1,7,0"
static const char *const TENSORS[] = {
    "problem.kappa=3.92,3.08,1,-1.44,0,0; problem.lambda=1.5; discretization.geometry=auto",
    "problem.kappa=2,5,1; problem.lambda=1.5; discretization.geometry=stored" TURNED,
    "problem.kappa=2,5,1; problem.lambda=1.5; discretization.geometry=trilinear" TURNED,
    "problem.kappa=2,5+0*x,1; problem.lambda=1.5; discretization.geometry=stored" TURNED,
    "problem.kappa=2,5,1,0,0,0; problem.lambda=1.5+0*y; discretization.geometry=auto" TURNED,
    "problem.kappa=4,10,2; problem.lambda=3; discretization.geometry=trilinear" TURNED,
};

/* alpha = 0 is Neumann, also in the pure Neumann problem, for bp3.5 by the same quadrature. With
 * alpha = 1e8 the difference to the Dirichlet solution is about its flux over alpha, below 1e-6. */
static const char *const NO_FILM[] = {"boundary.default=neumann", "boundary.default=robin 0",
                                      "boundary.default=robin 0*x"};
static const char *const STIFF_FILM[] = {"boundary.default=dirichlet",
                                         "boundary.default=robin 1e8"};

/* All u have errors of the solver's 1e-13 times the condition number, below 1e4 here
 * (tests/rates.h), except with stiff films. */
static void check_agreement(const char *same, double tolerance, size_t count,
                            const char *const *variants) {
  sp_error_norms first = {0};
  for (size_t v = 0; v < count; v++) {
    const char *const common[] = {same,
                                  "discretization.order=3; mesh.elements=2 3 2; mesh.map=sine",
                                  RATES_SMOOTH, RATES_SOLVER, NULL};
    const sp_error_norms norms = rates_solve(common, TEXTS(variants[v]));
    if (v == 0) first = norms;
    CHECK(first.l2 > 1e-6, "an L2 error of %g", first.l2);
    CHECK_CLOSE(norms.l2, first.l2, tolerance);
    CHECK_CLOSE(norms.h1, first.h1, 10 * tolerance);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  for (int order = 1; order <= 4; order += all ? 1 : 2)
    check_smooth("discretization.operator=mass", order, NULL);
  for (int k = 0; k < 2; k++) {
    for (size_t p = 0; p < COUNT_OF(PROBLEMS); p++)
      for (int order = PROBLEMS[p].first; order <= PROBLEMS[p].last; order += all ? 1 : 2)
        check_smooth(KINDS[k], order, TEXTS(PROBLEMS[p].own));
    const char *mixed = test_text("%s; " MIXED, KINDS[k]);
    check_agreement(mixed, 1e-9, COUNT_OF(SCALARS), SCALARS);
    check_agreement(mixed, 1e-9, COUNT_OF(TENSORS), TENSORS);
    const char *lambda = test_text("discretization.operator=bp3.5; problem.lambda=%d", k);
    check_agreement(lambda, 1e-9, COUNT_OF(NO_FILM), NO_FILM);
    check_agreement(lambda, 1e-6, COUNT_OF(STIFF_FILM), STIFF_FILM);
  }
  for (int kind = MASS; kind <= BP30; kind++) {
    if (all) check_decay(kind, kind == MASS ? "" : MIXED);
    for (int boundary = 0; boundary <= (kind == MASS ? 0 : ROBIN); boundary++)
      check_polynomials(kind, boundary, !all ? 3 : boundary == ROBIN ? 4 : 8);
  }
  return check_end();
}
