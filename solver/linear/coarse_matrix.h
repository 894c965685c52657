/* The matrix of the coarsest problem (coarse.h) for CPUs, distributed over the ranks by hypre. */
#ifndef SP_SOLVER_LINEAR_COARSE_MATRIX_H
#define SP_SOLVER_LINEAR_COARSE_MATRIX_H

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>

#include "solver/linear/coarse.h"

/* hypre keeps its errors in a flag, which this clears: SP_ERR_SYSTEM if it was set. Local. */
sp_status sp_hypre_check(const char *what);

/* Rows and columns have the global numbers of the DOFs. Constrained ones couple to nothing and have
 * a one on the diagonal; constants of a null space are pinned. The caller destroys *out, also after
 * an error. Errors: SP_ERR_INPUT for more DOFs than hypre's integers count; SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_coarse_matrix_create(const sp_operator_setup *setup, const sp_constants *constants,
                                  HYPRE_IJMatrix *out);

#endif
