#include "solver/run/case.h"

#include <float.h>
#include <math.h>

#include "solver/run/case_setup.h"
#include "solver/run/field.h"
#include "solver/run/initial.h"
#include "solver/run/interrupt.h"
#include "solver/run/outputs.h"
#include "solver/run/report_levels.h"
#include "solver/run/vectors.h"

static sp_status on_iteration(const sp_cg_iteration *iteration, void *context) {
  const sp_case *c = context;
  if (c->report) return sp_report_iteration(iteration, c->report);
  sp_terminal_progress(c->series, "  order %d, refine %d: iteration %lld, relative residual %.1e",
                       c->config->discretization.order, c->config->mesh.refine,
                       (long long)iteration->iteration, iteration->relative);
  return SP_OK;
}

static bool is_interrupted(void *context) {
  const sp_case *c = context;
  return sp_interrupt_noted() || sp_workers_interrupted(c->workers);
}

/* Whether there is a solution to look at. */
static bool has_results(sp_status status) {
  return !status || status == SP_ERR_NOT_CONVERGED || status == SP_ERR_INTERRUPTED;
}

/* The means that the residual says little or nothing about. */
static sp_status set_means(sp_case *c) {
  if (c->null_space)
    SP_TRY(sp_null_space_match_means(c->null_space, c->problem, c->space, c->solution));
  if (!c->weak) return SP_OK;
  double *residual = c->work;
  SP_TRY(sp_case_download(c, c->r, residual));
  return sp_null_space_correct_means(c->weak, c->space, residual, c->solution);
}

/* The whole solution on the host. */
static sp_status fetch_solution(sp_case *c) {
  const size_t dofs = sp_space_dofs(c->space);
  SP_TRY(sp_case_download(c, c->x, c->solution));
  SP_TRY(sp_agree(c->comm, sp_vectors_add(dofs, c->boundary_values, c->solution)));
  return set_means(c);
}

/* The iteration and its solution, also if it is not converged. */
static sp_status iterate(sp_case *c, sp_results *results) {
  sp_cg_result *result = &results->cg;
  const sp_cg_options options = {.criterion = c->config->solver.criterion,
                                 .tolerance = c->config->solver.tolerance,
                                 .energy = c->start_energy,
                                 .max_iterations = c->config->solver.max_iterations,
                                 .on_iteration = on_iteration,
                                 .is_interrupted = is_interrupted,
                                 .context = c};
  if (c->report) sp_report_begin(c->report, &results->profile);
  sp_interrupt_watch();
  double begun = sp_profile_begin(c->terminal, SP_PHASE_SOLVE);
  sp_status solved =
      sp_cg_solve(c->op, c->preconditioner, &options, false, c->b, c->x, c->r, result);
  sp_profile_add_iteration(&results->profile, result, MPI_Wtime() - begun);
  if (!has_results(solved)) return solved;
  begun = sp_profile_begin(c->terminal, SP_PHASE_SOLUTION);
  SP_TRY(fetch_solution(c));
  sp_profile_end(&results->profile, c->terminal, SP_PHASE_SOLUTION, begun);
  return solved;
}

static sp_status measure_errors(sp_case *c, sp_results *results) {
  results->have_norms = sp_materials_have_solution(&c->problem->materials);
  if (!results->have_norms) return SP_OK;
  const double start = sp_profile_begin(c->terminal, SP_PHASE_ERRORS);
  SP_TRY(sp_errors_compute(c->problem, c->space, c->solution, &results->norms));
  sp_profile_end(&results->profile, c->terminal, SP_PHASE_ERRORS, start);
  return SP_OK;
}

