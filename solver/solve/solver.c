#include "solver/solve/solver.h"

#include <math.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/results/errors.h"
#include "solver/results/fluxes.h"

static void enter_phase(const sp_solver *s, sp_phase phase) {
  if (s->watch.enter) s->watch.enter(s->watch.context, phase);
}

bool sp_solver_has_solution(sp_status status) {
  return !status || status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED;
}

static void release_preconditioner(sp_solver *s) {
  sp_preconditioner_destroy(&s->preconditioner);
  sp_levels_free(&s->levels);
  s->levels = (sp_levels){0};
  sp_system_destroy(&s->older);
  free(s->inverse);
  s->inverse = NULL;
}

/* Release the system without the preconditioner; if that was made for it, it becomes the older. */
static void release_system(sp_solver *s) {
  sp_vector *const vectors[] = {&s->boundary, &s->x, &s->b, &s->r, &s->own, &s->free};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) sp_vector_destroy(vectors[i]);
  sp_preconditioner_destroy(&s->diagonal);
  if (s->preconditioner && !s->older) {
    s->older = s->system;
    s->system = NULL;
  }
  sp_system_destroy(&s->system);
}

void sp_solver_release(sp_solver *s) {
  release_preconditioner(s);
  release_system(s);
}

void sp_solver_destroy(sp_solver **solver) {
  sp_solver *s = *solver;
  if (!s) return;
  sp_solver_release(s);
  sp_problem_facts_free(&s->facts);
  SP_FREE(s->values, s->load, s->work);
  sp_space_destroy(&s->space);
  free(s);
  *solver = NULL;
}

/* ---- Set-up ---- */

static void choose_preconditioner(sp_solver *s) {
  sp_operator_setup *setup = &s->system->setup;
  const sp_geometry_facts of_op = sp_geometry_facts_of(setup);
  sp_precondition_facts facts;
  sp_precondition_facts_find(&of_op, s->platform->backend, s->mesh,
                             (double)s->mesh->global_elements, &facts);
  s->kind = sp_precondition_choose(&s->options, &facts, &s->kind_reason);
  const sp_preconditioner_type *type = sp_precondition_type(s->kind);
  const sp_backend *backend = s->platform->backend;
  setup->for_level = type->has_levels;
  setup->one_sweep = type->is_fusible && backend->sweep && s->options.order >= backend->sweep_order;
}

static sp_status start_levels(sp_solver *s) {
  const double magnification = s->facts.weak ? s->facts.weak->magnification : 0;
  if (!sp_precondition_type(s->kind)->has_levels) return SP_OK;
  return sp_levels_create(&s->options, s->problem, s->system, s->facts.exact, magnification,
                          &s->levels);
}

/* Make the system, and start the set-up of multigrid. */
static sp_status make_system(sp_solver *s) {
  enter_phase(s, SP_PHASE_PROBLEM);
  SP_TRY(sp_problem_system(s->problem, s->space, s->options.geometry, &s->facts, &s->system));
  enter_phase(s, SP_PHASE_PRECONDITIONER);
  choose_preconditioner(s);
  /* Start AMG early, in the background on a device, unless only lambda or alpha fixes a mean; then
   * the operator comes first. */
  if (!s->facts.weak && !s->preconditioner) SP_TRY(start_levels(s));
  enter_phase(s, SP_PHASES);
  return SP_OK;
}

sp_status sp_solver_create(const sp_platform *platform, const sp_mesh *mesh,
                           const sp_problem *problem, const sp_solver_options *options,
                           const sp_solver_watch *watch, sp_solver **out) {
  sp_solver *s;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *s, "solver", out)));
  s = *out;
  *s = (sp_solver){.platform = platform,
                   .mesh = mesh,
                   .problem = problem,
                   .options = *options,
                   .watch = watch ? *watch : (sp_solver_watch){0}};
  enter_phase(s, SP_PHASE_NUMBERING);
  return sp_space_create(platform, mesh, options->order, &s->space);
}

sp_status sp_solver_update(sp_solver *s) {
  if (!s->inverse) release_preconditioner(s);
  release_system(s);
  sp_problem_facts_free(&s->facts);
  s->start = (sp_start){0};
  s->has_b = false;
  return make_system(s);
}

