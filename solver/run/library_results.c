#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/report/summary.h"
#include "solver/run/library.h"
#include "solver/run/run.h"

int sp_library_code(sp_status status) {
  const int code = sp_exit_code(status);
  return status == SP_ERR_STUDY ? SP_CASE_ERROR : code;
}

int sp_library_fail(const char *function, const char *reason) {
  return sp_library_code(sp_fail(SP_ERR_INPUT, "%s: %s", function, reason));
}

sp_status sp_library_check(const char *function, size_t expected, size_t count,
                           const void *values) {
  if (count != expected)
    return sp_fail(SP_ERR_INPUT, "%s: expected an array of %zu entries, count is %zu", function,
                   expected, count);
  if (!values && expected > 0) return sp_fail(SP_ERR_INPUT, "%s: an array is NULL", function);
  return SP_OK;
}

/* ---- Iterations, for the log ---- */

static sp_status keep_iteration(sp_case *c, const sp_cg_iteration *iteration) {
  const size_t ranks = (size_t)c->workers.count, i = c->iteration_count;
  SP_TRY(sp_reserve(i, 1, sizeof *c->iterations, "log", &c->iterations));
  SP_TRY(sp_reserve(i, 1, ranks * sizeof *c->seconds_by_rank, "log", &c->seconds_by_rank));
  c->iterations[i] = *iteration;
  if (iteration->seconds_by_rank)
    memcpy(&c->seconds_by_rank[i * ranks], iteration->seconds_by_rank,
           ranks * sizeof *c->seconds_by_rank);
  c->iteration_count++;
  return SP_OK;
}

bool sp_library_on_iteration(void *case_, const sp_cg_iteration *iteration) {
  sp_case *c = case_;
  if (c->config->output.log[0] && sp_comm_rank(c->comm) == 0)
    (void)keep_iteration(c, iteration); /* without memory the log has fewer rows */
  return c->progress && c->progress(c->context, iteration->iteration, iteration->error);
}

static void replay_iterations(sp_case *c, sp_report *report) {
  for (size_t i = 0; i < c->iteration_count; i++) {
    sp_cg_iteration *iteration = &c->iterations[i];
    if (iteration->applied)
      iteration->seconds_by_rank = &c->seconds_by_rank[i * (size_t)c->workers.count];
    (void)sp_report_iteration(iteration, report); /* keeps its failure */
  }
}

/* ---- Evaluation and report ---- */

void sp_library_forget(sp_case *c) {
  c->solved = c->evaluated = c->is_recorded = false;
  c->iteration_count = 0;
  sp_record_destroy(&c->record);
  SP_FREE(c->json, c->iterations, c->seconds_by_rank);
  c->json = NULL;
  c->iterations = NULL;
  c->seconds_by_rank = NULL;
}

/* The load that was added is a part of the residual, and a source of the balance. The sums of a
 * load that is made anew for each solve have it. */
static sp_status evaluate_with_load(sp_case *c, const double *extra) {
  sp_running *run = c->run;
  sp_load_sums *sums = &run->values.balance.sums;
  const sp_load_sums own = *sums;
  run->problem->extra = extra;
  if (run->march) SP_TRY(sp_running_find_sums(run));
  if (extra && !run->march && !run->problem->of_u)
    sp_load_sums_add(run->solver->space, extra, sums);
  const sp_status status = sp_running_evaluate(run);
  *sums = own;
  return status;
}

static sp_status evaluate_solution(sp_case *c) {
  sp_running *run = c->run;
  const bool has_load = c->is_set[SP_CASE_LOAD] || c->is_set[SP_CASE_SOURCE];
  const bool has_arrays =
      has_load || c->is_set[SP_CASE_DIRICHLET] || c->coefficients[0] || c->coefficients[1];
  free(run->bars.indicator);
  run->bars.indicator = NULL;
  run->bars.failure = (sp_kept_error){0};
  sp_accuracy_free(&run->bars.accuracy);
  SP_TRY(run->march ? sp_march_fetch(run->march, run->solution)
                    : sp_solver_fetch(run->solver, run->solution));
  if (c->added.data) SP_TRY(sp_agree(c->comm, sp_vector_read(&c->added, c->extra)));
  SP_TRY(sp_running_measure(run));
  SP_TRY(sp_running_time_levels(run));
  SP_TRY(evaluate_with_load(c, c->added.data ? c->extra : NULL));
  if (c->config->output.accuracy && !has_arrays && !run->march && !c->status)
    sp_running_find_bars(run, false);
  return SP_OK;
}

/* Fill the record, and with `writes` the log and the field. */
static sp_status fill_record(sp_case *c, bool writes) {
  sp_running *run = c->run;
  sp_running_report_setup(run);
  if (writes) replay_iterations(c, run->report);
  if (writes) SP_TRY(sp_running_write_field(run, c->status));
  const sp_status reported = sp_running_report(run, c->status);
  if (!c->status) sp_error_keep(reported, &c->outcome);
  return SP_OK;
}

static sp_status close_report(sp_case *c, sp_status filled) {
  sp_report *report = c->run->report;
  sp_kept_error kept;
  sp_error_keep(filled, &kept);
  (void)sp_report_finish(report, filled ? filled : sp_error_restore(&c->outcome));
  const sp_status logged =
      filled ? SP_OK : sp_agree(c->comm, sp_error_restore(&report->log_failure));
  sp_report_destroy(&c->run->report);
  return filled ? sp_error_restore(&kept) : logged;
}