/* From the mesh to the error norms, which are computed converged or not. */
static sp_status solve(sp_case *c, sp_results *results) {
  SP_TRY(sp_case_set_up(c, &results->profile));
  if (c->report)
    SP_TRY(sp_report_setup(c->report, c->op, c->geometry_reason, c->preconditioner,
                           c->preconditioner_reason, c->problem, &c->range));
  if (c->report) sp_report_jumps(c->report, &c->jumps);
  if (c->report) sp_report_notes(c->terminal, c->problem, c->mesh->hexes, &c->notes);
  if (c->report && c->weak) sp_report_magnification(c->report, c->weak->magnification);
  results->elements = c->mesh->global_elements;
  results->dofs = c->op->global_dofs;
  const sp_status solved = iterate(c, results);
  if (!has_results(solved)) return solved;
  sp_kept_error kept;
  sp_error_keep(solved, &kept);
  SP_TRY(measure_errors(c, results));
  return sp_error_restore(&kept);
}

/* A solution that has not converged does not take the place of one that has. */
static sp_status write_field(sp_case *c, sp_status solved, sp_profile *profile) {
  const char *path = c->config->output.field;
  double seconds;
  if (solved) {
    SP_TRY(sp_agree(c->comm, sp_output_unconverged_path(path, &c->unconverged)));
    path = c->unconverged;
  }
  SP_TRY(sp_field_write(path, c->problem, c->space, c->config->output.flux, c->solution, &seconds));
  sp_profile_add(profile, SP_PHASE_WRITING, 1, seconds);
  c->field = path;
  sp_report_field(c->report, path);
  return SP_OK;
}

/* Overwrites all L-vectors but the solution: nobody needs them any more. */
static sp_status postprocess(sp_case *c, sp_profile *profile) {
  const sp_solved solved = {.problem = c->problem,
                            .op = c->op,
                            .solution = c->solution,
                            .host = {c->load, c->work},
                            .device = {c->x, c->b}};
  return sp_postprocess_evaluate(c->postprocess, &solved, c->terminal, profile);
}

/* The table of the preconditioner's levels. */
static sp_status time_levels(sp_case *c, sp_profile *profile, int *count, sp_level_time *times) {
  sp_preconditioner *p = c->preconditioner;
  const double start = sp_profile_begin(c->terminal, SP_PHASE_LOG);
  *count = 0;
  if (p && p->time_levels) SP_TRY(p->time_levels(p, times, count));
  sp_profile_end(profile, c->terminal, SP_PHASE_LOG, start);
  return SP_OK;
}

/* |1.r| = |1.A e| <= ||1||_A ||e||_A, or at most the root of the number of DOFs times ||r||. */
static sp_status check_balance(const sp_case *c, const sp_cg_result *cg) {
  static const double MARGIN = 2; /* for an error that is estimated */
  if (!sp_operator_rows[c->problem->kind].has_stiffness) return SP_OK;
  const bool by_energy = c->config->solver.criterion == SP_CG_ENERGY;
  const double tolerance = c->config->solver.tolerance;
  const double explained =
      by_energy ? sqrt(c->weight) * cg->energy : sqrt((double)c->op->global_dofs) * cg->norm_b;
  const sp_status status = sp_balance_check(
      &c->postprocess->balance, MARGIN * tolerance * explained, 4 * DBL_EPSILON * cg->norm_b);
  if (status) sp_report_unbalanced(c->report);
  return status;
}

/* The field and the tables, converged or not (`solved`); a field that fails cannot
 * lose the tables, nor can a result that is not finite. */
static sp_status write_results(sp_case *c, sp_status solved, sp_results *results) {
  sp_status written = SP_OK;
  sp_level_time levels[SP_LEVELS_MOST];
  int level_count;
  SP_TRY(time_levels(c, &results->profile, &level_count, levels));
  if (c->config->output.field[0]) {
    const double start = sp_profile_begin(c->terminal, SP_PHASE_FIELD);
    written = write_field(c, solved, &results->profile);
    sp_profile_end(&results->profile, c->terminal, SP_PHASE_FIELD, start);
  }
  sp_kept_error kept;
  sp_error_keep(written, &kept);
  SP_TRY(postprocess(c, &results->profile));
  SP_TRY(sp_report_results(c->report, &results->profile, &results->cg,
                           results->have_norms ? &results->norms : NULL));
  sp_report_levels(c->report, c->terminal, results->cg.iterations, level_count, levels);
  sp_postprocess_report(c->postprocess, c->problem, c->report, c->terminal);
  if (written) return sp_error_restore(&kept);
  SP_TRY(sp_quantities_check_finite(c->postprocess->quantities));
  return solved ? SP_OK : check_balance(c, &results->cg);
}

