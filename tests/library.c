/* The library (solver/sp_solve.h): bits of the program, other data and coefficients, operators,
 * several cases, wrong calls, changes, memory. */
#include "solver/sp_solve.h"

#include <malloc.h>
#include <unistd.h>

#include "solver/results/flux.h"
#include "solver/run/library.h"
#include "tests/folders.h"
#include "tests/run_case.h"

/* u = 0 on xmin, flux through xmax. */
#define BOX                                                                                        \
  "mesh.elements=3 2 4", "discretization.order=3", "boundary.xmin=dirichlet 0",                    \
      "boundary.xmax=robin 2, 0", "boundary.default=neumann 0",                                    \
      "output.log=", "output.field=", run_case_device, "backend.share=yes",                        \
      "solver.tolerance=1e-12"

static sp_case *open_on(MPI_Comm comm, const char *const *keys) {
  sp_case *c = NULL;
  int count = 0;
  while (keys[count]) count++;
  const int code = sp_case_open(comm, NULL, count, keys, &c);
  CHECK(code == SP_CASE_OK, "%s", sp_case_message());
  if (code) MPI_Abort(MPI_COMM_WORLD, 1);
  return c;
}

static sp_case *open_keys(const char *const *keys) {
  return open_on(MPI_COMM_WORLD, keys);
}

static void ok(int code) {
  CHECK(code == SP_CASE_OK, "code %d: %s", code, sp_case_message());
}

static size_t local_of(const sp_case *c) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  return n.local;
}

static double *solve(sp_case *c) {
  double *u = test_array(local_of(c), sizeof *u);
  ok(sp_case_solve(c, local_of(c), u, NULL));
  return u;
}

static double *get(sp_case *c, sp_case_array which) {
  const size_t count = (which == SP_CASE_POINTS ? 3 : 1) * local_of(c);
  double *values = test_array(count, sizeof *values);
  ok(sp_case_get(c, which, count, values));
  return values;
}

static void set(sp_case *c, sp_case_array which, const double *values) {
  ok(sp_case_set(c, which, local_of(c), values));
}

