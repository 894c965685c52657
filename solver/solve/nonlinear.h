/* Problems that depend on u: a sequence of linear problems, each linearized at the previous
 * solution: Newton's method for radiation and forcings (solver/problem/linearize.h), Picard's for
 * formulas of u in robin conditions, kappa, lambda and capacity. Numbering and space stay, and
 * multigrid while coefficients change little (sp_solver_update); the system is made anew.
 *
 * If Picard's method is used in elements, Anderson's acceleration over three steps chooses where to
 * linearize. Sources: D. G. Anderson, J. ACM 12 (1965); H. F. Walker and P. Ni, SIAM J. Numer.
 * Anal. 49 (2011). A solve need not be much more accurate than the change of the solution: with the
 * criterion of energy its tolerance is the last change, from 1e-3 down to the solver's.
 *
 * A step may leave the domain of a formula: a linearized radiation overshoots, and there kappa is
 * negative. Then the next problem is linearized halfway back, up to ten times. */
#pragma once

#include "solver/solve/solver.h"

/* Solve for x[local DOFs] on the host. It begins at `start`, which may be x; NULL: as the
 * conditions say. If the problem has been linearized at the array `start`, the solver's system is
 * used. The solver has been loaded; `problem` is its problem. It stays linearized at the
 * last solution but one, last[local DOFs], so its fluxes belong to the equations that x solves. It
 * ends when no value of x changes by more than the solver's tolerance times the largest one.
 * `result` is of the last solve, with the iterations of all and its error relative to the largest
 * change of energy; *solves gets their number, at most 50. Errors: SP_ERR_NOT_CONVERGED with x; as
 * sp_solver_load and sp_solver_solve. Collective. */
sp_status sp_nonlinear_solve(sp_solver *solver, sp_problem *problem, const double *start,
                             double *last, double *x, sp_cg_result *result, int *solves);

/* Solve the problem that is linearized at last[local DOFs]; NULL: as the solver is loaded. x is
 * where CG may start, and gets the solution. Collective. */
typedef sp_status sp_nonlinear_solver(void *context, const double *last, double *x);

/* The sequence itself, for other ways to solve: it begins at `last` if that is known; then x has a
 * solution to go back to. Otherwise as above. Collective. */
sp_status sp_nonlinear_iterate(sp_solver *solver, sp_nonlinear_solver *solve, void *context,
                               bool has_last, double *last, double *x, int *solves);
