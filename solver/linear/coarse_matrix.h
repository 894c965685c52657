/* The matrix of the coarsest problem (coarse.h), distributed over the ranks by hypre. All functions
 * are Collective. */
#ifndef SP_SOLVER_LINEAR_COARSE_MATRIX_H
#define SP_SOLVER_LINEAR_COARSE_MATRIX_H

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>

#include "solver/linear/coarse.h"

/* hypre keeps its errors in a flag, which this clears: SP_ERR_SYSTEM if it was set. Local. */
sp_status sp_hypre_check(const char *what);

/* Rows and columns have the global numbers of the DOFs. Constrained ones couple to nothing and have
 * a one on the diagonal; constants of a null space are pinned. The caller destroys *out, also after
 * an error. Errors: SP_ERR_INPUT for more DOFs than hypre's integers count; SP_ERR_SYSTEM. */
sp_status sp_coarse_matrix_create(const sp_operator_setup *setup, const sp_constants *constants,
                                  HYPRE_IJMatrix *out);

/* The free rows, those that are not constrained, of all ranks on every rank. They are numbered in
 * the order of ranks and DOFs. */
typedef struct sp_free_rows {
  sp_csr matrix;
  int *of_dof;      /* [local DOFs], the row of each, -1 where constrained */
  int first, count; /* of the DOFs that this rank owns */
  int *counts;      /* [ranks] */
} sp_free_rows;

/* The caller frees *out, also after an error. Errors: SP_ERR_INPUT for more entries than int
 * counts; SP_ERR_SYSTEM. */
sp_status sp_coarse_matrix_gather(const sp_operator_setup *setup, HYPRE_IJMatrix matrix,
                                  sp_free_rows *out);
void sp_free_rows_free(sp_free_rows *rows);

/* Allocate a matrix; all entries of `start` are zero. sp_csr_free is safe after an error. Local. */
sp_status sp_csr_create(int rows, int columns, size_t entries, sp_csr *out);
void sp_csr_free(sp_csr *matrix);

#endif
