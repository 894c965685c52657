#include "solver/case/running.h"

#include <math.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/jacobi.h"
#include "solver/problem/contacts.h"
#include "solver/run/initial.h"
#include "solver/run/interrupt.h"

sp_running sp_running_begin(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                            sp_results *results) {
  return (sp_running){.workers = workers,
                      .comm = workers->comm,
                      .config = config,
                      .mesh = mesh,
                      .results = results,
                      .phase = SP_PHASES};
}

void sp_running_release_system(sp_running *c) {
  sp_vector_destroy(&c->boundary);
  sp_vector_destroy(&c->x);
  sp_vector_destroy(&c->b);
  sp_vector_destroy(&c->r);
  sp_preconditioner_destroy(&c->preconditioner);
  sp_preconditioner_destroy(&c->diagonal);
  sp_levels_free(&c->levels);
  sp_system_destroy(&c->system);
}

void sp_running_release(sp_running *c) {
  sp_running_release_system(c);
  sp_problem_facts_free(&c->facts);
  sp_accuracy_free(&c->accuracy);
  sp_probes_destroy(&c->probes);
  sp_quantities_destroy(&c->quantities);
  sp_balance_free(&c->balance);
  SP_FREE(c->heat, c->indicator, c->load, c->solution, c->work, c->initial);
  sp_problem_destroy(&c->problem);
  sp_space_destroy(&c->space);
}

void sp_running_enter(sp_running *c, sp_phase phase) {
  if (c->phase != SP_PHASES)
    sp_profile_end(&c->results->profile, c->terminal, c->phase, c->phase_start);
  c->phase = phase;
  if (phase != SP_PHASES) c->phase_start = sp_profile_begin(c->terminal, phase);
}

bool sp_running_has_balance(const sp_running *c) {
  return sp_operator_rows[c->problem->kind].has_stiffness;
}

bool sp_running_has_results(sp_status status) {
  return !status || status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED;
}

/* ---- Set-up ---- */

static sp_status find_probes(sp_running *c) {
  const double start = MPI_Wtime();
  SP_TRY(sp_probes_create(c->config, c->mesh, &c->probes));
  if (c->probes->all > 0)
    sp_profile_add(&c->results->profile, SP_PHASE_PROBES, 0, MPI_Wtime() - start);
  return SP_OK;
}

/* Find the groups of [result] and create the balance, before the load vector is computed. */
static sp_status prepare_results(sp_running *c) {
  SP_TRY(sp_quantities_create(c->config, c->mesh, c->problem, &c->quantities));
  sp_status status = sp_balance_create(c->mesh, &c->balance);
  const size_t materials = (size_t)c->quantities->material_count;
  if (!status && materials > 0 && sp_running_has_balance(c))
    status = sp_allocate(materials, sizeof *c->heat, "materials", &c->heat);
  return sp_agree(c->comm, status);
}

static sp_status create_host_vectors(sp_running *c) {
  const size_t dofs = sp_space_dofs(c->space);
  return SP_ALLOCATE("load vector", SP_ARRAY(c->load, dofs), SP_ARRAY(c->solution, dofs),
                     SP_ARRAY(c->work, dofs));
}

static sp_status create_device_vectors(sp_running *c) {
  SP_TRY(sp_space_vector(c->space, SP_DOUBLE, &c->x));
  SP_TRY(sp_space_vector(c->space, SP_DOUBLE, &c->b));
  if (c->facts.boundary_values) SP_TRY(sp_space_vector(c->space, SP_DOUBLE, &c->boundary));
  return sp_space_vector(c->space, SP_DOUBLE, &c->r);
}

static sp_status make_system(sp_running *c) {
  SP_TRY(sp_problem_create(c->config, c->mesh, &c->problem));
  if (c->evaluates) SP_TRY(prepare_results(c));
  SP_TRY(sp_problem_system(c->problem, c->space, c->config->discretization.geometry, &c->facts,
                           &c->system));
  c->notes.scope = c->config->scope;
  c->notes.parts = c->system->constants.parts;
  c->notes.jump = c->facts.jump;
  return SP_OK;
}

static void choose_preconditioner(sp_running *c) {
  sp_operator_setup *setup = &c->system->setup;
  const sp_geometry_facts of_op = sp_geometry_facts_of(setup);
  sp_precondition_facts facts;
  sp_precondition_facts_find(&of_op, c->workers->platform.backend, c->mesh,
                             (double)c->mesh->global_elements, &facts);
  c->kind = sp_precondition_choose(c->config, &facts, &c->kind_reason);
  setup->for_level = c->kind == SP_PRECONDITIONER_MULTIGRID;
  setup->one_sweep = sp_precondition_prefers_fused_cg(c->kind, &facts, setup->geometry);
}

