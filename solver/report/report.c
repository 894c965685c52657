#include "solver/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "io/file.h"
#include "mesh/gmsh/gmsh.h"
#include "solver/config/config.h"
#include "solver/report/provenance.h"

static void keep_failure(sp_report *report, sp_status status) {
  if (status && !report->log_failure.status) sp_error_keep(status, &report->log_failure);
}

static bool has_log(const sp_report *report) {
  return report->log && !report->log_failure.status;
}

/* ---- Files ---- */

static sp_status check_part(const sp_output_path *outputs, int count, const char *mesh, int part) {
  char what[64];
  SP_OWNED char *path = NULL;
  SP_TRY(sp_gmsh_part_path(mesh, part, &path));
  snprintf(what, sizeof what, "part %d of the mesh", part);
  const sp_input_path input = {.what = what, .path = path};
  return sp_output_paths_check(outputs, count, &input, 1);
}

/* Check outputs against the parts of the mesh. The other files that the run reads were checked with
 * the case (solver/config/config.h). */
static sp_status check_parts(const sp_config *config, const sp_output_path *outputs, int count) {
  int parts = 0;
  if (config->mesh.shape == SP_SHAPE_FILE) SP_TRY(sp_gmsh_count_parts(config->mesh.file, &parts));
  for (int part = 1; part <= parts; part++)
    SP_TRY(check_part(outputs, count, config->mesh.file, part));
  return SP_OK;
}

sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other) {
  sp_output_path all[SP_OUTPUTS + 1];
  sp_config_outputs(config, all);
  all[SP_OUTPUTS] = *other;
  const sp_input_path inputs[] = {
      {.what = "the mesh", .path = config->mesh.file},
      {.what = "the initial field", .path = sp_statement_initial_file(&config->statement)}};
  SP_TRY(sp_output_paths_check(other, 1, inputs, sizeof inputs / sizeof *inputs));
  SP_TRY(sp_output_paths_check(all, SP_OUTPUTS + 1, NULL, 0));
  return check_parts(config, other, 1);
}

sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config) {
  sp_output_path outputs[SP_OUTPUTS];
  const int rank = sp_comm_rank(comm);
  sp_config_outputs(config, outputs);
  sp_status status = check_parts(config, outputs, SP_OUTPUTS);
  for (int o = 0; o < SP_OUTPUTS && rank == 0 && !status; o++) {
    if (outputs[o].path[0] && !outputs[o].purpose[0])
      status = sp_file_try(outputs[o].path, SP_FILE_HDF5);
    if (status)
      status = sp_fail(status, "cannot write %s %s: %s", outputs[o].name, outputs[o].path,
                       sp_error_message());
  }
  return sp_agree(comm, status);
}

/* ---- Heading ---- */

/* A list of the words between commas; in the log the text. */
static void record_words(sp_record *record, const char *name, const char *words) {
  char word[512];
  sp_record_open(record, SP_RECORD_LIST, name);
  sp_record_log_text(record, words);
  while (*words) {
    const size_t length = strcspn(words, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, words);
    sp_record_text(record, NULL, word);
    words += length + (words[length] == ',');
  }
  sp_record_close(record);
}

static sp_status record_provenance(sp_report *report) {
  sp_record *record = report->record;
  const sp_workers *w = report->workers;
  char text[256];
  SP_OWNED char *hosts = NULL, *environment = NULL;
  SP_TRY(sp_list_hosts(report->comm, &hosts));
  sp_status status = sp_config_record(report->config, record);
  if (!status) status = sp_list_environment(&environment);
  SP_TRY(sp_agree(report->comm, status));
  sp_record_program(record, "sp_solve");
  sp_record_text(record, "status", "running");
  record_words(record, "hosts", hosts);
  sp_record_add(record, "ranks %d, ranks_with_elements %d, threads %d, kernel_threads %d", w->ranks,
                w->count, w->threads[1], w->team);
  sp_cpu_model(sizeof text, text);
  if (text[0]) sp_record_text(record, "cpu", text);
  sp_mpi_library(sizeof text, text);
  sp_record_add(record, "mpi %s, environment %s", text, environment);
  return SP_OK;
}

/* ---- Rows per iteration ---- */

enum { MATVEC, MATVEC_BY_RANK, RESIDUAL, SERIES };

/* A row of /matvec or /residual; the latter: ||r||, ||r|| / ||b||, the estimated error in the
 * energy norm, relative, and the seconds since the iteration began. */
