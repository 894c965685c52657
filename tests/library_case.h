/* Cases of the library (solver/sp_solve.h) in tests: a box, calls that must succeed or be refused,
 * and arithmetic of L-vectors over all ranks. */
#pragma once

#include "solver/run/library.h"
#include "tests/run_case.h"

/* u = 0 on xmin, flux through xmax. */
#define BOX                                                                                        \
  "mesh.elements=3 2 4", "discretization.order=3", "boundary.xmin=dirichlet 0",                    \
      "boundary.xmax=robin 2, 0", "boundary.default=neumann 0",                                    \
      "output.log=", "output.field=", run_case_device, "backend.share=yes",                        \
      "solver.tolerance=1e-12"

static inline sp_case *open_on(MPI_Comm comm, const char *const *keys) {
  sp_case *c = NULL;
  int count = 0;
  while (keys[count]) count++;
  const int code = sp_case_open(comm, NULL, count, keys, &c);
  CHECK(code == SP_CASE_OK, "%s", sp_case_message());
  if (code) MPI_Abort(MPI_COMM_WORLD, 1);
  return c;
}

static inline sp_case *open_keys(const char *const *keys) {
  return open_on(MPI_COMM_WORLD, keys);
}

static inline void ok(int code) {
  CHECK(code == SP_CASE_OK, "code %d: %s", code, sp_case_message());
}

static inline void refused(int code, const char *words) {
  CHECK(code == SP_CASE_ERROR && strstr(sp_case_message(), words), "code %d: '%s', not '%s'", code,
        sp_case_message(), words);
}

static inline size_t local_of(const sp_case *c) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  return n.local;
}

static inline double *solve(sp_case *c) {
  double *u = test_array(local_of(c), sizeof *u);
  ok(sp_case_solve(c, local_of(c), u, NULL));
  return u;
}

/* Solve the case of settings, which run_case would take, to 1e-14 if they give no tolerance. The
 * caller closes it. */
static inline sp_case *solve_case(MPI_Comm comm, const char *const *common,
                                  const char *const *own) {
  const char *keys[RUN_CASE_OVERRIDES + 1] = {run_case_device, "backend.share=yes",
                                              "solver.tolerance=1e-14"};
  keys[run_case_append(own, run_case_append(common, 3, keys), keys)] = NULL;
  sp_case *c = open_on(comm, keys);
  (void)solve(c);
  return c;
}

static inline double *get(sp_case *c, sp_case_array which) {
  const size_t count = (which == SP_CASE_POINTS ? 3 : 1) * local_of(c);
  double *values = test_array(count, sizeof *values);
  ok(sp_case_get(c, which, count, values));
  return values;
}

static inline void set(sp_case *c, sp_case_array which, const double *values) {
  ok(sp_case_set(c, which, local_of(c), values));
}

/* x.y over the owned DOFs of all ranks. */
static inline double dot(const sp_case *c, const double *x, const double *y) {
  sp_case_sizes n;
  double sum = 0;
  ok(sp_case_get_sizes(c, &n));
  for (size_t i = 0; i < n.owned; i++) sum += x[i] * y[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* The largest |x - a y|. */
static inline double difference(const sp_case *c, const double *x, double a, const double *y) {
  double most = 0;
  for (size_t i = 0; i < local_of(c); i++) most = fmax(most, fabs(x[i] - a * y[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static inline bool same_bits(const sp_case *c, const double *x, const double *y) {
  return memcmp(x, y, local_of(c) * sizeof *x) == 0;
}

static inline size_t points_of(const sp_case *c) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  return n.elements * n.points;
}

static inline void set_coefficient(sp_case *c, sp_case_array which, const double *values) {
  ok(sp_case_set(c, which, values ? points_of(c) : 0, values));
}

/* Numbers that depend on the DOF and not on the rank; copies hold rubbish. */
static inline double *noise(sp_case *c, int seed) {
  sp_case_sizes n;
  ok(sp_case_get_sizes(c, &n));
  double *x = test_array(n.local, sizeof *x);
  int64_t *numbers = test_array(n.local, sizeof *numbers);
  ok(sp_case_numbers(c, n.local, numbers));
  for (size_t i = 0; i < n.local; i++)
    x[i] = i < n.owned ? sin((double)(numbers[i] + 1) * (seed + 1.5)) : 1e30;
  return x;
}

static inline double number(sp_case *c, const char *table, const char *row, const char *member) {
  double value = NAN;
  ok(sp_case_value(c, table, row, member, &value));
  return value;
}

static inline void compare_numbers(sp_case *a, sp_case *b, const char *table,
                                   const char *const *rows, const char *member) {
  for (; *rows; rows++)
    CHECK_CLOSE(number(a, table, *rows, member), number(b, table, *rows, member), 1e-10);
}

/* The solution of the program, [local]; `run` follows the set-up. */
static inline double *solve_as_program(const char *const *keys, sp_status (*run)(sp_running *)) {
  sp_config *config;
  sp_workers workers;
  sp_mesh *mesh;
  sp_results results = {.profile = sp_profile_from_now()};
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  int count = 0;
  while (keys[count]) count++;
  require(sp_config_read(MPI_COMM_WORLD, NULL, count, keys, &config));
  require(sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers));
  require(sp_case_mesh(&workers, &config->mesh, &config->statement, &config->wanted,
                       &results.profile, &terminal, &mesh));
  sp_running c = sp_running_begin(&workers, mesh, config, &results);
  require(sp_running_set_up(&c));
  require(run(&c));
  double *u = test_array(sp_space_dofs(c.solver->space), sizeof *u);
  memcpy(u, c.solution, sp_space_dofs(c.solver->space) * sizeof *u);
  sp_running_destroy(&c);
  sp_mesh_destroy(&mesh);
  sp_workers_close(&workers);
  sp_config_destroy(&config);
  return u;
}
