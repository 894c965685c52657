/* The coarsest problem (coarse.h) for a device: the free rows of its matrix, those that are not
 * constrained, of all ranks on every rank. */
#ifndef SP_SOLVER_LINEAR_COARSE_ROWS_H
#define SP_SOLVER_LINEAR_COARSE_ROWS_H

#include "solver/linear/coarse.h"

/* Rows are numbered in the order of ranks and DOFs. */
typedef struct sp_free_rows {
  sp_csr matrix;    /* columns of a row rise */
  int *of_dof;      /* [local DOFs], the row of each, -1 where constrained */
  int first, count; /* of the DOFs that this rank owns */
  int *counts;      /* [ranks] */
} sp_free_rows;

/* Sums run in the order of ranks and elements. Constants of a null space are pinned: the first row
 * of each component has its diagonal doubled. The caller frees *out, also after an error. Errors:
 * SP_ERR_INPUT for more entries than int counts; SP_ERR_SYSTEM. Collective. */
sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              sp_free_rows *out);
void sp_free_rows_free(sp_free_rows *rows);

/* Allocate a matrix; all entries of `start` are zero. sp_csr_free is safe after an error. Local. */
sp_status sp_csr_create(int rows, int columns, size_t entries, sp_csr *out);
void sp_csr_free(sp_csr *matrix);

#endif
