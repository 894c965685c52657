#include "solver/run/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "io/team.h"
#include "mesh/box.h"
#include "mesh/gmsh.h"
#include "solver/case/config.h"
#include "solver/run/outcome.h"
#include "solver/run/precondition.h"
#include "solver/run/provenance.h"
#include "solver/run/record.h"
#include "solver/run/report_materials.h"
#include "solver/run/version.h"

struct sp_report {
  const sp_workers *workers;
  MPI_Comm comm; /* of the ranks with elements */
  const sp_config *config;
  sp_terminal *terminal;
  sp_record record;          /* on rank 0, if wanted */
  const char *field;         /* the file that was written, NULL if there is none */
  double flops, bytes, dofs; /* of one matvec, over all ranks */
  double last_line;          /* relative residual of the last line in a batch log */
  sp_outcome outcome;
};

/* What the machine is, of rank 0. */
static void record_machine(sp_record *record, const char *environment) {
  char text[256];
  sp_cpu_model(sizeof text, text);
  if (text[0]) sp_record_text(record, "cpu", text);
  sp_mpi_library(sizeof text, text);
  sp_record_text(record, "mpi", text);
  sp_record_text(record, "environment", environment);
}

/* Besides status = "running", which the log sets itself. */
static sp_status write_provenance(sp_report *report) {
  sp_record *record = &report->record;
  char *hosts = NULL, *text = NULL, *environment = NULL, now[SP_TIME_SIZE];
  sp_status status = sp_list_hosts(report->comm, &hosts);
  if (!status) {
    status = sp_config_format(report->config, &text);
    if (!status && record->json) status = sp_config_write_json(report->config, record->json);
    if (!status) status = sp_list_environment(&environment);
    status = sp_agree(report->comm, status);
  }
  if (!status) {
    sp_time_now(now);
    sp_record_text(record, "program", "sp_solve");
    sp_record_text(record, "version", sp_version());
    sp_record_text(record, "git_revision", sp_revision());
    sp_record_text(record, "start_time", now);
    sp_record_words(record, "hosts", hosts);
    sp_record_integer(record, "ranks", report->workers->ranks);
    sp_record_integer(record, "ranks_with_elements", report->workers->count);
    sp_record_integer(record, "threads", report->workers->threads[1]);
    sp_record_integer(record, "kernel_threads", report->workers->team);
    record_machine(record, environment);
    if (sp_record_logs(record))
      sp_record_keep(record, sp_run_log_attribute_string(record->log, "case", text));
  }
  free(hosts);
  free(text);
  free(environment);
  return status;
}

sp_status sp_report_open(const sp_workers *workers, const sp_config *config, sp_terminal *terminal,
                         sp_report **out) {
  MPI_Comm comm = workers->comm;
  int rank;
  MPI_Comm_rank(comm, &rank);
  *out = NULL;
  sp_report *report;
  sp_status status = sp_allocate(1, sizeof *report, "report", &report);
  if (!status) {
    *report = (sp_report){.workers = workers,
                          .comm = comm,
                          .config = config,
                          .terminal = terminal,
                          .last_line = INFINITY,
                          .record = {.json = terminal->json},
                          .outcome = {.tolerance = config->solver.tolerance}};
    if (rank == 0 && config->output.log[0])
      status = sp_run_log_create(config->output.log, workers->count, &report->record.log);
  }
  status = sp_agree(comm, status);
  if (!status) status = write_provenance(report);
  if (status) {
    sp_report_close(&report);
    return status;
  }
  sp_terminal_print(terminal, "sp_solve %s (%s), %d rank%s\n\n", sp_version(), sp_revision(),
                    workers->ranks, sp_plural(workers->ranks));
  *out = report;
  return SP_OK;
}

