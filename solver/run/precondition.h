/* The preconditioner that a case asks for, and the levels of multigrid. */
#ifndef SP_SOLVER_RUN_PRECONDITION_H
#define SP_SOLVER_RUN_PRECONDITION_H

#include "operators/geometry_choice.h"
#include "solver/case/config.h"
#include "solver/linear/multigrid.h"
#include "solver/linear/preconditioner.h"
#include "solver/problem/systems.h"

/* Inputs to the choice of the preconditioner. */
typedef struct sp_precondition_facts {
  sp_geometry_facts op; /* of the operator */
  const sp_backend *backend;
  double elements; /* of all ranks */
  double stretch;  /* operators/separable.h; 0 where it does not matter */
} sp_precondition_facts;

/* *out = the facts of an operator on `mesh`, which is to be refined to so many elements.
 * Collective.
 */
sp_status sp_precondition_facts_find(const sp_geometry_facts *op, const sp_backend *backend,
                                     const sp_mesh *mesh, double elements,
                                     sp_precondition_facts *out);

/* What `auto` becomes for an operator; other kinds stay. *reason says why, for the user; a constant
 * string. Local. */
sp_preconditioner_kind sp_precondition_choose(const sp_config *config,
                                              const sp_precondition_facts *facts,
                                              const char **reason);

/* What needs the fewest iterations, whatever its set-up costs. Local. */
sp_preconditioner_kind sp_precondition_best(sp_operator_kind kind);

/* Whether multigrid is chosen, whose finest level shares the operator's lists (for_level in
 * operators/backend.h). Local. */
bool sp_precondition_is_multigrid(const sp_config *config, const sp_precondition_facts *facts);

/* Whether an operator is to be built for CG in one sweep (linear/cg.h): with the preconditioner
 * that the case asks for it is possible, and it is faster. Local. */
bool sp_precondition_leaves_one_sweep(const sp_config *config, const sp_precondition_facts *facts,
                                      sp_geometry_kind geometry);

/* The options of multigrid that the case asks for. Local. */
void sp_precondition_options(const sp_config *config, int order, sp_multigrid_options *options);

/* Multigrid's systems, finest first, and the coarse solver at work on the last; zero before. */
typedef struct sp_levels {
  sp_multigrid_options options;          /* prepared */
  sp_system *systems[SP_MULTIGRID_MOST]; /* the first is borrowed */
  sp_coarse *coarse;                     /* until the preconditioner takes it */
} sp_levels;

/* Make the levels for the system `fine`, whose operator need not exist yet, and start the coarse
 * solver: on a device hypre continues in the background. `exact` and `magnification` are of the
 * constants (solver/problem/null_space.h). sp_levels_free releases it, also after a failure, and
 * after the preconditioner. Errors: those of multigrid.h and of formulas. Collective. */
sp_status sp_levels_create(const sp_config *config, const sp_problem *problem, sp_system *fine,
                           const sp_null_space *exact, double magnification, sp_levels *levels);
void sp_levels_free(sp_levels *levels);

/* *out = the preconditioner of a kind other than auto for the system; NULL for none. `levels`, for
 * multigrid alone, and the system must outlive it. Errors: those of sp_jacobi_create and
 * sp_multigrid_create. Collective. */
sp_status sp_precondition_create(sp_preconditioner_kind kind, sp_system *system, sp_levels *levels,
                                 sp_preconditioner **out);

#endif
