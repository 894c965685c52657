/* Conditions that depend on u: a slab between a given temperature and radiation, steady and as the
 * limit in time. The exact solution is linear. The same by a robin line with formulas of u; a slab
 * that only radiates, also to almost 0 K; and bad lines. */
#include <math.h>

#include "tests/run_case.h"

static const double SIGMA = 5.670374419e-8, EPS = 0.8, KAPPA = 0.5, LENGTH = 0.1;
static const double HOT = 500, AMBIENT = 20, OFFSET = 273.15; /* degrees C */

/* The temperature at which radiation equals conduction through the slab: bisection, exact to
 * rounding. */
static double find_temperature(void) {
  double low = AMBIENT, high = HOT;
  for (int i = 0; i < 200; i++) {
    const double t = (low + high) / 2, conducted = KAPPA * (HOT - t) / LENGTH;
    const double q = EPS * SIGMA * (pow(t + OFFSET, 4) - pow(AMBIENT + OFFSET, 4));
    *(q < conducted ? &low : &high) = t;
  }
  return low;
}

/* Solve with a line for xmax and check u = HOT + (T - HOT) x / LENGTH. The last change of u is
 * below the tolerance, 1e-10 of 500 degrees; Picard's method reduces changes by a factor of 0.3 or
 * less, so the error is at most half of the last one. */
static void check_slab(const char *line, const char *const *own) {
  const double t = find_temperature();
  sp_results results;
  const char *const common[] = {
      "mesh.elements=4 1 1; mesh.upper=0.1 1 1; discretization.order=2; problem.kappa=0.5; "
      "problem.forcing=0; boundary.xmin=dirichlet 500; boundary.default=neumann 0; "
      "solver.tolerance=1e-10",
      test_text("boundary.xmax=%s", line),
      test_text("problem.solution=500 + (%.17g - 500)*x/0.1", t), NULL};
  CHECK_OK(run_case(MPI_COMM_WORLD, common, own, &results));
  CHECK(results.norms.max < 1e-7, "%s: the largest error is %g", line, results.norms.max);
}

/* A source of 100 W/m^3 leaves by radiation alone. Newton's method ends with a change below 1e-10
 * of the solution, and squares it. */
static void check_radiator(double ambient) {
  const double t = pow(100 * LENGTH / (EPS * SIGMA) + pow(ambient, 4), 0.25);
  sp_results results;
  CHECK_OK(run_case(
      MPI_COMM_WORLD,
      TEXTS("mesh.elements=4 1 1; mesh.upper=0.1 1 1; discretization.order=2; problem.kappa=0.5; "
            "problem.forcing=100; boundary.default=neumann 0; solver.tolerance=1e-10"),
      TEXTS(test_text("boundary.xmax=radiation 0.8, %g", ambient),
            test_text("problem.solution=%.17g + 100*(0.01 - x*x)", t)),
      &results));
  CHECK(results.norms.max < 1e-7, "ambient %g: the largest error is %g", ambient,
        results.norms.max);
}

static void check_refused(const char *line, const char *message) {
  run_case_refused(TEXTS("mesh.elements=4 1 1; problem.forcing=0; boundary.default=neumann 0"),
                   TEXTS(test_text("boundary.xmax=%s", line)), TEXTS(message));
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  static const char alpha[] = "0.8*5.670374419e-8*((u+273.15)^2+293.15^2)*(u+273.15+293.15)";
  const char *const robin = test_text("robin %s, %s*20", alpha, alpha);
  const char *const in_time[] = {
      "problem.capacity=1e4; time.end=1e5; time.steps=20; time.every=20; problem.initial=20", NULL};
  for (int kind = 0; kind < 2; kind++) {
    check_slab("radiation 0.8, 20, 273.15", TEXTS(KINDS[kind]));
    check_slab(robin, TEXTS(KINDS[kind]));
    check_slab("radiation 0.8, 20, 273.15", TEXTS(KINDS[kind], "problem.initial=400*y"));
  }
  check_slab("radiation 0.8, 20, 273.15", in_time);
  for (int i = 0; i < 4; i++) check_radiator((const double[]){0, 3, 100, 300}[i]);
  check_refused("radiation 0.8", "found no t_ambient");
  check_refused("radiation 1.2, 300", "an emissivity from 0 to 1");
  check_refused("radiation 0.8, -20", "above absolute zero");
  check_refused("radiation 0.8 + y, 300", "expected an emissivity up to 1");
  check_refused("radiation 0.8, 20 - 30*y", "expected a temperature above absolute zero");
  check_refused("radiation 0.8, 20, x", "273.15 for degrees C");
  check_refused("radiation u, 300", "unknown name 'u'");
  check_refused("neumann u", "unknown name 'u'");
  return check_end();
}
