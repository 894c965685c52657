/* One V-cycle of hypre's BoomerAMG on the host, in which all ranks take part: the coarsest problem
 * (coarse.h) on a backend without matrices. All functions are Collective. */
#ifndef SP_SOLVER_LINEAR_COARSE_BOOMER_H
#define SP_SOLVER_LINEAR_COARSE_BOOMER_H

#include "solver/linear/coarse_matrix.h"

typedef struct sp_boomer sp_boomer;

/* For a matrix of sp_coarse_matrix_create, which *out owns from now on, also after an error.
 * `direct`: eliminate instead of a cycle. The caller destroys *out. Errors: SP_ERR_SYSTEM. */
sp_status sp_boomer_create(const sp_space *space, const sp_constants *constants, bool direct,
                           HYPRE_IJMatrix matrix, sp_boomer **out);

/* NULL-safe; sets *boomer to NULL. */
void sp_boomer_destroy(sp_boomer **boomer);

/* x = B b on the owned DOFs, [owned]; both zero where constrained. b is changed. A failure that a
 * rank passes makes the others fail too. */
sp_status sp_boomer_solve(sp_boomer *boomer, sp_status status, double *b, double *x);

#endif
