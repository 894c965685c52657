/* The preconditioner that a case asks for, and the problem on the levels of multigrid. */
#ifndef SP_SOLVER_RUN_PRECONDITION_H
#define SP_SOLVER_RUN_PRECONDITION_H

#include "operators/geometry_choice.h"
#include "solver/case/config.h"
#include "solver/linear/multigrid.h"
#include "solver/linear/preconditioner.h"
#include "solver/problem/null_space.h"
#include "solver/problem/problem.h"

/* What decides. */
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

/* The creation of a preconditioner, in two steps: hypre's part of multigrid runs while the caller
 * does other work between them. */
typedef struct sp_preconditioner_creation sp_preconditioner_creation;

/* Begin it for an operator with these facts that is to be built from `setup` for `problem`, with
 * for_level if it is multigrid. `constants` is the null space where the operator has one, else
 * NULL. All of these but the facts must outlive *out. `magnification` is
 * that of errors of the mean (problem/null_space.h); 0: none. The caller ends it, also after an
 * error. Errors: those of sp_multigrid_create. Collective. */
sp_status sp_precondition_begin(const sp_config *config, const sp_problem *problem,
                                const sp_precondition_facts *facts, const sp_operator_setup *setup,
                                const sp_null_space *constants, double magnification,
                                sp_preconditioner_creation **out, const char **reason);

/* *options = those of multigrid for an operator of this order, as the case asks;
 * sp_multigrid_decide is to follow. Local. */
void sp_precondition_options(const sp_config *config, int order, sp_multigrid_options *options);

/* *out = the preconditioner for `op`, which was built from the setup; NULL for none. The caller
 * destroys it; op, problem and constants must outlive it. Call it once. Errors: those of
 * sp_jacobi_create and sp_multigrid_create. Collective. */
sp_status sp_precondition_complete(sp_preconditioner_creation *creation, sp_operator *op,
                                   sp_preconditioner **out);

/* NULL-safe; sets *creation to NULL. Collective. */
void sp_precondition_end(sp_preconditioner_creation **creation);

#endif
