/* The matrix of the coarsest problem (coarse.h) for CPUs, distributed over the ranks by hypre. */
#ifndef SP_SOLVER_LINEAR_COARSE_MATRIX_H
#define SP_SOLVER_LINEAR_COARSE_MATRIX_H

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>

#include "solver/linear/coarse.h"

/* hypre keeps its errors in a flag, which this clears: SP_ERR_SYSTEM if it was set. Local. */
sp_status sp_hypre_check(const char *what);

/* How BoomerAMG makes its levels, for these matrices: HMIS-like coarsening by PMIS (8), extended+i
 * interpolation of at most four entries per row, by products of matrices (17), which takes two
 * thirds of the time of 6 at as many iterations. Local. */
void sp_hypre_set_levels(HYPRE_Solver amg);

/* Rows and columns have the global numbers of the DOFs. Constrained ones couple to nothing and have
 * a one on the diagonal; constants of a null space are pinned. The caller destroys *out, also after
 * an error. Errors: SP_ERR_INPUT for more DOFs than hypre's integers count; SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_coarse_matrix_create(const sp_operator_setup *setup, const sp_constants *constants,
                                  HYPRE_IJMatrix *out);

#endif
