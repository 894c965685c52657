/* The library in time and with conditions that depend on u (solver/sp_solve.h): bits of the
 * program, other steps, arrays, restarts, failures. */
#include <unistd.h>

#include "solver/run/running.h"
#include "tests/library_case.h"

#define TIMED                                                                                      \
  BOX, "problem.initial=1+x*y", "problem.forcing=1+z*cos(3*t)", "problem.capacity=2+y",            \
      "problem.kappa=1+x", "boundary.xmin=dirichlet (1+y)*cos(t)", "time.end=1", "time.steps=4"

static double time_of(const sp_case *c) {
  sp_case_time t;
  ok(sp_case_get_time(c, &t));
  return t.time;
}

/* u after a step, [local]. */
static double *step(sp_case *c, double dt) {
  double *u = test_array(local_of(c), sizeof *u);
  ok(sp_case_step(c, dt, local_of(c), u, NULL));
  return u;
}

static double *last_of(sp_case *c, int steps) {
  for (int s = 1; s < steps; s++) (void)step(c, 0);
  return step(c, 0);
}

/* ---- The program's solutions ---- */

static sp_status run_program(sp_running *run) {
  return run->config->time.end > 0 ? sp_stepping_run(run) : sp_running_solve(run);
}

static void check_bits(sp_case *c, const double *u, const char *const *keys, const char *what) {
  const double *expected = solve_as_program(keys, run_program);
  CHECK(same_bits(c, u, expected), "%s: differs by %g", what, difference(c, u, 1, expected));
}

/* Steps of 1/4: the state after k of them is the end of a run of k steps. Powers of two, so that
 * both find the same shift. */
static void test_bits_of_series(const char *scheme, const char *more) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(TIMED, scheme, more));
  for (int k = 1; k <= 4; k *= 2) {
    const double *u = last_of(c, k > 1 ? k / 2 : 1);
    CHECK_CLOSE(time_of(c), 0.25 * k, 1e-15);
    check_bits(c, u,
               TEXTS(TIMED, scheme, more, test_text("time.end=%g", 0.25 * k),
                     test_text("time.steps=%d", k)),
               test_text("%s, step %d", scheme, k));
    (void)number(c, "extrema", "maximum", "value");
  }
  sp_case_close(&c);
}

#define HOT                                                                                        \
  BOX, "problem.forcing=0", "boundary.xmin=dirichlet 500", "boundary.xmax=radiation 0.8, 293"

static void test_nonlinear(const char *more) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(HOT, more));
  double *u = solve(c);
  check_bits(c, u, TEXTS(HOT, more), more);
  CHECK_CLOSE(number(c, "balance", "imbalance", "value"), 0, 1e-9);
  CHECK(same_bits(c, solve(c), u), "another solution the second time");
  set(c, SP_CASE_INITIAL, u);
  sp_case_solution s;
  ok(sp_case_solve(c, local_of(c), u, &s));
  CHECK(s.iterations <= 3, "%lld iterations from the solution", (long long)s.iterations);
  sp_case_close(&c);
}

static void test_nonlinear_in_time(const char *more) {
  ARRAYS_OF_SCOPE;
#define COOLING HOT, "problem.initial=500", "problem.capacity=40", "time.end=1", "time.steps=4"
  sp_case *c = open_keys(TEXTS(COOLING, more));
  const double *u = last_of(c, 4);
  check_bits(c, u, TEXTS(COOLING, more), more);
  CHECK_CLOSE(number(c, "balance", "imbalance", "value"), 0, 1e-8);
  sp_case_close(&c);
}

/* ---- Arrays ---- */

/* The arrays of a problem that depends on u equal its formulas. */
static void test_nonlinear_arrays(void) {
  ARRAYS_OF_SCOPE;
  sp_case *formula =
      open_keys(TEXTS(HOT, "problem.forcing=100*(1+x)", "boundary.xmin=dirichlet 400+y"));
  sp_case *array = open_keys(TEXTS(HOT));
  const size_t local = local_of(array);
  const double *x = get(array, SP_CASE_POINTS), *without = solve(array), *u = solve(formula);
  double *f = test_array(local, sizeof *f), *g = test_array(local, sizeof *g);
  for (size_t i = 0; i < local; i++) f[i] = 100 * (1 + x[i]), g[i] = 400 + x[i + local];
  set(array, SP_CASE_SOURCE, f);
  set(array, SP_CASE_DIRICHLET, g);
  CHECK(difference(array, solve(array), 1, u) < 1e-7, "differs by %g",
        difference(array, solve(array), 1, u));
  CHECK_CLOSE(number(array, "balance", "f", "value"), 150, 1e-9);
  CHECK_CLOSE(number(array, "balance", "imbalance", "value"), 0, 1e-8);
  set(array, SP_CASE_SOURCE, NULL);
  set(array, SP_CASE_DIRICHLET, NULL);
  CHECK(same_bits(array, solve(array), without), "arrays remain");
  sp_case_close(&formula);
  sp_case_close(&array);
}

