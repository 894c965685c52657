/* Helpers for hypre: matrices, vectors, the levels of BoomerAMG, and errors. */
#ifndef SP_SOLVER_LINEAR_HYPRE_H
#define SP_SOLVER_LINEAR_HYPRE_H

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>

#include "operators/backend.h"

/* Check and clear hypre's error flag. Errors: SP_ERR_SYSTEM if it was set. Local. */
sp_status sp_hypre_check(const char *what);

/* Choose how BoomerAMG makes its levels: coarsening by PMIS (8); extended+i interpolation by matrix
 * products (17), at most four entries per row. 17 takes two thirds of the time of 6, with the same
 * number of iterations. Local. */
void sp_hypre_set_levels(HYPRE_Solver amg);

/* Rows that a rank owns, and the numbers of all rows of its part of a matrix. */
typedef struct sp_hypre_rows {
  MPI_Comm comm;
  HYPRE_BigInt begin;
  HYPRE_Int owned;
  const HYPRE_BigInt *numbers; /* [rows of the part], owned rows first */
  const bool *constrained;     /* [rows of the part]; NULL: none */
} sp_hypre_rows;

/* Create the matrix that is the sum of the ranks' parts; constrained rows have a one on the
 * diagonal. The caller destroys *out, also after an error. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_hypre_matrix_create(const sp_hypre_rows *rows, const sp_csr *part,
                                 HYPRE_IJMatrix *out);

/* Create a vector, which the caller destroys. Collective. */
void sp_hypre_vector_create(const sp_hypre_rows *rows, HYPRE_IJVector *out);

#endif
