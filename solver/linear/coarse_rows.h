/* The matrix of the coarsest problem (coarse.h). Each rank assembles its part. Unless hypre solves
 * it, all ranks or one of them get the free (unconstrained) rows of all ranks. */
#pragma once

#include "operators/sparse.h"
#include "operators/system.h"

/* Assemble this rank's part, [local DOFs][local DOFs]: the sum over its elements and the setup's
 * diagonal, in this order. The sum over ranks is the matrix. Rows and columns are empty for
 * constrained DOFs and outside the subspace of bars (operators/schwarz/bars.h). Constants of a null
 * space are pinned: the first row of each component has its diagonal doubled. The caller frees
 * *out, also after an error. Errors: SP_ERR_INPUT for more entries than int counts and for an
 * element with a non-positive Jacobian; SP_ERR_SYSTEM. Collective. */
sp_status sp_coarse_assemble(const sp_operator_setup *setup, const sp_constants *constants,
                             sp_csr *out);

/* Free rows of all ranks, numbered in the order of ranks and DOFs. */
typedef struct sp_free_rows {
  sp_csr matrix;        /* columns of a row ascend */
  int total;            /* rows of all ranks */
  int *of_dof;          /* [local DOFs], row of each DOF, -1 if constrained */
  int count;            /* rows of the DOFs that this rank owns */
  sp_lid *dofs;         /* [count], these DOFs */
  int *counts, *starts; /* [ranks], rows of each rank, and its first one */
  bool everywhere;      /* the matrix is on all ranks, not only on rank 0; on others it is empty */
} sp_free_rows;

/* Assemble and number the free rows. Sums run in the order of ranks and elements. The caller frees
 * *out, also after an error. Errors: as sp_coarse_assemble. Collective. */
sp_status sp_free_rows_create(const sp_operator_setup *setup, const sp_constants *constants,
                              bool everywhere, sp_free_rows *out);
void sp_free_rows_destroy(sp_free_rows *rows);

/* all[total] = own[count] of all ranks, where the matrix is; `all` is not used elsewhere.
 * Collective. */
void sp_free_rows_gather(MPI_Comm comm, const sp_free_rows *rows, MPI_Datatype type,
                         const void *own, void *all);