static sp_status start_levels(sp_running *c) {
  const double magnification = c->facts.weak ? c->facts.weak->magnification : 0;
  if (c->kind != SP_PRECONDITIONER_MULTIGRID) return SP_OK;
  return sp_levels_create(c->config, c->problem, c->system, c->facts.exact, magnification,
                          &c->levels);
}

/* Sum the load vector over all ranks. */
static sp_status sum_load(const sp_running *c, double *sum) {
  *sum = 0;
  for (sp_lid i = 0; i < c->space->numbering->owned; i++) *sum += c->load[i];
  return sp_reduction_sum(c->workers->platform.reduction, 1, sum, SP_OK);
}

/* Find sources that the quadrature misses, and solutions that do not fit, for the notes. */
static sp_status examine_data(sp_running *c) {
  const sp_load_sums *sums = &c->balance.sums;
  if (sp_running_has_balance(c))
    sp_problem_count_pinched(c->problem, c->space, c->work, &c->notes.pinched);
  SP_TRY(sp_problem_jumps(c->problem, c->space, &c->notes.jumps));
  return sp_source_compare(c->problem, c->space, sums->source, sums->size, &sums->samples,
                           &c->notes.source);
}

/* Read the initial iterate, which is u0 in formulas, too. */
static sp_status load_initial(sp_running *c) {
  if (!c->config->problem.initial.text) return SP_OK;
  SP_TRY(sp_agree(c->comm, sp_allocate(sp_space_dofs(c->space), sizeof *c->initial,
                                       "initial iterate", &c->initial)));
  c->problem->initial = c->initial;
  return sp_initial_load(c->config, c->space, c->initial);
}

static sp_status make_load(sp_running *c) {
  SP_TRY(sp_agree(c->comm, create_host_vectors(c)));
  SP_TRY(load_initial(c));
  SP_TRY(sp_problem_load(c->problem, c->space, NULL, NULL, c->load, &c->range,
                         c->evaluates ? &c->balance.sums : NULL));
  const int parts = c->system->constants.parts;
  if (parts > 0 && c->mesh->hexes->file.bodies > parts)
    SP_TRY(sp_null_space_check_ties(c->problem, c->space, c->system->setup.constrained, c->load,
                                    &c->notes.tied));
  if (c->report) SP_TRY(examine_data(c));
  if (!c->facts.exact) return SP_OK;
  double imbalance, before, after;
  SP_TRY(sum_load(c, &before));
  SP_TRY(sp_null_space_project(c->facts.exact, c->problem, c->space, c->load, &imbalance));
  SP_TRY(sum_load(c, &after));
  c->balance.removed = before - after;
  return SP_OK;
}

typedef struct largest_entry {
  const double *values;
  double size;
} largest_entry;

static sp_status find_largest(void *largest, void *size, size_t begin, size_t end) {
  const double *values = ((const largest_entry *)largest)->values;
  double most = 0;
  for (size_t i = begin; i < end; i++)
    if (!(fabs(values[i]) <= most)) most = isnan(values[i]) ? INFINITY : fabs(values[i]);
  *(double *)size = most;
  return SP_OK;
}

static void join_largest(void *largest, void *size, size_t begin, size_t end) {
  (void)begin, (void)end;
  largest_entry *all = largest;
  all->size = fmax(all->size, *(const double *)size);
}

/* Check that the squares of CG's vectors stay far from overflow, and from underflow, which makes a
 * residual look like zero. */
static sp_status check_load(const sp_running *c) {
  const double smallest = 1e-140, largest = 1e140;
  largest_entry entry = {.values = c->load};
  double size;
  SP_TRY(sp_agree(c->comm, sp_loop_sum("load vector", (size_t)c->space->numbering->owned, 1, &entry,
                                       sizeof size, find_largest, join_largest)));
  MPI_Allreduce(&entry.size, &size, 1, MPI_DOUBLE, MPI_MAX, c->comm);
  if (size == 0 || (size * c->config->solver.tolerance > smallest && size < largest)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side has entries of up to %.3g; its squares would leave the range "
                 "of double precision: give the data in other units, so that this lies between "
                 "%.0e / solver.tolerance and %.0e",
                 size, smallest, largest);
}

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere. */
static sp_status make_right_hand_side(sp_running *c) {
  const bool *constrained = c->system->setup.constrained;
  SP_TRY(sp_agree(c->comm, create_device_vectors(c)));
  if (c->facts.weak)
    SP_TRY(sp_null_space_weigh(c->facts.weak, c->system->op, &c->x, &c->b, c->work));
  if (c->problem->has_dirichlet && c->evaluates)
    SP_TRY(sp_agree(c->comm, sp_balance_keep(&c->balance, c->space, constrained, c->load)));
  if (c->problem->has_dirichlet)
    SP_TRY(
        sp_system_lift(c->system, c->facts.boundary_values, c->load, c->work, &c->boundary, &c->b));
  SP_TRY(check_load(c));
  return sp_agree(c->comm, sp_vector_write(c->load, &c->b));
}

