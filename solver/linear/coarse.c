#include "solver/linear/coarse.h"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "mesh/geometry.h"
#include "operators/factors.h"

enum { NODES = 8 }; /* per element of order 1 */

struct sp_coarse {
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
  char description[96];
};

bool sp_coarse_is_available(void) {
  return true;
}

/* hypre keeps its errors in a flag that is to be cleared. */
static sp_status check(const char *what) {
  const HYPRE_Int error = HYPRE_GetError();
  HYPRE_ClearAllErrors();
  if (!error) return SP_OK;
  char text[128] = "";
  HYPRE_DescribeError(error, text);
  return sp_fail(SP_ERR_SYSTEM, "hypre failed in %s: %.100s", what, text);
}

/* ---- Assembly ---- */

/* matrix[NODES][NODES] of one element from factors at its corners, [SP_FACTORS][NODES]: with GLL
 * quadrature points are nodes, and the slope along a direction couples the two ends of an edge. */
static void element_matrix(const double *factors, double lambda, double matrix[NODES][NODES]) {
  static const int factor[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  for (int i = 0; i < NODES; i++)
    for (int j = 0; j < NODES; j++) matrix[i][j] = 0;
  for (int q = 0; q < NODES; q++) {
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        const double g = factors[factor[a][b] * NODES + q] / 4; /* slopes are +-1/2 */
        const int ends[2][2] = {{q & ~(1 << a), q | 1 << a}, {q & ~(1 << b), q | 1 << b}};
        for (int s = 0; s < 2; s++)
          for (int t = 0; t < 2; t++) matrix[ends[0][s]][ends[1][t]] += s == t ? g : -g;
      }
    matrix[q][q] += lambda * factors[SP_G_WJ * NODES + q];
  }
}

/* Add an element's matrix; rows and columns of constrained DOFs stay out. Across a period of one
 * element several nodes are one DOF; hypre takes a column once per call. */
static void add_element(sp_coarse *c, const sp_operator_setup *setup, sp_lid e,
                        double matrix[NODES][NODES]) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_lid *nodes = &numbering->nodes[(size_t)e * NODES];
  for (int i = 0; i < NODES; i++) {
    if (setup->constrained && setup->constrained[nodes[i]]) continue;
    const HYPRE_BigInt row = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[i]);
    HYPRE_BigInt columns[NODES];
    double values[NODES];
    HYPRE_Int count = 0;
    for (int j = 0; j < NODES; j++) {
      if (setup->constrained && setup->constrained[nodes[j]]) continue;
      const HYPRE_BigInt column = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[j]);
      HYPRE_Int at = 0;
      while (at < count && columns[at] != column) at++;
      if (at == count) {
        columns[count] = column;
        values[count++] = 0;
      }
      values[at] += matrix[i][j];
    }
    HYPRE_IJMatrixAddToValues(c->matrix, 1, &count, &row, columns, values);
  }
}

static void add_to_diagonal(sp_coarse *c, HYPRE_BigInt row, double value) {
  HYPRE_Int one = 1;
  HYPRE_IJMatrixAddToValues(c->matrix, 1, &one, &row, &row, &value);
}

static sp_status add_elements(sp_coarse *c, const sp_operator_setup *setup) {
  const sp_space *space = setup->space;
  const sp_numbering *numbering = space->numbering;
  const sp_rule *rule = &sp_reference_get(1)->gll;
  double factors[SP_FACTORS * NODES], matrix[NODES][NODES];
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    SP_TRY(sp_operator_factors(setup, e, rule, factors));
    element_matrix(factors, setup->lambda, matrix);
    add_element(c, setup, e, matrix);
  }
  for (sp_lid i = 0; i < setup->diagonal_count; i++) {
    const sp_lid dof = setup->diagonal_dofs[i];
    if (setup->constrained && setup->constrained[dof]) continue;
    add_to_diagonal(c, (HYPRE_BigInt)sp_numbering_global(numbering, dof),
                    setup->diagonal_values[i]);
  }
  for (sp_lid i = 0; i < c->owned && setup->constrained; i++)
    if (setup->constrained[i]) add_to_diagonal(c, c->rows[i], 1);
  return SP_OK;
}