static void report_threads(const sp_workers *w, sp_terminal *terminal) {
  sp_terminal_print(terminal, "  %-16s %d", "threads", w->threads[0]);
  if (w->threads[1] > w->threads[0]) sp_terminal_print(terminal, " to %d", w->threads[1]);
  sp_terminal_print(terminal, " per rank");
  const bool on_host = w->platform.backend == &sp_backend_host;
  if (!on_host || w->team == 1)
    sp_terminal_print(terminal, ", in set-up and results");
  else if (w->team < w->threads[0])
    sp_terminal_print(terminal, ", %d of OpenMP in kernels", w->team);
  if (on_host && w->team > 1 && w->team > sp_team_processors())
    sp_terminal_print(terminal, "; they share %d processor%s (mpirun --bind-to none)",
                      sp_team_processors(), sp_plural(sp_team_processors()));
  /* On CPUs more ranks are better than more threads. */
  if (w->threads[0] == 1 && w->idle_cores > 0 && !on_host)
    sp_terminal_print(terminal, "; %d idle core%s (mpirun --bind-to none)", w->idle_cores,
                      sp_plural(w->idle_cores));
  sp_terminal_print(terminal, "\n");
}

void sp_report_device(const sp_workers *workers, sp_terminal *terminal) {
  const sp_platform *p = &workers->platform;
  sp_terminal_print(terminal, "  %-16s %s\n", "device", p->backend->describe(p->device));
  if (workers->count < workers->ranks)
    sp_terminal_print(terminal, "  %-16s %s\n", "ranks", workers->description);
  report_threads(workers, terminal);
}

static const char *mesh_name(const sp_config *config) {
  static const char *const boxes[] = {
      [SP_MAP_NONE] = "box", [SP_MAP_SINE] = "sine box", [SP_MAP_KERSHAW] = "Kershaw box"};
  return config->mesh.shape == SP_SHAPE_FILE ? config->mesh.file : boxes[config->mesh.map];
}

/* The preconditioner to try where `name` does not converge, NULL if that is the best one. */
static const char *better_preconditioner(sp_operator_kind kind, const char *name) {
  const char *best = sp_preconditioner_names[sp_precondition_best(kind)];
  return strcmp(best, name) == 0 ? NULL : best;
}

