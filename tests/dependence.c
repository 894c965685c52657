/* Coefficients and conditions that depend on u, and forcings of u0: solutions in the finite element
 * space, steady and in time, Kirchhoff's transform, radiation, and refusals. */
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
    const sp_results results = run_good(TEXTS(BOX, KINDS[kind]), TEXTS(formulas));
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
    const sp_results results =
        run_good(TEXTS("mesh.elements=4 1 1; problem.kappa=1+u; problem.forcing=0; "
                       "boundary.default=neumann 0; boundary.xmin=dirichlet 0; "
                       "boundary.xmax=dirichlet 1; problem.solution=sqrt(1+3*x)-1"),
                 TEXTS("solver.tolerance=1e-11", test_text("discretization.order=%d", order)));
    CHECK(results.norms.max < last / 8, "order %d: the error falls from %g to %g", order, last,
          results.norms.max);
    last = results.norms.max;
  }
  CHECK(last < 1e-6, "order 8: the largest error is %g", last);
}

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

/* A slab between a given temperature and the line of xmax, with u = HOT + (T - HOT) x / LENGTH. The
 * last change of u is below the tolerance, 1e-10 of 500 degrees; Picard's method reduces changes by
 * a factor of 0.3 or less, so the error is at most half of the last one. */
static void check_slab(const char *line, const char *const *own) {
  const char *const common[] = {
      "mesh.elements=4 1 1; mesh.upper=0.1 1 1; discretization.order=2; problem.kappa=0.5; "
      "problem.forcing=0; boundary.xmin=dirichlet 500; boundary.default=neumann 0; "
      "solver.tolerance=1e-10",
      test_text("boundary.xmax=%s", line),
      test_text("problem.solution=500 + (%.17g - 500)*x/0.1", find_temperature()), NULL};
  const double error = run_good(common, own).norms.max;
  CHECK(error < 1e-7, "%s: the largest error is %g", line, error);
}

/* By a condition, and by a robin line with formulas of u. */
static void check_radiation(void) {
  static const char radiation[] = "radiation 0.8, 20, 273.15";
  static const char alpha[] = "0.8*5.670374419e-8*((u+273.15)^2+293.15^2)*(u+273.15+293.15)";
  for (int kind = 0; kind < 2; kind++) {
    check_slab(radiation, TEXTS(KINDS[kind]));
    check_slab(radiation, TEXTS(KINDS[kind], "problem.initial=400*y"));
    check_slab(test_text("robin %s, %s*20", alpha, alpha), TEXTS(KINDS[kind]));
  }
  check_slab(radiation, TEXTS("problem.capacity=1e4; time.end=1e5; time.steps=20; time.every=20; "
                              "problem.initial=20"));
}

/* A source of 100 W/m^3 leaves by radiation alone, also to almost 0 K. Newton's method ends with a
 * change below 1e-10 of the solution, and squares it. */
static void check_radiator(double ambient) {
  const double t = pow(100 * LENGTH / (EPS * SIGMA) + pow(ambient, 4), 0.25);
  const double error =
      run_good(TEXTS("mesh.elements=4 1 1; mesh.upper=0.1 1 1; discretization.order=2; "
                     "problem.kappa=0.5; problem.forcing=100; boundary.default=neumann 0; "
                     "solver.tolerance=1e-10"),
               TEXTS(test_text("boundary.xmax=radiation 0.8, %g", ambient),
                     test_text("problem.solution=%.17g + 100*(0.01 - x*x)", t)))
          .norms.max;
  CHECK(error < 1e-7, "ambient %g: the largest error is %g", ambient, error);
}

static void check_refusals(void) {
  static const char *const cases[][2] = {
      {"problem.kappa=1+u; problem.solution=x", "not derived from the solution"},
      {"problem.kappa=1+u; problem.forcing=1; problem.solution=x; boundary.xmin=neumann",
       "give G of each condition"},
      {"problem.kappa=u; problem.forcing=1", "expected a value > 0"},
      {"region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; material.a.kappa=1,2,3; "
       "material.b.kappa=1+u; problem.forcing=1",
       "excludes kappa with components"},
      {"problem.kappa=1,2,1+u; problem.forcing=1", "unknown name 'u'"},
      {"problem.capacity=u; problem.forcing=1; problem.initial=0; time.end=1; time.steps=1",
       "expected a value > 0"},
      {"problem.forcing=0; boundary.xmax=radiation 0.8", "found no t_ambient"},
      {"problem.forcing=0; boundary.xmax=radiation 1.2, 300", "an emissivity from 0 to 1"},
      {"problem.forcing=0; boundary.xmax=radiation 0.8, -20", "above absolute zero"},
      {"problem.forcing=0; boundary.xmax=radiation 0.8 + y, 300", "expected an emissivity up to 1"},
      {"problem.forcing=0; boundary.xmax=radiation 0.8, 20 - 30*y",
       "expected a temperature above absolute zero"},
      {"problem.forcing=0; boundary.xmax=radiation 0.8, 20, x", "273.15 for degrees C"},
      {"problem.forcing=0; boundary.xmax=radiation u, 300", "unknown name 'u'"},
      {"problem.forcing=0; boundary.xmax=neumann u", "unknown name 'u'"}};
  for (size_t c = 0; c < COUNT_OF(cases); c++)
    run_case_refused(TEXTS("mesh.elements=2 2 2; boundary.default=dirichlet 0"), TEXTS(cases[c][0]),
                     TEXTS(cases[c][1]));
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
  /* A step of implicit Euler, (u - u0) / dt = lap u, by u0 in a forcing. */
#define EULER                                                                                      \
  "constants.rate=50; problem.lambda=rate; problem.solution=x^3-x*y^2+z^2; "                       \
  "region.core.upper=1 0.5 1; "
  check_exact(EULER "problem.initial=x^3-x*y^2+z^2-(4*x+2)/rate; problem.forcing=rate*u0; "
                    "material.core.forcing=rate*u0+0",
              40);
  check_exact(EULER "problem.initial=x^3-x*y^2+z^2; problem.forcing=rate*u0-4*x-2; "
                    "material.core.forcing=rate*u0-4*x-2+0",
              40);
  check_kirchhoff();
  check_radiation();
  for (int i = 0; i < 4; i++) check_radiator((const double[]){0, 3, 100, 300}[i]);
  check_refusals();
  return check_end();
}
