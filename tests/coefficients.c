/* Variable kappa, also as a tensor, and lambda through the whole program: rates, agreement with the
 * constant path, and the pure Neumann problem. */

#include "tests/rates.h"

static const char *const DIRICHLET[] = {"boundary.default=dirichlet", NULL};
static const char *const NEUMANN[] = {"boundary.default=neumann", NULL};
static const char *const MIXED[] = {
    "boundary.default=neumann; boundary.xmin=dirichlet; boundary.ymax=dirichlet", NULL};

/* Entire functions of size one; kappa varies by a factor of three, so that a solver for constant
 * kappa would not converge. */
#define KAPPA "problem.kappa=1+0.5*sin(2*x+y)*cos(1.5*z); "
/* Positive definite, since the diagonal dominates; in axes of its own. */
#define TENSOR                                                                                     \
  "problem.kappa=1+0.4*sin(2*x+y), 2+cos(y*z), 1.5+0.5*x*y, 0.3*cos(x+z), 0.2*sin(3*y), -0.3*x*z"
#define AXES "problem.axes=1,2,0, -1,1,1"
#define COEFFICIENTS KAPPA "problem.lambda=2+cos(3*x)*sin(2*y+z)"

static const char *const ROBIN[] = {
    "boundary.default=neumann; boundary.xmin=dirichlet; boundary.ymax=robin 1+x", TENSOR, AXES,
    NULL};

/* Three coefficients and a geometry, each of which gives the same discrete problem. A formula of x
 * with a constant value is the constant; a multiple of the whole equation. */
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

/* Both u have errors of the solver's 1e-13 times the condition number, below 1e4 here
 * (tests/rates.h). */
static void check_agreement(const char *kind, size_t count, const char *const *variants) {
  sp_error_norms first = {0};
  for (size_t v = 0; v < count; v++) {
    const char *const common[] = {
        kind,         "discretization.order=3; mesh.elements=2 3 2; mesh.map=sine",
        RATES_SMOOTH, RATES_SOLVER,
        variants[v],  NULL};
    const sp_error_norms norms = rates_solve(common, MIXED);
    if (v == 0) first = norms;
    CHECK(first.l2 > 1e-6, "an L2 error of %g", first.l2);
    CHECK_CLOSE(norms.l2, first.l2, 1e-9);
    CHECK_CLOSE(norms.h1, first.h1, 1e-8);
  }
}

/* Trilinear geometry is refused with coefficients that vary inside elements; the message names the
 * cure. */
static void check_refused(void) {
  static const char *const coefficients[] = {"problem.kappa=1+x", "problem.lambda=1+x",
                                             "problem.kappa=1,2+x,3"};
  for (int c = 0; c < 3; c++) {
    const char *const overrides[] = {
        "problem.solution=x; mesh.elements=2 2 2; discretization.order=2; "
        "discretization.geometry=trilinear",
        coefficients[c], NULL};
    sp_results results;
    CHECK(run_case(MPI_COMM_WORLD, overrides, NULL, &results) == SP_ERR_INPUT &&
              strstr(sp_error_message(), "constant in each material") &&
              strstr(sp_error_message(), "use stored or auto"),
          "%s: %s", coefficients[c], sp_error_message());
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  for (int k = 0; k < 2; k++) {
    for (int order = 1; order <= 4; order += all ? 1 : 2) {
      check_smooth(KINDS[k], order, COEFFICIENTS, DIRICHLET);
      check_smooth(KINDS[k], order, COEFFICIENTS, MIXED);
      check_smooth(KINDS[k], order, COEFFICIENTS, ROBIN);
    }
    check_smooth(KINDS[k], 2, COEFFICIENTS, NEUMANN);
    /* A formula that is zero everywhere: the null space is found although lambda is no constant. */
    check_smooth(KINDS[k], 3, KAPPA "problem.lambda=0*x", NEUMANN);
    check_agreement(KINDS[k], COUNT_OF(SCALARS), SCALARS);
    check_agreement(KINDS[k], COUNT_OF(TENSORS), TENSORS);
  }
  check_refused();
  return check_end();
}