sp_status sp_report_setup(sp_report *report, const sp_operator *op, const char *geometry_reason,
                          const sp_preconditioner *preconditioner,
                          const char *preconditioner_reason, const sp_problem *problem,
                          const sp_jacobian_range *range) {
  const sp_config *config = report->config;
  const sp_mesh *mesh = op->space->mesh;
  sp_record *record = &report->record;
  char described[256] = "";
  if (preconditioner) preconditioner->describe(preconditioner, sizeof described, described);
  const char *device = op->backend->describe(op->device);
  const sp_operator_row *row = &sp_operator_rows[op->kind];
  const char *geometry = sp_geometry_kind_name(op->geometry);
  const char *name = preconditioner ? preconditioner->name : "none";
  const char *solver = sp_cg_is_in_one_sweep(op, preconditioner) ? "CG in one sweep" : "CG";
  int ranks;
  MPI_Comm_size(op->comm, &ranks);
  report->flops = op->flops;
  report->bytes = op->bytes;
  report->dofs = (double)op->global_dofs;
  report->outcome.better = better_preconditioner(op->kind, name);
  report->outcome.cure = preconditioner ? preconditioner->cure : NULL;

  sp_record_text(record, "device", device);
  sp_record_text(record, "exchange", op->space->transport);
  sp_record_text(record, "geometry", geometry);
  sp_record_text(record, "geometry_reason", geometry_reason);
  sp_record_text(record, "solver", solver);
  sp_record_text(record, "preconditioner", name);
  sp_record_text(record, "preconditioner_details", described);
  sp_record_text(record, "preconditioner_reason", preconditioner_reason);
  sp_record_integer(record, "elements", mesh->global_elements);
  sp_record_integer(record, "order", op->order);
  sp_record_integer(record, "dofs", op->global_dofs);
  sp_record_real(record, "flops_per_matvec", op->flops, "1");
  sp_record_real(record, "bytes_per_matvec", op->bytes, "B");
  sp_record_real(record, "smallest_jacobian", range->smallest, "1");
  sp_record_real(record, "largest_jacobian", range->largest, "1");

  sp_terminal *t = report->terminal;
  sp_report_device(report->workers, t);
  if (ranks > 1) sp_terminal_print(t, "  %-16s %s\n", "exchange", op->space->transport);
  const bool split = config->mesh.shape == SP_SHAPE_FILE && sp_gmsh_is_split(config->mesh.file);
  sp_terminal_print(t, "  %-16s %s%s, %lld element%s, |J| from %.3g to %.3g\n", "mesh",
                    mesh_name(config), split ? ", one part a rank" : "",
                    (long long)mesh->global_elements, sp_plural(mesh->global_elements),
                    range->smallest, range->largest);
  if (mesh->hexes->file.left_out > 0)
    sp_terminal_print(t, "  %-16s %lld volume element%s in no Physical Volume left out\n", "note",
                      (long long)mesh->hexes->file.left_out, sp_plural(mesh->hexes->file.left_out));
  if (mesh->hexes->file.rough > 0)
    sp_terminal_print(t,
                      "  %-16s %lld rough curved element%s, most of all element %lld: the nodes "
                      "follow no\n  %-16s smooth map, so expect larger errors (gmsh: take "
                      "Mesh.ElementOrder = 4 at most)\n",
                      "note", (long long)mesh->hexes->file.rough,
                      sp_plural(mesh->hexes->file.rough), (long long)mesh->hexes->file.roughest,
                      "");
  if (row->has_boundary && mesh->hexes->group_count > 0 && mesh->unnamed_faces > 0)
    sp_terminal_print(
        t,
        "  %-16s the default condition applies to %lld exterior face%s in no group; a "
        "crack?\n",
        "note", (long long)mesh->unnamed_faces, sp_plural(mesh->unnamed_faces));
  sp_terminal_print(t, "  %-16s N = %d, %lld degrees of freedom\n", "discretization", op->order,
                    (long long)op->global_dofs);
  sp_terminal_print(t, "  %-16s %s", "operator", sp_operator_name(op->kind));
  sp_report_materials(t, config, row, &problem->materials);
  sp_terminal_print(t, "  %-16s %s: %s\n", "geometry", geometry, geometry_reason);
  sp_terminal_print(
      t, "  %-16s %s, tolerance %.3g on the %s\n", "solver", solver, config->solver.tolerance,
      config->solver.criterion == SP_CG_ENERGY ? "error in the energy norm" : "relative residual");
  sp_terminal_print(t, "  %-16s %s: %s\n", "preconditioner", name, preconditioner_reason);
  if (described[0]) sp_terminal_print(t, "  %-16s %s\n", "", described);
  return SP_OK;
}

void sp_report_magnification(sp_report *report, double magnification) {
  static const double WORTH_A_NOTE = 1e6;
  sp_record_real(&report->record, "mean_magnification", magnification, "1");
  if (magnification > WORTH_A_NOTE)
    sp_terminal_print(
        report->terminal,
        "  %-16s lambda and alpha alone determine the mean of the solution: errors of "
        "the data\n  %-16s (quadrature, rounding) count there up to %.0e-fold\n",
        "note", "", magnification);
}

void sp_report_jumps(sp_report *report, const sp_interface_jumps *jumps) {
  /* An interface of curved elements is not exactly the one that the formulas are made for. */
  static const double WORTH_A_NOTE = 1e-4;
  if (jumps->solution <= WORTH_A_NOTE * jumps->solution_size &&
      jumps->flux <= WORTH_A_NOTE * jumps->flux_size)
    return;
  sp_terminal_print(
      report->terminal,
      "  %-16s between materials the exact solution jumps by up to %.1e, its kappa du/dn by up to "
      "%.1e:\n  %-16s it does not solve this problem, and errors do not vanish\n",
      "note", jumps->solution, jumps->flux, "");
}

static sp_matvec_row throughput(const sp_report *report, int64_t iteration, double seconds) {
  return (sp_matvec_row){.iteration = iteration,
                         .seconds = seconds,
                         .gflops = report->flops / seconds * 1e-9,
                         .gbytes_per_second = report->bytes / seconds * 1e-9,
                         .gdofs_per_second = report->dofs / seconds * 1e-9};
}