static sp_status create_device_vectors(sp_solver *s) {
  SP_TRY(sp_space_vector(s->space, SP_DOUBLE, &s->x));
  SP_TRY(sp_space_vector(s->space, SP_DOUBLE, &s->b));
  if (sp_solver_values(s)) SP_TRY(sp_space_vector(s->space, SP_DOUBLE, &s->boundary));
  return sp_space_vector(s->space, SP_DOUBLE, &s->r);
}

/* Give up the preconditioner of the older system unless the diagonals are similar. */
static sp_status judge_preconditioner(sp_solver *s) {
  static const double SIMILAR = 2; /* the largest ratio of two entries */
  const size_t dofs = sp_space_dofs(s->space);
  SP_OWNED double *inverse = NULL;
  double most = 1;
  sp_status status = sp_allocate(dofs, sizeof *inverse, "diagonal", &inverse);
  SP_TRY(sp_agree(s->platform->comm, status));
  SP_TRY(sp_operator_inverse_diagonal(&s->system->setup, inverse));
  for (size_t i = 0; i < dofs; i++)
    if (inverse[i] > 0)
      most = fmax(most, fmax(inverse[i] / s->inverse[i], s->inverse[i] / inverse[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, s->platform->comm);
  if (!(most <= SIMILAR)) release_preconditioner(s);
  return SP_OK;
}

static sp_status create_preconditioner(sp_solver *s) {
  const sp_preconditioner_type *type = sp_precondition_type(s->kind);
  if (!s->levels.systems[0]) SP_TRY(start_levels(s));
  if (type->create) SP_TRY(type->create(s->system, &s->levels, &s->preconditioner));
  if (!s->problem->of_u || !type->has_levels) return SP_OK;
  const size_t dofs = sp_space_dofs(s->space);
  SP_TRY(
      sp_agree(s->platform->comm, sp_allocate(dofs, sizeof *s->inverse, "diagonal", &s->inverse)));
  return sp_operator_inverse_diagonal(&s->system->setup, s->inverse);
}

/* Build the operator and the preconditioner. */
static sp_status finish_set_up(sp_solver *s) {
  enter_phase(s, SP_PHASE_OPERATOR);
  SP_TRY(sp_operator_create(&s->system->setup, &s->system->op));
  SP_TRY(sp_agree(s->platform->comm, create_device_vectors(s)));
  if (s->facts.weak)
    SP_TRY(sp_null_space_weigh(s->facts.weak, s->system->op, &s->x, &s->b, s->work));
  enter_phase(s, SP_PHASE_PRECONDITIONER);
  if (s->preconditioner) SP_TRY(judge_preconditioner(s));
  if (!s->preconditioner) SP_TRY(create_preconditioner(s));
  SP_TRY(sp_start_prepare(&s->system->setup, &s->start));
  if (!s->preconditioner || (s->start.stiff && !s->preconditioner->inverse_diagonal))
    SP_TRY(sp_jacobi_create(s->system->op, &s->system->setup, &s->diagonal));
  sp_system_forget_coefficients(s->system);
  return SP_OK;
}

/* ---- Load ---- */

static sp_status create_host_vectors(sp_solver *s) {
  const size_t dofs = sp_space_dofs(s->space);
  return SP_ALLOCATE("load vector", SP_ARRAY(s->load, dofs), SP_ARRAY(s->work, dofs));
}

sp_status sp_solver_load(sp_solver *s) {
  if (!s->system) SP_TRY(make_system(s));
  enter_phase(s, SP_PHASE_PROBLEM);
  if (!s->load) SP_TRY(sp_agree(s->platform->comm, create_host_vectors(s)));
  SP_TRY(sp_problem_load(s->problem, s->space, NULL, NULL, s->load, &s->range, s->sums));
  s->removed = 0;
  SP_TRY(sp_solver_balance(s, s->load));
  s->own_removed = s->removed;
  if (!s->system->op) SP_TRY(finish_set_up(s));
  enter_phase(s, SP_PHASE_OPERATOR);
  sp_vector_destroy(&s->own);
  SP_TRY(sp_solver_make_rhs(s, s->load));
  enter_phase(s, SP_PHASES);
  return SP_OK;
}

/* ---- Solve ---- */

/* Set the means of the solution, which the residual hardly controls. */
static sp_status set_means(const sp_solver *s, double *x) {
  const sp_null_space *exact = s->facts.exact, *weak = s->facts.weak;
  if (exact) SP_TRY(sp_null_space_match_means(exact, s->problem, s->space, x));
  if (!weak) return SP_OK;
  SP_TRY(sp_agree(s->platform->comm, sp_vector_read(&s->r, s->work)));
  return sp_null_space_correct_means(weak, s->space, s->work, x);
}

typedef struct addition {
  const double *values;
  double *x;
} addition;

static void add_load_values(void *addition_, size_t begin, size_t end) {
  const addition *a = addition_;
  for (size_t i = begin; i < end; i++) a->x[i] += a->values[i];
}

sp_status sp_solver_fetch(sp_solver *s, double *x) {
  addition a = {sp_solver_values(s), x};
  sp_status status = sp_vector_read(&s->x, x);
  if (!status && a.values)
    status = sp_loop_over("solution", sp_space_dofs(s->space), 1, &a, add_load_values);
  SP_TRY(sp_agree(s->platform->comm, status));
  return set_means(s, x);
}

/* The same on the backend, with r as scratch, unless means are set on the host. */
sp_status sp_solver_copy(sp_solver *s, sp_vector *x) {
  sp_status status = SP_OK;
  if (s->facts.exact || s->facts.weak) {
    SP_OWNED double *host = NULL;
    SP_TRY(sp_agree(s->platform->comm,
                    sp_allocate(sp_space_dofs(s->space), sizeof *host, "solution", &host)));
    SP_TRY(sp_solver_fetch(s, host));
    status = sp_vector_write(host, x);
  } else if (!sp_solver_values(s)) {
    status = sp_vector_copy(&s->x, x);
  } else {
    status = sp_vector_copy(&s->x, &s->r);
    if (!status) status = sp_vector_axpby(1, &s->boundary, 1, &s->r);
    if (!status) status = sp_vector_copy(&s->r, x);
  }
  if (!status) status = s->platform->backend->finish(s->platform->device);
  return sp_agree(s->platform->comm, status);
}

/* v = x + u_D - mean: an offset would only add rounding to the energy of the solution. */
static sp_status shift_solution(const sp_solver *s, const sp_vector *x, sp_vector *v) {
  sp_operator *op = s->system->op;
  const bool lifted = sp_solver_values(s);
  double of_x, of_values = 0, count;
  SP_TRY(sp_operator_dot(op, v, x, sp_vector_fill(1, v), &of_x));
  if (lifted) SP_TRY(sp_operator_dot(op, v, &s->boundary, SP_OK, &of_values));
  SP_TRY(sp_operator_dot(op, v, v, SP_OK, &count));
  sp_status status = sp_vector_fill(-(of_x + of_values) / count, v);
  if (!status) status = sp_vector_axpby(1, x, 1, v);
  if (!status && lifted) status = sp_vector_axpby(1, &s->boundary, 1, v);
  return sp_agree(s->platform->comm, status);
}

/* *energy = v.A v - v.D v, D the Robin diagonal: a stiff film has energy where u does not vary. At
 * least 1e-12 v.D v, the rounding of the difference. */
static sp_status subtract_films(sp_solver *s, const sp_vector *v, double *energy) {
  double of_films;
  const sp_status status = sp_system_robin_energy(s->system, v, s->work, &of_films);
  SP_TRY(sp_reduction_sum(s->platform->reduction, 1, &of_films, status));
  *energy = fmax(*energy - of_films, 1e-12 * of_films);
  return SP_OK;
}

/* *energy = energy of the whole solution without its mean, with A of the unconstrained space. */
static sp_status measure_solution(const sp_vector *x, void *solver, double *energy) {
  sp_solver *s = solver;
  SP_AUTO_VALUE(sp_vector) v = {0}, product = {0};
  sp_status status = sp_space_vector(s->space, SP_DOUBLE, &v);
  if (!status) status = sp_space_vector(s->space, SP_DOUBLE, &product);
  SP_TRY(sp_agree(s->platform->comm, status));
  SP_TRY(shift_solution(s, x, &v));
  status = sp_operator_apply(s->system->op, false, &v, &product);
  SP_TRY(sp_operator_dot(s->system->op, &v, &product, status, energy));
  return s->problem->has_robin ? subtract_films(s, &v, energy) : SP_OK;
}

sp_status sp_solver_start(sp_solver *s, const sp_vector *start) {
  enter_phase(s, SP_PHASE_OPERATOR);
  if (!s->has_b) SP_TRY(sp_solver_make_rhs(s, s->load));
  const sp_preconditioner *diagonal = s->diagonal ? s->diagonal : s->preconditioner;
  s->start.inverse_diagonal = diagonal->inverse_diagonal;
  return sp_start_find(s->system, start, &s->b, &s->x, &s->r, s->work, &s->start);
}

static sp_status iterate_from_start(sp_solver *s, sp_cg_result *result) {
  const bool measures = sp_solver_values(s) || s->problem->has_robin;
  const sp_solver_options *o = &s->options;
  const sp_cg_options options = {.criterion = o->criterion,
                                 .tolerance = o->tolerance,
                                 .energy = s->start.energy,
                                 .max_iterations = o->max_iterations,
                                 .inverse_diagonal =
                                     s->preconditioner ? NULL : s->diagonal->inverse_diagonal,
                                 .measure = measures ? measure_solution : NULL,
                                 .measured = s,
                                 .on_iteration = s->watch.on_iteration,
                                 .is_interrupted = s->watch.is_interrupted,
                                 .context = s->watch.context};
  return sp_cg_solve(s->system->op, s->preconditioner, &options, &s->b, &s->x, &s->r, result);
}

sp_status sp_solver_iterate(sp_solver *s, sp_cg_result *result) {
  enter_phase(s, SP_PHASE_SOLVE);
  const sp_status status = iterate_from_start(s, result);
  enter_phase(s, SP_PHASES);
  return status;
}

/* Start from an array, with zeros on Dirichlet DOFs. */
static sp_status start_from(sp_solver *s, const double *start) {
  SP_AUTO_VALUE(sp_vector) given = {0};
  if (!start) return sp_solver_start(s, NULL);
  for (sp_lid i = 0; i < s->space->numbering->local; i++)
    s->work[i] = s->system->setup.constrained[i] ? 0 : start[i];
  sp_status status = sp_space_vector(s->space, SP_DOUBLE, &given);
  if (!status) status = sp_vector_write(s->work, &given);
  SP_TRY(sp_agree(s->platform->comm, status));
  return sp_solver_start(s, &given);
}

sp_status sp_solver_solve(sp_solver *s, const double *start, double *x, sp_cg_result *result) {
  SP_TRY(start_from(s, start));
  const sp_status solved = sp_solver_iterate(s, result);
  if (!sp_solver_has_solution(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  enter_phase(s, SP_PHASE_SOLUTION);
  SP_TRY(sp_solver_fetch(s, x));
  enter_phase(s, SP_PHASES);
  return sp_error_restore(&kept);
}

sp_status sp_solver_refine(sp_solver *s, const double *x, double *rest) {
  static const double TOLERANCE = 1e-6; /* relative to `rest`, which is at rounding level itself */
  sp_fluxes fluxes = {.problem = s->problem, .space = s->space, .x = x, .left = s->work};
  const bool *constrained = s->system->setup.constrained;
  const sp_cg_options options = {.from_zero = true,
                                 .criterion = SP_CG_ENERGY,
                                 .tolerance = TOLERANCE,
                                 .max_iterations = s->options.max_iterations,
                                 .is_interrupted = s->watch.is_interrupted,
                                 .context = s->watch.context};
  sp_cg_result result;
  s->has_b = false;
  SP_TRY(sp_fluxes_residual(&fluxes));
  if (s->facts.exact) SP_TRY(sp_null_space_remove(s->facts.exact, s->space, s->work));
  for (sp_lid i = 0; i < s->space->numbering->local; i++)
    if (constrained[i]) s->work[i] = 0;
  sp_status status = sp_vector_write(s->work, &s->b);
  if (!status) status = sp_vector_fill(0, &s->x);
  SP_TRY(sp_agree(s->platform->comm, status));
  SP_TRY(sp_cg_solve(s->system->op, s->preconditioner, &options, &s->b, &s->x, &s->r, &result));
  return sp_agree(s->platform->comm, sp_vector_read(&s->x, rest));
}
