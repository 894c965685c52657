/* Steps that the files of the solver share: solver.c creates and solves, solver_load.c makes
 * right-hand sides. */
#pragma once

#include "solver/solve/solver.h"

/* Tell the observer that a phase begins; SP_PHASES: none. Local. */
void sp_solver_enter(const sp_solver *solver, sp_phase phase);

/* Build the operator and the preconditioner. Collective. */
sp_status sp_solver_finish(sp_solver *solver);

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere.
 * Collective. */
sp_status sp_solver_make_rhs(sp_solver *solver, const double *load);
