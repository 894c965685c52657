#include "solver/case/case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "solver/linear/start.h"
#include "solver/problem/contacts.h"
#include "solver/problem/interfaces.h"
#include "solver/problem/kinks.h"
#include "solver/problem/load.h"
#include "solver/problem/systems.h"
#include "solver/run/accuracy.h"
#include "solver/run/field.h"
#include "solver/run/initial.h"
#include "solver/run/interrupt.h"
#include "solver/run/outputs.h"
#include "solver/run/postprocess.h"
#include "solver/run/precondition.h"
#include "solver/run/report.h"
#include "solver/run/vectors.h"

/* State of a running case: first what it borrows, then what it owns. */
typedef struct running {
  const sp_workers *workers;
  MPI_Comm comm; /* of the ranks with elements */
  const sp_config *config;
  const sp_mesh *mesh;
  const sp_platform *platform;
  sp_terminal *terminal; /* shows names of phases; NULL in a series */
  sp_terminal *series;   /* shows progress in a series; else NULL */
  sp_report *report;     /* NULL for one of a series */
  sp_results *results;
  const sp_case_base *base;
  const sp_case_start *given; /* the solution of another order, or NULL */
  sp_phase phase;             /* current phase, since phase_start; SP_PHASES: none */
  double phase_start;

  sp_postprocess *postprocess; /* NULL for one of a series */
  sp_space *space;
  sp_problem *problem;
  sp_problem_facts facts;
  sp_system *system;
  sp_preconditioner_kind kind;
  const char *kind_reason;
  sp_levels levels;                  /* of multigrid */
  sp_preconditioner *preconditioner; /* NULL for none */
  sp_jacobian_range range;
  sp_interface_jumps jumps;
  sp_notes notes;
  sp_start start;
  /* L-vectors on the host. `load` becomes the right-hand side; `work` is scratch. */
  double *load, *solution, *work;
  sp_vector x, b, r; /* A x = b, and r = b - A x */
  const char *field; /* the file that was written; NULL if none */
  double *indicator; /* [elements] with error bars, else NULL */
  sp_accuracy accuracy;
  char *unconverged; /* its path if the solution has not converged, else NULL */
} running;

/* Release what only the iteration and the results need. */
static void release_system(running *c) {
  sp_vector_destroy(&c->x);
  sp_vector_destroy(&c->b);
  sp_vector_destroy(&c->r);
  sp_preconditioner_destroy(&c->preconditioner);
  sp_levels_free(&c->levels);
  sp_system_destroy(&c->system);
}

static void release(running *c) {
  release_system(c);
  sp_problem_facts_free(&c->facts);
  sp_accuracy_free(&c->accuracy);
  SP_FREE(c->indicator, c->unconverged, c->load, c->solution, c->work);
  sp_problem_destroy(&c->problem);
  sp_space_destroy(&c->space);
  sp_postprocess_destroy(&c->postprocess);
}

/* End the current phase and begin the next one; SP_PHASES: none. */
static void enter(running *c, sp_phase phase) {
  if (c->phase != SP_PHASES)
    sp_profile_end(&c->results->profile, c->terminal, c->phase, c->phase_start);
  c->phase = phase;
  if (phase != SP_PHASES) c->phase_start = sp_profile_begin(c->terminal, phase);
}

/* ---- Set-up ---- */

static sp_status create_host_vectors(running *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_allocate(dofs, sizeof(double), "load vector", &c->load));
  SP_TRY(sp_allocate(dofs, sizeof(double), "solution", &c->solution));
  return sp_allocate(dofs, sizeof(double), "work vector", &c->work);
}

static sp_status create_device_vectors(running *c) {
  SP_TRY(sp_space_vector(c->space, SP_DOUBLE, &c->x));
  SP_TRY(sp_space_vector(c->space, SP_DOUBLE, &c->b));
  return sp_space_vector(c->space, SP_DOUBLE, &c->r);
}

