/* Variable kappa and lambda through the whole program: rates, agreement with the constant path, and
 * the pure Neumann problem. */
#include <stdbool.h>
#include <string.h>

#include "tests/check.h"
#include "tests/rates.h"

static const char *const KINDS[] = {"discretization.operator=bp3.5",
                                    "discretization.operator=bp3.0"};

static const char *const DIRICHLET[] = {"boundary.default=dirichlet", NULL};
static const char *const NEUMANN[] = {"boundary.default=neumann", NULL};
static const char *const MIXED[] = {"boundary.default=neumann", "boundary.xmin=dirichlet",
                                    "boundary.ymax=dirichlet", NULL};

/* Entire functions of size one; kappa varies by a factor of three, so that a solver for a constant
 * one would not converge at all. */
#define KAPPA "problem.kappa=1+0.5*sin(2*x+y)*cos(1.5*z)"
#define LAMBDA "problem.lambda=2+cos(3*x)*sin(2*y+z)"

static void check_smooth(const char *kind, int order, const char *lambda,
                         const char *const *boundary) {
  const char *const common[] = {
      kind, "mesh.elements=2 2 2", "mesh.map=sine", RATES_SMOOTH, KAPPA, lambda, RATES_SOLVER,
      NULL};
  check_rates(order, rates_coarse(order), common, boundary);
}

/* A formula of x with a constant value gives the same discrete problem as the constant; both u have
 * errors of the solver's 1e-13 times the condition number, below 1e4 here (tests/rates.h). The same
 * holds for a multiple of the whole equation. */
static void check_agreement(const char *kind) {
  static const char *const variants[][3] = {
      {"problem.kappa=3", "problem.lambda=1.5", "discretization.geometry=auto"},
      {"problem.kappa=3", "problem.lambda=1.5", "discretization.geometry=trilinear"},
      {"problem.kappa=3", "problem.lambda=1.5", "discretization.geometry=stored"},
      {"problem.kappa=3+0*x", "problem.lambda=1.5", "discretization.geometry=stored"},
      {"problem.kappa=3", "problem.lambda=1.5+0*y", "discretization.geometry=auto"},
      {"problem.kappa=3+0*z", "problem.lambda=1.5+0*z", "discretization.geometry=auto"},
      {"problem.kappa=1", "problem.lambda=0.5", "discretization.geometry=trilinear"},
  };
  sp_error_norms first = {0};
  for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
    const char *const common[] = {kind,
                                  "discretization.order=3",
                                  "mesh.elements=2 3 2",
                                  "mesh.map=sine",
                                  RATES_SMOOTH,
                                  RATES_SOLVER,
                                  variants[v][0],
                                  variants[v][1],
                                  variants[v][2],
                                  NULL};
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
  static const char *const coefficients[] = {"problem.kappa=1+x", "problem.lambda=1+x"};
  for (int c = 0; c < 2; c++) {
    const char *const overrides[] = {"problem.solution=x",     "mesh.elements=2 2 2",
                                     "discretization.order=2", "discretization.geometry=trilinear",
                                     coefficients[c],          NULL};
    sp_results results;
    CHECK(run_case(MPI_COMM_WORLD, overrides, NULL, &results) == SP_ERR_INPUT &&
              strstr(sp_error_message(), "constant in each material") &&
              strstr(sp_error_message(), "use stored or auto"),
          "%s: %s", coefficients[c], sp_error_message());
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  run_case_begin(argc, argv);
  const bool all = device_sweeps(argc, argv);
  for (int k = 0; k < 2; k++) {
    for (int order = 1; order <= 4; order += all ? 1 : 2) {
      check_smooth(KINDS[k], order, LAMBDA, DIRICHLET);
      check_smooth(KINDS[k], order, LAMBDA, MIXED);
    }
    check_smooth(KINDS[k], 2, LAMBDA, NEUMANN);
    /* A formula that is zero everywhere: the null space is found although lambda is no constant. */
    check_smooth(KINDS[k], 3, "problem.lambda=0*x", NEUMANN);
    check_agreement(KINDS[k]);
  }
  check_refused();
  return check_end();
}
