/* A problem on a mesh, solved once or many times: it owns the space, the system, the levels of
 * multigrid and the vectors. It computes and returns; to watch it, pass callbacks.
 *
 *     create, then load and solve any number of times, destroy
 *
 * Another load costs little: after sp_solver_load, call sp_solver_add_load with an array, any
 * number of times.
 *
 * Several solvers may exist side by side, on one or several communicators. All functions are
 * Collective over the platform's communicator. */
#pragma once

#include "io/profile.h"
#include "solver/linear/cg.h"
#include "solver/linear/start.h"
#include "solver/problem/load.h"
#include "solver/problem/systems.h"
#include "solver/solve/precondition.h"

/* Callbacks; each may be NULL. `enter` gets the phase that begins, SP_PHASES if none does. The
 * others are as in sp_cg_options. */
typedef struct sp_solver_watch {
  void (*enter)(void *context, sp_phase phase);
  sp_status (*on_iteration)(const sp_cg_iteration *iteration, void *context);
  bool (*is_interrupted)(void *context);
  void *context;
} sp_solver_watch;

/* Members are for reading, except `sums`. sp_solver_load adds to the sums. */
typedef struct sp_solver {
  const sp_platform *platform; /* borrowed, as are mesh and problem */
  const sp_mesh *mesh;
  const sp_problem *problem;
  sp_solver_options options;
  sp_solver_watch watch;
  sp_space *space;
  sp_problem_facts facts;
  sp_system *system;
  sp_preconditioner_kind kind; /* the chosen one, and why */
  const char *kind_reason;
  sp_levels levels;                  /* of multigrid */
  sp_preconditioner *preconditioner; /* NULL for none */
  /* For a problem that depends on u: the system that `preconditioner` was made for, NULL for
   * `system` itself; and its inverse diagonal, [local DOFs]. */
  sp_system *older;
  double *inverse;
  sp_preconditioner *diagonal; /* Jacobi's, for a stiff start or, without one, to check */
  sp_load_sums *sums;          /* set by the caller; NULL: not needed */
  sp_jacobian_range range;     /* of the mesh, after sp_solver_load */
  sp_defect defect;            /* of pure Neumann data, likewise */
  sp_gid tied;                 /* DOFs that tie bodies without common faces, likewise */
  double removed;              /* the sum that projections took out of the load */
  sp_start start;              /* of the last solve */
  double *load, *work;         /* L-vectors on the host: b without Dirichlet values; scratch */
  sp_vector x, b, r, boundary; /* A x = b, r = b - A x, Dirichlet values if there are any */
  bool has_b;                  /* b is the load */
  /* For other data than the problem's. */
  sp_vector own, free; /* b of the problem's load; 1 on free DOFs, 0 on others */
  double own_removed;  /* `removed` of the problem's load */
  double *values;      /* Dirichlet values in place of the problem's, or NULL */
} sp_solver;

/* The Dirichlet values in effect, [local DOFs]; NULL: all are 0. Local. */
static inline const double *sp_solver_values(const sp_solver *solver) {
  return solver->values ? solver->values : solver->facts.boundary_values;
}

/* Create the space. The system follows in the first sp_solver_load, so that a problem that depends
 * on u can be linearized before. The caller destroys *out, which may be partial after a failure. */
sp_status sp_solver_create(const sp_platform *platform, const sp_mesh *mesh,
                           const sp_problem *problem, const sp_solver_options *options,
                           const sp_solver_watch *watch, sp_solver **out);

/* Make the system if there is none, and load = integrals of f and g, and problem->extra
 * (solver/problem/load.h). Multigrid is set up around the load: on a device the coarse solver
 * beside it. Errors: SP_ERR_INPUT of formulas, geometry and preconditioners, for pure Neumann data
 * that do not balance, and for data beyond the range of doubles. */
sp_status sp_solver_load(sp_solver *solver);

/* Make solver->free, after sp_solver_load. */
sp_status sp_solver_make_free(sp_solver *solver);

/* b = b of the last sp_solver_load + `load`, an L-vector with the owners' bits on copies; NULL:
 * nothing. Call it before every solve once it has been called. If A has a null space,
 * problem->extra is the same load, on the host. Errors: as above. */
sp_status sp_solver_add_load(sp_solver *solver, const sp_vector *load);

/* u = values[local DOFs] at Dirichlet DOFs, in place of the problem's, also after updates; NULL:
 * the problem's. The same on all copies; other entries are not read. sp_solver_add_load or, in a
 * problem that depends on u, sp_solver_solve follows. */
sp_status sp_solver_set_values(sp_solver *solver, const double *values);

/* Solve for x[local DOFs], an L-vector on the host with the Dirichlet values. CG starts from
 * `start`, which may be x; NULL: from the best constant. x is filled also with
 * SP_ERR_NOT_CONVERGED and SP_ERR_INTERRUPTED. Errors: as sp_cg_solve. */
sp_status sp_solver_solve(sp_solver *solver, const double *start, double *x, sp_cg_result *result);

/* The same in steps, on the backend: set the start of CG to `start`, 0 on Dirichlet DOFs; iterate,
 * after which `x` of the solver is the solution without Dirichlet values; until the next solve or
 * change of data, copy the whole solution to x[local DOFs], or to a vector. Errors: likewise. */
sp_status sp_solver_start(sp_solver *solver, const sp_vector *start);
sp_status sp_solver_iterate(sp_solver *solver, sp_cg_result *result);
sp_status sp_solver_fetch(sp_solver *solver, double *x);
sp_status sp_solver_copy(sp_solver *solver, sp_vector *x);

/* rest[local DOFs] = the solution of A rest = b - A x, with a residual that is accurate to the
 * differences of x (solver/results/fluxes.h). Errors: as above. */
sp_status sp_solver_refine(sp_solver *solver, const double *x, double *rest);

/* Make the system anew, after coefficients of the problem have changed; numbering and space stay.
 * If the problem depends on u, multigrid also stays while no entry of the diagonal has changed by
 * more than a factor of 2. sp_solver_load follows, and ends the set-up. Errors: as
 * sp_solver_load. */
sp_status sp_solver_update(sp_solver *solver);

/* Evaluate the problem's Dirichlet values again, after the time has changed. sp_solver_add_load
 * follows. Errors: SP_ERR_INPUT if a formula is not finite. */
sp_status sp_solver_update_values(sp_solver *solver);

/* Release the data that only load, solve and refine need, to save memory. */
void sp_solver_release(sp_solver *solver);

/* NULL-safe; sets *solver to NULL. */
void sp_solver_destroy(sp_solver **solver);

/* True if a status leaves a solution, converged or not. Local. */
bool sp_solver_has_solution(sp_status status);

/* ---- Right-hand sides, which solver_load.c makes for solver.c ---- */

/* Check a load and remove its part in the null space of A. Errors: SP_ERR_INPUT for data that do
 * not balance. */
sp_status sp_solver_balance(sp_solver *solver, double *load);

/* b = load - A u_D on free DOFs, where u_D has the Dirichlet values and is zero elsewhere. Errors:
 * SP_ERR_INPUT for data beyond the range of doubles. */
sp_status sp_solver_make_rhs(sp_solver *solver, const double *load);