static sp_status make_system(running *c) {
  SP_TRY(sp_problem_create(c->config, c->mesh, &c->problem));
  if (c->postprocess) SP_TRY(sp_postprocess_prepare(c->postprocess, c->problem));
  SP_TRY(sp_problem_system(c->problem, c->space, c->config->discretization.geometry, &c->facts,
                           &c->system));
  c->notes.scope = c->config->scope;
  c->notes.parts = c->system->constants.parts;
  c->notes.jump = c->facts.jump;
  if (!c->report || c->notes.parts <= 1) return SP_OK;
  return sp_problem_count_contacts(c->problem, c->mesh, &c->notes.contacts);
}

static sp_status choose_preconditioner(running *c) {
  sp_operator_setup *setup = &c->system->setup;
  const sp_geometry_facts of_op = sp_geometry_facts_of(setup);
  sp_precondition_facts facts;
  SP_TRY(sp_precondition_facts_find(&of_op, c->platform->backend, c->mesh,
                                    (double)c->mesh->global_elements, &facts));
  c->kind = sp_precondition_choose(c->config, &facts, &c->kind_reason);
  setup->for_level = c->kind == SP_PRECONDITIONER_MULTIGRID;
  setup->one_sweep = sp_precondition_prefers_fused_cg(c->kind, &facts, setup->geometry);
  return SP_OK;
}

static sp_status start_levels(running *c) {
  const double magnification = c->facts.weak ? c->facts.weak->magnification : 0;
  if (c->kind != SP_PRECONDITIONER_MULTIGRID) return SP_OK;
  return sp_levels_create(c->config, c->problem, c->system, c->facts.exact, magnification,
                          &c->levels);
}

/* Sum the load vector over all ranks. */
static sp_status sum_load(const running *c, double *sum) {
  *sum = 0;
  for (sp_lid i = 0; i < c->space->numbering->owned; i++) *sum += c->load[i];
  return sp_reduction_sum(c->platform->reduction, 1, sum, SP_OK);
}

/* Find sources that the quadrature misses, and solutions that do not fit, for the notes. */
static sp_status examine_data(running *c) {
  const sp_load_sums *sums = &c->postprocess->balance.sums;
  SP_TRY(sp_problem_jumps(c->problem, c->space, &c->jumps));
  SP_TRY(sp_problem_find_kink(c->problem, c->mesh, &c->notes.kink));
  return sp_source_compare(c->problem, c->space, sums->source, sums->size, &sums->samples,
                           &c->notes.source);
}

static sp_status make_load(running *c) {
  SP_TRY(sp_agree(c->comm, create_host_vectors(c)));
  SP_TRY(sp_problem_load(c->problem, c->space, c->load, &c->range,
                         c->postprocess ? &c->postprocess->balance.sums : NULL));
  if (c->report) SP_TRY(examine_data(c));
  if (!c->facts.exact) return SP_OK;
  double imbalance, before, after;
  SP_TRY(sum_load(c, &before));
  SP_TRY(sp_null_space_project(c->facts.exact, c->problem, c->space, c->load, &imbalance));
  SP_TRY(sum_load(c, &after));
  if (c->postprocess) c->postprocess->balance.removed = before - after;
  return SP_OK;
}

/* Check that the squares of CG's vectors stay far from overflow, and from underflow, which makes a
 * residual look like zero. */
static sp_status check_load(const running *c) {
  const double smallest = 1e-140, largest = 1e140;
  double size;
  const size_t owned = (size_t)c->space->numbering->owned;
  SP_TRY(sp_agree(c->comm, sp_vectors_largest(owned, c->load, &size)));
  MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_DOUBLE, MPI_MAX, c->comm);
  if (size == 0 || (size * c->config->solver.tolerance > smallest && size < largest)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "the right-hand side has entries of up to %.3g; its squares would leave the range "
                 "of double precision: give the data in other units, so that this lies between "
                 "%.0e / solver.tolerance and %.0e",
                 size, smallest, largest);
}

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere. */
static sp_status make_right_hand_side(running *c) {
  const bool *constrained = c->system->setup.constrained;
  SP_TRY(sp_agree(c->comm, create_device_vectors(c)));
  if (c->facts.weak)
    SP_TRY(sp_null_space_weigh(c->facts.weak, c->system->op, &c->x, &c->b, c->work));
  if (c->problem->has_dirichlet && c->postprocess)
    SP_TRY(sp_agree(c->comm,
                    sp_balance_keep(&c->postprocess->balance, c->space, constrained, c->load)));
  if (c->problem->has_dirichlet)
    SP_TRY(sp_system_lift(c->system, c->facts.boundary_values, c->load, c->work, &c->x, &c->b));
  SP_TRY(check_load(c));
  return sp_agree(c->comm, sp_vector_write(c->load, &c->b));
}

