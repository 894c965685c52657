#include "solver/linear/coarse_boomer.h"

#include <limits.h>
#include <stdlib.h>

#include "solver/linear/hypre.h"

/* Rows of the last level, which hypre eliminates anew in each cycle. */
enum { LAST_LEVEL = 200 };

struct sp_boomer {
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector b, x;
  HYPRE_Int owned;
  HYPRE_BigInt *numbers; /* [local DOFs], global numbers */
  HYPRE_Solver amg;
};

/* ---- Set-up ---- */

/* The smoother makes the cycle symmetric: l1 Gauss-Seidel, forward before (13) and backward after
 * (14); elimination (9) on the last level. If hypre makes no second level, because the diagonal
 * dominates: symmetric l1 Gauss-Seidel (8). */
static sp_status set_up(sp_boomer *c) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&b);
  HYPRE_IJVectorGetObject(c->x, (void **)&x);
  HYPRE_BoomerAMGCreate(&c->amg);
  sp_hypre_set_levels(c->amg);
  HYPRE_BoomerAMGSetMaxCoarseSize(c->amg, LAST_LEVEL);
  HYPRE_BoomerAMGSetRelaxType(c->amg, 8);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 13, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 14, 2);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 9, 3);
  HYPRE_BoomerAMGSetRelaxOrder(c->amg, 0);
  HYPRE_BoomerAMGSetMaxIter(c->amg, 1);
  HYPRE_BoomerAMGSetTol(c->amg, 0);
  HYPRE_BoomerAMGSetup(c->amg, matrix, b, x);
  return sp_hypre_check("BoomerAMG's set-up");
}

static sp_status create(const sp_operator_setup *setup, sp_csr *part, sp_boomer *c) {
  const sp_numbering *numbering = setup->space->numbering;
  const MPI_Comm comm = setup->space->platform->comm;
  c->owned = numbering->owned;
  sp_status status =
      sp_allocate((size_t)numbering->local, sizeof *c->numbers, "coarse rows", &c->numbers);
  SP_TRY(sp_agree(comm, status));
  for (sp_lid d = 0; d < numbering->local; d++)
    c->numbers[d] = (HYPRE_BigInt)sp_numbering_global(numbering, d);
  const sp_hypre_rows rows = {.comm = comm,
                              .begin = (HYPRE_BigInt)numbering->first,
                              .owned = numbering->owned,
                              .numbers = c->numbers,
                              .constrained = setup->constrained};
  SP_TRY(sp_hypre_matrix_create(&rows, part, &c->matrix));
  sp_hypre_vector_create(&rows, &c->b);
  sp_hypre_vector_create(&rows, &c->x);
  return sp_agree(comm, set_up(c));
}

sp_status sp_boomer_create(const sp_operator_setup *setup, sp_csr *part, sp_boomer **out) {
  const sp_gid rows = setup->space->numbering->global;
  *out = NULL;
  if (rows > INT_MAX && sizeof(HYPRE_BigInt) <= sizeof(int))
    return sp_fail(SP_ERR_INPUT,
                   "the coarsest problem of multigrid has %lld rows, but this hypre counts only to "
                   "%d; use solver.preconditioner = jacobi, or a hypre with 64-bit integers",
                   (long long)rows, INT_MAX);
  const sp_status status = sp_allocate(1, sizeof **out, "coarse solver", out);
  SP_TRY(sp_agree(setup->space->platform->comm, status));
  const sp_status created = create(setup, part, *out);
  if (created) sp_boomer_destroy(out);
  return created;
}

void sp_boomer_destroy(sp_boomer **boomer) {
  sp_boomer *c = *boomer;
  if (!c) return;
  if (c->amg) HYPRE_BoomerAMGDestroy(c->amg);
  if (c->matrix) HYPRE_IJMatrixDestroy(c->matrix);
  if (c->b) HYPRE_IJVectorDestroy(c->b);
  if (c->x) HYPRE_IJVectorDestroy(c->x);
  HYPRE_ClearAllErrors();
  free(c->numbers);
  free(c);
  *boomer = NULL;
}

/* ---- Solution ---- */

sp_status sp_boomer_solve(sp_boomer *c, const double *b, double *x) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector par_b, par_x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&par_b);
  HYPRE_IJVectorGetObject(c->x, (void **)&par_x);
  HYPRE_IJVectorSetValues(c->b, c->owned, c->numbers, b);
  HYPRE_ParVectorSetConstantValues(par_x, 0);
  HYPRE_BoomerAMGSolve(c->amg, matrix, par_b, par_x);
  HYPRE_IJVectorGetValues(c->x, c->owned, c->numbers, x);
  HYPRE_ClearError(HYPRE_ERROR_CONV); /* one cycle is not meant to converge */
  return sp_hypre_check("a cycle of BoomerAMG");
}