static sp_status make_start(sp_running *c) {
  if (c->given)
    SP_TRY(sp_initial_interpolate(c->given->space, c->given->values, c->space, c->solution));
  SP_TRY(sp_start_find(c->system, c->diagonal ? c->diagonal : c->preconditioner,
                       c->given ? c->solution : c->initial, &c->b, &c->x, &c->r, c->work,
                       &c->start));
  sp_system_forget_coefficients(c->system);
  return SP_OK;
}

/* ---- Solve ---- */

static sp_status on_iteration(const sp_cg_iteration *iteration, void *context) {
  const sp_running *c = context;
  if (c->report) return sp_report_iteration(iteration, c->report);
  if (sp_terminal_is_due(c->series))
    sp_terminal_show(c->series, "  order %d, refine %d: iteration %lld, relative residual %.1e",
                     c->config->discretization.order, c->config->mesh.refine,
                     (long long)iteration->iteration, iteration->relative);
  return SP_OK;
}

static bool is_interrupted(void *context) {
  const sp_running *c = context;
  return sp_interrupt_noted() || sp_workers_interrupted(c->workers);
}

/* Set the means of the solution, which the residual hardly controls. */
static sp_status set_means(sp_running *c) {
  const sp_null_space *exact = c->facts.exact, *weak = c->facts.weak;
  if (exact) SP_TRY(sp_null_space_match_means(exact, c->problem, c->space, c->solution));
  if (!weak) return SP_OK;
  double *residual = c->work;
  SP_TRY(sp_agree(c->comm, sp_vector_read(&c->r, residual)));
  return sp_null_space_correct_means(weak, c->space, residual, c->solution);
}

static void add_boundary_values(void *running, size_t begin, size_t end) {
  const sp_running *c = running;
  for (size_t i = begin; i < end; i++) c->solution[i] += c->facts.boundary_values[i];
}

/* Copy the whole solution to the host. */
static sp_status fetch_solution(sp_running *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_agree(c->comm, sp_vector_read(&c->x, c->solution)));
  if (c->facts.boundary_values)
    SP_TRY(sp_agree(c->comm, sp_loop_over("solution", dofs, 1, c, add_boundary_values)));
  return set_means(c);
}

/* v = x + u_D - mean: an offset would only add rounding to the energy of the solution. */
static sp_status shift_solution(const sp_running *c, const sp_vector *x, sp_vector *v) {
  sp_operator *op = c->system->op;
  const bool lifted = c->facts.boundary_values;
  double of_x, of_values = 0, count;
  SP_TRY(sp_operator_dot(op, v, x, sp_vector_fill(1, v), &of_x));
  if (lifted) SP_TRY(sp_operator_dot(op, v, &c->boundary, SP_OK, &of_values));
  SP_TRY(sp_operator_dot(op, v, v, SP_OK, &count));
  sp_status status = sp_vector_fill(-(of_x + of_values) / count, v);
  if (!status) status = sp_vector_axpby(1, x, 1, v);
  if (!status && lifted) status = sp_vector_axpby(1, &c->boundary, 1, v);
  return sp_agree(c->comm, status);
}

/* *energy = v.A v - v.D v, D the Robin diagonal: a stiff film has energy where u does not vary. At
 * least 1e-12 v.D v, the rounding of the difference. */
static sp_status subtract_films(sp_running *c, const sp_vector *v, double *energy) {
  double of_films;
  const sp_status status = sp_system_robin_energy(c->system, v, c->work, &of_films);
  SP_TRY(sp_reduction_sum(c->workers->platform.reduction, 1, &of_films, status));
  *energy = fmax(*energy - of_films, 1e-12 * of_films);
  return SP_OK;
}

