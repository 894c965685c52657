#include "solver/run/running.h"

#include "solver/problem/linearize.h"
#include "solver/solve/initial.h"
#include "solver/solve/interrupt.h"
#include "solver/solve/nonlinear.h"

sp_running sp_running_begin(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                            sp_results *results) {
  return (sp_running){
      .workers = workers, .config = config, .mesh = mesh, .results = results, .phase = SP_PHASES};
}

void sp_running_destroy(sp_running *c) {
  sp_accuracy_free(&c->bars.accuracy);
  sp_probes_destroy(&c->values.probes);
  sp_quantities_destroy(&c->values.quantities);
  sp_balance_free(&c->values.balance);
  SP_FREE(c->values.heat, c->bars.indicator, c->solution, c->initial, c->values.rest, c->last);
  sp_march_destroy(&c->march);
  sp_solver_destroy(&c->solver);
  sp_problem_destroy(&c->problem);
}

/* Add the times of CG; `seconds` is the time of all of sp_cg_solve. */
static void add_iteration(sp_profile *profile, const sp_cg_result *result, double seconds) {
  const double parts[SP_PHASES] = {[SP_PHASE_MATVEC] = result->matvec_seconds,
                                   [SP_PHASE_WAIT] = result->wait_seconds,
                                   [SP_PHASE_VECTORS] = result->update_seconds,
                                   [SP_PHASE_PRECONDITION] = result->preconditioner_seconds,
                                   [SP_PHASE_RESIDUAL] = result->residual_seconds,
                                   [SP_PHASE_REDUCTIONS] = result->reduction_seconds};
  for (sp_phase p = 0; p < SP_PHASES; p++)
    sp_profile_add(profile, p, parts[p] > 0 ? result->iterations : 0, parts[p]);
  sp_profile_add(profile, SP_PHASE_SOLVE, 1, result->seconds);
  /* Creation and release of its vectors. */
  sp_profile_add(profile, SP_PHASE_OPERATOR, 0, seconds - result->seconds);
}

void sp_running_enter(sp_running *c, sp_phase phase) {
  sp_results *results = c->results;
  sp_terminal *terminal = c->report ? c->report->terminal : NULL;
  if (c->phase == SP_PHASE_SOLVE) /* it has parts */
    add_iteration(&results->profile, &results->cg, MPI_Wtime() - c->phase_start);
  else if (c->phase != SP_PHASES)
    sp_profile_end(&results->profile, terminal, c->phase, c->phase_start);
  c->phase = phase;
  if (phase != SP_PHASES) c->phase_start = sp_profile_begin(terminal, phase);
}

bool sp_running_has_balance(const sp_running *c) {
  return sp_operator_rows[c->problem->kind].has_stiffness;
}

/* ---- Set-up ---- */

static sp_status find_probes(sp_running *c) {
  const double start = MPI_Wtime();
  SP_TRY(sp_probes_create(&c->config->wanted, c->mesh, &c->values.probes));
  if (c->values.probes->all > 0)
    sp_profile_add(&c->results->profile, SP_PHASE_PROBES, 0, MPI_Wtime() - start);
  return SP_OK;
}

/* Find the groups of [result]. */
static sp_status prepare_results(sp_running *c) {
  SP_TRY(sp_quantities_create(&c->config->wanted, c->mesh, c->problem, c->config->solver.tolerance,
                              &c->values.quantities));
  const size_t materials = (size_t)c->values.quantities->material_count;
  if (materials == 0 || !sp_running_has_balance(c)) return SP_OK;
  sp_load_sums *sums = &c->values.balance.sums;
  return sp_agree(c->workers->comm, SP_ALLOCATE("materials", SP_ARRAY(c->values.heat, materials),
                                                SP_ARRAY(sums->sources, c->mesh->hexes->count),
                                                SP_ARRAY(sums->fluxes, c->problem->face_count)));
}

/* ---- Callbacks of the solver ---- */

static void on_phase(void *running, sp_phase phase) {
  sp_running_enter(running, phase);
}