/* x.y over the owned DOFs of all ranks. */
static double dot(const sp_case *c, const double *x, const double *y) {
  sp_case_sizes n;
  double sum = 0;
  ok(sp_case_get_sizes(c, &n));
  for (size_t i = 0; i < n.owned; i++) sum += x[i] * y[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* The largest |x - a y|. */
static double difference(const sp_case *c, const double *x, double a, const double *y) {
  double most = 0;
  for (size_t i = 0; i < local_of(c); i++) most = fmax(most, fabs(x[i] - a * y[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static bool same_bits(const sp_case *c, const double *x, const double *y) {
  return memcmp(x, y, local_of(c) * sizeof *x) == 0;
}

/* Numbers that depend on the DOF and not on the rank; copies hold rubbish. */
static double *noise(sp_case *c, int seed) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  double *x = test_array(n.local, sizeof *x);
  int64_t *numbers = test_array(n.local, sizeof *numbers);
  ok(sp_case_numbers(c, n.local, numbers));
  for (size_t i = 0; i < n.local; i++)
    x[i] = i < n.owned ? sin((double)(numbers[i] + 1) * (seed + 1.5)) : 1e30;
  return x;
}

static double number(sp_case *c, const char *table, const char *row, const char *member) {
  double value = NAN;
  ok(sp_case_value(c, table, row, member, &value));
  return value;
}

/* ---- Solutions ---- */

/* The solution of the program, [local]. */
static double *solve_as_program(int count, const char *const *keys) {
  sp_config *config;
  sp_workers workers;
  sp_mesh *mesh;
  sp_results results = {.profile = sp_profile_from_now()};
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  require(sp_config_read(MPI_COMM_WORLD, NULL, count, keys, &config));
  require(sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers));
  require(sp_case_mesh(&workers, &config->mesh, &config->statement, &config->wanted,
                       &results.profile, &terminal, &mesh));
  sp_running run = sp_running_begin(&workers, mesh, config, &results);
  require(sp_running_set_up(&run));
  require(sp_running_solve(&run));
  double *u = test_array(sp_space_dofs(run.solver->space), sizeof *u);
  memcpy(u, run.solution, sp_space_dofs(run.solver->space) * sizeof *u);
  sp_running_release(&run);
  sp_mesh_destroy(&mesh);
  sp_workers_close(&workers);
  sp_config_destroy(&config);
  return u;
}

static void test_bits(void) {
  static const char *const more[][3] = {
      {"problem.forcing=exp(x)*y", "boundary.ymin=dirichlet x", "problem.initial=x*x"},
      {"problem.forcing=1", "solver.preconditioner=jacobi", "discretization.operator=bp3.0"},
      {"problem.forcing=y", "boundary.xmax=robin 1e6, 1", "problem.lambda=1e4"},
      {"problem.forcing=cos(pi*x)", "boundary.xmin=neumann 0", "boundary.xmax=neumann 0"}};
  for (size_t m = 0; m < COUNT_OF(more); m++) {
    ARRAYS_OF_SCOPE;
    const char *const *keys = TEXTS(BOX, more[m][0], more[m][1], more[m][2]);
    sp_case *c = open_keys(keys);
    int count = 0;
    while (keys[count]) count++;
    const double *u = solve_as_program(count, keys);
    CHECK(same_bits(c, solve(c), u), "case %zu: not the program's solution", m);
    CHECK(same_bits(c, solve(c), u), "case %zu: another solution the second time", m);
    double *balanced = noise(c, 1), *ones = noise(c, 1);
    for (size_t i = 0; i < local_of(c); i++) ones[i] = 1;
    const double mean = dot(c, balanced, ones) / dot(c, ones, ones);
    for (size_t i = 0; i < local_of(c); i++) balanced[i] -= mean;
    set(c, SP_CASE_LOAD, balanced);
    CHECK(!same_bits(c, solve(c), u), "case %zu: a load without effect", m);
    (void)number(c, "extrema", "maximum", "value");
    ok(sp_case_set(c, SP_CASE_LOAD, 0, NULL));
    CHECK(same_bits(c, solve(c), u), "case %zu: another solution after a load", m);
    sp_case_close(&c);
    CHECK(!c, "not closed");
  }
}

static void test_superposition(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=0", "problem.kappa=1+x"));
  double *f = noise(c, 1), *g = noise(c, 2);
  set(c, SP_CASE_LOAD, f);
  const double *u = solve(c);
  set(c, SP_CASE_LOAD, g);
  const double *v = solve(c);
  for (size_t i = 0; i < local_of(c); i++) f[i] = 2 * f[i] - 3 * g[i];
  set(c, SP_CASE_LOAD, f);
  double *w = solve(c);
  for (size_t i = 0; i < local_of(c); i++) w[i] += 3 * v[i];
  CHECK(difference(c, w, 2, u) < 1e-9, "loads do not add up");
  /* A u = b on free DOFs. */
  double *b = get(c, SP_CASE_RHS), *au = test_array(local_of(c), sizeof *au);
  for (size_t i = 0; i < local_of(c); i++) w[i] -= 3 * v[i];
  ok(sp_case_apply(c, SP_CASE_A, local_of(c), w, au));
  CHECK(difference(c, au, 1, b) < 1e-9, "not the solution of A u = b");
  sp_case_close(&c);
}

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

static size_t points_of(const sp_case *c) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  return n.elements * n.points;
}

static void set_coefficient(sp_case *c, sp_case_array which, const double *values) {
  ok(sp_case_set(c, which, values ? points_of(c) : 0, values));
}

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

static void compare_numbers(sp_case *a, sp_case *b, const char *table, const char *const *rows,
                            const char *member) {
  for (; *rows; rows++)
    CHECK_CLOSE(number(a, table, *rows, member), number(b, table, *rows, member), 1e-10);
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
    CHECK_CLOSE(a->run->probes->list[0].flux[d], b->run->probes->list[0].flux[d], 1e-9);
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

/* Arrays in memory of the backend; loads and operators with them; what ends them. */
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

/* ---- Operators ---- */

static void test_operators(const char *key, bool stiff) {
  ARRAYS_OF_SCOPE;
  sp_case *c = stiff ? open_keys(TEXTS(BOX, key, "problem.kappa=1+x*y", "problem.lambda=2",
                                       "problem.forcing=1"))
                     : open_keys(TEXTS("mesh.elements=3 2 4", key, "problem.forcing=1",
                                       run_case_device, "backend.share=yes"));
  const size_t local = local_of(c);
  const double *x = noise(c, 1), *y = noise(c, 2);
  double *ax = test_array(local, sizeof *ax), *ay = test_array(local, sizeof *ay);
  for (int which = SP_CASE_A; which <= SP_CASE_MASS; which++) {
    ok(sp_case_apply(c, (sp_case_operator)which, local, x, ax));
    ok(sp_case_apply(c, (sp_case_operator)which, local, y, ay));
    const double xy = dot(c, y, ax), yx = dot(c, x, ay);
    CHECK(fabs(xy - yx) <= 1e-6 * fmax(fabs(xy), dot(c, x, ax)), "%s: operator %d: %g and %g", key,
          which, xy, yx);
    CHECK(dot(c, x, ax) > 0, "%s: operator %d is not positive", key, which);
  }
  double *ones = test_array(local, sizeof *ones);
  for (size_t i = 0; i < local; i++) ones[i] = 1;
  ok(sp_case_apply(c, SP_CASE_MASS, local, ones, ax));
  CHECK_CLOSE(dot(c, ones, ax), 1, 1e-12);
  sp_case_close(&c);
}

/* ---- Several cases ---- */

static void test_side_by_side(void) {
  ARRAYS_OF_SCOPE;
  sp_case *a = open_keys(TEXTS(BOX, "problem.forcing=x"));
  const double *u = solve(a);
  sp_case *b = open_keys(TEXTS(BOX, "problem.forcing=y", "discretization.order=4"));
  const double *v = solve(b);
  CHECK(same_bits(a, solve(a), u) && same_bits(b, solve(b), v), "cases disturb each other");
  sp_case_close(&a);
  CHECK(same_bits(b, solve(b), v), "changed by the end of another case");
  sp_case_close(&b);

  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
  sp_case *c = open_on(half, world_rank % 2 ? TEXTS(BOX, "problem.forcing=x")
                                            : TEXTS(BOX, "problem.forcing=x", "mesh.refine=1"));
  (void)solve(c);
  (void)number(c, "extrema", "maximum", "value");
  sp_case_close(&c);
  MPI_Comm_free(&half);
}

/* ---- Wrong calls ---- */

static void refused(int code, const char *words) {
  CHECK(code == SP_CASE_ERROR && strstr(sp_case_message(), words), "code %d: '%s', not '%s'", code,
        sp_case_message(), words);
}

static void test_wrong_calls(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = NULL, *none = NULL;
  double x[2] = {0};
  const char *text;
  refused(sp_case_open(MPI_COMM_WORLD, "no_such_case.ini", 0, NULL, &c), "no_such_case.ini");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 1, NULL, &c), "keys");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 1, TEXTS("mesh.elemets=1"), &c), "elemets");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 5,
                       TEXTS("time.end=1", "time.steps=2", "problem.solution=x", run_case_device,
                             "backend.share=yes"),
                       &c),
          "steady");
  refused(sp_case_open(MPI_COMM_NULL, NULL, 0, NULL, &c), "communicator");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 0, NULL, NULL), "NULL");
  refused(sp_case_open_text(MPI_COMM_WORLD, "[mesh]\nelements = 1 1\n", 0, NULL, &c), "the case:2");
  CHECK(!c, "a case after a failure");
  refused(sp_case_solve(none, 2, x, NULL), "NULL");
  refused(sp_case_set(none, SP_CASE_LOAD, 2, x), "NULL");
  refused(sp_case_get(none, SP_CASE_RHS, 2, x), "NULL");
  refused(sp_case_apply(none, SP_CASE_A, 2, x, x), "NULL");
  refused(sp_case_change(none, 0, NULL), "NULL");
  refused(sp_case_value(none, NULL, NULL, "dofs", x), "NULL");
  refused(sp_case_json(none, &text), "NULL");
  refused(sp_case_write(none), "NULL");
  refused(sp_case_watch(none, NULL, NULL), "NULL");
  refused(sp_case_get_sizes(none, NULL), "NULL");
  sp_case_close(&none);
  sp_case_close(NULL);

  c = open_keys(TEXTS(BOX, "problem.forcing=1", "result.hottest=maximum"));
  const size_t local = local_of(c);
  double *f = test_array(local + 1, sizeof *f);
  refused(sp_case_value(c, NULL, NULL, "dofs", x), "no solution yet");
  refused(sp_case_solve(c, local + 1, f, NULL), "count");
  refused(sp_case_set(c, SP_CASE_LOAD, local - (world_rank == 0), f), "count");
  refused(sp_case_set(c, SP_CASE_RHS, local, f), "only be read");
  refused(sp_case_get(c, SP_CASE_LOAD, local, f), "only be set");
  refused(sp_case_get(c, SP_CASE_POINTS, local, f), "entries");
  refused(sp_case_apply(c, (sp_case_operator)7, local, f, f), "no operator");
  f[0] = world_rank == 0 ? NAN : 0;
  refused(sp_case_set(c, SP_CASE_LOAD, local, f), "NaN");
  refused(sp_case_set(c, SP_CASE_INITIAL, local, f), "NaN");
  f[0] = 0;
  const double *fixed = get(c, SP_CASE_FIXED);
  for (size_t i = 0; i < local; i++)
    if (fixed[i] != 0) f[i] = INFINITY;
  refused(sp_case_set(c, SP_CASE_DIRICHLET, local, f), "infinity");
  const double *u = solve(c);
  refused(sp_case_value(c, "results", "coldest", "value", x), "no row 'coldest'");
  refused(sp_case_value(c, "result", NULL, "value", x), "no table");
  refused(sp_case_value(c, "results", "hottest", "kind", x), "not a number");
  refused(sp_case_change(c, 1, TEXTS("mesh.elements=2 2 2")), "mesh");
  refused(sp_case_change(c, 1, TEXTS("boundary.zmin=periodic zmax")), "periodic");
  refused(sp_case_change(c, 1, TEXTS("boundary.nowhere=neumann 0")), "nowhere");
  CHECK(same_bits(c, solve(c), u), "another solution after failures");
  sp_case_close(&c);

  /* Pure Neumann: the load must balance. */
  c = open_keys(
      TEXTS(BOX, "problem.forcing=0", "boundary.xmin=neumann 0", "boundary.xmax=neumann 0"));
  double *load = test_array(local, sizeof *load);
  refused(sp_case_set(c, SP_CASE_DIRICHLET, local, load), "no Dirichlet");
  for (size_t i = 0; i < local; i++) load[i] = 1;
  set(c, SP_CASE_SOURCE, load);
  refused(sp_case_solve(c, local, f, NULL), "");
  const double *points = get(c, SP_CASE_POINTS);
  for (size_t i = 0; i < local; i++) load[i] = points[i] - 0.5;
  set(c, SP_CASE_SOURCE, load);
  (void)solve(c);
  sp_case_close(&c);
}