/* Double the diagonal of the first row of each component. */
static sp_status pin(sp_coarse *c, const sp_numbering *numbering) {
  HYPRE_ParCSRMatrix parcsr;
  const int components = c->components;
  sp_gid *first;
  SP_TRY(sp_agree(c->comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT64_MAX;
  for (sp_lid i = c->owned; i-- > 0;)
    if (c->of_dof[i] >= 0) first[c->of_dof[i]] = numbering->first + i;
  MPI_Allreduce(MPI_IN_PLACE, first, components, SP_MPI_GID, MPI_MIN, c->comm);
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&parcsr);
  for (int k = 0; k < components; k++) {
    if (first[k] < numbering->first || first[k] >= numbering->first + c->owned) continue;
    const HYPRE_BigInt row = (HYPRE_BigInt)first[k];
    HYPRE_Int size, one = 1;
    HYPRE_BigInt *columns;
    double *values, diagonal = 0;
    HYPRE_ParCSRMatrixGetRow(parcsr, row, &size, &columns, &values);
    for (HYPRE_Int n = 0; n < size; n++)
      if (columns[n] == row) diagonal = values[n];
    HYPRE_ParCSRMatrixRestoreRow(parcsr, row, &size, &columns, &values);
    HYPRE_IJMatrixAddToValues(c->matrix, 1, &one, &row, &row, &diagonal);
  }
  free(first);
  return SP_OK;
}

static void create_vector(sp_coarse *c, HYPRE_BigInt begin, HYPRE_BigInt end, HYPRE_IJVector *v) {
  HYPRE_IJVectorCreate(c->comm, begin, end - 1, v);
  HYPRE_IJVectorSetObjectType(*v, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(*v);
  HYPRE_IJVectorAssemble(*v);
}

static sp_status assemble(sp_coarse *c, const sp_operator_setup *setup) {
  const sp_numbering *numbering = setup->space->numbering;
  const HYPRE_BigInt begin = (HYPRE_BigInt)numbering->first, end = begin + c->owned;
  HYPRE_IJMatrixCreate(c->comm, begin, end - 1, begin, end - 1, &c->matrix);
  HYPRE_IJMatrixSetObjectType(c->matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(c->matrix);
  SP_TRY(sp_agree(c->comm, add_elements(c, setup)));
  HYPRE_IJMatrixAssemble(c->matrix);
  if (c->components > 0) {
    SP_TRY(pin(c, numbering));
    HYPRE_IJMatrixAssemble(c->matrix);
  }
  create_vector(c, begin, end, &c->b);
  create_vector(c, begin, end, &c->x);
  return sp_agree(c->comm, check("the assembly of the coarse matrix"));
}

/* ---- Set-up ---- */

/* What a prototype found best for these matrices: HMIS-like coarsening by PMIS (8), extended+i
 * interpolation (6) of at most four entries per row, one aggressive level, and a smoother that
 * makes the cycle symmetric: l1 Gauss-Seidel, forward before (13) and backward after (14). */
static sp_status set_up(sp_coarse *c) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector b, x;
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&b);
  HYPRE_IJVectorGetObject(c->x, (void **)&x);
  HYPRE_BoomerAMGCreate(&c->amg);
  HYPRE_BoomerAMGSetCoarsenType(c->amg, 8);
  HYPRE_BoomerAMGSetInterpType(c->amg, 6);
  HYPRE_BoomerAMGSetPMaxElmts(c->amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(c->amg, 0.25);
  HYPRE_BoomerAMGSetMaxCoarseSize(c->amg, 200);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 13, 1);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 14, 2);
  HYPRE_BoomerAMGSetCycleRelaxType(c->amg, 9, 3);
  HYPRE_BoomerAMGSetRelaxOrder(c->amg, 0);
  HYPRE_BoomerAMGSetMaxIter(c->amg, 1);
  HYPRE_BoomerAMGSetTol(c->amg, 0);
  HYPRE_BoomerAMGSetPrintLevel(c->amg, 0);
  HYPRE_BoomerAMGSetup(c->amg, matrix, b, x);
  return sp_agree(c->comm, check("BoomerAMG's set-up"));
}

