/* A direct solution of the coarsest problem (coarse.h) on the host, by Cholesky's factorisation of
 * the free rows of all ranks as a dense matrix: every rank does the same work. */
#ifndef SP_SOLVER_LINEAR_COARSE_DIRECT_H
#define SP_SOLVER_LINEAR_COARSE_DIRECT_H

#include "solver/linear/coarse_rows.h"

typedef struct sp_direct sp_direct;

/* `rows` belongs to the caller and must outlive *out; its matrix is not used afterwards. The caller
 * destroys *out. Errors: SP_ERR_BREAKDOWN if the matrix is not positive definite; SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_direct_create(const sp_space *space, const sp_free_rows *rows, sp_direct **out);

/* NULL-safe; sets *direct to NULL. Local. */
void sp_direct_destroy(sp_direct **direct);

/* x = A^-1 b on the owned DOFs, [owned]; x is zero at constrained DOFs. Collective. */
void sp_direct_solve(sp_direct *direct, const double *b, double *x);

#endif
