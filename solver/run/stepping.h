/* The time steps of a case (solver/solve/march.h), which the program takes instead of one solve. */
#pragma once

#include "solver/run/running.h"

/* Step from c->initial to the end. Evaluate c->solution at the beginning, at the times of output
 * and at the end. Each time add a state to the field file, and a row to the record's table
 * "history": the time, the iterations since the previous row, and all answers. If c->initial is the
 * last state of a series, the steps continue there, and it is not written again. results->cg
 * belongs to the last stage, with the iterations of all stages. If CG does not converge or a signal
 * comes, the solution is the last complete step, with that status. Collective. */
sp_status sp_stepping_run(sp_running *c);

/* Make c->march, at c->initial. Errors: SP_ERR_INPUT if its time is no step of this case.
 * Collective. */
sp_status sp_stepping_begin(sp_running *c);

/* Print the range of each answer over time. Local. */
void sp_stepping_report(const sp_running *c);