static sp_status make_start(running *c) {
  const bool given = c->given || c->config->problem.initial.text;
  if (c->given)
    SP_TRY(sp_initial_interpolate(c->given->space, c->given->values, c->space, c->solution));
  else if (given)
    SP_TRY(sp_initial_load(c->config, c->space, c->solution));
  SP_TRY(sp_start_find(c->system, c->preconditioner, given ? c->solution : NULL, &c->b, &c->x,
                       &c->r, c->work, &c->start));
  sp_system_forget_coefficients(c->system);
  return SP_OK;
}

/* ---- Solve ---- */

static sp_status on_iteration(const sp_cg_iteration *iteration, void *context) {
  const running *c = context;
  if (c->report) return sp_report_iteration(iteration, c->report);
  sp_terminal_progress(c->series, "  order %d, refine %d: iteration %lld, relative residual %.1e",
                       c->config->discretization.order, c->config->mesh.refine,
                       (long long)iteration->iteration, iteration->relative);
  return SP_OK;
}

static bool is_interrupted(void *context) {
  const running *c = context;
  return sp_interrupt_noted() || sp_workers_interrupted(c->workers);
}

/* True if there is a solution, converged or not. */
static bool has_results(sp_status status) {
  return !status || status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED;
}

/* Set the means of the solution, which the residual hardly controls. */
static sp_status set_means(running *c) {
  const sp_null_space *exact = c->facts.exact, *weak = c->facts.weak;
  if (exact) SP_TRY(sp_null_space_match_means(exact, c->problem, c->space, c->solution));
  if (!weak) return SP_OK;
  double *residual = c->work;
  SP_TRY(sp_agree(c->comm, sp_vector_read(&c->r, residual)));
  return sp_null_space_correct_means(weak, c->space, residual, c->solution);
}

/* Copy the whole solution to the host. */
static sp_status fetch_solution(running *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_agree(c->comm, sp_vector_read(&c->x, c->solution)));
  SP_TRY(sp_agree(c->comm, sp_vectors_add(dofs, c->facts.boundary_values, c->solution)));
  return set_means(c);
}

static sp_cg_options cg_options(running *c) {
  return (sp_cg_options){.criterion = c->config->solver.criterion,
                         .tolerance = c->config->solver.tolerance,
                         .energy = c->start.energy,
                         .max_iterations = c->config->solver.max_iterations,
                         .on_iteration = on_iteration,
                         .is_interrupted = is_interrupted,
                         .context = c};
}

static sp_status measure_errors(running *c) {
  c->results->have_norms = !c->given && sp_materials_have_solution(&c->problem->materials);
  if (!c->results->have_norms) return SP_OK;
  enter(c, SP_PHASE_ERRORS);
  return sp_errors_compute(c->problem, c->space, c->solution, &c->results->norms);
}

static sp_status report_setup(running *c) {
  const sp_operator *op = c->system->op;
  c->results->elements = c->mesh->global_elements;
  c->results->dofs = op->global_dofs;
  if (!c->report) return SP_OK;
  SP_TRY(sp_report_setup(c->report, op, c->facts.geometry_reason, c->preconditioner, c->kind_reason,
                         c->problem, &c->range));
  sp_report_jumps(c->report, &c->jumps);
  sp_report_notes(c->report, c->problem, c->mesh->hexes, &c->notes);
  if (c->facts.weak) sp_report_magnification(c->report, c->facts.weak->magnification);
  sp_report_begin(c->report, &c->results->profile);
  return SP_OK;
}

