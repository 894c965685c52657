#include "solver/linear/coarse_boomer.h"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <limits.h>

#include "solver/linear/coarse_rows.h"

/* Rows of the last level, which hypre eliminates anew in each cycle. */
enum { LAST_LEVEL = 200 };

struct sp_boomer {
  const sp_space *space; /* borrowed */
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector b, x;
  HYPRE_BigInt begin; /* of the rows that this rank owns */
  HYPRE_Int owned;
  HYPRE_BigInt *numbers; /* [local DOFs], global numbers */
  HYPRE_Solver amg;
  /* The null space. */
  int components;
  int *of_dof;   /* [owned], component of each DOF or -1 */
  double *sizes; /* [components], DOFs of each over all ranks */
  double *sums;  /* [components] */
};

const char *sp_boomer_hypre(void) {
  return HYPRE_RELEASE_VERSION;
}

/* ---- Null spaces ---- */

/* Remove from v its mean over each component. */
static sp_status remove_means(sp_boomer *c, sp_status status, double *v) {
  if (c->components == 0) return status;
  for (int k = 0; k < c->components; k++) c->sums[k] = 0;
  for (HYPRE_Int i = 0; i < c->owned; i++)
    if (c->of_dof[i] >= 0) c->sums[c->of_dof[i]] += v[i];
  SP_TRY(sp_reduction_sum(c->space->platform->reduction, c->components, c->sums, status));
  for (HYPRE_Int i = 0; i < c->owned; i++)
    if (c->of_dof[i] >= 0) v[i] -= c->sums[c->of_dof[i]] / c->sizes[c->of_dof[i]];
  return SP_OK;
}

static sp_status count_components(sp_boomer *c, const sp_constants *constants) {
  c->components = constants->components;
  if (c->components == 0) return SP_OK;
  SP_TRY(sp_agree(c->space->platform->comm, SP_ALLOCATE("components", SP_ARRAY(c->of_dof, c->owned),
                                                        SP_ARRAY(c->sizes, c->components),
                                                        SP_ARRAY(c->sums, c->components))));
  for (HYPRE_Int i = 0; i < c->owned; i++) {
    c->of_dof[i] = constants->of_dof[i];
    if (c->of_dof[i] >= 0) c->sizes[c->of_dof[i]] += 1;
  }
  return sp_reduction_sum(c->space->platform->reduction, c->components, c->sizes, SP_OK);
}

/* ---- Set-up ---- */

/* Check and clear hypre's error flag. */
static sp_status check_hypre(const char *what) {
  const HYPRE_Int error = HYPRE_GetError();
  HYPRE_ClearAllErrors();
  if (!error) return SP_OK;
  char text[128] = "";
  HYPRE_DescribeError(error, text);
  return sp_fail(SP_ERR_SYSTEM, "hypre failed in %s: %.100s", what, text);
}

static sp_status add_rows(const sp_boomer *c, const bool *constrained, const sp_csr *part) {
  SP_OWNED HYPRE_BigInt *columns = NULL;
  SP_TRY(sp_allocate((size_t)sp_csr_longest(part), sizeof *columns, "coarse rows", &columns));
  for (int i = 0; i < part->rows; i++) {
    const int first = part->start[i];
    HYPRE_Int count = part->start[i + 1] - first, one = 1;
    for (int n = 0; n < count; n++) columns[n] = c->numbers[part->column[first + n]];
    const HYPRE_BigInt row = c->numbers[i];
    if (count > 0)
      HYPRE_IJMatrixAddToValues(c->matrix, 1, &count, &row, columns, &part->values[first]);
    else if (constrained && constrained[i] && i < c->owned)
      HYPRE_IJMatrixAddToValues(c->matrix, 1, &one, &row, &row, &(double){1});
  }
  return SP_OK;
}

/* Create the matrix that is the sum of the ranks' parts; constrained rows have a one on the
 * diagonal. */