/* What the tolerance is compared with; before the error is known the residual. */
static double measure_of(const sp_config *config, const sp_cg_iteration *iteration) {
  const bool by_energy = config->solver.criterion == SP_CG_ENERGY && isfinite(iteration->error);
  return by_energy ? iteration->error : iteration->relative;
}

static void show_progress(sp_report *report, const sp_cg_iteration *iteration) {
  char more[96];
  const sp_config *config = report->config;
  sp_progress_describe(&report->outcome.progress, config->solver.tolerance,
                       config->solver.max_iterations, MPI_Wtime(), sizeof more, more);
  char text[160];
  const double measure = measure_of(config, iteration);
  snprintf(text, sizeof text, "  iteration %lld, %s %.1e%s", (long long)iteration->iteration,
           measure == iteration->error ? "error estimate" : "relative residual", measure, more);
  sp_terminal_show(report->terminal, "%s", text);
  /* In a batch log, a line per decade; fast runs need none. */
  if (measure > 0.1 * report->last_line) return;
  if (!sp_terminal_is_silent(report->terminal, 1)) return;
  sp_terminal_print(report->terminal, "%s\n", text);
  report->last_line = measure;
}

sp_status sp_report_iteration(const sp_cg_iteration *iteration, void *context) {
  sp_report *report = context;
  sp_progress_note(&report->outcome.progress, iteration->iteration,
                   measure_of(report->config, iteration));
  if (sp_terminal_is_due(report->terminal)) show_progress(report, iteration);
  if (!sp_record_logs(&report->record)) return SP_OK;
  sp_status status = SP_OK;
  if (iteration->applied) {
    const sp_matvec_row row = throughput(report, iteration->iteration, iteration->matvec_seconds);
    status = sp_run_log_matvec(report->record.log, &row, iteration->seconds_by_rank);
  }
  const sp_residual_row row = {.iteration = iteration->iteration,
                               .absolute = iteration->residual,
                               .relative = iteration->relative,
                               .error = iteration->error,
                               .seconds = iteration->seconds};
  if (!status) status = sp_run_log_residual(report->record.log, &row);
  sp_record_keep(&report->record, status);
  return SP_OK;
}

void sp_report_begin(sp_report *report, sp_profile *profile) {
  if (!sp_record_logs(&report->record)) return;
  const double start = sp_profile_begin(NULL, SP_PHASE_LOG);
  sp_record_keep(&report->record, sp_run_log_flush(report->record.log));
  sp_profile_end(profile, NULL, SP_PHASE_LOG, start);
}

