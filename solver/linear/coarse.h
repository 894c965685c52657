/* The coarsest problem of multigrid: the operator at order 1 with GLL quadrature, assembled into a
 * sparse matrix, and one V-cycle of hypre's BoomerAMG as an approximate inverse: symmetric, and the
 * same from one application to the next.
 *
 * Where the operator has a null space of constants, one per connected component, the right-hand
 * side and the solution are projected, and the matrix is made definite by doubling the diagonal of
 * one row per component. */
#ifndef SP_SOLVER_LINEAR_COARSE_H
#define SP_SOLVER_LINEAR_COARSE_H

#include "operators/operator.h"

/* The constants in the null space: component of each local DOF, or -1. components = 0: none. */
typedef struct sp_constants {
  int components;
  const int *of_dof; /* [local DOFs] of the space in question; NULL without components */
} sp_constants;

/* What multigrid does at order 1. */
typedef enum sp_coarse_kind {
  SP_COARSE_AUTO,     /* amg if this program has it */
  SP_COARSE_AMG,      /* a cycle of algebraic multigrid */
  SP_COARSE_CHEBYSHEV /* its own smoother alone; iterations then grow with refinement */
} sp_coarse_kind;

/* All names as in a case, by sp_coarse_kind; ends in NULL. */
extern const char *const sp_coarse_names[];

typedef struct sp_coarse sp_coarse;

/* Whether this program has a coarse solver (it is built with hypre). Local. */
bool sp_coarse_is_available(void);

/* For the operator that `setup`, of order 1 and kind bp3.5, describes. The caller destroys *out.
 * Errors: SP_ERR_INPUT for more DOFs than hypre's integers count, SP_ERR_SYSTEM. Collective. */
sp_status sp_coarse_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_coarse **out);

/* About the bytes that it holds on a rank with so many local DOFs; 0 without hypre. Local. */
double sp_coarse_predicted_bytes(double dofs);

/* NULL-safe; sets *coarse to NULL. Collective. */
void sp_coarse_destroy(sp_coarse **coarse);

/* x = B b on this rank's owned DOFs, [owned] on the host; both zero where constrained. Returns this
 * rank's failure; a rank that passes one makes the others fail too. Collective over all ranks: the
 * coarsest problem is where all of them meet. */
sp_status sp_coarse_solve(sp_coarse *coarse, sp_status status, double *b, double *x);

/* "BoomerAMG (hypre 2.26.0), 729 rows". Local. */
const char *sp_coarse_describe(const sp_coarse *coarse);

#endif
