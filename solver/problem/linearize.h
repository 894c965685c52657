/* Problems that depend on u, linearized at a known u: conditions take it from problem->last,
 * and kappa, lambda and capacity become arrays of their values there (Picard's iteration).
 *
 * A forcing f(u) becomes f(last) - s (u - last), with s = -df/du where lambda + shift capacity + s
 * > 0 (Newton's method), else s = 0 (Picard's): lambda grows by s, and the load by s last. If
 * lambda is an array of the caller, s = 0. */
#pragma once

#include "solver/problem/problem.h"

/* u[points] = `last` at the points of `rule` in an element, 0 if it has no values; work[nodes] is
 * scratch. Local. */
void sp_last_interpolate(const sp_last *last, const sp_rule *rule, sp_lid e, double *work,
                         double *u);

/* Linearize at the L-vector u of `numbering`, of that order, which is on the host and borrowed
 * until the next call. NULL: u = 0, and conditions as they are without u. Errors:
 * SP_ERR_INPUT of formulas, also if kappa or capacity is not positive or lambda is negative there;
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_problem_linearize(sp_problem *problem, const sp_mesh *mesh, int order,
                               const sp_numbering *numbering, const double *u);