static sp_status on_iteration(const sp_cg_iteration *iteration, void *context) {
  sp_running *c = context;
  if (c->report) return sp_report_iteration(iteration, c->report);
  if (c->on_iteration && c->on_iteration(c->context, iteration)) c->stopped = true;
  if (c->series && sp_terminal_is_due(c->series->terminal))
    sp_terminal_show(c->series->terminal,
                     "  order %d, refine %d: iteration %lld, relative residual %.1e",
                     c->config->statement.order, c->config->mesh.refine,
                     (long long)iteration->iteration, iteration->relative);
  return SP_OK;
}

static bool is_interrupted(void *context) {
  const sp_running *c = context;
  return c->stopped || sp_interrupt_noted() || sp_workers_interrupted(c->workers);
}

sp_status sp_running_check_arrays(const sp_problem *problem) {
  if (!sp_operator_rows[problem->kind].has_stiffness)
    return sp_fail(SP_ERR_INPUT, "mass has no coefficients");
  if (sp_materials_have_solution(&problem->materials))
    return sp_fail(SP_ERR_INPUT,
                   "coefficients cannot be arrays in a case with an exact solution: its load is "
                   "derived from their formulas; give forcing and boundary values instead");
  return SP_OK;
}

static sp_status create_problem(sp_running *c) {
  sp_running_enter(c, SP_PHASE_PROBLEM);
  sp_scope_set_time(c->config->statement.scope, sp_time_first(&c->config->time));
  SP_TRY(sp_problem_create(&c->config->statement, c->mesh, &c->problem));
  for (sp_coefficient i = 0; i < SP_COEFFICIENTS; i++) {
    if (c->arrays[i]) SP_TRY(sp_running_check_arrays(c->problem));
    c->problem->arrays[i] = c->arrays[i];
  }
  sp_materials_shift(&c->problem->materials, sp_time_first_shift(&c->config->time));
  return SP_OK;
}

static sp_status create_solver(sp_running *c) {
  const sp_solver_options options = sp_config_solver(c->config);
  const sp_solver_watch watch = {on_phase, on_iteration, is_interrupted, c};
  return sp_solver_create(&c->workers->platform, c->mesh, c->problem, &options, &watch, &c->solver);
}

/* Create the balance, which gets sums of the load, and the results. */
static sp_status create_values(sp_running *c) {
  SP_TRY(sp_balance_create(c->problem, c->solver->space, &c->values.balance));
  c->solver->sums = &c->values.balance.sums;
  return c->evaluates ? prepare_results(c) : SP_OK;
}

/* ---- The flow ---- */

/* Make the iterate that CG starts from, c->initial or c->solution, which is u0 in formulas. */
static sp_status load_initial(sp_running *c) {
  const sp_space *space = c->solver->space;
  const size_t dofs = sp_space_dofs(space);
  const bool in_time = c->config->time.end > 0;
  const size_t vectors = in_time ? SP_TIME_HISTORY : 1;
  sp_status status = sp_allocate(dofs, sizeof *c->solution, "solution", &c->solution);
  if (!status && (c->config->statement.initial.text || in_time))
    status = sp_allocate(vectors * dofs, sizeof *c->initial, "initial iterate", &c->initial);
  SP_TRY(sp_agree(c->workers->comm, status));
  if (c->initial) {
    sp_scope_set_time(c->config->statement.scope, 0);
    SP_TRY(sp_initial_load(&c->config->statement, space, c->initial, in_time ? &c->state : NULL));
    sp_scope_set_time(c->config->statement.scope, sp_time_first(&c->config->time));
  }
  c->problem->initial = c->initial;
  if (!c->given) return SP_OK;
  return sp_initial_interpolate(c->given->solver->space, c->given->solution, space, c->solution);
}

/* The iterate that the solver starts from; NULL: as the conditions say. */
static const double *start_of(const sp_running *c) {
  return c->given ? c->solution : c->initial;
}

