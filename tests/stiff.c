/* Stiff terms through the whole program: a large alpha or lambda dominates the right-hand side, but
 * answer and iterations must not depend on it, or on the zero of temperatures. All solutions are
 * linear in each part, so the iteration is the only source of error. */
#include "tests/run_case.h"

static const double TOLERANCE = 1e-8; /* the default, relative to the variation of u */
static const char *const PRECONDITIONERS[] = {
    "solver.preconditioner=multigrid", "solver.smoother=schwarz", "solver.preconditioner=jacobi"};

/* Run with one of the preconditioners. `common` may be NULL. */
static sp_results solve(int preconditioner, const char *own, const char *common) {
  const char *const overrides[] = {
      PRECONDITIONERS[preconditioner],
      "mesh.elements=4 4 4; discretization.order=3; boundary.default=neumann 0", own, common, NULL};
  const sp_results results = run_good(overrides, NULL);
  CHECK(results.have_norms, "%s %s: no errors", overrides[0], own);
  return results;
}

/* `variation`: largest minus smallest u. */
static void check_error(const char *own, const char *common, double variation) {
  for (int p = 0; p < (int)COUNT_OF(PRECONDITIONERS); p++) {
    const double error = solve(p, own, common).norms.max;
    CHECK(error <= 10 * TOLERANCE * variation, "%s %s: max error %g", PRECONDITIONERS[p], own,
          error);
  }
}

/* A slab heated by 1 at one end, cooled by a film to 300 at the other. */
static const char *film(double alpha, double outside) {
  return test_text("boundary.xmin=robin %g, %g*%.17g; problem.solution=%.17g+1/%g+x; "
                   "boundary.xmax=neumann 1",
                   alpha, alpha, outside, outside, alpha);
}

static void check_films(void) {
  static const double alphas[] = {1e-4, 1, 1e4, 1e6, 1e8, 1e9};
  for (size_t a = 0; a < COUNT_OF(alphas); a++) check_error(film(alphas[a], 300), NULL, 1);
}

/* A start that is far from the solution changes nothing: the error is not measured by it. */
static void check_poor_start(void) {
  check_error(film(1e4, 300), "problem.initial=1e6*x", 1);
}

/* A temperature of 180 written as a large alpha, a film of 8 to 20 at the other end: in series, the
 * flux is 160 / (1 / alpha + 1 + 1 / 8). */
static void check_series(void) {
  static const double alphas[] = {1e3, 1e5, 1e8, 1e9, 3e11, 1e12};
  for (size_t a = 0; a < COUNT_OF(alphas); a++) {
    const double flux = 160 / (1 / alphas[a] + 1 + 0.125);
    check_error(test_text("boundary.zmin=robin %g, 180*%g; boundary.zmax=robin 8, 8*20; "
                          "problem.solution=180-%.17g*(1/%g+z)",
                          alphas[a], alphas[a], flux, alphas[a]),
                NULL, flux);
  }
}

static const char *core(double level) {
  return test_text("region.core.upper=0.5 1 1; region.rest.lower=0.5 0 0; "
                   "material.core.lambda=1e10; boundary.xmax=neumann 1; "
                   "material.core.solution=%.17g; material.core.forcing=%.17g*1e10; "
                   "material.rest.solution=%.17g+x-0.5",
                   level, level, level);
}

/* A core that lambda keeps at 300, beside a part with a flux of 1. The flux leaves through nodes of
 * weight 1/48: there u is 48e-10 higher than 300, within the limit. */
static void check_core(void) {
  check_error(core(300), NULL, 0.5);
}

/* Temperatures from another zero: the same iterations, the same error. The tolerance is coarse, so
 * that the error of the iterate is far above the limit, 1e-12 of the shift. */
static void check_shift(const char *(*settings)(double level)) {
  static const double SHIFT = 1e4;
  for (int p = 0; p < (int)COUNT_OF(PRECONDITIONERS); p++) {
    sp_results results[2];
    for (int s = 0; s < 2; s++) results[s] = solve(p, settings(s * SHIFT), "solver.tolerance=1e-3");
    CHECK(results[0].cg.iterations == results[1].cg.iterations, "%lld and %lld iterations",
          (long long)results[0].cg.iterations, (long long)results[1].cg.iterations);
    CHECK(results[0].norms.max > 1e-6, "an error of %g says nothing", results[0].norms.max);
    CHECK_CLOSE(results[0].norms.max, results[1].norms.max, 1e-12 * SHIFT);
    CHECK_CLOSE(results[0].norms.l2, results[1].norms.l2, 1e-12 * SHIFT);
  }
}

