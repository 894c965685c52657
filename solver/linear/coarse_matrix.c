#include "solver/linear/coarse_matrix.h"

#include <HYPRE_parcsr_mv.h>
#include <limits.h>
#include <stdlib.h>

#include "solver/linear/coarse_elements.h"

enum { NODES = SP_COARSE_NODES };

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

/* ---- Assembly ---- */

/* Add an element's matrix; rows and columns of constrained DOFs stay out. Across a period of one
 * element several nodes are one DOF; hypre takes a column once per call. */
static void add_element(HYPRE_IJMatrix target, const sp_operator_setup *setup, sp_lid e,
                        sp_coarse_element matrix) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_lid *nodes = &numbering->nodes[(size_t)e * NODES];
  for (int i = 0; i < NODES; i++) {
    if (sp_coarse_is_constrained(setup, nodes[i])) continue;
    const HYPRE_BigInt row = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[i]);
    HYPRE_BigInt columns[NODES];
    double values[NODES];
    HYPRE_Int count = 0;
    for (int j = 0; j < NODES; j++) {
      if (sp_coarse_is_constrained(setup, nodes[j])) continue;
      const HYPRE_BigInt column = (HYPRE_BigInt)sp_numbering_global(numbering, nodes[j]);
      HYPRE_Int at = 0;
      while (at < count && columns[at] != column) at++;
      if (at == count) {
        columns[count] = column;
        values[count++] = 0;
      }
      values[at] += matrix[i][j];
    }
    HYPRE_IJMatrixAddToValues(target, 1, &count, &row, columns, values);
  }
}

static void add_to_diagonal(HYPRE_IJMatrix target, HYPRE_BigInt row, double value) {
  HYPRE_Int one = 1;
  HYPRE_IJMatrixAddToValues(target, 1, &one, &row, &row, &value);
}

/* Elements whose matrices are computed together: 16 MB. */
enum { BATCH = 1 << 15 };

/* Threads compute the matrices. Only this thread passes them to hypre, which may call MPI. */
static sp_status add_batch(HYPRE_IJMatrix target, const sp_operator_setup *setup, size_t begin,
                           size_t count, sp_coarse_element *matrices) {
  SP_TRY(sp_coarse_elements(setup, begin, count, matrices));
  for (size_t n = 0; n < count; n++) add_element(target, setup, (sp_lid)(begin + n), matrices[n]);
  return SP_OK;
}

static sp_status add_elements(HYPRE_IJMatrix target, const sp_operator_setup *setup) {
  const sp_space *space = setup->space;
  const sp_numbering *numbering = space->numbering;
  const size_t elements = (size_t)space->mesh->hexes->count;
  sp_coarse_element *matrices;
  SP_TRY(sp_allocate(elements < BATCH ? elements : BATCH, sizeof *matrices, "element matrices",
                     &matrices));
  sp_status status = SP_OK;
  for (size_t begin = 0; begin < elements && !status; begin += BATCH) {
    const size_t left = elements - begin;
    status = add_batch(target, setup, begin, left < BATCH ? left : BATCH, matrices);
  }
  free(matrices);
  SP_TRY(status);
  for (sp_lid i = 0; i < setup->diagonal_count; i++) {
    const sp_lid dof = setup->diagonal_dofs[i];
    if (sp_coarse_is_constrained(setup, dof)) continue;
    add_to_diagonal(target, (HYPRE_BigInt)sp_numbering_global(numbering, dof),
                    setup->diagonal_values[i]);
  }
  for (sp_lid i = 0; i < numbering->owned; i++)
    if (sp_coarse_is_constrained(setup, i))
      add_to_diagonal(target, (HYPRE_BigInt)(numbering->first + i), 1);
  return SP_OK;
}

/* A row in hypre's own memory, until it is restored. */
typedef struct row {
  HYPRE_ParCSRMatrix matrix;
  HYPRE_BigInt number, *columns;
  HYPRE_Int size;
  double *values;
} row;

static row get_row(HYPRE_IJMatrix matrix, sp_gid number) {
  row r = {.number = (HYPRE_BigInt)number};
  HYPRE_IJMatrixGetObject(matrix, (void **)&r.matrix);
  HYPRE_ParCSRMatrixGetRow(r.matrix, r.number, &r.size, &r.columns, &r.values);
  return r;
}

static void restore_row(row *r) {
  HYPRE_ParCSRMatrixRestoreRow(r->matrix, r->number, &r->size, &r->columns, &r->values);
}

/* Double the diagonal of the first row of each component. */
static sp_status pin(HYPRE_IJMatrix matrix, const sp_space *space, const sp_constants *constants) {
  const MPI_Comm comm = space->platform->comm;
  const sp_numbering *numbering = space->numbering;
  const int components = constants->components;
  sp_gid *first;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)components, sizeof *first, "components", &first)));
  for (int k = 0; k < components; k++) first[k] = INT64_MAX;
  for (sp_lid i = numbering->owned; i-- > 0;)
    if (constants->of_dof[i] >= 0) first[constants->of_dof[i]] = numbering->first + i;
  MPI_Allreduce(MPI_IN_PLACE, first, components, SP_MPI_GID, MPI_MIN, comm);
  for (int k = 0; k < components; k++) {
    if (first[k] < numbering->first || first[k] >= numbering->first + numbering->owned) continue;
    double diagonal = 0;
    row r = get_row(matrix, first[k]);
    for (HYPRE_Int n = 0; n < r.size; n++)
      if (r.columns[n] == r.number) diagonal = r.values[n];
    restore_row(&r);
    add_to_diagonal(matrix, r.number, diagonal);
  }
  free(first);
  return SP_OK;
}

sp_status sp_coarse_matrix_create(const sp_operator_setup *setup, const sp_constants *constants,
                                  HYPRE_IJMatrix *out) {
  const MPI_Comm comm = setup->space->platform->comm;
  const sp_numbering *numbering = setup->space->numbering;
  const HYPRE_BigInt begin = (HYPRE_BigInt)numbering->first, end = begin + numbering->owned;
  *out = NULL;
  if (numbering->global > INT_MAX && sizeof(HYPRE_BigInt) <= sizeof(int))
    return sp_fail(SP_ERR_INPUT,
                   "the coarsest problem of multigrid has %lld rows, this hypre counts to %d: use "
                   "solver.preconditioner = jacobi, or a hypre with 64-bit integers",
                   (long long)numbering->global, INT_MAX);
  HYPRE_IJMatrixCreate(comm, begin, end - 1, begin, end - 1, out);
  HYPRE_IJMatrixSetObjectType(*out, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(*out);
  SP_TRY(sp_agree(comm, add_elements(*out, setup)));
  HYPRE_IJMatrixAssemble(*out);
  if (constants->components > 0) {
    SP_TRY(pin(*out, setup->space, constants));
    HYPRE_IJMatrixAssemble(*out);
  }
  return sp_agree(comm, sp_hypre_check("the assembly of the coarse matrix"));
}