static void test_wrong_coefficients(void) {
  ARRAYS_OF_SCOPE;
  double x[1];
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=1"));
  const size_t local = local_of(c);
  const double *u = solve(c);
  const size_t points = points_of(c);
  double *kappa = test_array(points, sizeof *kappa), *xyz = test_array(3 * points, sizeof *xyz);
  refused(sp_case_set(c, SP_CASE_KAPPA, points, kappa), "kappa must be finite and positive");
  kappa[points - 1] = world_rank == 0 ? -1 : 0;
  refused(sp_case_set(c, SP_CASE_LAMBDA, points, kappa), "lambda must be finite and not negative");
  kappa[points - 1] = NAN;
  refused(sp_case_set(c, SP_CASE_LAMBDA, points, kappa), "finite");
  refused(sp_case_set(c, SP_CASE_KAPPA, local, kappa), "count");
  refused(sp_case_get(c, SP_CASE_KAPPA, points, kappa), "only be set");
  refused(sp_case_get(c, SP_CASE_QUADRATURE, points, xyz), "entries");
  set_coefficient(c, SP_CASE_KAPPA, NULL);
  (void)number(c, "extrema", "maximum", "value");
  ok(sp_case_change(c, 1, TEXTS("discretization.geometry=trilinear")));
  for (size_t p = 0; p < points; p++) kappa[p] = 2;
  set_coefficient(c, SP_CASE_KAPPA, kappa);
  refused(sp_case_solve(c, local, kappa, NULL), "stored or auto");
  refused(sp_case_change(c, 1, TEXTS("problem.solution=x")), "exact solution");
  set_coefficient(c, SP_CASE_KAPPA, NULL);
  ok(sp_case_change(c, 1, TEXTS("discretization.geometry=")));
  refused(sp_case_value(c, NULL, NULL, "dofs", x), "no solution yet");
  CHECK(same_bits(c, solve(c), u), "another solution after refused coefficients");
  sp_case_close(&c);

  const char *const cases[][3] = {{"problem.solution=x", "problem.kappa=2", "exact solution"},
                                  {"discretization.operator=mass", "problem.forcing=1", "mass"}};
  for (size_t k = 0; k < COUNT_OF(cases); k++) {
    c = open_keys(TEXTS("mesh.elements=3 2 4", "discretization.order=3", cases[k][0], cases[k][1],
                        run_case_device, "backend.share=yes"));
    refused(sp_case_set(c, SP_CASE_LAMBDA, points_of(c), test_array(points_of(c), 8)), cases[k][2]);
    sp_case_close(&c);
  }
}

