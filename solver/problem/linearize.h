/* Problems that depend on u, linearized at a known u: conditions take it from problem->last,
 * kappa, lambda and capacity become arrays of their values there (Picard's iteration). */
#pragma once

#include "solver/problem/problem.h"

/* Linearize at the L-vector u of `numbering`, of that order, which is on the host and borrowed
 * until the next call; NULL, both: problem->begin, and conditions as they are without u. Errors:
 * SP_ERR_INPUT of formulas, also if kappa or capacity is not positive or lambda is negative there;
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_problem_linearize(sp_problem *problem, const sp_mesh *mesh, int order,
                               const sp_numbering *numbering, const double *u);
