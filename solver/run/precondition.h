/* The preconditioner that a case asks for, and the problem on the levels of multigrid. */
#ifndef SP_SOLVER_RUN_PRECONDITION_H
#define SP_SOLVER_RUN_PRECONDITION_H

#include "operators/geometry_choice.h"
#include "solver/case/config.h"
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

/* *out = the preconditioner for `op`, which was built from the setup; NULL for none. The caller
 * destroys it; op, problem and constants must outlive it. Call it once. Errors: those of
 * sp_jacobi_create and sp_multigrid_create. Collective. */
sp_status sp_precondition_complete(sp_preconditioner_creation *creation, sp_operator *op,
                                   sp_preconditioner **out);

/* NULL-safe; sets *creation to NULL. Collective. */
void sp_precondition_end(sp_preconditioner_creation **creation);

/* Bytes of the preconditioner that sp_precondition_complete makes. */
typedef struct sp_precondition_bytes {
  sp_bytes held, most; /* afterwards, and the most while it is created */
  bool applies;        /* CG applies it: neither none nor a diagonal */
} sp_precondition_bytes;

/* Predict them for the operator `op`, on a mesh that is to be refined. Errors: those of
 * sp_geometry_choose and sp_multigrid_check. Collective. */
sp_status sp_precondition_predict(const sp_config *config, const sp_mesh *mesh,
                                  const sp_operator_facts *op, const sp_precondition_facts *facts,
                                  sp_precondition_bytes *out);

#endif