/* f and Dirichlet values of each new time as arrays, for a scheme that has no other times. */
static void test_moving_arrays(const char *operator) {
  ARRAYS_OF_SCOPE;
#define EULER                                                                                      \
  BOX, operator, "time.scheme=bdf1", "time.end=1", "time.steps=4", "problem.initial=x",            \
      "problem.capacity=2", "problem.kappa=1+x"
  sp_case *formula =
      open_keys(TEXTS(EULER, "problem.forcing=t*(1+x*y)", "boundary.xmin=dirichlet t^2*y"));
  sp_case *array = open_keys(TEXTS(EULER, "problem.forcing=0", "boundary.xmin=dirichlet 7*t"));
  const size_t local = local_of(array);
  const double *x = get(array, SP_CASE_POINTS);
  double *f = test_array(local, sizeof *f), *g = test_array(local, sizeof *g);
  for (int k = 1; k <= 4; k++) {
    const double t = 0.25 * k;
    for (size_t i = 0; i < local; i++)
      f[i] = t * (1 + x[i] * x[i + local]), g[i] = t * t * x[i + local];
    set(array, SP_CASE_SOURCE, f);
    set(array, SP_CASE_DIRICHLET, g);
    const double off = difference(array, step(array, 0), 1, step(formula, 0));
    CHECK(off < 1e-10, "%s, step %d: differs by %g", operator, k, off);
    compare_numbers(array, formula, "balance", TEXTS("f", "xmin", "xmax"), "value");
    CHECK_CLOSE(number(array, "balance", "imbalance", "value"), 0, 1e-9);
  }
  set(array, SP_CASE_DIRICHLET, NULL);
  const double *u = step(array, 0), *fixed = get(array, SP_CASE_FIXED);
  for (size_t i = 0; i < local; i++)
    if (fixed[i] != 0) CHECK_CLOSE(u[i], 7 * time_of(array), 1e-14);
  sp_case_close(&formula);
  sp_case_close(&array);
}

/* The capacity as an array equal to its formula, also if it is set after some steps. */
static void test_capacity(const char *operator) {
  ARRAYS_OF_SCOPE;
  sp_case *formula = open_keys(TEXTS(TIMED, operator, "time.scheme=bdf1"));
  sp_case *array = open_keys(TEXTS(TIMED, operator, "time.scheme=bdf1", "problem.capacity=1"));
  const size_t points = points_of(array), local = local_of(array);
  double *xyz = test_array(3 * points, sizeof *xyz);
  ok(sp_case_get(array, SP_CASE_QUADRATURE, 3 * points, xyz));
  for (size_t p = 0; p < points; p++) xyz[p] = 2 + xyz[points + p];
  const double *without = step(array, 0);
  double *u = step(formula, 0);
  CHECK(difference(array, without, 1, u) > 1e-2, "%s: the capacity changes nothing", operator);
  set_coefficient(array, SP_CASE_CAPACITY, xyz);
  double none;
  refused(sp_case_value(array, "extrema", "maximum", "value", &none), "no solution yet");
  set(array, SP_CASE_INITIAL, u);
  ok(sp_case_restart(array, 0.25));
  for (int k = 2; k <= 4; k++) {
    const double off = difference(array, step(array, 0), 1, step(formula, 0));
    CHECK(off < 1e-10, "%s, step %d: differs by %g", operator, k, off);
  }
  compare_numbers(array, formula, "balance", TEXTS("f", "stored", "xmin", "xmax"), "value");
  set_coefficient(array, SP_CASE_CAPACITY, NULL);
  set(array, SP_CASE_INITIAL, NULL);
  ok(sp_case_restart(array, 0));
  ok(sp_case_step(array, 0, local, u, NULL));
  CHECK(difference(array, u, 1, without) < 1e-11, "%s: the capacity remains", operator);
  sp_case_close(&formula);
  sp_case_close(&array);
}

/* ---- Time ---- */

/* Automatic steps have several lengths, and end with the bits of the program. With a given first
 * length they end there first, and also meet the end. */
