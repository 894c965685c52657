/* What a run tells: the tables on the terminal, the run log, and the JSON document of the terminal
 * (io/terminal.h), which has the values of the log under the same names. */
#ifndef SP_SOLVER_RUN_REPORT_H
#define SP_SOLVER_RUN_REPORT_H

#include "io/terminal.h"
#include "operators/operator.h"
#include "solver/linear/cg.h"
#include "solver/problem/errors.h"
#include "solver/problem/interfaces.h"
#include "solver/problem/load.h"
#include "solver/problem/problem.h"
#include "solver/run/profile.h"
#include "solver/run/workers.h"

typedef struct sp_report sp_report;

/* Open the run log that the configuration names (none for ""), collect provenance, print the
 * heading. `workers`, `config` and `terminal` must outlive *out. Errors: SP_ERR_SYSTEM. Collective
 * over workers->comm, like all functions here. */
sp_status sp_report_open(const sp_workers *workers, const sp_config *config, sp_terminal *terminal,
                         sp_report **out);

/* Print the device, and which ranks have elements if not all do. Local. */
void sp_report_device(const sp_workers *workers, sp_terminal *terminal);

/* Sizes, known once the operator is built; `op` must outlive the iteration. `geometry_reason` is
 * sp_geometry_choose's, `preconditioner_reason` sp_precondition_begin's. Collective. */
sp_status sp_report_setup(sp_report *report, const sp_operator *op, const char *geometry_reason,
                          const sp_preconditioner *preconditioner,
                          const char *preconditioner_reason, const sp_problem *problem,
                          const sp_jacobian_range *range);

/* How much larger errors of the data come in a mean that lambda and alpha alone determine
 * (sp_null_space.magnification): a note where this is a lot. Local. */
void sp_report_magnification(sp_report *report, double magnification);

/* A note where the exact solution does not fit the materials (solver/problem/interfaces.h). Local.
 */
void sp_report_jumps(sp_report *report, const sp_interface_jumps *jumps);

/* From now on the run log is this run's: write it for the first time, in place of an older one.
 * What fails before leaves that as it is (io/run_log.h). A failure is kept for sp_report_finish.
 * `profile` gains the time. Local. */
void sp_report_begin(sp_report *report, sp_profile *profile);

/* The field was written as `path`, which is not output.field; it stays the caller's. Local. */
void sp_report_field(sp_report *report, const char *path);

/* sp_cg_options.on_iteration with the report as context: rows of the log, the progress line. A log
 * that cannot be written does not end the solve: the failure is kept for sp_report_finish. Local.
 */
sp_status sp_report_iteration(const sp_cg_iteration *iteration, void *report);

/* Phases, throughput, errors (norms may be NULL): tables and log. `profile` gains the time of the
 * log. Collective. */
sp_status sp_report_results(sp_report *report, sp_profile *profile, const sp_cg_result *result,
                            const sp_error_norms *norms);

/* The phase table alone, for a series of cases. Collective. */
void sp_report_phases(sp_report *report, const sp_profile *profile);

/* Keep a failure of `status` for sp_report_finish, which then ends the log; returns `status`.
 * Local.
 */
sp_status sp_report_keep(sp_report *report, sp_status status);

/* A root attribute of the log, and a table of its own (io/run_log.h), if there is a log; failures
 * are kept for sp_report_finish. Local. */
void sp_report_text(sp_report *report, const char *name, const char *value);
void sp_report_table(sp_report *report, const char *name, int column_count,
                     const sp_log_column *columns, int row_count, const sp_log_cell *cells);

/* Let the last line say that the balance does not close. Local. */
void sp_report_unbalanced(sp_report *report);

/* Close the log, if it has begun, with the outcome `status` of the run, print the outcome
 * (solver/run/outcome.h), and return the status, or the log's own failure if the run had none.
 * `report` may be NULL. Collective. */
sp_status sp_report_finish(sp_report *report, sp_status status);

/* Free; the log is already closed. NULL-safe; sets *report to NULL. Local. */
void sp_report_close(sp_report **report);

#endif
