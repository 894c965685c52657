/* Steps in time of a problem (solver/solve/time.h). Solutions stay in the backend's memory, and are
 * copied to the host on request. Between two requests only scalars travel, unless data depend on t.
 *
 *     create; step, and copy the solution, any number of times; destroy
 *
 * All functions are Collective over the solver's communicator. */
#pragma once

#include "solver/solve/solver.h"
#include "solver/solve/time.h"

typedef struct sp_march sp_march;

/* Begin at t = 0 with u = initial[local DOFs]. The solver, its problem, the scope of the formulas
 * and `time` are borrowed. The solver is loaded with the shift and the time of sp_time_first_shift
 * and sp_time_first; the problem's shift and history follow the steps. The problem has a capacity
 * everywhere. The caller destroys *out. Errors: SP_ERR_INPUT of formulas, SP_ERR_SYSTEM.
 *
 * The error of an automatic step is a norm weighted by the capacity, over DOFs without Dirichlet
 * values, relative to the largest change of u since the beginning. Errors below the solver's
 * tolerance times u do not count. Automatic steps end at each time of sp_time_next_output; no step
 * is shorter than the time between two of these, divided by 2^20. */
sp_status sp_march_create(sp_solver *solver, sp_problem *problem, sp_scope *scope,
                          const sp_time_options *time, const double *initial, sp_march **out);

/* Take one step, with the formulas at its end afterwards. *iterations grows by all iterations, also
 * of steps that are tried again; `result` is of the last solve. After an error the solution is
 * unchanged. Errors: as sp_solver_load and sp_cg_solve. */
sp_status sp_march_step(sp_march *march, int64_t *iterations, sp_cg_result *result);

/* Copy the solution to x[local DOFs] on the host, and the history of du/dt to the problem, for
 * fluxes (solver/problem/problem.h). Set formulas, shift and linearization to the state of the
 * solution, also after a failed step. For an initial value du/dt is unknown: NAN, and so are all
 * fluxes that need it. */
sp_status sp_march_fetch(sp_march *march, double *x);

/* Copy the solution of `back` steps ago, 1 or 2, to x[local DOFs] on the host. If it is not known,
 * the values are undefined. */
sp_status sp_march_fetch_before(const sp_march *march, int back, double *x);

/* Continue a march that ended at time t. Its last `known` solutions, one step of this march apart,
 * are solutions[known][local DOFs], newest first; the newest is the `initial` of this march.
 * Automatic steps begin anew, with a length for the remaining time. Call it before the first step.
 * Errors: SP_ERR_SYSTEM. */
sp_status sp_march_continue(sp_march *march, double t, int known, const double *solutions);

/* Return the length of the next step. Local. */
double sp_march_length(const sp_march *march);

/* From now on take steps of length dt, or automatic ones of at most dt, from time t with u =
 * initial[local DOFs]; NULL: the solution, and automatic steps end at t + dt first, or at an output
 * before. Schemes with a history begin anew. Errors: SP_ERR_SYSTEM. */
sp_status sp_march_restart(sp_march *march, double t, double dt, const double *initial);

/* Add `load`, an L-vector with the owners' bits on copies, to the problem's in all stages from now
 * on; NULL: nothing. Borrowed. Local. */
void sp_march_add_load(sp_march *march, const sp_vector *load);

/* Make the system and the mass matrix anew, after coefficients of the problem have changed. Call it
 * again after an error. Errors: as sp_march_create. */
sp_status sp_march_renew(sp_march *march);

/* Return the number of known solutions, at most SP_TIME_HISTORY. Local. */
int sp_march_known(const sp_march *march);

/* The solution, owned by the march, until the next call. Local. */
const sp_vector *sp_march_solution(const sp_march *march);

/* The time of the solution. Local. */
double sp_march_time(const sp_march *march);

/* NULL-safe; sets *march to NULL, and the problem's shift and history to none. */
void sp_march_destroy(sp_march **march);
