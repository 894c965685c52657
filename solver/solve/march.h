/* Steps in time of a problem (solver/solve/time.h). Solutions stay in the backend's memory; the
 * host gets them when it asks. Between two requests only scalars travel, unless data depend on t.
 *
 *     create, then step as often as wanted, fetch after some steps, destroy
 *
 * All functions are Collective over the solver's communicator. */
#pragma once

#include "solver/solve/solver.h"
#include "solver/solve/time.h"

typedef struct sp_march sp_march;

/* Begin at t = 0 with u = initial[local DOFs]. The solver, which is loaded, its problem, whose
 * shift and history follow, and the scope of the formulas are borrowed. `shift` is the problem's, 0
 * for none: if it is that of the first stage, the solver's system serves. The problem has a
 * capacity everywhere. The caller destroys *out. Errors: SP_ERR_INPUT of formulas, SP_ERR_SYSTEM.
 */
sp_status sp_march_create(sp_solver *solver, sp_problem *problem, sp_scope *scope,
                          sp_time_scheme scheme, double dt, double shift, const double *initial,
                          sp_march **out);

/* Go from t to t + dt, with the formulas at that time afterwards. *iterations gains those of all
 * stages; `result` is of the last one. After an error the solution is that at t. Errors: as
 * sp_solver_load and sp_cg_solve. */
sp_status sp_march_step(sp_march *march, int64_t *iterations, sp_cg_result *result);

/* Copy the solution to x[local DOFs] on the host, and the history of du/dt to the problem, for
 * fluxes (solver/problem/problem.h). */
sp_status sp_march_fetch(sp_march *march, double *x);

/* Copy the solution of `back` steps ago, 1 or 2, to x[local DOFs] on the host. If it is not known,
 * the values mean nothing. */
sp_status sp_march_fetch_before(const sp_march *march, int back, double *x);

/* Continue a march of the same dt that ended after `steps` steps: its last `known` solutions are
 * solutions[known][local DOFs], newest first, and the newest is the `initial` of this one. Call it
 * before the first step. Errors: SP_ERR_SYSTEM. */
sp_status sp_march_continue(sp_march *march, int64_t steps, int known, const double *solutions);

/* Take steps of length dt from the time t on, where u = initial[local DOFs]; NULL: the solution.
 * Multistep schemes begin anew. Errors: SP_ERR_SYSTEM. */
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

/* The time of the solution, and the length of the next step. Local. */
double sp_march_time(const sp_march *march);
double sp_march_length(const sp_march *march);

/* NULL-safe; sets *march to NULL, and the problem's shift and history to none. */
void sp_march_destroy(sp_march **march);