static void test_automatic_steps(double first) {
  ARRAYS_OF_SCOPE;
#define AUTOMATIC TIMED, "time.steps=", "time.tolerance=1e-3", "time.scheme=sdirk2"
  sp_case *c = open_keys(TEXTS(AUTOMATIC));
  sp_case_time before, after;
  double *u = NULL, shortest = INFINITY, longest = 0;
  ok(sp_case_get_time(c, &before));
  for (after = before; after.time < after.end - after.step / 2; before = after) {
    u = step(c, before.time == 0 ? first : 0);
    ok(sp_case_get_time(c, &after));
    CHECK(first == 0 || after.time <= first || before.time >= first, "a step from %g to %g",
          before.time, after.time);
    shortest = fmin(shortest, after.time - before.time);
    longest = fmax(longest, after.time - before.time);
  }
  CHECK_CLOSE(after.time, 1, 1e-12);
  CHECK(longest > 3 * shortest, "steps from %g to %g", shortest, longest);
  if (first == 0) check_bits(c, u, TEXTS(AUTOMATIC), "automatic steps");
  sp_case_close(&c);
}

/* All schemes are exact if u is linear in t, for any steps. */
static void test_lengths(const char *scheme) {
  ARRAYS_OF_SCOPE;
  static const double lengths[] = {0, 0.25, 0.25, 0.0625, 0, 0, 3};
  sp_case *c =
      open_keys(TEXTS(BOX, scheme, "problem.solution=(1+x*y)*(1+2*t)", "problem.capacity=2+y",
                      "problem.kappa=1+x", "boundary.xmin=dirichlet", "boundary.default=neumann",
                      "boundary.xmax=neumann", "time.end=1", "time.steps=8"));
  double t = 0;
  for (size_t k = 0; k < COUNT_OF(lengths); k++) {
    t += lengths[k] > 0 ? lengths[k] : 0.125;
    (void)step(c, lengths[k]);
    CHECK_CLOSE(time_of(c), t, 1e-14);
    CHECK_CLOSE(number(c, "errors", NULL, "max"), 0, 1e-8);
  }
  sp_case_close(&c);
}

/* From t = 0 again, and from a state of the caller. */
static void test_restart(const char *scheme) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(TIMED, scheme));
  const double *u[4];
  for (int k = 0; k < 4; k++) u[k] = step(c, 0);
  ok(sp_case_restart(c, 0));
  CHECK(time_of(c) == 0, "time %g", time_of(c));
  for (int k = 0; k < 4; k++)
    CHECK(same_bits(c, step(c, 0), u[k]), "%s: step %d differs after a restart", scheme, k + 1);
  set(c, SP_CASE_INITIAL, u[1]);
  ok(sp_case_restart(c, 0.5));
  const double off = difference(c, step(c, 0), 1, u[2]);
  const bool has_history = !strstr(scheme, "bdf1") && !strstr(scheme, "sdirk2");
  CHECK(has_history ? off > 1e-6 : off < 1e-11, "%s: %g after a state of the caller", scheme, off);
  sp_case_close(&c);
  c = open_keys(TEXTS(TIMED, scheme));
  set(c, SP_CASE_INITIAL, u[1]);
  CHECK(difference(c, step(c, 0), 1, u[0]) > 1e-3, "the initial state is not that of the caller");
  sp_case_close(&c);
}

/* Each write adds a state; another case continues after it. */
static void test_files(void) {
  ARRAYS_OF_SCOPE;
  const char *field = test_text("library_steps_%d.hdf", world_size);
  sp_case *c = open_keys(TEXTS(TIMED, "time.scheme=bdf3", test_text("output.field=%s", field)));
  for (int k = 0; k < 2; k++) {
    (void)step(c, 0);
    ok(sp_case_write(c));
  }
  sp_case *next =
      open_keys(TEXTS(TIMED, "time.scheme=bdf3", test_text("problem.initial=%s", field)));
  CHECK_CLOSE(time_of(next), 0.5, 1e-15);
  CHECK(difference(c, step(next, 0), 1, step(c, 0)) < 1e-10, "another step from the file");
  sp_case_close(&next);
  sp_case_close(&c);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) (void)unlink(field);
}

/* ---- Failures ---- */

/* Data that have no value after t = 0.6: the state stays, and shorter steps go on. */
static void test_failed_step(const char *scheme, const char *condition) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(TIMED, scheme, condition));
  const size_t local = local_of(c);
  double value, *u = step(c, 0.5), *kept = test_array(local, sizeof *kept);
  memcpy(kept, u, local * sizeof *u);
  refused(sp_case_step(c, 0.25, local, u, NULL), "sqrt");
  CHECK(time_of(c) == 0.5 && same_bits(c, u, kept), "%s: the state after a failure", condition);
  refused(sp_case_value(c, "extrema", "maximum", "value", &value), "no solution yet");
  ok(sp_case_apply(c, SP_CASE_A, local, u, kept));
  ok(sp_case_get(c, SP_CASE_FIXED, local, kept));
  (void)step(c, 0.0625);
  CHECK_CLOSE(time_of(c), 0.5625, 1e-15);
  CHECK_CLOSE(number(c, "balance", "imbalance", "value"), 0, 1e-9);
  sp_case_close(&c);
}

