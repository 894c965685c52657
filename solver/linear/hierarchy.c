#include "solver/linear/hierarchy.h"

#include <_hypre_parcsr_ls.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "solver/linear/coarse_rows.h"
#include "solver/linear/hypre.h"
#include "solver/linear/lanczos.h"

/* ---- The largest eigenvalue of D^-1 A ---- */

static void multiply(const sp_csr *m, const double *x, double *y) {
  for (int i = 0; i < m->rows; i++) {
    double sum = 0;
    for (int n = m->start[i]; n < m->start[i + 1]; n++) sum += m->values[n] * x[m->column[n]];
    y[i] = sum;
  }
}

/* Return a bound on it. `work` has room for four vectors. */
static double find_bound(const sp_csr *m, const double *inverse, double *work) {
  const int rows = m->rows;
  double *r = work, *p = r + rows, *q = p + rows, *z = q + rows;
  sp_lanczos lanczos = {0};
  unsigned long long seed = 1;
  for (int i = 0; i < rows; i++) { /* values without a pattern: Knuth's linear congruences */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    r[i] = (double)(seed >> 11) * 0x1p-52 - 1;
    p[i] = 0;
  }
  while (lanczos.steps < SP_LANCZOS_STEPS && lanczos.steps < rows) {
    double rz = 0, pq = 0;
    for (int i = 0; i < rows; i++) rz += r[i] * (z[i] = inverse[i] * r[i]);
    const double beta = sp_lanczos_beta(&lanczos, rz);
    for (int i = 0; i < rows; i++) p[i] = z[i] + beta * p[i];
    multiply(m, p, q);
    for (int i = 0; i < rows; i++) pq += p[i] * q[i];
    if (!(rz > 0 && pq > 0)) break; /* r is at rounding level */
    const double alpha = sp_lanczos_add(&lanczos, rz, pq);
    for (int i = 0; i < rows; i++) r[i] -= alpha * q[i];
  }
  return sp_lanczos_bound(&lanczos);
}

/* The inverse diagonal of a level, and the smoother's bound. */
static sp_status prepare_smoother(sp_hierarchy_level *l) {
  const sp_csr *matrix = &l->matrix;
  const size_t rows = (size_t)matrix->rows;
  double *work;
  SP_TRY(
      sp_allocate(rows, sizeof *l->inverse_diagonal, "algebraic multigrid", &l->inverse_diagonal));
  SP_TRY(sp_allocate(4 * rows, sizeof *work, "algebraic multigrid", &work));
  for (int i = 0; i < matrix->rows; i++)
    for (int n = matrix->start[i]; n < matrix->start[i + 1]; n++)
      if (matrix->column[n] == i) l->inverse_diagonal[i] = 1 / matrix->values[n];
  l->bound = find_bound(matrix, l->inverse_diagonal, work);
  free(work);
  return SP_OK;
}

static sp_status transpose(const sp_csr *m, sp_csr *out) {
  SP_TRY(sp_csr_create(m->columns, m->rows, (size_t)m->start[m->rows], out));
  int *start = out->start;
  for (int n = 0; n < m->start[m->rows]; n++) start[m->column[n] + 1]++;
  for (int i = 0; i < out->rows; i++) start[i + 1] += start[i];
  for (int i = 0; i < m->rows; i++)
    for (int n = m->start[i]; n < m->start[i + 1]; n++) {
      const int at = start[m->column[n]]++; /* becomes the start of the next row */
      out->column[at] = i;
      out->values[at] = m->values[n];
    }
  for (int i = out->rows; i > 0; i--) start[i] = start[i - 1];
  start[0] = 0;
  return SP_OK;
}

/* ---- hypre's levels ---- */

typedef struct boomer {
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector vector;
  HYPRE_Solver amg;
} boomer;

