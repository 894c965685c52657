/* The solver as an object: solved often with one set-up, beside another one, on two communicators;
 * loads add up; a refined solution is the exact one of the discrete equations. */
#include "solver/solve/solver.h"

#include "solver/config/config.h"
#include "solver/results/fluxes.h"
#include "tests/stage.h"

/* u = 0 on xmin, insulated elsewhere; lambda = 1. */
#define CASE                                                                                       \
  "problem.lambda=1", "problem.kappa=1+x*y", "boundary.xmin=dirichlet 0",                          \
      "boundary.default=neumann 0", "solver.tolerance=1e-12"

static sp_solver *create(const stage *s, int order) {
  sp_solver *solver;
  sp_solver_options options = sp_config_solver(s->config);
  options.order = order;
  require(sp_solver_create(&platform, s->mesh, s->problem, &options, NULL, &solver));
  return solver;
}

static double *solve(sp_solver *solver, const double *start) {
  sp_cg_result result;
  double *x = test_array(sp_space_dofs(solver->space), sizeof *x);
  require(sp_solver_load(solver));
  require(sp_solver_solve(solver, start, x, &result));
  CHECK(result.iterations > 0, "nothing to solve");
  return x;
}

static double difference(const sp_solver *solver, const double *x, const double *y, double scale) {
  double most = 0;
  for (sp_lid i = 0; i < solver->space->numbering->local; i++)
    most = fmax(most, fabs(x[i] - scale * y[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/* The same bits again, also after another solver was made and used, and after a refinement. */
static void check_again(stage *s) {
  stage_problem(s, TEXTS(CASE, "problem.forcing=exp(x)*y"));
  sp_solver *one = create(s, 3);
  const double *first = solve(one, NULL);
  sp_solver *other = create(s, 4);
  (void)solve(other, NULL);
  CHECK(difference(one, solve(one, NULL), first, 1) == 0, "another solution of the same load");
  sp_cg_result result;
  double *rest = test_array(sp_space_dofs(one->space), sizeof *rest);
  double *x = test_array(sp_space_dofs(one->space), sizeof *x);
  require(sp_solver_refine(one, first, rest));
  require(sp_solver_solve(one, NULL, x, &result));
  CHECK(difference(one, x, first, 1) == 0, "another solution after a refinement");
  sp_solver_destroy(&one);
  require(sp_solver_load(other));
  sp_solver_destroy(&other);
}

/* A load given as an array counts like one that follows from a formula: twice the load gives twice
 * the solution, to the tolerance of CG, whose energy norm bounds u by a factor below 10 here. */
static void check_extra(stage *s) {
  stage_problem(s, TEXTS(CASE, "problem.forcing=exp(x)*y"));
  sp_solver *solver = create(s, 3);
  const size_t dofs = sp_space_dofs(solver->space);
  const double *first = solve(solver, NULL);
  double *extra = test_array(dofs, sizeof *extra);
  memcpy(extra, solver->load, dofs * sizeof *extra);
  s->problem->extra = extra;
  CHECK(difference(solver, solve(solver, first), first, 2) < 1e-11, "the load is not doubled");
  sp_solver_destroy(&solver);
}

/* x + rest solves the equations better than x by the digits that `refine` requests: kappa = 1e12 on
 * one half of the box makes the rounding of x visible in A x. */
static void check_refined(stage *s) {
  stage_problem(s, TEXTS("problem.kappa=x<0.5?1e12:1", "problem.forcing=0", "problem.lambda=0",
                         "boundary.xmin=dirichlet 10", "boundary.xmax=dirichlet 0",
                         "boundary.default=neumann 0", "discretization.operator=bp3.0"));
  sp_solver *solver = create(s, 3);
  const size_t dofs = sp_space_dofs(solver->space);
  const double *x = solve(solver, NULL);
  double *rest = test_array(dofs, sizeof *rest), *left = test_array(dofs, sizeof *left),
         sums[2] = {0};
  require(sp_solver_refine(solver, x, rest));
  sp_fluxes fluxes = {.problem = s->problem, .space = solver->space, .x = x, .left = left};
  for (int refined = 0; refined < 2; refined++) {
    fluxes.rest = refined ? rest : NULL;
    require(sp_fluxes_residual(&fluxes));
    for (sp_lid i = 0; i < solver->space->numbering->owned; i++)
      if (!solver->system->setup.constrained[i]) sums[refined] += fabs(left[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums[0] > 1e-6 && sums[1] < 1e-3 * sums[0], "residuals %.2e and %.2e", sums[0], sums[1]);
  sp_solver_destroy(&solver);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  stage s;
  stage_create(make_box(4, 2, 3, SP_MAP_NONE), 1, &s);
  check_again(&s);
  check_extra(&s);
  check_refined(&s);
  stage_destroy(&s);
  sp_platform_close(&platform);
  return check_end();
}
