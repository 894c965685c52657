/* The preconditioner of a case, and the levels of multigrid. */
#pragma once

#include "operators/factors.h"
#include "solver/linear/multigrid.h"
#include "solver/linear/preconditioner.h"
#include "solver/problem/systems.h"

/* Inputs to the choice of the preconditioner. */
typedef struct sp_precondition_facts {
  sp_geometry_facts op; /* facts of the operator */
  const sp_backend *backend;
  double elements; /* of all ranks */
  double rows;     /* of the coarse solver at order 1 (an estimate) */
  double stretch;  /* largest stretch of an element (mesh/shape.h) */
} sp_precondition_facts;

/* *out = the facts of an operator on `mesh`, which will be refined to `elements` elements. Local.
 */
void sp_precondition_facts_find(const sp_geometry_facts *op, const sp_backend *backend,
                                const sp_mesh *mesh, double elements, sp_precondition_facts *out);

/* Return the preconditioner of a case, with auto replaced. *reason is a constant string for the
 * user. Local. */
sp_preconditioner_kind sp_precondition_choose(const sp_solver_options *request,
                                              const sp_precondition_facts *facts,
                                              const char **reason);

/* Return the preconditioner with the fewest iterations, regardless of its set-up. Local. */
sp_preconditioner_kind sp_precondition_best(sp_operator_kind kind);

/* Fill *options with the case's options of multigrid. Local. */
void sp_precondition_options(const sp_solver_options *request, sp_multigrid_options *options);

/* Systems of multigrid, finest first, and the coarse solver of the last one. Zero-initialise it. */
typedef struct sp_levels {
  sp_multigrid_options options;          /* prepared */
  sp_system *systems[SP_MULTIGRID_MOST]; /* the first is borrowed */
  sp_coarse *coarse;                     /* until the preconditioner takes it */
} sp_levels;

/* Make the levels for the system `fine`, whose operator need not exist yet, and start the coarse
 * solver: on a device its set-up continues in the background. `exact` and `magnification` describe
 * the constants (solver/problem/null_space.h). Call sp_levels_free after the preconditioner's end,
 * also after a failure. Errors: as multigrid.h; SP_ERR_INPUT of formulas. Collective. */
sp_status sp_levels_create(const sp_solver_options *request, const sp_problem *problem,
                           sp_system *fine, const sp_null_space *exact, double magnification,
                           sp_levels *levels);
void sp_levels_free(sp_levels *levels);

/* A kind of preconditioner: a row of the table in precondition.c. */
typedef struct sp_preconditioner_type {
  bool has_levels; /* it needs `levels`; it is kept for later systems that are similar */
  bool is_fusible; /* none, or a diagonal, with which CG may take one sweep (linear/cg.h) */
  /* *out = the preconditioner of a system. That and `levels` (if it has levels) must outlive it.
   * Errors: as sp_jacobi_create and sp_multigrid_create. Collective. NULL: none. */
  sp_status (*create)(sp_system *system, sp_levels *levels, sp_preconditioner **out);
} sp_preconditioner_type;

/* Return the row of a kind, which is not auto. Local. */
const sp_preconditioner_type *sp_precondition_type(sp_preconditioner_kind kind);