static int stop_at_once(void *context, int64_t iteration, double error) {
  (void)context, (void)iteration, (void)error;
  return world_rank == world_size - 1;
}

static void test_interrupted_step(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c = open_keys(TEXTS(TIMED, "solver.preconditioner=none"));
  sp_case *other = open_keys(TEXTS(TIMED, "solver.preconditioner=none"));
  ok(sp_case_watch(c, stop_at_once, NULL));
  CHECK(sp_case_step(c, 0, 0, NULL, NULL) == SP_CASE_INTERRUPTED, "%s", sp_case_message());
  CHECK(time_of(c) == 0, "time %g", time_of(c));
  ok(sp_case_watch(c, NULL, NULL));
  CHECK(same_bits(c, step(c, 0), step(other, 0)), "another step after an interruption");
  sp_case_close(&c);
  sp_case_close(&other);
}

static void test_wrong_calls(void) {
  ARRAYS_OF_SCOPE;
  sp_case_time t;
  sp_case *none = NULL, *steady = open_keys(TEXTS(BOX, "problem.forcing=1"));
  sp_case *c = open_keys(TEXTS(TIMED));
  const size_t local = local_of(c), points = points_of(c);
  double *u = test_array(points + local + 1, sizeof *u);
  refused(sp_case_step(none, 0, 0, NULL, NULL), "NULL");
  refused(sp_case_restart(none, 0), "NULL");
  refused(sp_case_get_time(none, &t), "NULL");
  refused(sp_case_get_time(c, NULL), "NULL");
  refused(sp_case_step(steady, 0, local, u, NULL), "the case is steady");
  refused(sp_case_restart(steady, 0), "the case is steady");
  refused(sp_case_get_time(steady, &t), "the case is steady");
  refused(sp_case_set(steady, SP_CASE_CAPACITY, points, u), "needs a case in time");
  refused(sp_case_solve(c, local, u, NULL), "call sp_case_step");
  refused(sp_case_get(c, SP_CASE_RHS, local, u), "right-hand side");
  refused(sp_case_step(c, 0, local + 1, u, NULL), "count");
  refused(sp_case_step(c, -1, local, u, NULL), "dt is -1");
  refused(sp_case_step(c, NAN, local, u, NULL), "dt > 0");
  refused(sp_case_restart(c, INFINITY), "finite time");
  refused(sp_case_set(c, SP_CASE_CAPACITY, points, u), "capacity must be finite and positive");
  u[0] = -1;
  refused(sp_case_set(c, SP_CASE_CAPACITY, points, u), "capacity must be finite and positive");
  refused(sp_case_set(c, SP_CASE_CAPACITY, points + 1, u), "count");
  refused(sp_case_get(c, SP_CASE_CAPACITY, points, u), "only be set");
  check_bits(c, step(c, 0), TEXTS(TIMED, "time.end=0.25", "time.steps=1"), "after wrong calls");
  sp_case_close(&steady);
  sp_case_close(&c);
}

int main(int argc, char **argv) {
  static const char *const schemes[] = {"time.scheme=bdf1", "time.scheme=bdf2", "time.scheme=bdf3",
                                        "time.scheme=sdirk2", "time.scheme=cn"};
  run_case_begin(&argc, &argv);
  /* All schemes on one rank; on several, which add only sums over ranks, every second one. */
  const size_t by = device_sweeps(argc, argv) ? 1 : 2;
  for (size_t s = by - 1; s < COUNT_OF(schemes); s += by) {
    test_bits_of_series(schemes[s], KINDS[s % 2]);
    test_lengths(schemes[s]);
    test_restart(schemes[s]);
  }
  test_automatic_steps(0);
  test_automatic_steps(0.003);
  test_nonlinear("problem.kappa=2");
  test_nonlinear("problem.kappa=1+u/500");
  test_nonlinear_in_time("problem.kappa=2");
  test_nonlinear_in_time("problem.kappa=1+u/500");
  test_nonlinear_arrays();
  for (int k = 0; k < 2; k++) {
    test_moving_arrays(KINDS[k]);
    test_capacity(KINDS[k]);
  }
  test_files();
  for (size_t s = 0; s < COUNT_OF(schemes); s += 3) {
    test_failed_step(schemes[s], "boundary.ymax=dirichlet sqrt(0.6-t)");
    test_failed_step(schemes[s], "problem.forcing=sqrt(0.6-t)");
  }
  test_interrupted_step();
  test_wrong_calls();
  return check_end();
}