/* ---- Results, changes, files ---- */

static int stop_at_three(void *context, int64_t iteration, double error) {
  (void)error;
  ++*(int *)context;
  return iteration == 3 && world_rank == world_size - 1;
}

static void test_codes(void) {
  ARRAYS_OF_SCOPE;
  int calls = 0;
  sp_case_solution s;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=x", "solver.preconditioner=none"));
  double *u = test_array(local_of(c), sizeof *u);
  ok(sp_case_watch(c, stop_at_three, &calls));
  CHECK(sp_case_solve(c, local_of(c), u, &s) == SP_CASE_INTERRUPTED, "%s", sp_case_message());
  enum { BATCHES = 4 + 8 }; /* a GPU reports four iterations, then eight */
  CHECK(calls >= 4 && s.iterations >= 3 && s.iterations <= BATCHES, "%d calls, %lld iterations",
        calls, (long long)s.iterations);
  ok(sp_case_watch(c, NULL, NULL));
  ok(sp_case_solve(c, local_of(c), u, &s));
  ok(sp_case_change(c, 1, TEXTS("solver.max_iterations=2")));
  CHECK(sp_case_solve(c, local_of(c), u, &s) == SP_CASE_NOT_CONVERGED && s.iterations == 2, "%s",
        sp_case_message());
  CHECK(number(c, NULL, NULL, "iterations") == 2, "results of the last iterate");
  sp_case_close(&c);
}

