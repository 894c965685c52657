#include "solver/run/run.h"

#include <limits.h>
#include <math.h>

#include "solver/solve/initial.h"
#include "solver/solve/interrupt.h"

sp_status sp_running_time_levels(sp_running *c) {
  sp_preconditioner *p = c->solver->preconditioner;
  sp_running_enter(c, SP_PHASE_LOG);
  if (p && p->time_levels) SP_TRY(p->time_levels(p, c->written.levels, &c->written.level_count));
  sp_running_enter(c, SP_PHASES);
  return SP_OK;
}

/* Solve the case at another order or with shorter steps, and compare the answers. */
static sp_status solve_again(sp_running *c, const sp_config *config) {
  const int order = config->statement.order;
  sp_answers others = {0};
  sp_results results = {0};
  sp_status status = sp_run_one(c->workers, c->mesh, config, c, c->report, &others, &results);
  c->bars.accuracy.iterations += results.cg.iterations;
  if (status)
    status = sp_fail(status, "error bars, order %d: %s", order, sp_error_message());
  else if (order != c->config->statement.order)
    status = sp_accuracy_compare(config->solver.tolerance, order, &others, &c->bars.accuracy);
  else
    sp_accuracy_add_steps(sp_time_method_of(config->time.scheme, SP_TIME_HISTORY)->order, &others,
                          &c->bars.accuracy);
  sp_answers_free(&others);
  return sp_agree(c->workers->comm, status);
}

static sp_status change_order(sp_running *c, int order) {
  sp_config config = *c->config;
  config.statement.order = order;
  config.solver.orders.count = 0;
  return solve_again(c, &config);
}

/* Automatic steps take a quarter of the tolerance, since their errors are of order 2. */
static sp_status halve_steps(sp_running *c) {
  sp_config config = *c->config;
  sp_time_options *time = &config.time;
  time->step /= 2;
  time->steps = (int)fmin(2.0 * time->steps, INT_MAX);
  time->every = (int)fmin(2.0 * time->every, INT_MAX);
  time->tolerance /= 4;
  return solve_again(c, &config);
}

static sp_status find_accuracy(sp_running *c, bool once) {
  const int order = c->config->statement.order;
  sp_accuracy *a = &c->bars.accuracy;
  sp_accuracy_free(a);
  if (!c->bars.indicator) SP_TRY(sp_running_find_indicator(c));
  SP_TRY(sp_running_collect(c, &a->answers));
  c->notes.range = sp_running_range(c);
  c->notes.resolution =
      sp_resolution_find(c->mesh, c->bars.indicator, SP_NOTE_COARSE * c->notes.range);
  if (once) sp_solver_release(c->solver);
  sp_running_enter(c, SP_PHASE_ACCURACY);
  a->order = sp_answers_other_order(order);
  sp_status status = a->order > order + 1 ? change_order(c, order + 1) : SP_OK;
  if (!status) status = change_order(c, a->order);
  if (!status && c->config->time.end > 0) status = halve_steps(c);
  sp_running_enter(c, SP_PHASES);
  return status;
}

void sp_running_find_bars(sp_running *c, bool once) {
  sp_error_keep(find_accuracy(c, once), &c->bars.failure);
}

sp_status sp_running_report(sp_running *c, sp_status solved) {
  sp_results *results = c->results;
  c->notes.rounding = results->cg.rounding;
  c->notes.flux_error = sp_running_flux_error(c);
  sp_report_find_notes(c->report, &c->notes);
  sp_report_print_notes(c->report);
  sp_report_results(c->report, &results->profile, &results->cg,
                    results->have_norms ? &results->norms : NULL);
  sp_report_levels(c->report, results->cg.iterations, c->written.level_count, c->written.levels);
  sp_report_solution(c->report, c->problem, &c->values.balance, c->values.quantities,
                     c->values.heat, c->values.probes);
  sp_stepping_report(c);
  if (c->bars.accuracy.order && !c->bars.failure.status)
    sp_error_keep(sp_accuracy_report(&c->bars.accuracy, c->report), &c->bars.failure);
  if (c->bars.failure.status) return sp_error_restore(&c->bars.failure);
  if (solved) return SP_OK;
  if (c->values.failure.status) return sp_error_restore(&c->values.failure);
  SP_TRY(sp_quantities_check_finite(c->values.quantities));
  return sp_running_check_balance(c);
}

