/* A case from its configuration to its results, alone or as one of a series. */
#pragma once

#include "io/terminal.h"
#include "solver/config/config.h"
#include "solver/report/report.h"
#include "solver/results/answers.h"
#include "solver/run/solution.h"
#include "solver/solve/mesh.h"
#include "solver/solve/workers.h"

/* Read or make the mesh, number the unknowns, build the operator and the right-hand side, solve,
 * measure the errors, write the run log and the field, and print the tables. Log and field are also
 * written if the iteration does not converge, or is interrupted by a signal. `profile` has the
 * times before this call, and the start of the total. Ranks without elements get the *results of
 * the first rank with elements. Errors: the first one of any phase. Collective over workers->all.
 */
sp_status sp_case_run(const sp_workers *workers, const sp_config *config, const sp_profile *profile,
                      sp_terminal *terminal, sp_results *results);

/* Solve `config` on the ranks and the device of `workers` and on `mesh`, ignore its own [mesh] and
 * [backend], and measure the errors. `start` takes the place of problem.initial; NULL: none. If
 * `answers` is not NULL, evaluate them too; the caller ends with sp_answers_free, also after a
 * failure. `report` belongs to the series: it shows the progress line and gets the notes, without a
 * start; no file is written. Errors as above. Collective. */
sp_status sp_case_solve(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                        const sp_case_start *start, sp_report *report, sp_answers *answers,
                        sp_results *results);
