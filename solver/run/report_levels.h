/* The levels of a preconditioner: a table on the terminal and in the run log. */
#ifndef SP_SOLVER_RUN_REPORT_LEVELS_H
#define SP_SOLVER_RUN_REPORT_LEVELS_H

#include "solver/linear/preconditioner.h"
#include "solver/run/report.h"

/* A line per level, and /levels in the log (order, dofs, applications, seconds, share), for a solve
 * with so many applications of the preconditioner. Nothing without levels. Local. */
void sp_report_levels(sp_report *report, sp_terminal *terminal, int64_t applications, int count,
                      const sp_level_time *times);

#endif