/* The flow: mesh -> space -> system -> preconditioner -> CG -> solution and its errors, also if CG
 * has not converged. */
static sp_status solve(running *c) {
  enter(c, SP_PHASE_NUMBERING);
  SP_TRY(sp_space_create(c->platform, c->mesh, c->config->discretization.order, &c->space));
  enter(c, SP_PHASE_PROBLEM);
  SP_TRY(make_system(c));
  enter(c, SP_PHASE_PRECONDITIONER);
  SP_TRY(choose_preconditioner(c));
  /* Start AMG early, in the background on a device, unless only lambda or alpha fixes a mean; then
   * the operator comes first. */
  if (!c->facts.weak) SP_TRY(start_levels(c));
  enter(c, SP_PHASE_PROBLEM);
  SP_TRY(make_load(c));
  enter(c, SP_PHASE_OPERATOR);
  SP_TRY(sp_system_build(c->system));
  SP_TRY(make_right_hand_side(c));
  enter(c, SP_PHASE_PRECONDITIONER);
  if (c->facts.weak) SP_TRY(start_levels(c));
  SP_TRY(sp_precondition_create(c->kind, c->system, &c->levels, &c->preconditioner));
  enter(c, SP_PHASE_OPERATOR);
  SP_TRY(make_start(c));
  enter(c, SP_PHASES);
  SP_TRY(report_setup(c));
  sp_interrupt_watch();

  sp_cg_result *result = &c->results->cg;
  const sp_cg_options options = cg_options(c);
  const double begun = sp_profile_begin(c->terminal, SP_PHASE_SOLVE);
  const sp_status solved =
      sp_cg_solve(c->system->op, c->preconditioner, &options, false, &c->b, &c->x, &c->r, result);
  sp_profile_add_iteration(&c->results->profile, result, MPI_Wtime() - begun);
  if (!has_results(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  enter(c, SP_PHASE_SOLUTION);
  SP_TRY(fetch_solution(c));
  SP_TRY(measure_errors(c));
  enter(c, SP_PHASES);
  return sp_error_restore(&kept);
}

/* ---- Results ---- */

static sp_status find_indicator(running *c) {
  sp_status status =
      sp_allocate((size_t)c->mesh->hexes->count, sizeof(double), "error indicator", &c->indicator);
  if (!status) status = sp_resolution_indicate(c->space, c->solution, c->indicator);
  return sp_agree(c->comm, status);
}

/* Write the field. A solution that has not converged never replaces one that has. */
static sp_status write_field(running *c, sp_status solved) {
  const char *path = c->config->output.field;
  double seconds;
  if (c->config->output.accuracy) SP_TRY(find_indicator(c));
  if (!path[0]) return SP_OK;
  enter(c, SP_PHASE_FIELD);
  if (solved) {
    SP_TRY(sp_agree(c->comm, sp_output_unconverged_path(path, &c->unconverged)));
    path = c->unconverged;
  }
  SP_TRY(sp_field_write(path, c->problem, c->space, c->config->output.flux, c->solution,
                        c->indicator, &seconds));
  sp_profile_add(&c->results->profile, SP_PHASE_WRITING, 1, seconds);
  c->field = path;
  sp_record_text(c->report->record, "field", path);
  return SP_OK;
}

/* Compute the results. All L-vectors except the solution are overwritten. */
static sp_status postprocess(running *c) {
  const sp_solved solved = {.problem = c->problem,
                            .op = c->system->op,
                            .solution = c->solution,
                            .host = {c->load, c->work},
                            .scratch = {&c->x, &c->b}};
  return sp_postprocess_evaluate(c->postprocess, &solved, c->terminal, &c->results->profile);
}

/* |1.r| = |1.A e| <= ||1||_A ||e||_A, or at most the root of the number of DOFs times ||r||. */
static sp_status check_balance(const running *c) {
  static const double MARGIN = 2;      /* the error is only an estimate */
  static const double OPERATIONS = 64; /* roundings per entry of b and of the fluxes */
  const sp_cg_result *cg = &c->results->cg;
  if (!sp_operator_rows[c->problem->kind].has_stiffness) return SP_OK;
  const bool by_energy = c->config->solver.criterion == SP_CG_ENERGY;
  const double tolerance = c->config->solver.tolerance;
  const double sum_b =
      sqrt((double)c->results->dofs) * cg->norm_b; /* at least |b_1| + |b_2| + ... */
  const double explained = by_energy ? sqrt(c->start.weight) * cg->energy : sum_b;
  const sp_status status = sp_balance_check(
      &c->postprocess->balance, MARGIN * tolerance * explained, OPERATIONS * DBL_EPSILON * sum_b);
  if (status) sp_report_unbalanced(c->report);
  return status;
}

/* Solve the case at another order and compare the answers. */
static sp_status solve_again(running *c, sp_answers *others) {
  sp_accuracy *a = &c->accuracy;
  const sp_case_start start = {.space = c->space, .values = c->solution};
  sp_config config = *c->config;
  sp_results results;
  config.discretization.order = a->order = sp_answers_other_order(config.discretization.order);
  config.solver.orders.count = 0;
  sp_status status = sp_case_solve(c->base, &config, &start, c->terminal, others, &results);
  if (status) return sp_fail(status, "error bars, order %d: %s", a->order, sp_error_message());
  a->iterations = results.cg.iterations;
  return sp_agree(c->comm, sp_accuracy_compare(config.solver.tolerance, others, a));
}

/* Estimate the errors of the answers. The system is released first, for memory. */
static sp_status find_accuracy(running *c) {
  const sp_quantity *extrema = &c->postprocess->quantities->list[c->postprocess->quantities->count];
  sp_accuracy *a = &c->accuracy;
  sp_answers others = {0};
  SP_TRY(sp_agree(c->comm, sp_answers_collect(c->postprocess, c->problem, &a->answers)));
  a->range = extrema[1].value - extrema[0].value;
  a->resolution = sp_resolution_find(c->mesh, c->indicator, SP_ACCURACY_COARSE * a->range);
  release_system(c);
  enter(c, SP_PHASE_ACCURACY);
  const sp_status status = solve_again(c, &others);
  enter(c, SP_PHASES);
  sp_answers_free(&others);
  return status;
}

/* Write the field and the tables, also if CG has not converged (`solved`). Print the tables even if
 * the field fails or a result is not finite. */
static sp_status write_results(running *c, sp_status solved) {
  sp_preconditioner *p = c->preconditioner;
  sp_results *results = c->results;
  sp_level_time levels[SP_LEVELS_MOST];
  int level_count = 0;
  enter(c, SP_PHASE_LOG);
  if (p && p->time_levels) SP_TRY(p->time_levels(p, levels, &level_count));
  const sp_status written = write_field(c, solved);
  enter(c, SP_PHASES);
  sp_kept_error kept;
  sp_error_keep(written, &kept);
  SP_TRY(postprocess(c));
  sp_kept_error bars = {0};
  if (c->config->output.accuracy && !written && !solved) sp_error_keep(find_accuracy(c), &bars);
  SP_TRY(sp_report_results(c->report, &results->profile, &results->cg,
                           results->have_norms ? &results->norms : NULL));
  sp_report_levels(c->report, results->cg.iterations, level_count, levels);
  sp_postprocess_report(c->postprocess, c->problem, c->report);
  if (c->accuracy.order && !bars.status) sp_accuracy_report(&c->accuracy, c->report);
  if (written) return sp_error_restore(&kept);
  if (bars.status) return sp_error_restore(&bars);
  SP_TRY(sp_quantities_check_finite(c->postprocess->quantities));
  return solved ? SP_OK : check_balance(c);
}

static running begin(const sp_case_base *base, const sp_config *config, sp_results *results) {
  return (running){.base = base,
                   .workers = base->workers,
                   .comm = base->comm,
                   .config = config,
                   .mesh = base->mesh,
                   .platform = base->platform,
                   .results = results,
                   .phase = SP_PHASES};
}

/* Evaluate the answers of a solution, converged or not. */
static sp_status find_answers(running *c, sp_answers *answers) {
  SP_TRY(postprocess(c));
  SP_TRY(sp_quantities_check_finite(c->postprocess->quantities));
  return sp_agree(c->comm, sp_answers_collect(c->postprocess, c->problem, answers));
}

sp_status sp_case_solve(const sp_case_base *base, const sp_config *config,
                        const sp_case_start *start, sp_terminal *terminal, sp_answers *answers,
                        sp_results *results) {
  running c = begin(base, config, results);
  c.given = start;
  c.series = terminal;
  *results = (sp_results){.profile = sp_profile_from_now()};
  sp_status status = SP_OK;
  if (answers)
    status = sp_postprocess_create(config, base->mesh, &results->profile, &c.postprocess);
  if (!status) status = solve(&c);
  if (answers && has_results(status)) {
    sp_kept_error kept;
    sp_error_keep(status, &kept);
    const sp_status found = find_answers(&c, answers);
    status = found ? found : sp_error_restore(&kept);
  }
  release(&c);
  return status;
}

/* Write the results of a solve, if it has any; the message of its status names the field. */
static sp_status finish(running *c, sp_status solved) {
  if (!has_results(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  SP_TRY(write_results(c, solved));
  const sp_status status = sp_error_restore(&kept);
  if (!status || !c->field) return status;
  return sp_fail(status, "%s; its field is %s", sp_error_message(), c->field);
}

/* Run the case; only ranks with elements call this. */
static sp_status run(const sp_workers *workers, const sp_config *config, sp_terminal *terminal,
                     sp_results *results) {
  sp_case_base base = {.workers = workers, .comm = workers->comm, .platform = &workers->platform};
  sp_report *report;
  const double start = MPI_Wtime();
  SP_TRY(sp_outputs_check(workers->comm, config));
  sp_status status = sp_report_open(workers, config, terminal, &report);
  if (!status) {
    status = sp_initial_check(workers->comm, config);
    sp_profile_add(&results->profile, SP_PHASE_CASE, 0, MPI_Wtime() - start);
  }
  if (!status) status = sp_case_base_create(workers, config, &results->profile, terminal, &base);
  running c = begin(&base, config, results);
  c.report = report;
  c.terminal = terminal;
  if (!status) status = sp_postprocess_create(config, base.mesh, &results->profile, &c.postprocess);
  if (!status) status = finish(&c, solve(&c));
  release(&c);
  sp_case_base_destroy(&base);
  status = sp_report_finish(report, status);
  sp_report_close(&report);
  return status;
}

sp_status sp_case_run_on(const sp_workers *workers, const sp_config *config,
                         const sp_profile *profile, sp_terminal *terminal, sp_results *results) {
  const sp_workers *w = workers;
  *results = (sp_results){.profile = *profile};
  const sp_status status =
      sp_workers_meet(w, w->has_elements ? run(w, config, terminal, results) : SP_OK);
  sp_results leaders = *results;
  if (w->count < w->ranks) MPI_Bcast(&leaders, (int)sizeof leaders, MPI_BYTE, w->leader, w->all);
  if (!w->has_elements) *results = leaders;
  return status;
}

sp_status sp_case_run(MPI_Comm comm, const sp_config *config, const sp_profile *profile,
                      sp_terminal *terminal, sp_results *results) {
  sp_workers workers;
  sp_profile begun = *profile;
  const double start = sp_profile_begin(terminal, SP_PHASE_DEVICE);
  sp_status status = sp_workers_open(comm, config, &workers);
  sp_profile_end(&begun, NULL, SP_PHASE_DEVICE, start); /* print no line before the heading */
  *results = (sp_results){.profile = begun};
  if (!status) status = sp_case_run_on(&workers, config, &begun, terminal, results);
  sp_workers_close(&workers);
  return status;
}