typedef struct log_row {
  int64_t iteration;
  double values[4];
} log_row;

static sp_status create_log(sp_report *report) {
  static const char *const matvec[] = {"iteration", "seconds", "gflops", "gbytes_per_second",
                                       "gdofs_per_second"};
  static const char *const residual[] = {"iteration", "absolute", "relative", "error", "seconds"};
  const sp_log_series series[SERIES] = {
      [MATVEC] = {"matvec", "1, s, GFLOP/s, GB/s, GDOF/s", 5, matvec},
      [MATVEC_BY_RANK] = {"matvec_seconds_by_rank", "s", report->workers->count, NULL},
      [RESIDUAL] = {"residual", "1, 1, 1, 1, s", 5, residual}};
  return sp_run_log_create(report->config->output.log, report->record, SERIES, series,
                           &report->log);
}

static log_row throughput_row(const sp_report *report, int64_t iteration, double seconds) {
  return (log_row){iteration,
                   {seconds, report->flops / seconds * 1e-9, report->bytes / seconds * 1e-9,
                    report->dofs / seconds * 1e-9}};
}

sp_status sp_report_open(const sp_workers *workers, const sp_config *config, bool logs,
                         sp_terminal *terminal, sp_report **out) {
  MPI_Comm comm = workers->comm;
  const int rank = sp_comm_rank(comm);
  SP_AUTO(sp_report) report = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *report, "report", &report);
  if (!status) {
    *report = (sp_report){.workers = workers,
                          .comm = comm,
                          .config = config,
                          .terminal = terminal,
                          .record = terminal->record,
                          .outcome = {.tolerance = config->solver.tolerance}};
    if (rank == 0 && !report->record) status = sp_record_create(&report->record);
    if (!status && rank == 0 && logs && config->output.log[0]) status = create_log(report);
  }
  SP_TRY(sp_agree(comm, status));
  SP_TRY(record_provenance(report));
  sp_record_print(report->record, terminal,
                  "sp_solve {version:s} ({git_revision:s}), {ranks:d} rank{ranks?s}\n\n");
  *out = report;
  report = NULL;
  return SP_OK;
}

void sp_report_begin(sp_report *report, sp_profile *profile) {
  if (!has_log(report)) return;
  const double start = sp_profile_begin(NULL, SP_PHASE_LOG);
  keep_failure(report, report->log_has_begun ? sp_run_log_flush_if_due(report->log)
                                             : sp_run_log_flush(report->log));
  report->log_has_begun = true;
  sp_profile_end(profile, NULL, SP_PHASE_LOG, start);
}

/* Return the quantity that is compared with the tolerance: the error or, until it is known, the
 * residual. */
static double measure_of(const sp_config *config, const sp_cg_iteration *iteration) {
  const bool by_energy = config->solver.criterion == SP_CG_ENERGY && isfinite(iteration->error);
  return by_energy ? iteration->error : iteration->relative;
}

static void show_progress(sp_report *report, const sp_cg_iteration *iteration) {
  char more[96];
  const sp_config *config = report->config;
  sp_progress_describe(&report->outcome.progress, config->solver.tolerance, MPI_Wtime(),
                       sizeof more, more);
  const double measure = measure_of(config, iteration);
  sp_terminal_show(report->terminal, "  iteration %lld, %s %.1e%s", (long long)iteration->iteration,
                   measure == iteration->error ? "error estimate" : "relative residual", measure,
                   more);
}

sp_status sp_report_iteration(const sp_cg_iteration *iteration, void *context) {
  sp_report *report = context;
  sp_progress_note(&report->outcome.progress, measure_of(report->config, iteration));
  if (sp_terminal_is_due(report->terminal)) show_progress(report, iteration);
  if (!has_log(report)) return SP_OK;
  sp_status status = SP_OK;
  if (iteration->applied) {
    const log_row row = throughput_row(report, iteration->iteration, iteration->matvec_seconds);
    status = sp_run_log_append(report->log, MATVEC, &row);
    if (!status)
      status = sp_run_log_append(report->log, MATVEC_BY_RANK, iteration->seconds_by_rank);
  }
  const log_row row = {
      iteration->iteration,
      {iteration->residual, iteration->relative, iteration->error, iteration->seconds}};
  if (!status) status = sp_run_log_append(report->log, RESIDUAL, &row);
  keep_failure(report, status);
  return SP_OK;
}

/* ---- Phases ---- */