/* Temperatures given at both ends, u = x: the limit is relative to the gradient of u, which is 1,
 * however large a jump to lifted or to stiff values is between nodes. The estimate is taken to be
 * right within a factor of 4. */
static void check_walls(const char *condition) {
  for (int p = 0; p < (int)COUNT_OF(PRECONDITIONERS); p++) {
    const double error = solve(p, "mesh.elements=32 1 1; discretization.order=12",
                               test_text("problem.solution=x; boundary.xmin=%s; boundary.xmax=%s",
                                         condition, condition))
                             .norms.h1;
    CHECK(error <= 4 * TOLERANCE, "%s, %s: error %g of the gradient", condition, PRECONDITIONERS[p],
          error);
  }
}

static const char *weak_film(double outside) {
  return film(1e-2, outside);
}

static const char *strong_film(double outside) {
  return film(1e6, outside);
}

static const char *wall(double level) {
  return test_text("boundary.xmin=dirichlet %.17g; boundary.xmax=robin 3, 3*(%.17g+2); "
                   "problem.solution=%.17g+1.5*x",
                   level, level, level);
}

/* Without a preconditioner the error of the soft half hides beside the stiff one: on plateaus,
 * which end, or for good. */
static void check_none(void) {
  static const char *const common[] = {
      "region.hard.upper=0.5 1 1; solver.preconditioner=none; solver.max_iterations=20000; "
      "boundary.xmin=dirichlet 0; boundary.xmax=dirichlet 1; boundary.default=neumann 0; "
      "problem.forcing=sin(3*x)+y*z",
      NULL};
  sp_results results;
  for (int digits = 1; digits <= 9; digits += 4)
    (void)run_good(common, TEXTS(test_text("mesh.elements=4 2 2; discretization.order=2; "
                                           "material.hard.kappa=1e%d",
                                           digits)));
  for (int digits = 9; digits <= 15; digits += 6)
    CHECK_FAILS(run_case(MPI_COMM_WORLD, common,
                         TEXTS(test_text("mesh.elements=6 2 2; discretization.order=1; "
                                         "solver.tolerance=1e-4; material.hard.kappa=1e%d",
                                         digits)),
                         &results),
                SP_ERR_NOT_CONVERGED, "the error is at least");
}

/* An answer that rounding or the tolerance hides is none: the flux through a film that fixes u, and
 * out of a stiff body. */
static void check_hidden(void) {
  static const char *const common[] = {"mesh.elements=4 4 4; discretization.order=3; "
                                       "boundary.default=neumann 0; problem.forcing=sin(3*x)+y*z",
                                       NULL};
  static const char jump[] = "region.hard.upper=0.5 1 1; material.hard.kappa=%s; "
                             "boundary.xmin=dirichlet 0; boundary.xmax=dirichlet 1; "
                             "solver.preconditioner=jacobi";
  static const char film[] =
      "constants.a=%s; boundary.xmin=robin a, 180*a; boundary.xmax=robin 8, 160";
  sp_results results;
  (void)run_good(common, TEXTS(test_text(film, "1e9")));
  (void)run_good(common, TEXTS(test_text(jump, "1e6")));
  (void)run_good(common, TEXTS(test_text(film, "1e20")));
  CHECK_FAILS(run_case(MPI_COMM_WORLD, common, TEXTS(test_text(jump, "1e13")), &results),
              SP_ERR_NOT_CONVERGED, "the balance does not close");
  CHECK_FAILS(run_case(MPI_COMM_WORLD, common, TEXTS(test_text(film, "1e31")), &results),
              SP_ERR_INPUT, "alpha of a line");
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  check_films();
  check_poor_start();
  check_series();
  check_core();
  check_walls("dirichlet");
  check_walls("robin 1e3");
  check_walls("robin 1e6");
  check_shift(weak_film);
  check_shift(strong_film);
  check_shift(wall);
  check_shift(core);
  check_none();
  check_hidden();
  return check_end();
}
