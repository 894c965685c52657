/* Wrong calls of the library (solver/sp_solve.h): a code and a message; the case works afterwards.
 */
#include "tests/library_case.h"

static void test_refused_cases(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = NULL;
  refused(sp_case_open(MPI_COMM_WORLD, "no_such_case.ini", 0, NULL, &c), "no_such_case.ini");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 1, NULL, &c), "keys");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 1, TEXTS("mesh.elemets=1"), &c), "elemets");
  refused(sp_case_open(MPI_COMM_NULL, NULL, 0, NULL, &c), "communicator");
  refused(sp_case_open(MPI_COMM_WORLD, NULL, 0, NULL, NULL), "NULL");
  refused(sp_case_open_text(MPI_COMM_WORLD, "[mesh]\nelements = 1 1\n", 0, NULL, &c), "the case:2");
  CHECK(!c, "a case after a failure");
}

static void test_no_case(void) {
  sp_case *none = NULL;
  double x[2] = {0};
  const char *text;
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
}

/* Open a case, make wrong calls, and check that its solution stays. */
static void check_case(void (*make_wrong_calls)(sp_case *c)) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=1", "result.hottest=maximum"));
  sp_case *other = open_keys(TEXTS(BOX, "problem.forcing=1", "result.hottest=maximum"));
  make_wrong_calls(c);
  CHECK(same_bits(c, solve(c), solve(other)), "another solution after failures");
  sp_case_close(&c);
  sp_case_close(&other);
}

static void make_wrong_lengths(sp_case *c) {
  const size_t local = local_of(c);
  double *f = test_array(local + 1, sizeof *f);
  refused(sp_case_solve(c, local + 1, f, NULL), "count");
  refused(sp_case_set(c, SP_CASE_LOAD, local - (world_rank == 0), f), "count");
  refused(sp_case_get(c, SP_CASE_POINTS, local, f), "entries");
}

static void take_wrong_arrays(sp_case *c) {
  const size_t local = local_of(c);
  double *f = test_array(local, sizeof *f);
  refused(sp_case_set(c, SP_CASE_RHS, local, f), "only be read");
  refused(sp_case_get(c, SP_CASE_LOAD, local, f), "only be set");
  refused(sp_case_apply(c, (sp_case_operator)7, local, f, f), "no operator");
}

static void set_infinite_values(sp_case *c) {
  const size_t local = local_of(c);
  double *f = test_array(local, sizeof *f);
  f[0] = world_rank == 0 ? NAN : 0;
  refused(sp_case_set(c, SP_CASE_LOAD, local, f), "NaN");
  refused(sp_case_set(c, SP_CASE_INITIAL, local, f), "NaN");
  f[0] = 0;
  const double *fixed = get(c, SP_CASE_FIXED);
  for (size_t i = 0; i < local; i++)
    if (fixed[i] != 0) f[i] = INFINITY;
  refused(sp_case_set(c, SP_CASE_DIRICHLET, local, f), "infinity");
}

static void ask_for_wrong_values(sp_case *c) {
  double x;
  refused(sp_case_value(c, NULL, NULL, "dofs", &x), "no solution yet");
  (void)solve(c);
  refused(sp_case_value(c, "results", "coldest", "value", &x), "no row 'coldest'");
  refused(sp_case_value(c, "result", NULL, "value", &x), "no table");
  refused(sp_case_value(c, "results", "hottest", "kind", &x), "not a number");
}

static void make_wrong_changes(sp_case *c) {
  refused(sp_case_change(c, 1, TEXTS("mesh.elements=2 2 2")), "mesh");
  refused(sp_case_change(c, 1, TEXTS("boundary.zmin=periodic zmax")), "periodic");
  refused(sp_case_change(c, 1, TEXTS("boundary.nowhere=neumann 0")), "nowhere");
}

