/* Right-hand sides of a solver, which solver_load.c makes for solver.c. Both are Collective. */
#pragma once

#include "solver/solve/solver.h"

/* Check a load and remove its part in the null space of A. Errors: SP_ERR_INPUT for data that do
 * not balance. */
sp_status sp_solver_balance(sp_solver *solver, double *load);

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere. Errors:
 * SP_ERR_INPUT for data beyond the range of doubles. */
sp_status sp_solver_make_rhs(sp_solver *solver, const double *load);
