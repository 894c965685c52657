/* Problems that depend on u: a sequence of linear problems, each linearized at the solution of the
 * one before (Newton's method for radiation, Picard's for formulas of u in robin conditions, kappa
 * and lambda). Numbering and space stay; the system, its levels and its preconditioner are made
 * anew.
 *
 * If kappa or lambda depends on u, Anderson's acceleration over three steps chooses where to
 * linearize. Sources: D. G. Anderson, J. ACM 12 (1965); H. F. Walker and P. Ni, SIAM J. Numer.
 * Anal. 49 (2011). A solve need not be much more accurate than the change of the solution: with the
 * criterion of energy its tolerance is the last change, from 1e-3 down to the solver's. */
#pragma once

#include "solver/solve/solver.h"

/* The most solves of one problem. */
enum { SP_NONLINEAR_MOST = 50 };

/* Solve for x[local DOFs] on the host. It begins at `start`, which may be x; NULL: as the
 * conditions say. The solver has been loaded; `problem` is its problem, which stays linearized at
 * the last solution but one, last[local DOFs], so that its fluxes belong to the equations that x
 * solves. It ends when no value of x changes by more than the solver's tolerance times the largest
 * one. `result` is of the last solve, with the iterations of all and its error relative to
 * the largest change of energy; *solves gets their number.
 * Errors: SP_ERR_NOT_CONVERGED with x; as sp_solver_load and sp_solver_solve. Collective. */
sp_status sp_nonlinear_solve(sp_solver *solver, sp_problem *problem, const double *start,
                             double *last, double *x, sp_cg_result *result, int *solves);

/* Return the largest |x - last| over the largest |x|, of all ranks. Collective. */
double sp_nonlinear_change(const sp_solver *solver, const double *x, const double *last);

/* Fail after SP_NONLINEAR_MOST solves: SP_ERR_NOT_CONVERGED. Local. */
sp_status sp_nonlinear_fail(double change);