typedef struct short_text {
  char text[24];
} short_text;

/* Three significant digits. */
static short_text format_seconds(double seconds) {
  short_text out;
  const double size = fabs(seconds);
  const int decimals = size >= 100 || size == 0 ? 0 : 2 - (int)floor(log10(size));
  if (decimals <= 5)
    snprintf(out.text, sizeof out.text, "%.*f", decimals, seconds);
  else
    snprintf(out.text, sizeof out.text, "%.2e", seconds);
  return out;
}

/* Parts are indented, and shares of the solve stand in a column of their own. */
static void print_phase(sp_terminal *t, const sp_phase_row *row) {
  const int depth = row->depth;
  short_text calls = {""};
  if (row->calls > 0) snprintf(calls.text, sizeof calls.text, "%lld", (long long)row->calls);
  sp_terminal_print(t, "  %*s%-*s %7s %10s %10s %10s", 2 * depth, "", 17 - 2 * depth, row->name,
                    calls.text, format_seconds(row->seconds_min).text,
                    format_seconds(row->seconds_mean).text, format_seconds(row->seconds_max).text);
  if (depth > 0 && row->share != 0)
    sp_terminal_print(t, " %9s %7.1f %%\n", "", 100 * row->share);
  else
    sp_terminal_print(t, " %7.1f %%\n", 100 * row->share_of_total);
}

static void record_phases(const sp_profile *profile, const sp_phase_row *rows, sp_record *record) {
  sp_record_real(record, "total_seconds", rows[SP_PHASE_TOTAL].seconds_max, "s");
  sp_record_text(record, "total_from",
                 profile->calls[SP_PHASE_START] > 0 ? "start of the process" : "end of MPI_Init");
  sp_record_open(record, SP_RECORD_TABLE, "phases");
  for (const sp_phase_row *row = rows; row < rows + SP_PHASES; row++)
    sp_record_row(record,
                  "name %s, calls %lld, seconds_min %g [s], seconds_mean %g [s], "
                  "seconds_max %g [s], share %g, share_of_total %g, part_of %s",
                  row->name, (long long)row->calls, row->seconds_min, row->seconds_mean,
                  row->seconds_max, row->share, row->share_of_total, row->part_of);
  sp_record_close(record);
}

static void report_phases(sp_report *report, const sp_profile *profile, const sp_phase_row *rows) {
  sp_terminal *t = report->terminal;
  record_phases(profile, rows, report->record);
  sp_terminal_print(t, "\n  %-17s %7s %10s %10s %10s %9s %9s\n", "phase", "calls", "min [s]",
                    "mean [s]", "max [s]", "of total", "of solve");
  for (int p = 0; p < SP_PHASES; p++)
    if (rows[p].calls > 0 || rows[p].seconds_mean != 0) print_phase(t, &rows[p]);
}

void sp_report_phases(sp_report *report, const sp_profile *profile) {
  sp_phase_row rows[SP_PHASES];
  sp_profile_rows(report->comm, profile, rows);
  report_phases(report, profile, rows);
}

/* ---- Results ---- */

double sp_peak_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * (double)usage.ru_maxrss;
}

/* The mean of all applications on the slowest rank. */
static void record_matvec(const sp_report *report, const sp_phase_row *phase) {
  sp_record *record = report->record;
  if (phase->calls == 0) return;
  const log_row row = throughput_row(report, 0, phase->seconds_max / (double)phase->calls);
  sp_record_open(record, SP_RECORD_OBJECT, "matvec");
  sp_record_add(record,
                "calls %lld, seconds %g [s], gflops %g [GFLOP/s], gbytes_per_second %g [GB/s], "
                "gdofs_per_second %g [GDOF/s], share %g [1]",
                (long long)phase->calls, row.values[0], row.values[1], row.values[2], row.values[3],
                phase->share);
  sp_record_close(record);
}

static void record_results(const sp_report *report, const sp_phase_row *rows,
                           const sp_cg_result *result, const sp_error_norms *norms) {
  sp_record *record = report->record;
  const double seconds = rows[SP_PHASE_SOLVE].seconds_max;
  const double updates = report->dofs * (double)result->iterations;
  sp_record_add(record,
                "iterations %lld, absolute_residual %g [1], relative_residual %g [1], "
                "error_estimate %g [1], solve_seconds %g [s], cg_gdofs_per_second %g [GDOF/s], "
                "matvec_share %g [1]",
                (long long)result->iterations, result->residual, result->relative, result->error,
                seconds, seconds > 0 ? updates / seconds * 1e-9 : 0, rows[SP_PHASE_MATVEC].share);
  record_matvec(report, &rows[SP_PHASE_MATVEC]);
  if (!norms) return;
  sp_record_open(record, SP_RECORD_ROW, "errors");
  sp_record_add(record, "L2 %g, H1 %g, max %g", norms->l2, norms->h1, norms->max);
  sp_record_close(record);
}

