/* Arrays of the library (solver/sp_solve.h): loads, Dirichlet values, initial iterates,
 * coefficients. */
#include "solver/results/flux.h"
#include "tests/folders.h"
#include "tests/library_case.h"

/* ---- Loads and values ---- */

/* f as an array gives the solution, the fluxes and the balance of f as a formula: the quadrature is
 * exact for polynomials of low degree. */
static void test_source(const char *operator) {
  ARRAYS_OF_SCOPE;
  static const char *const results[] = {"result.through=flux over xmax", "result.all=integral"};
  sp_case *formula =
      open_keys(TEXTS(BOX, operator, results[0], results[1], "problem.forcing=1+x*y"));
  sp_case *array = open_keys(TEXTS(BOX, operator, results[0], results[1], "problem.forcing=0"));
  const size_t local = local_of(array);
  const double *u = solve(formula), *x = get(array, SP_CASE_POINTS);
  double *f = test_array(local, sizeof *f), *load = test_array(local, sizeof *load);
  for (size_t i = 0; i < local; i++) f[i] = 1 + x[i] * x[i + local];
  set(array, SP_CASE_SOURCE, f);
  CHECK(difference(array, solve(array), 1, u) < 1e-10, "%s: another solution", operator);
  static const char *const rows[][2] = {{"results", "through"},
                                        {"results", "all"},
                                        {"balance", "f"},
                                        {"balance", "xmin"},
                                        {"balance", "xmax"}};
  for (size_t r = 0; r < COUNT_OF(rows); r++)
    CHECK_CLOSE(number(array, rows[r][0], rows[r][1], "value"),
                number(formula, rows[r][0], rows[r][1], "value"), 1e-9);
  CHECK_CLOSE(number(array, "balance", "imbalance", "value"), 0, 1e-9);
  CHECK(number(array, NULL, NULL, "exit_code") == 0, "another exit code");
  ok(sp_case_apply(array, SP_CASE_MASS, local, f, load));
  set(array, SP_CASE_LOAD, load);
  CHECK(difference(array, solve(array), 2, u) < 1e-10, "%s: load and source", operator);
  sp_case_close(&formula);
  sp_case_close(&array);
}

/* The heat of two materials with their source as an array. */
static void test_materials(void) {
  ARRAYS_OF_SCOPE;
#define TWO "region.left.lower=0 0 0", "region.left.upper=0.5 1 1", "material.left.kappa=2"
  sp_case *formula = open_keys(TEXTS(BOX, "mesh.elements=4 2 2", TWO, "problem.forcing=1+x"));
  sp_case *array = open_keys(TEXTS(BOX, "mesh.elements=4 2 2", TWO, "problem.forcing=0"));
  const size_t local = local_of(array);
  const double *x = get(array, SP_CASE_POINTS);
  double *f = test_array(local, sizeof *f);
  for (size_t i = 0; i < local; i++) f[i] = 1 + x[i];
  set(array, SP_CASE_SOURCE, f);
  (void)solve(array);
  (void)solve(formula);
  static const char *const members[] = {"source", "heat_in", "heat_out"};
  for (size_t m = 0; m < COUNT_OF(members); m++)
    CHECK_CLOSE(number(array, "materials", "left", members[m]),
                number(formula, "materials", "left", members[m]), 2e-2);
  const double left = number(array, "materials", "left", "source");
  CHECK_CLOSE(left, 0.625, 2e-2);
  sp_case_close(&formula);
  sp_case_close(&array);
}

/* u = x^2 - y^2 from its boundary values; entries of free DOFs are not read. */
static void test_dirichlet(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(
      TEXTS(BOX, "problem.forcing=0", "boundary.xmax=dirichlet 0", "boundary.default=dirichlet 0"));
  const size_t local = local_of(c);
  const double *x = get(c, SP_CASE_POINTS), *fixed = get(c, SP_CASE_FIXED);
  double *g = test_array(local, sizeof *g), *exact = test_array(local, sizeof *exact);
  for (size_t i = 0; i < local; i++) {
    exact[i] = x[i] * x[i] - x[i + local] * x[i + local];
    g[i] = fixed[i] != 0 ? exact[i] : NAN;
  }
  set(c, SP_CASE_DIRICHLET, g);
  CHECK(difference(c, solve(c), 1, exact) < 1e-10, "not the solution of given values");
  const double *used = get(c, SP_CASE_DIRICHLET);
  for (size_t i = 0; i < local; i++)
    CHECK(used[i] == (fixed[i] != 0 ? exact[i] : 0), "value %g at DOF %zu", used[i], i);
  CHECK_CLOSE(number(c, "extrema", "maximum", "value"), 1, 1e-9);
  set(c, SP_CASE_DIRICHLET, NULL);
  CHECK(dot(c, get(c, SP_CASE_DIRICHLET), fixed) == 0, "values remain");
  CHECK(difference(c, solve(c), 0, exact) == 0, "a solution without data");
  sp_case_close(&c);
}

