/* The balance of fluxes, the results and the probes of a case: tables on the terminal, in the run
 * log and in the JSON document. */
#ifndef SP_SOLVER_RUN_REPORT_RESULTS_H
#define SP_SOLVER_RUN_REPORT_RESULTS_H

#include "solver/problem/balance.h"
#include "solver/problem/probe.h"
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

/* The solution at the probes: a table, and /probes in the log (name, x, y, z, u and, where there is
 * an exact solution, error); neither without probes. Local. */
void sp_report_probes(sp_report *report, sp_terminal *terminal, const sp_probes *probes,
                      bool have_errors);

#endif