static void print_files(const sp_report *report) {
  const char *log = report->config->output.log;
  if (log[0]) sp_terminal_print(report->terminal, "\n  %-16s %s\n", "run log", log);
  sp_record_print(report->record, report->terminal,
                  log[0] ? "[  field            {field:s}\n]"
                         : "[\n  field            {field:s}\n]");
}

void sp_report_results(sp_report *report, sp_profile *profile, const sp_cg_result *result,
                       const sp_error_norms *norms) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  sp_phase_row rows[SP_PHASES];
  const double memory = sp_peak_memory();
  double largest, all;
  report->outcome.solved = true;
  report->outcome.iterations = result->iterations;
  MPI_Allreduce(&memory, &largest, 1, MPI_DOUBLE, MPI_MAX, report->comm);
  MPI_Allreduce(&memory, &all, 1, MPI_DOUBLE, MPI_SUM, report->comm);
  sp_profile_rows(report->comm, profile, rows);
  record_results(report, rows, result, norms);
  sp_record_add(record, "peak_memory %g [B], peak_memory_of_a_rank %g [B]", all, largest);
  sp_record_print(record, t,
                  "\n  iterations       {iterations:d}\n"
                  "  residual         {absolute_residual:.3e}, relative {relative_residual:.3e}\n");
  if (isfinite(result->error))
    sp_record_print(record, t,
                    "  error estimate   {error_estimate:.1e}, relative, in the energy norm\n");
  sp_record_print(record, t,
                  "[  errors           L2 {errors.L2:.6e}   H1 {errors.H1:.6e}   "
                  "max {errors.max:.6e}\n]");
  report_phases(report, profile, rows);
  sp_record_print(record, t,
                  "[\n  matvec           {matvec.gflops:.3f} GFLOP/s   "
                  "{matvec.gbytes_per_second:.3f} GB/s   {matvec.gdofs_per_second:.4f} GDOF/s   "
                  "{matvec.share*100:.1f} % of the solve\n"
                  "  CG               {cg_gdofs_per_second:.4f} GDOF/s (degrees of freedom times "
                  "iterations)\n]"
                  "  memory           {peak_memory*1e-6:.1f} MB at the peak, "
                  "{peak_memory_of_a_rank*1e-6:.1f} MB on the largest rank\n");
  print_files(report);
}

/* ---- Outcome ---- */

/* The last write: the outcome, and all rows that are still in memory. */
static void close_log(sp_report *report, const sp_kept_error *outcome) {
  char text[SP_MESSAGE_SIZE + 64];
  const sp_status status = outcome->status;
  const bool explained = status && status != SP_ERR_NOT_CONVERGED && status != SP_ERR_INTERRUPTED;
  snprintf(text, sizeof text, "%s%s%s", sp_outcome_word(status), explained ? ": " : "",
           explained ? outcome->message : "");
  sp_record_text(report->record, "status", text);
  keep_failure(report, sp_run_log_close(&report->log));
}

sp_status sp_report_finish(sp_report *report, sp_status status) {
  sp_kept_error outcome;
  sp_error_keep(status, &outcome);
  sp_terminal_clear(report->terminal);
  sp_report_print_notes(report);
  if (report->log) close_log(report, &outcome);
  const sp_status closed = sp_agree(report->comm, sp_error_restore(&report->log_failure));
  sp_outcome_print(&report->outcome, status ? status : closed, report->terminal);
  if (!status) return closed;
  if (closed) return sp_fail(status, "%s; besides, %s", outcome.message, sp_error_message());
  return sp_error_restore(&outcome);
}

void sp_report_destroy(sp_report **report) {
  if (!*report) return;
  /* Without sp_report_finish the last rows are lost; the log stays as it was last written. */
  if ((*report)->log) (void)sp_run_log_close(&(*report)->log);
  if ((*report)->record != (*report)->terminal->record) sp_record_destroy(&(*report)->record);
  free(*report);
  *report = NULL;
}
