/* Report of a run. Everything goes into one record (io/record.h), which the tables on the
 * terminal, the run log (io/run_log.h) and the JSON document (solver/report/summary.h) print.
 *
 * report.c has the run from its heading to its outcome, report_setup.c the facts before the
 * iteration, report_results.c the tables of results, report_answers.c those of several solves. */
#pragma once

#include "io/profile.h"
#include "io/record.h"
#include "io/run_log.h"
#include "solver/report/notes.h"
#include "solver/report/outcome.h"
#include "solver/results/answers.h"
#include "solver/results/balance.h"
#include "solver/results/errors.h"
#include "solver/results/heat.h"
#include "solver/results/probe.h"
#include "solver/results/quantities.h"
#include "solver/solve/solver.h"
#include "solver/solve/workers.h"

/* Its fields are for the files named above, except outcome.unbalanced. */
typedef struct sp_report {
  const sp_workers *workers;
  MPI_Comm comm; /* of the ranks with elements */
  const sp_config *config;
  sp_terminal *terminal;
  sp_record *record;         /* on rank 0 of comm: the terminal's, or an own one; else NULL */
  sp_run_log *log;           /* on rank 0 of comm; NULL for none */
  bool log_has_begun;        /* it has been written */
  sp_kept_error log_failure; /* the first one; nothing is written afterwards */
  double flops, bytes, dofs; /* of one matvec, over all ranks */
  sp_note notes[SP_NOTES]; /* [note_count], one of a type, in the order in which they were found */
  int note_count, notes_printed;
  sp_outcome outcome;
} sp_report;

/* ---- The files of a run ---- */

/* Check that the outputs of `config` may and can be written. They may replace no file that the run
 * reads: the case file, the mesh or all of its parts (mesh/gmsh/gmsh.h), the initial field; files
 * that a .geo file merges are not known here. If two runs write the same file, the last one wins
 * (io/file.h). No file is left behind. Errors: SP_ERR_INPUT with the output, SP_ERR_SYSTEM "cannot
 * write WHAT PATH: reason". Collective. */
sp_status sp_outputs_check(MPI_Comm comm, const sp_config *config);

/* Check that `other`, another file that the run writes, is none of the outputs of `config` and none
 * of the inputs that the case names. Errors: SP_ERR_INPUT. Local. */
sp_status sp_outputs_check_beside(const sp_config *config, const sp_output_path *other);

/* ---- The run ---- */

/* Open the run log that the configuration names (none for ""), if it `logs`; collect
 * provenance, print the heading. `workers`, `config` and `terminal` must outlive *out. Errors:
 * SP_ERR_SYSTEM. Collective over workers->comm, like all functions here. */
sp_status sp_report_open(const sp_workers *workers, const sp_config *config, bool logs,
                         sp_terminal *terminal, sp_report **out);

/* Write the run log for the first time, in place of an older one, which earlier failures leave as
 * it is (io/run_log.h). Later calls write it again if it is time. A failure is kept for
 * sp_report_finish. `profile` gains the time. Local. */
void sp_report_begin(sp_report *report, sp_profile *profile);

/* sp_cg_options.on_iteration with the report as context: rows of the log, the progress line. A log
 * that cannot be written does not end the solve: the failure is kept for sp_report_finish. Local.
 */
sp_status sp_report_iteration(const sp_cg_iteration *iteration, void *report);

/* Phases, throughput, errors (norms may be NULL). `profile` gains the time of the log. Collective.
 */
void sp_report_results(sp_report *report, sp_profile *profile, const sp_cg_result *result,
                       const sp_error_norms *norms);

/* The largest resident size of this process so far, in bytes. Local. */
double sp_peak_memory(void);

/* Only the phase table, for a series of cases. Collective. */
void sp_report_phases(sp_report *report, const sp_profile *profile);

/* Close the log, if it has begun, with the outcome `status` of the run, and print the outcome
 * (solver/report/outcome.h). Return the status, or the log's own failure if the run had none.
 * Collective. */
sp_status sp_report_finish(sp_report *report, sp_status status);

/* Free; the log is already closed. NULL-safe; sets *report to NULL. Local. */
void sp_report_destroy(sp_report **report);

/* Find the notes of a case and record them in the table "notes", unless the report has a note of
 * that type. Notes that need the configuration or the problem are left out while `facts` has none.
 * Local. */
void sp_report_find_notes(sp_report *report, const sp_note_facts *facts);

/* Print the notes that have not been printed; a study prints them after its table. Local. */
void sp_report_print_notes(sp_report *report);

/* The note with this name, or NULL; the report owns it. Local. */
const sp_note *sp_report_note(const sp_report *report, const char *name);

/* ---- Set-up ---- */

/* Print the device, and which ranks have elements if not all do. Local. */
void sp_report_device(const sp_workers *workers, sp_terminal *terminal);

/* Sizes, methods and materials, once the solver has its operator. Collective. */
void sp_report_setup(sp_report *report, const sp_solver *solver);

/* ---- Tables of results ---- */

/* A row per level of a preconditioner, for a solve with `applications` of it. Nothing without
 * levels. Local. */
void sp_report_levels(sp_report *report, int64_t applications, int count,
                      const sp_level_time *times);

/* Print and record results of a solution, without its error norms, in this order:
 *
 *   - the balance, except for mass, with a row per term: the source, lambda u, the flux through
 *     each group of [boundary] and the default, the part that a projection removed, the imbalance,
 *   - the extrema of u with their place and material, and a row per material if there are several,
 *     with its heat unless that is NULL,
 *   - a row per result of [result]; x, y and z are not a number if there is no place,
 *   - u at the probes, with its error if there is an exact solution,
 *   - a row per line; the record gets all samples, with their flux if the problem has one.
 *
 * Local. */
void sp_report_solution(sp_report *report, const sp_problem *problem, const sp_balance *balance,
                        const sp_quantities *quantities, const sp_heat *heat,
                        const sp_probes *probes);

/* Print and record the answers of at least three runs along an axis: rows in /answers, a row per
 * answer in /limits. Judge them (solver/results/rates.h) down to the solver's error in rows[count].
 * Errors: SP_ERR_STUDY with the first answer that does not converge. Local; the same on all ranks.
 */
sp_status sp_answers_judge(sp_report *report, sp_study_axis axis, int count,
                           const sp_study_row *rows, const sp_answers *answers);

/* Print and record the answers with their errors. Errors: SP_ERR_STUDY with the first answer that
 * has none. Local; the same on all ranks. */
sp_status sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report);