/* Measure for the notes: sources that the quadrature misses, solutions that do not fit. */
static sp_status examine_data(sp_running *c) {
  const sp_load_sums *sums = &c->values.balance.sums;
  const sp_space *space = c->solver->space;
  if (sp_running_has_balance(c))
    sp_problem_count_pinched(c->problem, space, c->solver->work, &c->notes.pinched);
  c->notes.forcing = sums->forcing;
  sp_forcing_difference_join(c->workers->comm, &c->notes.forcing);
  SP_TRY(sp_problem_jumps(c->problem, space, &c->notes.jumps));
  SP_TRY(sp_source_compare_faces(c->problem, space, c->notes.faces));
  return sp_source_compare(c->problem, space, sums->source, sums->size, sums->variation,
                           &c->notes.source);
}

void sp_running_report_setup(sp_running *c) {
  sp_report_setup(c->report, c->solver);
  sp_report_find_notes(c->report, &c->notes);
  sp_report_print_notes(c->report);
  sp_report_begin(c->report, &c->results->profile);
}

static void note_setup(sp_running *c) {
  c->results->elements = c->mesh->global_elements;
  c->results->dofs = c->solver->system->op->global_dofs;
  c->notes.parts = c->solver->system->constants.parts;
  c->notes.jump = c->solver->facts.jump;
  c->notes.defect = c->solver->defect;
  c->notes.tied = c->solver->tied;
  if (c->solver->facts.weak) c->notes.magnification = c->solver->facts.weak->magnification;
}

sp_status sp_running_set_up(sp_running *c) {
  if (c->evaluates) SP_TRY(find_probes(c));
  SP_TRY(create_problem(c));
  c->notes = (sp_note_facts){.config = c->config, .problem = c->problem, .mesh = c->mesh};
  SP_TRY(create_solver(c));
  sp_running_enter(c, SP_PHASE_PROBLEM);
  SP_TRY(load_initial(c));
  SP_TRY(sp_problem_linearize(c->problem, c->mesh, c->config->statement.order,
                              c->solver->space->numbering, start_of(c)));
  SP_TRY(create_values(c));
  SP_TRY(sp_solver_load(c->solver));
  sp_running_enter(c, SP_PHASE_PROBLEM);
  if (!c->given) SP_TRY(examine_data(c));
  sp_running_enter(c, SP_PHASES);
  note_setup(c);
  return SP_OK;
}

sp_status sp_running_find_sums(sp_running *c) {
  c->notes.jump = c->solver->facts.jump;
  return sp_balance_load(&c->values.balance, c->solver->work);
}

sp_status sp_running_solve_nonlinear(sp_running *c, const double *start) {
  const size_t dofs = sp_space_dofs(c->solver->space);
  sp_status allocated = SP_OK;
  int solves = 0;
  if (!c->last) allocated = sp_allocate(dofs, sizeof *c->last, "solution", &c->last);
  SP_TRY(sp_agree(c->workers->comm, allocated));
  c->solver->sums = NULL; /* they are made at the end */
  const sp_status status = sp_nonlinear_solve(c->solver, c->problem, start, c->last, c->solution,
                                              &c->results->cg, &solves);
  if (c->report) sp_record_integer(c->report->record, "solves", solves);
  if (!sp_solver_has_solution(status)) return status;
  sp_kept_error kept;
  sp_error_keep(status, &kept);
  SP_TRY(sp_running_find_sums(c));
  return sp_error_restore(&kept);
}

sp_status sp_running_solve(sp_running *c) {
  if (c->problem->of_u) return sp_running_solve_nonlinear(c, start_of(c));
  return sp_solver_solve(c->solver, start_of(c), c->solution, &c->results->cg);
}

sp_status sp_running_measure(sp_running *c) {
  c->results->have_norms = !c->given && sp_materials_have_solution(&c->problem->materials);
  if (!c->results->have_norms) return SP_OK;
  sp_running_enter(c, SP_PHASE_ERRORS);
  SP_TRY(sp_errors_compute(c->problem, c->solver->space, c->solution, &c->results->norms));
  if (c->series && c->march)
    SP_TRY(sp_errors_compute(c->problem, c->solver->space, NULL, &c->results->in_space));
  sp_running_enter(c, SP_PHASES);
  return SP_OK;
}