static void test_initial(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=exp(x)", "solver.preconditioner=jacobi",
                               "boundary.ymin=dirichlet 3"));
  sp_case_solution cold, warm;
  double *u = test_array(local_of(c), sizeof *u);
  ok(sp_case_solve(c, local_of(c), u, &cold));
  CHECK(cold.residual < 1e-9 && cold.seconds > 0, "residual %g", cold.residual);
  set(c, SP_CASE_INITIAL, u);
  ok(sp_case_solve(c, local_of(c), u, &warm));
  CHECK(warm.iterations < cold.iterations / 4, "%lld iterations, cold %lld",
        (long long)warm.iterations, (long long)cold.iterations);
  sp_case_close(&c);
}

/* Arrays in the memory of the backend, host or device. */
static void test_backend_memory(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=0", "boundary.ymin=dirichlet x"));
  sp_vector f = {0}, u = {0};
  const size_t local = local_of(c);
  double *host = noise(c, 1), *back = test_array(local, sizeof *back);
  require(sp_vector_create(&c->workers.platform, SP_DOUBLE, local, &f));
  require(sp_vector_create(&c->workers.platform, SP_DOUBLE, local, &u));
  require(sp_vector_write(host, &f));
  set(c, SP_CASE_LOAD, host);
  const double *expected = solve(c);
  set(c, SP_CASE_LOAD, f.data);
  ok(sp_case_solve(c, local, u.data, NULL));
  require(sp_vector_read(&u, back));
  CHECK(same_bits(c, back, expected), "another solution with arrays of the backend");
  ok(sp_case_apply(c, SP_CASE_A, local, f.data, u.data));
  ok(sp_case_apply(c, SP_CASE_A, local, host, host));
  require(sp_vector_read(&u, back));
  CHECK(same_bits(c, back, host), "another product with arrays of the backend");
  ok(sp_case_get(c, SP_CASE_FIXED, local, u.data));
  require(sp_vector_read(&u, back));
  CHECK(same_bits(c, back, get(c, SP_CASE_FIXED)), "another array in memory of the backend");
  sp_vector_destroy(&f);
  sp_vector_destroy(&u);
  sp_case_close(&c);
}

/* ---- Coefficients ---- */

/* The formulas of the tests: kappa jumps at x = 0.5 between elements if the case has `left`. */
#define LEFT "region.left.lower=0 0 0", "region.left.upper=0.5 1 1"
#define FORMULAS "problem.kappa=1+x+z", "problem.lambda=1+z"

/* kappa or lambda, [elements][points]; the caller's arrays. */
static double *evaluate_coefficient(sp_case *c, bool has_left, bool of_kappa) {
  sp_case_sizes n;
  const size_t count = points_of(c);
  ok(sp_case_get_sizes(c, &n));
  double *x = test_array(3 * count, sizeof *x), *values = test_array(count, sizeof *values);
  const double *y = x + count, *z = y + count;
  ok(sp_case_get(c, SP_CASE_QUADRATURE, 3 * count, x));
  for (size_t p = 0; p < count; p++) {
    const size_t first = p - p % n.points, last = first + n.points - 1;
    const bool left = has_left && x[first] + x[last] < 1;
    values[p] = !of_kappa ? 1 + z[p] : left ? 5 + x[p] * y[p] : 1 + x[p] + z[p];
  }
  return values;
}

static void set_both(sp_case *c, bool has_left) {
  set_coefficient(c, SP_CASE_KAPPA, evaluate_coefficient(c, has_left, true));
  set_coefficient(c, SP_CASE_LAMBDA, evaluate_coefficient(c, has_left, false));
}

/* kappa du/dx at the nodes of the last material, and the flux at the probe. */
static void compare_local_fluxes(const sp_case *a, const sp_case *b) {
  const sp_case *const cases[2] = {a, b};
  const size_t local = local_of(a);
  double *flux[2], *none = test_array(3 * local, sizeof *none);
  for (int k = 0; k < 2; k++) {
    const sp_running *run = cases[k]->run;
    flux[k] = test_array(local, sizeof *none);
    const int last = run->problem->materials.count - 1;
    require(sp_flux_of_material(run->problem, run->solver->space, last, run->solution,
                                (double *const[]){flux[k], none, none + local}, none + 2 * local));
  }
  CHECK(difference(a, flux[0], 1, flux[1]) < 1e-9, "fluxes at nodes differ");
  CHECK(difference(a, flux[0], 0, flux[0]) > 0.1, "no flux");
  for (int d = 0; d < 3; d++)
    CHECK_CLOSE(a->run->values.probes->list[0].flux[d], b->run->values.probes->list[0].flux[d],
                1e-9);
}

