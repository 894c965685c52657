/* u0 in a forcing: a step of implicit Euler, (u - u0) / dt = lap u, whose solution is a polynomial
 * of degree 3. All integrals are exact at order 4, so the iteration is the only source of error. */
#include "tests/run_case.h"

static const char SOLUTION[] = "x^3-x*y^2+z^2"; /* its Laplacian is 4*x+2 */

static void check_step(const char *kind, const char *initial, const char *forcing) {
  const char *const overrides[] = {
      kind,
      "mesh.elements=3 2 2; discretization.order=4; constants.rate=50; problem.lambda=rate; "
      "boundary.default=dirichlet; solver.tolerance=1e-12",
      test_text("problem.initial=%s; problem.solution=%s", initial, SOLUTION),
      test_text("region.core.upper=1 0.5 1; problem.forcing=%s; material.core.forcing=%s+0",
                forcing, forcing),
      NULL};
  sp_results results;
  CHECK_OK(run_case(MPI_COMM_WORLD, overrides, NULL, &results));
  CHECK_CLOSE(results.norms.max, 0, 1e-10);
}

/* Formulas have no u0 if the case has none. */
static void check_missing(void) {
  const char *const overrides[] = {"mesh.elements=2 2 1; boundary.default=dirichlet 0",
                                   "problem.forcing=2*u0", NULL};
  sp_results results;
  CHECK_FAILS(run_case(MPI_COMM_WORLD, overrides, NULL, &results), SP_ERR_INPUT, "'u0'");
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  for (int k = 0; k < 2; k++) {
    check_step(KINDS[k], test_text("%s-(4*x+2)/rate", SOLUTION), "rate*u0");
    check_step(KINDS[k], SOLUTION, "rate*u0-4*x-2");
  }
  check_missing();
  return check_end();
}