/* Pure Neumann: the load must balance. */
static void test_unbalanced_load(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(
      TEXTS(BOX, "problem.forcing=0", "boundary.xmin=neumann 0", "boundary.xmax=neumann 0"));
  const size_t local = local_of(c);
  double *load = test_array(local, sizeof *load);
  refused(sp_case_set(c, SP_CASE_DIRICHLET, local, load), "no Dirichlet");
  for (size_t i = 0; i < local; i++) load[i] = 1;
  set(c, SP_CASE_SOURCE, load);
  refused(sp_case_solve(c, local, load, NULL), "");
  const double *points = get(c, SP_CASE_POINTS);
  for (size_t i = 0; i < local; i++) load[i] = points[i] - 0.5;
  set(c, SP_CASE_SOURCE, load);
  (void)solve(c);
  sp_case_close(&c);
}

static void set_wrong_coefficients(sp_case *c) {
  const size_t local = local_of(c), points = points_of(c);
  double *kappa = test_array(points, sizeof *kappa), *xyz = test_array(3 * points, sizeof *xyz);
  refused(sp_case_set(c, SP_CASE_KAPPA, points, kappa), "kappa must be finite and positive");
  kappa[points - 1] = world_rank == 0 ? -1 : 0;
  refused(sp_case_set(c, SP_CASE_LAMBDA, points, kappa), "lambda must be finite and not negative");
  kappa[points - 1] = NAN;
  refused(sp_case_set(c, SP_CASE_LAMBDA, points, kappa), "finite");
  refused(sp_case_set(c, SP_CASE_KAPPA, local, kappa), "count");
  refused(sp_case_get(c, SP_CASE_KAPPA, points, kappa), "only be set");
  refused(sp_case_get(c, SP_CASE_QUADRATURE, points, xyz), "entries");
}

/* Results stay if nothing was set. A failed set-up is an error of each solve until the case is
 * changed. */
static void test_refused_set_up(void) {
  ARRAYS_OF_SCOPE;
  double x[1];
  sp_case *c = open_keys(TEXTS(BOX, "problem.forcing=1"));
  const size_t points = points_of(c);
  const double *u = solve(c);
  double *kappa = test_array(points, sizeof *kappa);
  set_coefficient(c, SP_CASE_KAPPA, NULL);
  (void)number(c, "extrema", "maximum", "value");
  ok(sp_case_change(c, 1, TEXTS("discretization.geometry=trilinear")));
  for (size_t p = 0; p < points; p++) kappa[p] = 2;
  set_coefficient(c, SP_CASE_KAPPA, kappa);
  refused(sp_case_solve(c, local_of(c), kappa, NULL), "stored or auto");
  refused(sp_case_solve(c, local_of(c), kappa, NULL), "stored or auto");
  refused(sp_case_change(c, 1, TEXTS("problem.solution=x")), "exact solution");
  set_coefficient(c, SP_CASE_KAPPA, NULL);
  ok(sp_case_change(c, 1, TEXTS("discretization.geometry=")));
  refused(sp_case_value(c, NULL, NULL, "dofs", x), "no solution yet");
  CHECK(same_bits(c, solve(c), u), "another solution after refused coefficients");
  sp_case_close(&c);
}

static void test_cases_of_formulas(void) {
  ARRAYS_OF_SCOPE;
  const char *const cases[][3] = {{"problem.solution=x", "problem.kappa=2", "exact solution"},
                                  {"discretization.operator=mass", "problem.forcing=1", "mass"}};
  for (size_t k = 0; k < COUNT_OF(cases); k++) {
    sp_case *c = open_keys(TEXTS("mesh.elements=3 2 4", "discretization.order=3", cases[k][0],
                                 cases[k][1], run_case_device, "backend.share=yes"));
    refused(sp_case_set(c, SP_CASE_LAMBDA, points_of(c), test_array(points_of(c), 8)), cases[k][2]);
    sp_case_close(&c);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  test_refused_cases();
  test_no_case();
  check_case(make_wrong_lengths);
  check_case(take_wrong_arrays);
  check_case(set_infinite_values);
  check_case(ask_for_wrong_values);
  check_case(make_wrong_changes);
  check_case(set_wrong_coefficients);
  test_unbalanced_load();
  test_refused_set_up();
  test_cases_of_formulas();
  return check_end();
}