/* Set up hypre as in coarse_boomer.c, but with levels that end earlier. */
static sp_status set_up(const sp_csr *matrix, const HYPRE_BigInt *numbers, int direct, boomer *h) {
  const sp_hypre_rows rows = {.comm = MPI_COMM_SELF, .owned = matrix->rows, .numbers = numbers};
  HYPRE_ParCSRMatrix par_matrix;
  HYPRE_ParVector par_vector;
  SP_TRY(sp_hypre_matrix_create(&rows, matrix, &h->matrix));
  sp_hypre_vector_create(&rows, &h->vector);
  HYPRE_IJMatrixGetObject(h->matrix, (void **)&par_matrix);
  HYPRE_IJVectorGetObject(h->vector, (void **)&par_vector);
  HYPRE_BoomerAMGCreate(&h->amg);
  sp_hypre_set_levels(h->amg);
  HYPRE_BoomerAMGSetMaxCoarseSize(h->amg, direct);
  HYPRE_BoomerAMGSetMaxLevels(h->amg, SP_HIERARCHY_MOST);
  HYPRE_BoomerAMGSetRelaxType(h->amg, 0); /* Jacobi: nothing to prepare, since we smooth */
  HYPRE_BoomerAMGSetup(h->amg, par_matrix, par_vector, par_vector);
  return sp_hypre_check("BoomerAMG's set-up");
}

static void release(boomer *h) {
  if (h->amg) HYPRE_BoomerAMGDestroy(h->amg);
  if (h->matrix) HYPRE_IJMatrixDestroy(h->matrix);
  if (h->vector) HYPRE_IJVectorDestroy(h->vector);
  HYPRE_ClearAllErrors();
}

/* Copy a matrix that is on one rank. */
static sp_status copy(hypre_ParCSRMatrix *matrix, sp_csr *out) {
  const hypre_CSRMatrix *from = hypre_ParCSRMatrixDiag(matrix);
  const int rows = (int)hypre_CSRMatrixNumRows(from), columns = (int)hypre_CSRMatrixNumCols(from);
  const HYPRE_Int *start = hypre_CSRMatrixI(from), *column = hypre_CSRMatrixJ(from);
  const double *values = hypre_CSRMatrixData(from);
  if (start[rows] > INT_MAX)
    return sp_fail(SP_ERR_INPUT, "a level of algebraic multigrid has more than %d entries",
                   INT_MAX);
  SP_TRY(sp_csr_create(rows, columns, (size_t)start[rows], out));
  for (int i = 0; i <= rows; i++) out->start[i] = (int)start[i];
  for (int n = 0; n < out->start[rows]; n++) {
    out->column[n] = (int)column[n];
    out->values[n] = values[n];
  }
  return SP_OK;
}

static sp_status read_level(hypre_ParAMGData *data, int index, bool last, sp_hierarchy_level *l) {
  SP_TRY(copy(hypre_ParAMGDataAArray(data)[index], &l->matrix));
  SP_TRY(prepare_smoother(l));
  if (last) return SP_OK;
  SP_TRY(copy(hypre_ParAMGDataPArray(data)[index], &l->interpolation));
  return transpose(&l->interpolation, &l->restriction);
}

static sp_status read_levels(const boomer *h, sp_hierarchy *out) {
  hypre_ParAMGData *data = (hypre_ParAMGData *)h->amg;
  const int levels = (int)hypre_ParAMGDataNumLevels(data);
  for (; out->levels < levels; out->levels++)
    SP_TRY(read_level(data, out->levels, out->levels + 1 == levels, &out->level[out->levels]));
  return SP_OK;
}

sp_status sp_hierarchy_create(const sp_csr *matrix, int direct, sp_hierarchy *out) {
  boomer h = {0};
  HYPRE_BigInt *numbers;
  *out = (sp_hierarchy){0};
  SP_TRY(sp_allocate((size_t)matrix->rows, sizeof *numbers, "algebraic multigrid", &numbers));
  for (int i = 0; i < matrix->rows; i++) numbers[i] = i;
  sp_status status = set_up(matrix, numbers, direct, &h);
  if (!status) status = read_levels(&h, out);
  release(&h);
  free(numbers);
  return status;
}

void sp_hierarchy_free(sp_hierarchy *hierarchy) {
  for (int i = 0; i < SP_HIERARCHY_MOST; i++) {
    sp_hierarchy_level *l = &hierarchy->level[i];
    sp_csr_free(&l->matrix);
    sp_csr_free(&l->interpolation);
    sp_csr_free(&l->restriction);
    free(l->inverse_diagonal);
  }
  *hierarchy = (sp_hierarchy){0};
}
