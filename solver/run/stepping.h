/* The time steps of a case (solver/solve/march.h): what the program does in place of one solve. */
#pragma once

#include "solver/run/running.h"

/* Step from c->initial to the end. At first, at the times of output and at the end c->solution is
 * evaluated, a row added to the record's table "history": the time, the iterations since the
 * row before, and all answers; and a state to the field file. If c->initial is the last state of a
 * series, the steps continue there, and it is not written again. results->cg is that of the last
 * stage, with the iterations of all. The solution is that of the last complete step if CG does not
 * converge or a signal comes, with that status. Collective. */
sp_status sp_stepping_run(sp_running *c);

/* Make c->march, at c->initial. Errors: SP_ERR_INPUT if that is no step of this case. Collective.
 */
sp_status sp_stepping_begin(sp_running *c);

/* Add c->solution to the field file, if the case has one, as another state, with those before it
 * for a restart. Collective. */
sp_status sp_stepping_write(sp_running *c);

/* Print the range of each answer over time. Local. */
void sp_stepping_report(const sp_running *c);
