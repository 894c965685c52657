/* The library (solver/sp_solve.h): bits of the program, operators, several cases, results, changes,
 * files, memory. */
#include <malloc.h>
#include <unistd.h>

#include "tests/library_case.h"

/* ---- Solutions ---- */

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
    const double *u = solve_as_program(keys, sp_running_solve);
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

/* Bytes in use after 250 solves. */
static size_t use_after_solves(sp_case *c, double *u) {
  double value;
  for (int k = 0; k < 250; k++) {
    for (size_t i = 0; i < local_of(c); i++) u[i] = k + 1;
    ok(sp_case_set(c, k % 2 ? SP_CASE_SOURCE : SP_CASE_LOAD, local_of(c), u));
    ok(sp_case_solve(c, local_of(c), u, NULL));
    if (k % 5 == 0) ok(sp_case_value(c, "extrema", "maximum", "value", &value));
  }
  return mallinfo2().uordblks;
}

/* A leak grows in every round; the threads of MPI allocate at times of their own. */
static void test_memory(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c =
      open_keys(TEXTS("mesh.elements=2 2 1", "discretization.order=2", "problem.forcing=1",
                      "boundary.default=dirichlet 0", run_case_device, "backend.share=yes"));
  double *u = test_array(local_of(c), sizeof *u);
  bool is_steady = false;
  size_t before = use_after_solves(c, u);
  for (int round = 0; round < 5 && !is_steady; round++) {
    const size_t after = use_after_solves(c, u);
    is_steady = after <= before;
    before = after;
  }
  CHECK(is_steady, "every 250 solves take more memory");
  sp_case_close(&c);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  test_bits();
  test_superposition();
  test_operators("discretization.operator=bp3.5", true);
  test_operators("discretization.operator=bp3.0", true);
  test_operators("solver.preconditioner=jacobi", true);
  test_operators("discretization.operator=mass", false);
  test_side_by_side();
  test_codes();
  test_json();
  test_change();
  test_files();
  test_text_and_names();
  /* MPI between ranks and CUDA take memory as they like. */
  if (world_size == 1 && !device_is_cuda(argc, argv)) test_memory();
  return check_end();
}