static sp_status keep_components(sp_coarse *c, const sp_constants *constants) {
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

static sp_status allocate(const sp_operator_setup *setup, const sp_constants *constants,
                          sp_coarse *c) {
  const sp_numbering *numbering = setup->space->numbering;
  SP_TRY(keep_components(c, constants));
  SP_TRY(sp_allocate((size_t)c->owned, sizeof *c->rows, "coarse rows", &c->rows));
  for (sp_lid i = 0; i < c->owned; i++) c->rows[i] = (HYPRE_BigInt)(numbering->first + i);
  if (numbering->global > INT_MAX && sizeof(HYPRE_BigInt) <= sizeof(int))
    return sp_fail(SP_ERR_INPUT,
                   "the coarsest problem of multigrid has %lld rows, this hypre counts to %d: use "
                   "solver.preconditioner = jacobi, or a hypre with 64-bit integers",
                   (long long)numbering->global, INT_MAX);
  return SP_OK;
}

sp_status sp_coarse_create(const sp_operator_setup *setup, const sp_constants *constants,
                           sp_coarse **out) {
  const sp_platform *platform = setup->space->platform;
  sp_coarse *c;
  *out = NULL;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *c, "coarse solver", &c)));
  *c = (sp_coarse){.comm = platform->comm,
                   .reduction = platform->reduction,
                   .owned = setup->space->numbering->owned};
  sp_status status = sp_agree(platform->comm, allocate(setup, constants, c));
  if (!status && c->components > 0)
    MPI_Allreduce(MPI_IN_PLACE, c->sizes, c->components, MPI_DOUBLE, MPI_SUM, c->comm);
  HYPRE_Init();
  HYPRE_ClearAllErrors();
  if (!status) status = assemble(c, setup);
  if (!status) status = set_up(c);
  if (status) {
    sp_coarse_destroy(&c);
    return status;
  }
  snprintf(c->description, sizeof c->description, "BoomerAMG (hypre %s), %lld rows",
           HYPRE_RELEASE_VERSION, (long long)setup->space->numbering->global);
  *out = c;
  return SP_OK;
}

void sp_coarse_destroy(sp_coarse **coarse) {
  sp_coarse *c = *coarse;
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
  *coarse = NULL;
}

/* ---- Solution ---- */

/* Remove from v its mean over each component. */
static sp_status project(sp_coarse *c, sp_status status, double *v) {
  for (int k = 0; k < c->components; k++) {
    double sum = 0;
    for (sp_lid i = 0; i < c->owned; i++)
      if (c->of_dof[i] == k) sum += v[i];
    SP_TRY(sp_reduction_sum(c->reduction, 1, &sum, status));
    for (sp_lid i = 0; i < c->owned; i++)
      if (c->of_dof[i] == k) v[i] -= sum / c->sizes[k];
  }
  return SP_OK;
}

/* A cycle of hypre: collective, so ranks agree on failures before it. */
sp_status sp_coarse_solve(sp_coarse *c, sp_status status, double *b, double *x) {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector par_b, par_x;
  SP_TRY(sp_reduction_sum(c->reduction, 0, NULL, status));
  SP_TRY(project(c, SP_OK, b));
  HYPRE_IJMatrixGetObject(c->matrix, (void **)&matrix);
  HYPRE_IJVectorGetObject(c->b, (void **)&par_b);
  HYPRE_IJVectorGetObject(c->x, (void **)&par_x);
  HYPRE_IJVectorSetValues(c->b, c->owned, c->rows, b);
  HYPRE_ParVectorSetConstantValues(par_x, 0);
  HYPRE_BoomerAMGSolve(c->amg, matrix, par_b, par_x);
  HYPRE_IJVectorGetValues(c->x, c->owned, c->rows, x);
  HYPRE_ClearError(HYPRE_ERROR_CONV); /* one cycle is not meant to converge */
  SP_TRY(check("a cycle of BoomerAMG"));
  return project(c, SP_OK, x);
}

const char *sp_coarse_describe(const sp_coarse *coarse) {
  return coarse->description;
}

/* hypre does not say. Boxes of 32^3 and 60^3 elements took 550 to 580 bytes per row on one rank and
 * on four; the 27 entries of a row are 324. */
double sp_coarse_predicted_bytes(double dofs) {
  return 570 * dofs;
}
