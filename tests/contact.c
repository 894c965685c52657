/* Contact resistances through the whole program: rates with manufactured solutions on both sides,
 * iterations that do not depend on R, and a symmetric positive definite operator. */
#include <float.h>

#include "solver/config/config.h"
#include "solver/problem/systems.h"
#include "solver/solve/mesh.h"
#include "tests/folders.h"
#include "tests/rates.h"

static const char *mesh_file(void) {
  return test_text("mesh.file=%s/sandwich.geo", test_fixtures());
}

/* With g = exp(y / 2) (1 + z / 5), R and kappa = 1 to the left and 2 to the right of x = 1:
 *     u = sin(x - 1) g,   u = (sin(x - 1) / 2 + R cos(2 (x - 1))) g,
 * so that kappa du/dx = g and u jumps by R g at x = 1. */
static void check_contact(const char *kind, int order, const char *r) {
  const char *const common[] = {
      kind, mesh_file(),
      test_text(
          "problem.solution=(sin(x-1)/2+(%s)*cos(2*(x-1)))*exp(y/2)*(1+z/5); problem.kappa=2; "
          "material.one.solution=sin(x-1)*exp(y/2)*(1+z/5); material.one.kappa=1; "
          "solver.tolerance=1e-13",
          r),
      NULL};
  check_rates(order, order < 3 ? 1 : 0, common,
              TEXTS(test_text("boundary.near=contact %s", r), "boundary.default=robin 1",
                    "boundary.left=dirichlet"));
}

static double product(sp_system *system, const double *x, const double *y) {
  const size_t n = (size_t)system->op->dofs;
  AUTO_VALUE(sp_vector) on_x = {0}, on_y = {0}, ax = {0};
  double sum = NAN;
  CHECK_OK(sp_vector_create(system->space->platform, SP_DOUBLE, n, &on_x));
  CHECK_OK(sp_vector_create(system->space->platform, SP_DOUBLE, n, &on_y));
  CHECK_OK(sp_vector_create(system->space->platform, SP_DOUBLE, n, &ax));
  CHECK_OK(sp_vector_write(x, &on_x));
  CHECK_OK(sp_vector_write(y, &on_y));
  const sp_status status = sp_operator_apply(system->op, false, &on_x, &ax);
  CHECK_OK(sp_operator_dot(system->op, &on_y, &ax, status, &sum));
  return sum;
}

/* 1 in the first block and 0 in the others, and linear in the contact. */
static void fill_step(const sp_space *space, double *x) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_numbering *numbering = space->numbering;
  const sp_rule *gll = &sp_reference_get(numbering->order)->gll;
  const size_t face = (size_t)(gll->n * gll->n), nodes = face * (size_t)gll->n;
  for (sp_lid i = 0; i < numbering->local; i++) x[i] = 2;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (size_t n = 0; n < nodes && !sp_hexes_is_contact(hexes, e); n++)
      x[numbering->nodes[(size_t)e * nodes + n]] =
          sp_group_has(&hexes->volume.groups[0], hexes->volumes[e]);
  sp_exchange_now(space->exchange, SP_MIN, x);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (size_t n = 0; n < nodes && sp_hexes_is_contact(hexes, e); n++) {
      const sp_lid *dofs = &numbering->nodes[(size_t)e * nodes];
      const double low = x[dofs[n % face]], high = x[dofs[nodes - face + n % face]];
      x[dofs[n]] = low + (high - low) * (1 + gll->nodes[n / face]) / 2;
    }
  sp_exchange_now(space->exchange, SP_MIN, x);
}

/* x.Ay = y.Ax, and the energy of a step across the contact is area / R. */
static void check_operator(const char *kind, double r) {
  const char *overrides[RUN_CASE_OVERRIDES];
  const int count = run_case_append(
      TEXTS(kind, mesh_file(), test_text("boundary.near=contact %g", r), run_case_device,
            "backend.share=yes; discretization.order=3; problem.forcing=0; "
            "boundary.default=neumann 0; boundary.left=dirichlet 0"),
      0, overrides);
  AUTO(sp_config) config = NULL;
  sp_workers workers;
  sp_mesh *mesh;
  sp_space *space;
  sp_problem *problem;
  sp_problem_facts facts = {0};
  sp_system *system;
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, true);
  sp_profile profile = sp_profile_from_now();
  require(sp_config_read(MPI_COMM_WORLD, NULL, count, overrides, &config));
  require(sp_workers_open(MPI_COMM_WORLD, &config->backend, &workers));
  require(sp_case_mesh(&workers, &config->mesh, &config->statement, &config->wanted, &profile,
                       &terminal, &mesh));
  require(sp_space_create(&workers.platform, mesh, 3, &space));
  require(sp_problem_create(&config->statement, mesh, &problem));
  require(sp_problem_system(problem, space, SP_GEOMETRY_AUTO, &facts, &system));
  if (!system->op) require(sp_operator_create(&system->setup, &system->op));
  const sp_numbering *numbering = space->numbering;
  double *x = test_array((size_t)numbering->local, sizeof *x);
  double *y = test_array((size_t)numbering->local, sizeof *y);
  for (sp_lid i = 0; i < numbering->local; i++) {
    x[i] = sin(1 + 7 * (double)sp_numbering_global(numbering, i));
    y[i] = cos(2 + 5 * (double)sp_numbering_global(numbering, i));
  }
  /* Some 2,000 terms, each a sum of some 50, with errors of either sign. */
  const double scale = product(system, x, x) + product(system, y, y);
  const double difference = product(system, x, y) - product(system, y, x);
  CHECK(scale > 0 && fabs(difference) <= 1000 * DBL_EPSILON * scale,
        "%s R = %g: x.Ay - y.Ax = %g of %g", kind, r, difference, scale);
  fill_step(space, x);
  CHECK_CLOSE(product(system, x, x) * r, 1, 1000 * DBL_EPSILON);
  sp_system_destroy(&system);
  sp_problem_facts_free(&facts);
  sp_problem_destroy(&problem);
  sp_space_destroy(&space);
  sp_mesh_destroy(&mesh);
  sp_workers_close(&workers);
}