static void test_json(void) {
  ARRAYS_OF_SCOPE;
  const char *text;
  sp_case *c = open_keys(
      TEXTS(BOX, "problem.forcing=x", "result.hottest=maximum", "probe.middle=0.5 0.5 0.5"));
  (void)solve(c);
  const double hottest = number(c, "results", "hottest", "value");
  ok(sp_case_json(c, &text));
  const char *row = strstr(text, "\"name\": \"hottest\"");
  const char *value = row ? strstr(row, "\"value\": ") : NULL;
  CHECK(value && strtod(value + strlen("\"value\": "), NULL) == hottest, "no value of 'hottest'");
  CHECK(strstr(text, "\"exit_code\": 0") && strstr(text, "\"status\": \"converged\""), "%s", text);
  CHECK(number(c, "probes", "middle", "u") < hottest, "probe");
  double *f = noise(c, 3);
  set(c, SP_CASE_LOAD, f);
  (void)solve(c);
  CHECK(number(c, "results", "hottest", "value") != hottest, "results of the solve before");
  ok(sp_case_json(c, &text));
  sp_case_close(&c);
}

static void test_change(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=1"));
  sp_case *other = open_keys(TEXTS(BOX, "problem.forcing=x", "boundary.zmin=dirichlet y"));
  const double *u = solve(c);
  ok(sp_case_change(c, 2, TEXTS("problem.forcing=x", "boundary.zmin=dirichlet y")));
  CHECK(same_bits(c, solve(c), solve(other)), "not the case that was opened like this");
  ok(sp_case_change(c, 2, TEXTS("problem.forcing=1", "boundary.zmin=")));
  CHECK(same_bits(c, solve(c), u), "not the first case");
  set(c, SP_CASE_LOAD, noise(c, 1));
  ok(sp_case_change(c, 1, TEXTS("solver.tolerance=1e-10")));
  CHECK(!same_bits(c, solve(c), u), "the load is lost");
  ok(sp_case_change(c, 2, TEXTS("solver.tolerance=1e-12", "discretization.order=2")));
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  CHECK(n.order == 2 && n.nodes == 27, "order %d", n.order);
  (void)solve(c);
  ok(sp_case_change(c, 1, TEXTS("discretization.order=3")));
  CHECK(same_bits(c, solve(c), u), "not the first case after other orders");
  sp_case_close(&c);
  sp_case_close(&other);
}