/* Write and print the results, also if CG has not converged (`solved`). Print the tables even if
 * the field fails or a result is not finite. */
static sp_status write_results(sp_running *c, sp_status solved) {
  sp_kept_error kept;
  SP_TRY(sp_running_time_levels(c));
  sp_error_keep(c->march ? SP_OK : sp_running_write_field(c, solved), &kept);
  sp_running_enter(c, SP_PHASES);
  if (!c->march) SP_TRY(sp_running_evaluate(c)); /* else of the last step */
  if (c->config->output.accuracy && !kept.status && !solved) sp_running_find_bars(c, true);
  const sp_status reported = sp_running_report(c, sp_first_failure(kept.status, solved));
  return kept.status ? sp_error_restore(&kept) : reported;
}

/* Solve; measure, write and evaluate the solution, converged or not. `answers` of one of a series
 * may be NULL. The message of a solve that fails names the field. */
static sp_status solve_case(sp_running *c, sp_answers *answers) {
  sp_kept_error kept;
  sp_interrupt_watch();
  const sp_status solved = c->config->time.end > 0 ? sp_stepping_run(c) : sp_running_solve(c);
  if (!sp_solver_has_solution(solved)) return solved;
  sp_error_keep(solved, &kept);
  SP_TRY(sp_running_measure(c));
  if (c->report) SP_TRY(write_results(c, solved));
  if (answers) {
    if (!c->march) SP_TRY(sp_running_evaluate(c));
    SP_TRY(sp_quantities_check_finite(c->values.quantities));
    SP_TRY(sp_running_collect(c, answers));
  }
  const sp_status status = sp_error_restore(&kept);
  if (!status || !c->written.field) return status;
  return sp_fail(status, "%s; its field is %s", sp_error_message(), c->written.field);
}

sp_status sp_run_one(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                     const sp_running *start, sp_report *report, sp_answers *answers,
                     sp_results *results) {
  SP_AUTO_VALUE(sp_running) c = sp_running_begin(workers, mesh, config, results);
  c.given = start;
  c.series = report;
  *results = (sp_results){.profile = sp_profile_from_now()};
  c.evaluates = answers;
  SP_TRY(sp_running_set_up(&c));
  if (!start) sp_report_find_notes(report, &c.notes);
  const sp_status status = solve_case(&c, answers);
  c.notes.rounding = results->cg.rounding;
  if (!start) sp_report_find_notes(report, &c.notes);
  return status;
}

/* The flow from the mesh on. */
static sp_status run_on_mesh(sp_running *c) {
  const sp_status status = sp_running_set_up(c);
  if (status) sp_report_find_notes(c->report, &(sp_note_facts){.mesh = c->mesh}); /* maybe why */
  if (status) sp_report_print_notes(c->report);
  SP_TRY(status);
  sp_running_report_setup(c);
  return solve_case(c, NULL);
}

/* Run the case; only ranks with elements call this. */
static sp_status run_case(const sp_workers *workers, const sp_config *config, sp_terminal *terminal,
                          sp_results *results) {
  SP_AUTO(sp_mesh) mesh = NULL;
  SP_AUTO(sp_report) report = NULL;
  const double start = MPI_Wtime();
  SP_TRY(sp_outputs_check(workers->comm, config));
  SP_TRY(sp_report_open(workers, config, true, terminal, &report));
  sp_status status = sp_initial_check(workers->comm, &config->statement);
  sp_profile_add(&results->profile, SP_PHASE_CASE, 0, MPI_Wtime() - start);
  if (!status)
    status = sp_case_mesh(workers, &config->mesh, &config->statement, &config->wanted,
                          &results->profile, terminal, &mesh);
  SP_AUTO_VALUE(sp_running) c = sp_running_begin(workers, mesh, config, results);
  c.report = report;
  c.evaluates = true;
  if (!status) status = run_on_mesh(&c);
  return sp_report_finish(report, status);
}

sp_status sp_run(const sp_workers *workers, const sp_config *config, const sp_profile *profile,
                 sp_terminal *terminal, sp_results *results) {
  const sp_workers *w = workers;
  *results = (sp_results){.profile = *profile};
  return sp_workers_meet(w, w->has_elements ? run_case(w, config, terminal, results) : SP_OK);
}