static int64_t iterations(const char *const *common, const char *own) {
  sp_results results;
  const sp_status status = run_case(MPI_COMM_WORLD, common, TEXTS(own), &results);
  CHECK(!status, "%s: %s", own ? own : "", sp_error_message());
  return results.cg.iterations;
}

/* Multigrid takes at most two iterations more than without a contact, for any R from `least` on;
 * also if the contact ends inside a body, or at Dirichlet faces of both sides or of one. */
static void check_iterations(const char *kind, const char *group, const char *rim,
                             const char *least) {
  const char *const resistances[] = {least, "1e-6", "1e-3", "1e12"};
  const char *const common[] = {
      kind, mesh_file(), rim,
      "mesh.refine=1; problem.forcing=1+y; boundary.left=dirichlet 0; boundary.right=dirichlet 1; "
      "discretization.order=3; solver.smoother=schwarz",
      NULL};
  const int64_t plain = iterations(common, NULL);
  for (size_t r = 0; r < COUNT_OF(resistances); r++) {
    const char *contact = test_text("boundary.%s=contact %s", group, resistances[r]);
    const int64_t found = iterations(common, contact);
    CHECK(found <= plain + 2, "%s %s %s: %lld iterations, %lld without", kind, rim, contact,
          (long long)found, (long long)plain);
  }
}

/* A contact beside a much worse one: 34 iterations if the weights of contacts are leveled along
 * their lines. */
static void check_neighbours(void) {
  const char *const common[] = {
      mesh_file(),
      "mesh.refine=1; problem.forcing=1+y; boundary.left=dirichlet 0; boundary.right=dirichlet 1; "
      "boundary.default=neumann 0; discretization.order=3; boundary.half=contact 1e-6; "
      "boundary.other=contact 5e-3",
      NULL};
  const int64_t found = iterations(common, NULL);
  CHECK(found <= 10, "%lld iterations", (long long)found);
}

/* Where two contacts meet, no block has all DOFs of a point: 800 to 1000 iterations before the sets
 * of these DOFs were inverted. Cycles with an R of 1e-9 take double precision. */
static void check_junctions(const char *kind) {
  const char *const common[] = {
      kind, mesh_file(),
      "mesh.refine=1; problem.forcing=1+y; boundary.left=dirichlet 0; boundary.default=neumann 0; "
      "discretization.order=3",
      NULL};
  static const char *const resistances[] = {"1e-9", "1e-6", "1e-3 * (1 + y)", "0.1"};
  for (size_t i = 0; i < COUNT_OF(resistances); i++)
    for (size_t j = 0; j < COUNT_OF(resistances); j++) {
      const char *own = test_text("boundary.near=contact %s; boundary.middle=contact %s",
                                  resistances[i], resistances[j]);
      const int64_t found = iterations(common, own);
      CHECK(found <= 10, "%s, %s: %lld iterations", kind, own, (long long)found);
    }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  for (int k = 0; k < 2; k++) {
    for (int order = 1; order <= 4; order += all ? 1 : 2)
      check_contact(KINDS[k], order, order == 1 ? "0.7" : "1+y*z");
    for (double r = 1e-12; r < 1e13; r *= 1e6) check_operator(KINDS[k], r);
    check_iterations(KINDS[k], "near", "boundary.default=neumann 0", "1e-12");
    check_iterations(KINDS[k], "half", "boundary.default=neumann 0", "1e-12");
    check_iterations(KINDS[k], "near", "boundary.default=dirichlet x", "1e-12");
    check_iterations(KINDS[k], "near", "boundary.rim=dirichlet x; boundary.default=neumann 0",
                     "1e-9");
    check_junctions(KINDS[k]);
  }
  check_neighbours();
  return check_end();
}