static sp_case begin(const sp_case_base *base, const sp_config *config, sp_report *report) {
  return (sp_case){.workers = base->workers,
                   .comm = base->comm,
                   .config = config,
                   .mesh = base->mesh,
                   .platform = base->platform,
                   .report = report};
}

sp_status sp_case_solve(const sp_case_base *base, const sp_config *config, sp_terminal *terminal,
                        sp_results *results) {
  sp_case c = begin(base, config, NULL);
  c.series = terminal;
  *results = (sp_results){.profile = sp_profile_from_now()};
  const sp_status status = solve(&c, results);
  sp_case_release(&c);
  return status;
}

/* The whole flow of one case, with its log open. */
static sp_status run(const sp_workers *workers, const sp_config *config, sp_report *report,
                     sp_terminal *terminal, sp_results *results) {
  sp_case_base base;
  SP_TRY(sp_case_base_create(workers, config, &results->profile, terminal, &base));
  sp_case c = begin(&base, config, report);
  c.terminal = terminal;
  sp_status status = sp_postprocess_create(config, base.mesh, &results->profile, &c.postprocess);
  if (!status) status = solve(&c, results);
  if (has_results(status)) {
    sp_kept_error kept;
    sp_error_keep(status, &kept);
    const sp_status written = write_results(&c, status, results);
    status = written ? written : sp_error_restore(&kept);
    if (status && !written && c.field)
      status = sp_fail(status, "%s; its field is %s", sp_error_message(), c.field);
  }
  sp_case_release(&c);
  sp_case_base_destroy(&base);
  return status;
}

/* On the ranks with elements. */
static sp_status run_reported(const sp_workers *workers, const sp_config *config,
                              sp_terminal *terminal, sp_results *results) {
  sp_report *report;
  const double start = MPI_Wtime();
  SP_TRY(sp_outputs_check(workers->comm, config));
  sp_status status = sp_report_open(workers, config, terminal, &report);
  if (!status) {
    status = sp_initial_check(workers->comm, config);
    sp_profile_add(&results->profile, SP_PHASE_CASE, 0, MPI_Wtime() - start);
  }
  if (!status) status = run(workers, config, report, terminal, results);
  status = sp_report_finish(report, status);
  sp_report_close(&report);
  return status;
}

sp_status sp_case_run_on(const sp_workers *workers, const sp_config *config,
                         const sp_profile *profile, sp_terminal *terminal, sp_results *results) {
  const sp_workers *w = workers;
  *results = (sp_results){.profile = *profile};
  const sp_status status =
      sp_workers_meet(w, w->works ? run_reported(w, config, terminal, results) : SP_OK);
  sp_results leaders = *results;
  if (w->count < w->ranks) MPI_Bcast(&leaders, (int)sizeof leaders, MPI_BYTE, w->leader, w->all);
  if (!w->works) *results = leaders;
  return status;
}

sp_status sp_case_run(MPI_Comm comm, const sp_config *config, const sp_profile *profile,
                      sp_terminal *terminal, sp_results *results) {
  sp_workers workers;
  sp_profile begun = *profile;
  const double start = sp_profile_begin(terminal, SP_PHASE_DEVICE);
  sp_status status = sp_workers_open(comm, config, &workers);
  sp_profile_end(&begun, NULL, SP_PHASE_DEVICE, start); /* no line before the heading */
  *results = (sp_results){.profile = begun};
  if (!status) status = sp_case_run_on(&workers, config, &begun, terminal, results);
  sp_workers_close(&workers);
  return status;
}