void sp_report_field(sp_report *report, const char *path) {
  report->field = path;
  sp_json_text(report->record.json, "field", path);
}

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
static void print_phase(sp_terminal *t, int depth, const sp_phase_row *row) {
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

static void print_phases(sp_report *report, const sp_phase_row *rows) {
  sp_terminal *t = report->terminal;
  sp_terminal_print(t, "\n  %-17s %7s %10s %10s %10s %9s %9s\n", "phase", "calls", "min [s]",
                    "mean [s]", "max [s]", "of total", "of solve");
  for (int p = 0; p < SP_PHASES; p++)
    if (rows[p].calls > 0 || rows[p].seconds_mean != 0)
      print_phase(t, sp_profile_depth((sp_phase)p), &rows[p]);
}

/* From where `total` counts. */
static void record_phases(sp_report *report, const sp_profile *profile, const sp_phase_row *rows) {
  sp_record_real(&report->record, "total_seconds", rows[SP_PHASE_TOTAL].seconds_max, "s");
  sp_record_text(&report->record, "total_from",
                 sp_profile_has_start(profile) ? "start of the process" : "end of MPI_Init");
  sp_record_phases(&report->record, SP_PHASES, rows);
}

void sp_report_phases(sp_report *report, const sp_profile *profile) {
  sp_phase_row rows[SP_PHASES];
  sp_profile_rows(report->comm, profile, rows);
  print_phases(report, rows);
  record_phases(report, profile, rows);
}

sp_status sp_report_keep(sp_report *report, sp_status status) {
  sp_record_keep(&report->record, status);
  return status;
}

void sp_report_text(sp_report *report, const char *name, const char *value) {
  sp_record_text(&report->record, name, value);
}

void sp_report_table(sp_report *report, const char *name, int column_count,
                     const sp_log_column *columns, int row_count, const sp_log_cell *cells) {
  sp_record_table(&report->record, name, column_count, columns, row_count, cells);
}

/* Largest resident size of any rank, and the sum, in bytes. */
static void measure_memory(MPI_Comm comm, double *largest, double *sum) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const double bytes = 1024.0 * (double)usage.ru_maxrss;
  MPI_Allreduce(&bytes, largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Allreduce(&bytes, sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* What both the log and the terminal tell of a solve. */
typedef struct summary {
  sp_phase_row rows[SP_PHASES];
  double cg_rate;      /* GDOF/s */
  double largest, all; /* memory, bytes */
  const sp_cg_result *result;
  const sp_error_norms *norms; /* or NULL */
} summary;

/* The mean of all applications on the slowest rank. */
static sp_matvec_row mean_matvec(const sp_report *report, const summary *s) {
  const sp_phase_row *matvec = &s->rows[SP_PHASE_MATVEC];
  return throughput(report, s->result->iterations, matvec->seconds_max / (double)matvec->calls);
}

static void record_matvec(sp_json *json, const sp_matvec_row *row, const sp_phase_row *phase) {
  sp_json_open_object(json, "matvec");
  sp_json_integer(json, "calls", phase->calls);
  sp_json_real(json, "seconds", row->seconds);
  sp_json_real(json, "gflops", row->gflops);
  sp_json_real(json, "gbytes_per_second", row->gbytes_per_second);
  sp_json_real(json, "gdofs_per_second", row->gdofs_per_second);
  sp_json_real(json, "share", phase->share);
  sp_json_close(json);
}

static void record_results(sp_report *report, const summary *s) {
  sp_record *record = &report->record;
  const sp_phase_row *matvec = &s->rows[SP_PHASE_MATVEC];
  sp_record_integer(record, "iterations", s->result->iterations);
  sp_record_real(record, "absolute_residual", s->result->residual, "1");
  sp_record_real(record, "relative_residual", s->result->relative, "1");
  sp_record_real(record, "error_estimate", s->result->error, "1");
  sp_record_real(record, "solve_seconds", s->rows[SP_PHASE_SOLVE].seconds_max, "s");
  sp_record_real(record, "cg_gdofs_per_second", s->cg_rate, "GDOF/s");
  sp_record_real(record, "matvec_share", matvec->share, "1");
  sp_record_real(record, "peak_memory", s->all, "B");
  sp_record_real(record, "peak_memory_of_a_rank", s->largest, "B");
  if (matvec->calls == 0) return;
  const sp_matvec_row row = mean_matvec(report, s);
  record_matvec(record->json, &row, matvec);
}

static void print_files(const sp_report *report) {
  const char *log = report->config->output.log, *field = report->field;
  sp_terminal *t = report->terminal;
  if (log[0]) sp_terminal_print(t, "\n  %-16s %s\n", "run log", log);
  if (field) sp_terminal_print(t, "%s  %-16s %s\n", log[0] ? "" : "\n", "field", field);
}

static void print_results(sp_report *report, const summary *s) {
  sp_terminal *t = report->terminal;
  const sp_phase_row *matvec = &s->rows[SP_PHASE_MATVEC];
  sp_terminal_print(t, "\n  %-16s %lld\n", "iterations", (long long)s->result->iterations);
  sp_terminal_print(t, "  %-16s %.3e, relative %.3e\n", "residual", s->result->residual,
                    s->result->relative);
  sp_terminal_print(t, "  %-16s %.1e, relative, in the energy norm\n", "error estimate",
                    s->result->error);
  if (s->result->rounding)
    sp_terminal_print(t, "  %-16s rounding hides what is left of the residual\n", "note");
  if (s->norms)
    sp_terminal_print(t, "  %-16s L2 %.6e   H1 %.6e   max %.6e\n", "errors", s->norms->l2,
                      s->norms->h1, s->norms->max);
  print_phases(report, s->rows);
  if (matvec->calls > 0) {
    const sp_matvec_row row = mean_matvec(report, s);
    sp_terminal_print(
        t, "\n  %-16s %.3f GFLOP/s   %.3f GB/s   %.4f GDOF/s   %.1f %% of the solve\n", "matvec",
        row.gflops, row.gbytes_per_second, row.gdofs_per_second, 100 * matvec->share);
    sp_terminal_print(t, "  %-16s %.4f GDOF/s (degrees of freedom times iterations)\n", "CG",
                      s->cg_rate);
  }
  sp_terminal_print(t, "  %-16s %.1f MB at the peak, %.1f MB on the largest rank\n", "memory",
                    s->all * 1e-6, s->largest * 1e-6);
  print_files(report);
}

sp_status sp_report_results(sp_report *report, sp_profile *profile, const sp_cg_result *result,
                            const sp_error_norms *norms) {
  summary s = {.result = result, .norms = norms};
  report->outcome.solved = true;
  report->outcome.iterations = result->iterations;
  const double start = sp_profile_begin(NULL, SP_PHASE_LOG);
  if (norms) sp_record_errors(&report->record, norms);
  measure_memory(report->comm, &s.largest, &s.all); /* other ranks wait for the log's */
  if (report->config->output.log[0]) sp_profile_end(profile, NULL, SP_PHASE_LOG, start);
  sp_profile_rows(report->comm, profile, s.rows);
  const double seconds = s.rows[SP_PHASE_SOLVE].seconds_max;
  const double iterations = (double)result->iterations;
  if (seconds > 0) s.cg_rate = report->dofs * iterations / seconds * 1e-9;
  print_results(report, &s);
  record_results(report, &s);
  record_phases(report, profile, s.rows);
  return SP_OK;
}

/* The last write: the outcome, and all rows that are still in memory. */
static void close_log(sp_report *report, sp_status status) {
  char outcome[SP_MESSAGE_SIZE + 64];
  const char *word = sp_outcome_word(status);
  const bool explained = status && status != SP_ERR_NOT_CONVERGED && status != SP_ERR_INTERRUPTED;
  snprintf(outcome, sizeof outcome, "%s%s%s", word, explained ? ": " : "",
           explained ? sp_error_message() : "");
  if (sp_record_logs(&report->record))
    sp_record_keep(&report->record,
                   sp_run_log_attribute_string(report->record.log, "status", outcome));
  sp_record_keep(&report->record, sp_run_log_close(&report->record.log));
}

void sp_report_unbalanced(sp_report *report) {
  report->outcome.unbalanced = true;
}

sp_status sp_report_finish(sp_report *report, sp_status status) {
  if (!report) return status;
  char message[1024];
  snprintf(message, sizeof message, "%s", sp_error_message());
  sp_terminal_clear(report->terminal);
  if (report->record.log) close_log(report, status);
  sp_status closed = SP_OK;
  if (report->record.failure[0]) closed = sp_fail(SP_ERR_SYSTEM, "%s", report->record.failure);
  closed = sp_agree(report->comm, closed);
  sp_outcome_print(&report->outcome, status ? status : closed, report->terminal);
  if (!status) return closed;
  if (closed) return sp_fail(status, "%s; besides, %s", message, report->record.failure);
  return sp_fail(status, "%s", message);
}

void sp_report_close(sp_report **report) {
  if (!*report) return;
  /* Without sp_report_finish the last rows are lost with the rest of the run; what was written
   * stays. */
  if ((*report)->record.log) (void)sp_run_log_close(&(*report)->record.log);
  free(*report);
  *report = NULL;
}
