/* The balance of fluxes and the results of a case: tables on the terminal and in the run log. */
#ifndef SP_SOLVER_RUN_REPORT_RESULTS_H
#define SP_SOLVER_RUN_REPORT_RESULTS_H

#include "solver/problem/balance.h"
#include "solver/problem/quantities.h"
#include "solver/run/report.h"

/* A line per term: the source, lambda u, the flux through each group of [boundary] and the default,
 * what a projection removed, the imbalance; and /balance in the log (name, kind, value). Local. */
void sp_report_balance(sp_report *report, sp_terminal *terminal, const sp_problem *problem,
                       const sp_balance *balance);

/* A line per result, and /results in the log (name, kind, group, value, size, x, y, z: not a number
 * where there is no place); neither without results. Local. */
void sp_report_quantities(sp_report *report, sp_terminal *terminal,
                          const sp_quantities *quantities);

#endif
