#include "solver/linear/coarse_boomer.h"

#include <stdlib.h>

struct sp_boomer {
  MPI_Comm comm;
  sp_reduction *reduction;
  sp_lid owned;
  int components;
  int *of_dof;   /* [owned] */
  double *sizes; /* [components], DOFs of each over all ranks */
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector b, x;
  HYPRE_BigInt *rows; /* [owned], global numbers of the owned DOFs */
  HYPRE_Solver amg;
};

/* ---- Set-up ---- */

static sp_status keep_components(sp_boomer *c, const sp_constants *constants) {
  c->components = constants->components;
  if (c->components == 0) return SP_OK;
  SP_TRY(sp_allocate((size_t)c->owned, sizeof *c->of_dof, "components", &c->of_dof));
  SP_TRY(sp_allocate((size_t)c->components, sizeof *c->sizes, "components", &c->sizes));
  for (sp_lid i = 0; i < c->owned; i++) {
    c->of_dof[i] = constants->of_dof[i];
    if (c->of_dof[i] >= 0) c->sizes[c->of_dof[i]] += 1;
  }
  return SP_OK;
}

static sp_status allocate(const sp_numbering *numbering, const sp_constants *constants,
                          sp_boomer *c) {
  SP_TRY(keep_components(c, constants));
  SP_TRY(sp_allocate((size_t)c->owned, sizeof *c->rows, "coarse rows", &c->rows));
  for (sp_lid i = 0; i < c->owned; i++) c->rows[i] = (HYPRE_BigInt)(numbering->first + i);
  return SP_OK;
}

static void create_vector(const sp_boomer *c, HYPRE_BigInt begin, HYPRE_IJVector *v) {
  HYPRE_IJVectorCreate(c->comm, begin, begin + c->owned - 1, v);
  HYPRE_IJVectorSetObjectType(*v, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*v);
  HYPRE_IJVectorAssemble(*v);
}

/* The smoother makes the cycle symmetric: l1 Gauss-Seidel, forward before (13) and backward after
 * (14); elimination (9) on the last level, which is the first with `direct`. */
static sp_status set_up(sp_boomer *c, bool direct) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&b);
  HYPRE_IJVectorGetObject(c->x, (void **)&x);
  HYPRE_BoomerAMGCreate(&c->amg);
  sp_hypre_set_levels(c->amg);
  HYPRE_BoomerAMGSetMaxCoarseSize(c->amg, 200);
  if (direct) HYPRE_BoomerAMGSetMaxLevels(c->amg, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 13, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 14, 2);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 9, 3);
  HYPRE_BoomerAMGSetRelaxOrder(c->amg, 0);
  HYPRE_BoomerAMGSetMaxIter(c->amg, 1);
  HYPRE_BoomerAMGSetTol(c->amg, 0);
  HYPRE_BoomerAMGSetup(c->amg, matrix, b, x);
  return sp_agree(c->comm, sp_hypre_check("BoomerAMG's set-up"));
}

sp_status sp_boomer_create(const sp_space *space, const sp_constants *constants, bool direct,
                           HYPRE_IJMatrix matrix, sp_boomer **out) {
  const sp_platform *platform = space->platform;
  const sp_numbering *numbering = space->numbering;
  sp_boomer *c;
  *out = NULL;
  sp_status status = sp_agree(platform->comm, sp_allocate(1, sizeof *c, "coarse solver", &c));
  if (status) {
    HYPRE_IJMatrixDestroy(matrix);
    return status;
  }
  *c = (sp_boomer){.comm = platform->comm,
                   .reduction = platform->reduction,
                   .owned = numbering->owned,
                   .matrix = matrix};
  status = sp_agree(platform->comm, allocate(numbering, constants, c));
  if (!status && c->components > 0)
    MPI_Allreduce(MPI_IN_PLACE, c->sizes, c->components, MPI_DOUBLE, MPI_SUM, c->comm);
  if (!status) {
    create_vector(c, (HYPRE_BigInt)numbering->first, &c->b);
    create_vector(c, (HYPRE_BigInt)numbering->first, &c->x);
    status = set_up(c, direct);
  }
  if (status)
    sp_boomer_destroy(&c);
  else
    *out = c;
  return status;
}

void sp_boomer_destroy(sp_boomer **boomer) {
  sp_boomer *c = *boomer;
  if (!c) return;
  if (c->amg) HYPRE_BoomerAMGDestroy(c->amg);
  if (c->matrix) HYPRE_IJMatrixDestroy(c->matrix);
  if (c->b) HYPRE_IJVectorDestroy(c->b);
  if (c->x) HYPRE_IJVectorDestroy(c->x);
  HYPRE_ClearAllErrors();
  free(c->rows);
  free(c->of_dof);
  free(c->sizes);
  free(c);
  *boomer = NULL;
}

/* ---- Solution ---- */

/* Remove from v its mean over each component. */
static sp_status project(sp_boomer *c, double *v) {
  for (int k = 0; k < c->components; k++) {
    double sum = 0;
    for (sp_lid i = 0; i < c->owned; i++)
      if (c->of_dof[i] == k) sum += v[i];
    SP_TRY(sp_reduction_sum(c->reduction, 1, &sum, SP_OK));
    for (sp_lid i = 0; i < c->owned; i++)
      if (c->of_dof[i] == k) v[i] -= sum / c->sizes[k];
  }
  return SP_OK;
}

/* A cycle of hypre: collective, so ranks agree on failures before it. */
sp_status sp_boomer_solve(sp_boomer *c, sp_status status, double *b, double *x) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector par_b, par_x;
  SP_TRY(sp_reduction_sum(c->reduction, 0, NULL, status));
  SP_TRY(project(c, b));
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&par_b);
  HYPRE_IJVectorGetObject(c->x, (void **)&par_x);
  HYPRE_IJVectorSetValues(c->b, c->owned, c->rows, b);
  HYPRE_ParVectorSetConstantValues(par_x, 0);
  HYPRE_BoomerAMGSolve(c->amg, matrix, par_b, par_x);
  HYPRE_IJVectorGetValues(c->x, c->owned, c->rows, x);
  HYPRE_ClearError(HYPRE_ERROR_CONV); /* one cycle is not meant to converge */
  SP_TRY(sp_hypre_check("a cycle of BoomerAMG"));
  return project(c, x);
}
