/* kappa and lambda that depend on u: solutions in the finite element space, steady and in time,
 * Kirchhoff's transform, and refusals. */
#include <math.h>

#include "tests/run_case.h"

#define BOX                                                                                        \
  "mesh.elements=4 2 2; discretization.order=4; boundary.default=dirichlet; "                      \
  "solver.tolerance=1e-10"

/* The solution of the equations is in the space, and their integrands are of degree N + 2 per
 * direction, which all rules integrate exactly. The last change is below 1e-10 of the largest
 * value; Picard's iteration reduces changes by more than a half, so the error is below that change.
 */
static void check_exact(const char *formulas, int most) {
  for (int kind = 0; kind < 2; kind++) {
    sp_results results;
    CHECK_OK(run_case(MPI_COMM_WORLD, TEXTS(BOX, KINDS[kind]), TEXTS(formulas), &results));
    CHECK(results.norms.max < 1e-9, "%s: the largest error is %g", formulas, results.norms.max);
    CHECK(results.cg.iterations <= most, "%s: %d iterations, expected at most %d", formulas,
          (int)results.cg.iterations, most);
  }
}

/* Along a slab with u = 0 and 1 at its ends the integral of kappa over u is linear in x. Orders
 * converge: the solution, sqrt(1 + 3 x) - 1 for kappa = 1 + u, is smooth. */
static void check_kirchhoff(void) {
  double last = INFINITY;
  for (int order = 2; order <= 8; order += 2) {
    sp_results results;
    CHECK_OK(run_case(MPI_COMM_WORLD,
                      TEXTS("mesh.elements=4 1 1; problem.kappa=1+u; problem.forcing=0; "
                            "boundary.default=neumann 0; boundary.xmin=dirichlet 0; "
                            "boundary.xmax=dirichlet 1; problem.solution=sqrt(1+3*x)-1"),
                      TEXTS("solver.tolerance=1e-11", test_text("discretization.order=%d", order)),
                      &results));
    CHECK(results.norms.max < last / 8, "order %d: the error falls from %g to %g", order, last,
          results.norms.max);
    last = results.norms.max;
  }
  CHECK(last < 1e-6, "order 8: the largest error is %g", last);
}

static void check_refused(const char *formulas, const char *message) {
  run_case_refused(TEXTS("mesh.elements=2 2 2; boundary.default=dirichlet 0"), TEXTS(formulas),
                   TEXTS(message));
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  check_exact("problem.kappa=1+u; problem.solution=x*y+z; problem.forcing=-(x*x+y*y+1)", 40);
  check_exact("problem.kappa=2+x+u; problem.lambda=u; problem.solution=x*y+z; "
              "problem.forcing=(x*y+z)^2-(x*x+y*y+1+y)",
              40);
  check_exact("region.left.upper=0.5 1 1; region.right.lower=0.5 0 0; material.left.kappa=1+u; "
              "material.right.lambda=u; problem.kappa=2; material.left.forcing=-1; "
              "material.right.forcing=z*z; problem.solution=z; problem.initial=1",
              40);
  check_exact("problem.kappa=1+u; problem.capacity=1; problem.forcing=0; problem.solution=x+t; "
              "time.end=1; time.steps=5",
              300);
  check_exact("problem.capacity=2+u; problem.forcing=2+x+t; problem.solution=x+t; "
              "time.end=1; time.steps=5",
              300);
  check_exact("problem.kappa=1+u; problem.capacity=2+u; problem.forcing=1+x+t; "
              "problem.solution=x+t; time.end=1; time.steps=5; time.scheme=sdirk2",
              600);
  check_exact("problem.lambda=u; problem.forcing=4; problem.solution=2; problem.initial=1; "
              "boundary.default=neumann 0",
              300);
  check_kirchhoff();
  check_refused("problem.kappa=1+u; problem.solution=x", "not derived from the solution");
  check_refused("problem.kappa=1+u; problem.forcing=1; problem.solution=x; boundary.xmin=neumann",
                "give G of each condition");
  check_refused("problem.kappa=u; problem.forcing=1", "expected a value > 0");
  check_refused("region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; material.a.kappa=1,2,3; "
                "material.b.kappa=1+u; problem.forcing=1",
                "excludes kappa with components");
  check_refused("problem.kappa=1,2,1+u; problem.forcing=1", "unknown name 'u'");
  check_refused(
      "problem.capacity=u; problem.forcing=1; problem.initial=0; time.end=1; time.steps=1",
      "expected a value > 0");
  return check_end();
}