/* *energy = that of the whole solution without its mean, with A of the unconstrained space. */
static sp_status measure_solution(const sp_vector *x, void *context, double *energy) {
  sp_running *c = context;
  SP_AUTO_VALUE(sp_vector) v = {0}, product = {0};
  sp_status status = sp_space_vector(c->space, SP_DOUBLE, &v);
  if (!status) status = sp_space_vector(c->space, SP_DOUBLE, &product);
  SP_TRY(sp_agree(c->comm, status));
  SP_TRY(shift_solution(c, x, &v));
  status = sp_operator_apply(c->system->op, false, &v, &product);
  SP_TRY(sp_operator_dot(c->system->op, &v, &product, status, energy));
  return c->problem->has_robin ? subtract_films(c, &v, energy) : SP_OK;
}

static sp_cg_options cg_options(sp_running *c) {
  const bool measures = c->facts.boundary_values || c->problem->has_robin;
  return (sp_cg_options){.criterion = c->config->solver.criterion,
                         .tolerance = c->config->solver.tolerance,
                         .energy = c->start.energy,
                         .max_iterations = c->config->solver.max_iterations,
                         .inverse_diagonal = c->diagonal ? c->diagonal->inverse_diagonal : NULL,
                         .measure = measures ? measure_solution : NULL,
                         .on_iteration = on_iteration,
                         .is_interrupted = is_interrupted,
                         .context = c};
}

static sp_status measure_errors(sp_running *c) {
  c->results->have_norms = !c->given && sp_materials_have_solution(&c->problem->materials);
  if (!c->results->have_norms) return SP_OK;
  sp_running_enter(c, SP_PHASE_ERRORS);
  return sp_errors_compute(c->problem, c->space, c->solution, &c->results->norms);
}

static sp_status report_setup(sp_running *c) {
  const sp_operator *op = c->system->op;
  c->results->elements = c->mesh->global_elements;
  c->results->dofs = op->global_dofs;
  if (!c->report) return SP_OK;
  SP_TRY(sp_report_setup(c->report, op, c->facts.geometry_reason, c->preconditioner, c->kind_reason,
                         c->problem, &c->range));
  if (c->facts.weak) c->notes.magnification = c->facts.weak->magnification;
  sp_report_notes(c->report, c->problem, c->mesh->hexes, &c->notes);
  sp_report_begin(c->report, &c->results->profile);
  return SP_OK;
}

sp_status sp_running_solve(sp_running *c) {
  if (c->evaluates) SP_TRY(find_probes(c));
  sp_running_enter(c, SP_PHASE_NUMBERING);
  SP_TRY(
      sp_space_create(&c->workers->platform, c->mesh, c->config->discretization.order, &c->space));
  sp_running_enter(c, SP_PHASE_PROBLEM);
  SP_TRY(make_system(c));
  sp_running_enter(c, SP_PHASE_PRECONDITIONER);
  choose_preconditioner(c);
  /* Start AMG early, in the background on a device, unless only lambda or alpha fixes a mean; then
   * the operator comes first. */
  if (!c->facts.weak) SP_TRY(start_levels(c));
  sp_running_enter(c, SP_PHASE_PROBLEM);
  SP_TRY(make_load(c));
  sp_running_enter(c, SP_PHASE_OPERATOR);
  SP_TRY(sp_system_build(c->system));
  SP_TRY(make_right_hand_side(c));
  sp_running_enter(c, SP_PHASE_PRECONDITIONER);
  if (c->facts.weak) SP_TRY(start_levels(c));
  SP_TRY(sp_precondition_create(c->kind, c->system, &c->levels, &c->preconditioner));
  if (!c->preconditioner) SP_TRY(sp_jacobi_create(c->system->op, &c->system->setup, &c->diagonal));
  sp_running_enter(c, SP_PHASE_OPERATOR);
  SP_TRY(make_start(c));
  sp_running_enter(c, SP_PHASES);
  SP_TRY(report_setup(c));
  sp_interrupt_watch();

  sp_cg_result *result = &c->results->cg;
  const sp_cg_options options = cg_options(c);
  const double begun = sp_profile_begin(c->terminal, SP_PHASE_SOLVE);
  const sp_status solved =
      sp_cg_solve(c->system->op, c->preconditioner, &options, false, &c->b, &c->x, &c->r, result);
  sp_profile_add_iteration(&c->results->profile, result, MPI_Wtime() - begun);
  if (!sp_running_has_results(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  sp_running_enter(c, SP_PHASE_SOLUTION);
  SP_TRY(fetch_solution(c));
  SP_TRY(measure_errors(c));
  sp_running_enter(c, SP_PHASES);
  return sp_error_restore(&kept);
}