/* The document of rank 0 on all ranks. */
static sp_status share_json(sp_case *c) {
  int64_t size = c->json ? (int64_t)strlen(c->json) + 1 : 0;
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, c->comm);
  sp_status status =
      size > INT_MAX ? sp_fail(SP_ERR_INPUT, "the JSON document is too long") : SP_OK;
  if (!status && !c->json) status = sp_allocate((size_t)size, 1, "JSON", &c->json);
  SP_TRY(sp_agree(c->comm, status));
  MPI_Bcast(c->json, (int)size, MPI_CHAR, 0, c->comm);
  return SP_OK;
}

static sp_status make_record(sp_case *c, bool writes) {
  if (!c->solved)
    return sp_fail(SP_ERR_INPUT, "there is no solution yet: solve first, or take a step");
  if (!c->evaluated) SP_TRY(evaluate_solution(c));
  c->evaluated = true;
  if (c->is_recorded && !writes) return SP_OK;
  sp_record_destroy(&c->record);
  free(c->json);
  c->json = NULL;
  c->is_recorded = false;
  if (writes) SP_TRY(sp_outputs_check(c->comm, c->config));
  sp_status status = sp_comm_rank(c->comm) == 0 ? sp_summary_begin(&c->record) : SP_OK;
  SP_TRY(sp_agree(c->comm, status));
  c->terminal.record = c->record;
  status = sp_report_open(&c->workers, c->config, writes, &c->terminal, &c->run->report);
  if (!status) status = close_report(c, fill_record(c, writes));
  if (!status && c->record) status = sp_summary_format(c->record, &c->outcome, &c->json);
  SP_TRY(sp_agree(c->comm, status));
  SP_TRY(share_json(c));
  c->is_recorded = true;
  return SP_OK;
}

/* ---- Values by name ---- */

static const sp_record_node *child(const sp_record_node *parent, const char *name) {
  const sp_record_node *node = parent->first;
  while (node && !(node->name && strcmp(node->name, name) == 0)) node = node->next;
  return node;
}

static const sp_record_node *find_row(const sp_record_node *table, const char *row) {
  static const char *const titles[] = {"name", "group", "kind"};
  for (size_t t = 0; t < sizeof titles / sizeof *titles; t++)
    for (const sp_record_node *node = table->first; node; node = node->next) {
      const sp_record_node *title = child(node, titles[t]);
      if (title && title->text && strcmp(title->text, row) == 0) return node;
    }
  return NULL;
}

static sp_status find_node(const sp_record *record, const char *table, const char *row,
                           const char *member, const sp_record_node **out) {
  const sp_record_node *node = sp_record_root(record);
  if (table) node = child(node, table);
  if (!node) return sp_fail(SP_ERR_INPUT, "there is no table '%s'", table);
  if (row) {
    node = find_row(node, row);
    if (!node) return sp_fail(SP_ERR_INPUT, "there is no row '%s' in %s", row, table);
  } else if (node->kind == SP_RECORD_TABLE && node->first && !node->first->next) {
    node = node->first;
  }
  *out = child(node, member);
  return *out ? SP_OK : sp_fail(SP_ERR_INPUT, "there is no '%s' in %s", member, table ? table : "");
}

/* Local, on rank 0. */
static sp_status find_value(const sp_record *record, const char *table, const char *row,
                            const char *member, double *value) {
  const sp_record_node *node;
  SP_TRY(find_node(record, table, row, member, &node));
  if (node->kind == SP_RECORD_INTEGER)
    *value = (double)node->integer;
  else if (node->kind == SP_RECORD_REAL)
    *value = node->real;
  else
    return sp_fail(SP_ERR_INPUT, "'%s' is not a number", member);
  return SP_OK;
}

int sp_case_value(sp_case *c, const char *table, const char *row, const char *member,
                  double *value) {
  if (!c) return sp_library_fail("sp_case_value", "no case, it is NULL");
  sp_status status = SP_OK;
  double found = 0;
  if (!member || !value || (row && !table))
    status = sp_fail(SP_ERR_INPUT, "sp_case_value: a row needs a table, and member and value must "
                                   "not be NULL");
  status = sp_agree(c->comm, status);
  if (!status) status = make_record(c, false);
  if (status) return sp_library_code(status);
  if (c->record) status = find_value(c->record, table, row, member, &found);
  status = sp_agree(c->comm, status);
  MPI_Bcast(&found, 1, MPI_DOUBLE, 0, c->comm);
  if (!status) *value = found;
  return sp_library_code(status);
}

int sp_case_json(sp_case *c, const char **text) {
  if (!c) return sp_library_fail("sp_case_json", "no case, it is NULL");
  sp_status status = SP_OK;
  if (!text) status = sp_fail(SP_ERR_INPUT, "sp_case_json: text must not be NULL");
  status = sp_agree(c->comm, status);
  if (!status) status = make_record(c, false);
  if (!status) *text = c->json;
  return sp_library_code(status);
}

int sp_case_write(sp_case *c) {
  return c ? sp_library_code(make_record(c, true))
           : sp_library_fail("sp_case_write", "no case, it is NULL");
}
