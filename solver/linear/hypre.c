#include "solver/linear/hypre.h"

#include <stdlib.h>

sp_status sp_hypre_check(const char *what) {
  const HYPRE_Int error = HYPRE_GetError();
  HYPRE_ClearAllErrors();
  if (!error) return SP_OK;
  char text[128] = "";
  HYPRE_DescribeError(error, text);
  return sp_fail(SP_ERR_SYSTEM, "hypre failed in %s: %.100s", what, text);
}

void sp_hypre_set_levels(HYPRE_Solver amg) {
  HYPRE_BoomerAMGSetCoarsenType(amg, 8);
  HYPRE_BoomerAMGSetInterpType(amg, 17);
  HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(amg, 0.25);
  HYPRE_BoomerAMGSetPrintLevel(amg, 0);
}

static sp_status add_rows(const sp_hypre_rows *rows, const sp_csr *part, HYPRE_IJMatrix out) {
  HYPRE_BigInt *columns;
  int longest = 0;
  for (int i = 0; i < part->rows; i++)
    if (part->start[i + 1] - part->start[i] > longest)
      longest = part->start[i + 1] - part->start[i];
  SP_TRY(sp_allocate((size_t)longest, sizeof *columns, "coarse rows", &columns));
  for (int i = 0; i < part->rows; i++) {
    const int first = part->start[i];
    HYPRE_Int count = part->start[i + 1] - first, one = 1;
    for (int n = 0; n < count; n++) columns[n] = rows->numbers[part->column[first + n]];
    const HYPRE_BigInt row = rows->numbers[i];
    if (count > 0)
      HYPRE_IJMatrixAddToValues(out, 1, &count, &row, columns, &part->values[first]);
    else if (rows->constrained && rows->constrained[i] && i < rows->owned)
      HYPRE_IJMatrixAddToValues(out, 1, &one, &row, &row, &(double){1});
  }
  free(columns);
  return SP_OK;
}

sp_status sp_hypre_matrix_create(const sp_hypre_rows *rows, const sp_csr *part,
                                 HYPRE_IJMatrix *out) {
  const HYPRE_BigInt begin = rows->begin, last = begin + rows->owned - 1;
  HYPRE_IJMatrixCreate(rows->comm, begin, last, begin, last, out);
  HYPRE_IJMatrixSetObjectType(*out, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(*out);
  SP_TRY(sp_agree(rows->comm, add_rows(rows, part, *out)));
  HYPRE_IJMatrixAssemble(*out);
  return sp_agree(rows->comm, sp_hypre_check("the assembly of a matrix"));
}

void sp_hypre_vector_create(const sp_hypre_rows *rows, HYPRE_IJVector *out) {
  HYPRE_IJVectorCreate(rows->comm, rows->begin, rows->begin + rows->owned - 1, out);
  HYPRE_IJVectorSetObjectType(*out, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*out);
  HYPRE_IJVectorAssemble(*out);
}
