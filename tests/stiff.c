/* Stiff terms through the whole program: a large alpha or lambda rules the right-hand side, but
 * neither the answer nor the iterations may depend on it, nor on where temperatures are counted
 * from. All solutions are linear in each part, so the only error is that of the iteration. */
#include "tests/check.h"
#include "tests/run_case.h"

enum { LENGTH = 128 };

static const double TOLERANCE = 1e-8; /* the default, relative to the variation of u */
static const char *const PRECONDITIONERS[] = {"solver.preconditioner=multigrid",
                                              "solver.preconditioner=jacobi"};

/* Run with one of the preconditioners; `own` ends with an empty override. */
static sp_results solve(int preconditioner, const char *const *common, char (*own)[LENGTH]) {
  const char *overrides[RUN_CASE_OVERRIDES] = {PRECONDITIONERS[preconditioner],
                                               "mesh.elements=4 4 4", "discretization.order=3",
                                               "boundary.default=neumann 0"};
  for (int count = 4; own[0][0] && count < RUN_CASE_OVERRIDES - 1; own++) overrides[count++] = *own;
  sp_results results;
  const sp_status status = run_case(MPI_COMM_WORLD, common, overrides, &results);
  CHECK(!status && results.have_norms, "%s %s: %s", overrides[0], overrides[4], sp_error_message());
  return results;
}

/* `variation`: largest minus smallest u. */
static void check_error(const char *const *common, char (*own)[LENGTH], double variation) {
  for (int p = 0; p < 2; p++) {
    const double error = solve(p, common, own).norms.max;
    CHECK(error <= 10 * TOLERANCE * variation, "%s %s: max error %g", PRECONDITIONERS[p], own[0],
          error);
  }
}

/* A slab heated by 1 at one end, cooled by a film to 300 at the other. */
static void make_film(double alpha, double outside, char (*own)[LENGTH]) {
  snprintf(own[0], LENGTH, "boundary.xmin=robin %g, %g*%.17g", alpha, alpha, outside);
  snprintf(own[1], LENGTH, "problem.solution=%.17g+1/%g+x", outside, alpha);
  snprintf(own[2], LENGTH, "boundary.xmax=neumann 1");
}

static void check_films(void) {
  static const double alphas[] = {1e-4, 1, 1e4, 1e6, 1e8, 1e9};
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    char own[4][LENGTH] = {0};
    make_film(alphas[a], 300, own);
    check_error(NULL, own, 1);
  }
}

/* A start that is far from the solution changes nothing: the error is not measured by it. */
static void check_poor_start(void) {
  char own[5][LENGTH] = {0};
  make_film(1e4, 300, own);
  snprintf(own[3], LENGTH, "problem.initial=1e6*x");
  check_error(NULL, own, 1);
}

/* A temperature of 180 written as a large alpha, a film of 8 to 20 at the other end: in series, the
 * flux is 160 / (1 / alpha + 1 + 1 / 8). */
static void check_series(void) {
  static const double alphas[] = {1e3, 1e5, 1e8, 1e9, 1e12};
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    const double flux = 160 / (1 / alphas[a] + 1 + 0.125);
    char own[4][LENGTH] = {0};
    snprintf(own[0], LENGTH, "boundary.zmin=robin %g, 180*%g", alphas[a], alphas[a]);
    snprintf(own[1], LENGTH, "boundary.zmax=robin 8, 8*20");
    snprintf(own[2], LENGTH, "problem.solution=180-%.17g*(1/%g+z)", flux, alphas[a]);
    check_error(NULL, own, flux);
  }
}

static const char *const CORE[] = {"region.core.upper=0.5 1 1", "region.rest.lower=0.5 0 0",
                                   "material.core.lambda=1e10", "boundary.xmax=neumann 1", NULL};

static void make_core(double level, char (*own)[LENGTH]) {
  snprintf(own[0], LENGTH, "material.core.solution=%.17g", level);
  snprintf(own[1], LENGTH, "material.core.forcing=%.17g*1e10", level);
  snprintf(own[2], LENGTH, "material.rest.solution=%.17g+x-0.5", level);
}

/* A core that lambda keeps at 300, beside a part with a flux of 1. The flux leaves through nodes of
 * weight 1/48: there u is 48e-10 higher than 300, within the limit. */
static void check_core(void) {
  char own[4][LENGTH] = {0};
  make_core(300, own);
  check_error(CORE, own, 0.5);
}

/* Temperatures counted from elsewhere: as many iterations, the same error. The tolerance is coarse
 * so that the error is that of the iterate, far above the limit, 1e-12 of the shift. */
static void check_shift(const char *const *common, void (*make)(double, char (*)[LENGTH])) {
  static const double SHIFT = 1e4;
  for (int p = 0; p < 2; p++) {
    sp_results results[2];
    for (int s = 0; s < 2; s++) {
      char own[5][LENGTH] = {0};
      make(s * SHIFT, own);
      snprintf(own[3], LENGTH, "solver.tolerance=1e-3");
      results[s] = solve(p, common, own);
    }
    CHECK(results[0].cg.iterations == results[1].cg.iterations, "%lld and %lld iterations",
          (long long)results[0].cg.iterations, (long long)results[1].cg.iterations);
    CHECK(results[0].norms.max > 1e-6, "an error of %g says nothing", results[0].norms.max);
    CHECK_CLOSE(results[0].norms.max, results[1].norms.max, 1e-12 * SHIFT);
    CHECK_CLOSE(results[0].norms.l2, results[1].norms.l2, 1e-12 * SHIFT);
  }
}

static void make_weak_film(double outside, char (*own)[LENGTH]) {
  make_film(1e-2, outside, own);
}

static void make_strong_film(double outside, char (*own)[LENGTH]) {
  make_film(1e6, outside, own);
}

static void make_wall(double level, char (*own)[LENGTH]) {
  snprintf(own[0], LENGTH, "boundary.xmin=dirichlet %.17g", level);
  snprintf(own[1], LENGTH, "boundary.xmax=robin 3, 3*(%.17g+2)", level);
  snprintf(own[2], LENGTH, "problem.solution=%.17g+1.5*x", level);
}

static void check_shifts(void) {
  check_shift(NULL, make_weak_film);
  check_shift(NULL, make_strong_film);
  check_shift(NULL, make_wall);
  check_shift(CORE, make_core);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  run_case_begin(argc, argv);
  check_films();
  check_poor_start();
  check_series();
  check_core();
  check_shifts();
  return check_end();
}