static sp_status create_hypre_matrix(sp_boomer *c, const bool *constrained, const sp_csr *part) {
  const MPI_Comm comm = c->space->platform->comm;
  HYPRE_IJMatrixCreate(comm, c->begin, c->begin + c->owned - 1, c->begin, c->begin + c->owned - 1,
                       &c->matrix);
  HYPRE_IJMatrixSetObjectType(c->matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(c->matrix);
  SP_TRY(sp_agree(comm, add_rows(c, constrained, part)));
  HYPRE_IJMatrixAssemble(c->matrix);
  return sp_agree(comm, check_hypre("the assembly of a matrix"));
}

static void create_hypre_vector(const sp_boomer *c, HYPRE_IJVector *out) {
  HYPRE_IJVectorCreate(c->space->platform->comm, c->begin, c->begin + c->owned - 1, out);
  HYPRE_IJVectorSetObjectType(*out, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*out);
  HYPRE_IJVectorAssemble(*out);
}

/* Coarsening by PMIS (8); extended+i interpolation by matrix products (17), at most four entries
 * per row. 17 takes two thirds of the time of 6, with the same number of iterations. The smoother
 * makes the cycle symmetric: l1 Gauss-Seidel, forward before (13) and backward after (14);
 * elimination (9) on the last level. If hypre makes no second level, because the diagonal
 * dominates: symmetric l1 Gauss-Seidel (8). */
static sp_status set_up(sp_boomer *c) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&b);
  HYPRE_IJVectorGetObject(c->x, (void **)&x);
  HYPRE_BoomerAMGCreate(&c->amg);
  HYPRE_BoomerAMGSetCoarsenType(c->amg, 8);
  HYPRE_BoomerAMGSetInterpType(c->amg, 17);
  HYPRE_BoomerAMGSetPMaxElmts(c->amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(c->amg, 0.25);
  HYPRE_BoomerAMGSetPrintLevel(c->amg, 0);
  HYPRE_BoomerAMGSetMaxCoarseSize(c->amg, LAST_LEVEL);
  HYPRE_BoomerAMGSetRelaxType(c->amg, 8);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 13, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 14, 2);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 9, 3);
  HYPRE_BoomerAMGSetRelaxOrder(c->amg, 0);
  HYPRE_BoomerAMGSetMaxIter(c->amg, 1);
  HYPRE_BoomerAMGSetTol(c->amg, 0);
  HYPRE_BoomerAMGSetup(c->amg, matrix, b, x);
  return check_hypre("BoomerAMG's set-up");
}

static sp_status build_boomer(const sp_operator_setup *setup, const sp_constants *constants,
                              sp_boomer *c) {
  const sp_numbering *numbering = setup->space->numbering;
  const MPI_Comm comm = setup->space->platform->comm;
  SP_AUTO_VALUE(sp_csr) part = {0};
  c->space = setup->space;
  c->begin = (HYPRE_BigInt)numbering->first;
  c->owned = numbering->owned;
  SP_TRY(count_components(c, constants));
  SP_TRY(sp_coarse_assemble(setup, constants, &part));
  SP_TRY(sp_agree(
      comm, sp_allocate((size_t)numbering->local, sizeof *c->numbers, "coarse rows", &c->numbers)));
  for (sp_lid d = 0; d < numbering->local; d++)
    c->numbers[d] = (HYPRE_BigInt)sp_numbering_global(numbering, d);
  SP_TRY(create_hypre_matrix(c, setup->constrained, &part));
  create_hypre_vector(c, &c->b);
  create_hypre_vector(c, &c->x);
  return sp_agree(comm, set_up(c));
}

sp_status sp_boomer_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_boomer **out) {
  const sp_gid rows = setup->space->numbering->global;
  *out = NULL;
  HYPRE_Init();
  HYPRE_ClearAllErrors();
  if (rows > INT_MAX && sizeof(HYPRE_BigInt) <= sizeof(int))
    return sp_fail(SP_ERR_INPUT,
                   "the coarsest problem of multigrid has %lld rows, but this hypre counts only to "
                   "%d; use solver.preconditioner = jacobi, or a hypre with 64-bit integers",
                   (long long)rows, INT_MAX);
  const sp_status status = sp_allocate(1, sizeof **out, "coarse solver", out);
  SP_TRY(sp_agree(setup->space->platform->comm, status));
  const sp_status created = build_boomer(setup, constants, *out);
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
  SP_FREE(c->numbers, c->of_dof, c->sizes, c->sums, c);
  *boomer = NULL;
}

/* ---- Solution ---- */

sp_status sp_boomer_solve(sp_boomer *c, double *b, double *x) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector par_b, par_x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&par_b);
  HYPRE_IJVectorGetObject(c->x, (void **)&par_x);
  SP_TRY(remove_means(c, SP_OK, b));
  HYPRE_IJVectorSetValues(c->b, c->owned, c->numbers, b);
  HYPRE_ParVectorSetConstantValues(par_x, 0);
  HYPRE_BoomerAMGSolve(c->amg, matrix, par_b, par_x);
  HYPRE_IJVectorGetValues(c->x, c->owned, c->numbers, x);
  HYPRE_ClearError(HYPRE_ERROR_CONV); /* one cycle is not meant to converge */
  return remove_means(c, check_hypre("a cycle of BoomerAMG"), x);
}