static void test_files(void) {
  ARRAYS_OF_SCOPE;
  const char *log = test_text("library_%d.h5", world_size);
  const char *field = test_text("library_%d.hdf", world_size);
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=x", test_text("output.log=%s", log),
                               test_text("output.field=%s", field)));
  if (world_rank == 0) (void)(unlink(log) + unlink(field));
  (void)solve(c);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(access(log, F_OK) != 0 && access(field, F_OK) != 0, "files before sp_case_write");
  ok(sp_case_write(c));
  CHECK(access(log, R_OK) == 0 && access(field, R_OK) == 0, "no files");
  ok(sp_case_write(c));
  sp_case_close(&c);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) (void)(unlink(log) + unlink(field));
}

/* The text of a case, groups, nodes. */
static void test_text_and_names(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c;
  const char *text = world_rank == 0
                         ? "[mesh]\nelements = 4 1 1\n[boundary]\ndefault = dirichlet x\n"
                           "[problem]\nforcing = 0\n[discretization]\norder = 2\n"
                         : "";
  const char *name;
  int dimension, id, count = 0;
  ok(sp_case_open_text(MPI_COMM_WORLD, text, 2, TEXTS(run_case_device, "backend.share=yes"), &c));
  const double *u = solve(c), *x = get(c, SP_CASE_POINTS);
  CHECK(difference(c, u, 1, x) < 1e-8, "u is not x");
  while (sp_case_group(c, count, &name, &dimension, &id) == SP_CASE_OK) {
    CHECK(dimension == 2 || dimension == 3, "%s: dimension %d", name, dimension);
    count++;
  }
  CHECK(count >= 6, "%d groups", count);
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  int32_t *nodes = test_array(n.elements * n.nodes, sizeof *nodes);
  ok(sp_case_nodes(c, n.elements * n.nodes, nodes));
  for (size_t e = 0; e < n.elements; e++) /* along i */
    CHECK_CLOSE(x[nodes[e * n.nodes + 2]] - x[nodes[e * n.nodes]], 0.25, 1e-15);
  sp_case_close(&c);
}

/* ---- Memory ---- */

/* Bytes in use after many solves. */
static size_t use_after(sp_case *c, int solves, double *u) {
  double value;
  for (int k = 0; k < solves; k++) {
    for (size_t i = 0; i < local_of(c); i++) u[i] = k + 1;
    ok(sp_case_set(c, k % 2 ? SP_CASE_SOURCE : SP_CASE_LOAD, local_of(c), u));
    ok(sp_case_solve(c, local_of(c), u, NULL));
    if (k % 5 == 0) ok(sp_case_value(c, "extrema", "maximum", "value", &value));
  }
  return mallinfo2().uordblks;
}

static void test_memory(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c =
      open_keys(TEXTS("mesh.elements=2 2 1", "discretization.order=2", "problem.forcing=1",
                      "boundary.default=dirichlet 0", run_case_device, "backend.share=yes"));
  double *u = test_array(local_of(c), sizeof *u);
  const size_t before = use_after(c, 250, u), after = use_after(c, 1000, u);
  CHECK(after <= before + 4096, "%zu bytes more", after - before);
  sp_case_close(&c);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  test_bits();
  test_superposition();
  test_source("discretization.operator=bp3.5");
  test_source("discretization.operator=bp3.0");
  test_materials();
  test_dirichlet();
  test_initial();
  test_backend_memory();
  test_coefficients("discretization.operator=bp3.5");
  test_coefficients("discretization.operator=bp3.0");
  test_coefficients_stay();
  test_operators("discretization.operator=bp3.5", true);
  test_operators("discretization.operator=bp3.0", true);
  test_operators("solver.preconditioner=jacobi", true);
  test_operators("discretization.operator=mass", false);
  test_side_by_side();
  test_wrong_calls();
  test_wrong_coefficients();
  test_codes();
  test_json();
  test_change();
  test_files();
  test_text_and_names();
  /* MPI between ranks and CUDA take memory as they like. */
  if (world_size == 1 && !device_is_cuda(argc, argv)) test_memory();
  return check_end();
}