/* Arrays equal to formulas give their solution, results, fluxes and balance; NULL the case's. */
static void compare_coefficients(const char *const *of_formula, const char *const *of_array,
                                 bool has_left) {
  sp_case *formula = open_keys(of_formula), *array = open_keys(of_array);
  const double *without = solve(array);
  set_both(array, has_left);
  double none;
  CHECK(sp_case_value(array, "extrema", "maximum", "value", &none) == SP_CASE_ERROR,
        "results of other coefficients");
  const double *u = solve(formula), *v = solve(array);
  const double size = difference(array, u, 0, u);
  CHECK(difference(array, v, 1, u) < 1e-12 * size, "%s: differs by %g of %g", *of_array,
        difference(array, v, 1, u), size);
  CHECK(difference(array, without, 1, u) > 1e-3 * size, "%s: the arrays change nothing", *of_array);
  compare_numbers(array, formula, "balance", TEXTS("f", "lambda u", "xmin", "xmax"), "value");
  compare_numbers(array, formula, "results", TEXTS("through", "all", "hottest"), "value");
  if (has_left) compare_numbers(array, formula, "materials", TEXTS("left"), "heat_in");
  CHECK_CLOSE(number(array, "balance", "imbalance", "value"), 0, 1e-9);
  CHECK(number(array, NULL, NULL, "exit_code") == 0, "another exit code");
  compare_local_fluxes(array, formula);
  set_coefficient(array, SP_CASE_LAMBDA, NULL);
  CHECK(difference(array, solve(array), 1, u) > 1e-3 * size, "lambda remains");
  set_coefficient(array, SP_CASE_KAPPA, NULL);
  CHECK(same_bits(array, solve(array), without), "another solution after the arrays");
  sp_case_close(&formula);
  sp_case_close(&array);
}

static void test_coefficients(const char *operator) {
  ARRAYS_OF_SCOPE;
#define RESULTS                                                                                    \
  "problem.forcing=1+y", "result.through=flux over xmax", "result.all=integral",                   \
      "result.hottest=maximum", "probe.p=0.3 0.3 0.3"
/* Faces with a common edge divide its flux by kappa. */
#define JUMP BOX, operator, RESULTS, "mesh.elements=4 2 2", LEFT, "boundary.ymin=dirichlet 0"
  compare_coefficients(TEXTS(JUMP, "material.left.kappa=5+x*y", FORMULAS),
                       TEXTS(JUMP, "material.left.kappa=1, 2, 3", "problem.kappa=2"), true);
  /* A stiff film takes the flux from the equations; a contact keeps its resistance. */
  const char *mesh = test_text("mesh.file=%s/stack.msh", test_fixtures());
#define STACK                                                                                      \
  mesh, operator, RESULTS, "boundary.cut=contact 0.1", "boundary.xmin=dirichlet 0",                \
      "boundary.xmax=robin 1e6, 1", "boundary.default=neumann 0",                                  \
      "output.log=", "output.field=", run_case_device, "backend.share=yes",                        \
      "solver.tolerance=1e-13", "discretization.order=3"
  compare_coefficients(TEXTS(STACK, FORMULAS), TEXTS(STACK), false);
}

/* Arrays in memory of the backend; loads and operators with them; calls that unset them. */
static void test_coefficients_stay(void) {
  ARRAYS_OF_SCOPE;
  sp_vector kappa = {0};
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=1"));
  sp_case *formula = open_keys(TEXTS(BOX, "problem.forcing=x", FORMULAS));
  const size_t local = local_of(c);
  double *ax = test_array(local, sizeof *ax), *ay = test_array(local, sizeof *ay);
  const double *u = solve(c), *x = noise(c, 1);
  require(sp_vector_create(&c->workers.platform, SP_DOUBLE, points_of(c), &kappa));
  require(sp_vector_write(evaluate_coefficient(c, false, true), &kappa));
  set_coefficient(c, SP_CASE_KAPPA, kappa.data);
  set_coefficient(c, SP_CASE_LAMBDA, evaluate_coefficient(c, false, false));
  ok(sp_case_apply(c, SP_CASE_A, local, x, ax));
  ok(sp_case_apply(formula, SP_CASE_A, local, x, ay));
  CHECK(difference(c, ax, 1, ay) < 1e-12, "another operator");
  ok(sp_case_change(c, 1, TEXTS("problem.forcing=x")));
  set(c, SP_CASE_LOAD, x);
  set(formula, SP_CASE_LOAD, x);
  CHECK(difference(c, solve(c), 1, solve(formula)) < 1e-11, "lost by another forcing");
  set(c, SP_CASE_LOAD, NULL);
  sp_case *other = open_keys(TEXTS(BOX, "problem.forcing=x", "discretization.operator=bp3.0",
                                   "discretization.order=2")); /* with as many points */
  ok(sp_case_change(c, 2, TEXTS("discretization.operator=bp3.0", "discretization.order=2")));
  CHECK(same_bits(c, solve(c), solve(other)), "arrays at other points");
  sp_case_close(&other);
  ok(sp_case_change(
      c, 3, TEXTS("discretization.operator=", "discretization.order=3", "problem.forcing=1")));
  CHECK(same_bits(c, solve(c), u), "arrays of other points remain");
  sp_vector_destroy(&kappa);
  sp_case_close(&c);
  sp_case_close(&formula);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  test_source("discretization.operator=bp3.5");
  test_source("discretization.operator=bp3.0");
  test_materials();
  test_dirichlet();
  test_initial();
  test_backend_memory();
  test_coefficients("discretization.operator=bp3.5");
  test_coefficients("discretization.operator=bp3.0");
  test_coefficients_stay();
  return check_end();
}
