#include "solver/linear/amg.h"

#include <HYPRE.h>
#include <_hypre_parcsr_ls.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/chebyshev.h"
#include "solver/linear/coarse_matrix.h"
#include "solver/linear/coarse_rows.h"

enum { MOST = 25, DEGREE = 2, LANCZOS = 12 };
static const double SAFETY = 1.1;

/* A level; the last one has an inverse and vectors b and x alone. */
typedef struct level {
  int rows;
  sp_device_matrix *matrix, *prolongation, *restriction; /* to the next level and from it */
  sp_device_matrix *inverse;
  double bound;
  void *inverse_diagonal, *b, *x, *r, *d; /* the first level's b and x are the caller's */
} level;

/* hypre's levels, until they are on the device. */
typedef struct boomer {
  const sp_csr *source; /* borrowed; every rank has all rows */
  int direct;
  HYPRE_IJMatrix matrix;
  HYPRE_IJVector vector;
  HYPRE_Solver amg;
} boomer;

struct sp_amg {
  const sp_backend *backend;
  sp_device *device;
  sp_precision precision;
  int levels;
  level level[MOST];
  boomer boomer;
  sp_task *task; /* it sets up `boomer` */
};

static sp_status first_failure(sp_status a, sp_status b) {
  return a ? a : b;
}

/* ---- The cycle ---- */

/* Steps of Chebyshev's iteration from the residual b - A x, or b with x = 0. */
static sp_status smooth(sp_amg *a, level *l, bool from_zero, const void *b, void *x) {
  const sp_backend *backend = a->backend;
  sp_status status = SP_OK;
  if (!from_zero) status = backend->matrix_apply(l->matrix, -1, x, 1, b, l->r);
  for (int i = 0; i < DEGREE; i++) {
    const void *t = from_zero && i < 2 ? b : l->r; /* the residual of the step before */
    if (i > 0) {
      status = first_failure(status, backend->matrix_apply(l->matrix, -1, l->d, 1, t, l->r));
      t = l->r;
    }
    sp_correction step = sp_chebyshev_step(DEGREE, i, l->bound, from_zero);
    step.s = l->inverse_diagonal;
    step.t = t;
    step.d = l->d;
    step.x = x;
    status =
        first_failure(status, backend->correct(a->device, a->precision, (size_t)l->rows, &step));
  }
  return status;
}

static sp_status cycle(sp_amg *a, int index, const void *b, void *x) {
  const sp_backend *backend = a->backend;
  level *l = &a->level[index], *next = l + 1;
  if (l->inverse) return backend->matrix_apply(l->inverse, 1, b, 0, NULL, x);
  sp_status status = smooth(a, l, true, b, x);
  status = first_failure(status, backend->matrix_apply(l->matrix, -1, x, 1, b, l->r));
  status = first_failure(status, backend->matrix_apply(l->restriction, 1, l->r, 0, NULL, next->b));
  status = first_failure(status, cycle(a, index + 1, next->b, next->x));
  status = first_failure(status, backend->matrix_apply(l->prolongation, 1, next->x, 1, x, x));
  return first_failure(status, smooth(a, l, false, b, x));
}

sp_status sp_amg_apply(sp_amg *amg, const void *b, void *x) {
  return cycle(amg, 0, b, x);
}

int sp_amg_levels(const sp_amg *amg) {
  return amg->levels;
}

/* ---- The largest eigenvalue of D^-1 A, on the host ---- */

static void multiply(const sp_csr *m, const double *x, double *y) {
  for (int i = 0; i < m->rows; i++) {
    double sum = 0;
    for (int n = m->start[i]; n < m->start[i + 1]; n++) sum += m->values[n] * x[m->column[n]];
    y[i] = sum;
  }
}

/* Lanczos' method by the scalars of conjugate gradients, as in chebyshev.c. `work` has room for
 * four vectors. */
static double largest_eigenvalue(const sp_csr *m, const double *inverse, double *work) {
  const int rows = m->rows;
  double *r = work, *p = r + rows, *q = p + rows, *z = q + rows;
  double diagonal[LANCZOS], off_diagonal[LANCZOS], rz = 0, rz_before = 0, alpha_before = 1;
  unsigned long long seed = 1;
  int n = 0;
  for (int i = 0; i < rows; i++) { /* values without a pattern: Knuth's linear congruences */
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    r[i] = (double)(seed >> 11) * 0x1p-52 - 1;
    p[i] = 0;
  }
  for (; n < LANCZOS && n < rows; n++) {
    double pq = 0;
    rz = 0;
    for (int i = 0; i < rows; i++) rz += r[i] * (z[i] = inverse[i] * r[i]);
    const double beta = n > 0 ? rz / rz_before : 0;
    for (int i = 0; i < rows; i++) p[i] = z[i] + beta * p[i];
    multiply(m, p, q);
    for (int i = 0; i < rows; i++) pq += p[i] * q[i];
    if (!(rz > 0 && pq > 0)) break; /* exhausted */
    const double alpha = rz / pq;
    diagonal[n] = 1 / alpha + (n > 0 ? beta / alpha_before : 0);
    if (n > 0) off_diagonal[n - 1] = sqrt(beta) / alpha_before;
    for (int i = 0; i < rows; i++) r[i] -= alpha * q[i];
    rz_before = rz;
    alpha_before = alpha;
  }
  return n > 0 ? sp_tridiagonal_largest(n, diagonal, off_diagonal) : 1;
}

/* ---- Set-up ---- */

static sp_status create_vector(sp_amg *a, int rows, void **out) {
  return a->backend->vector_create(a->device, a->precision, (size_t)rows, out);
}

/* The inverse diagonal of a level, on the host and the device, and the smoother's bound. */
static sp_status prepare_smoother(sp_amg *a, const sp_csr *matrix, level *l) {
  const size_t rows = (size_t)matrix->rows;
  double *host = NULL, *full = NULL;
  SP_TRY(sp_allocate(5 * rows, sizeof *host, "algebraic multigrid", &host));
  for (int i = 0; i < matrix->rows; i++)
    for (int n = matrix->start[i]; n < matrix->start[i + 1]; n++)
      if (matrix->column[n] == i) host[i] = 1 / matrix->values[n];
  l->bound = SAFETY * largest_eigenvalue(matrix, host, host + rows);
  sp_status status = a->backend->vector_create(a->device, SP_DOUBLE, rows, &full);
  if (!status) status = a->backend->upload(a->device, SP_DOUBLE, rows, host, full);
  if (!status)
    status =
        a->backend->convert(a->device, rows, 1, SP_DOUBLE, full, a->precision, l->inverse_diagonal);
  if (!status) status = a->backend->finish(a->device);
  a->backend->vector_destroy(a->device, &full);
  free(host);
  return status;
}

static sp_status add_level(sp_amg *a, const sp_csr *matrix) {
  level *l = &a->level[a->levels++];
  l->rows = matrix->rows;
  if (a->levels > 1) {
    SP_TRY(create_vector(a, l->rows, &l->b));
    SP_TRY(create_vector(a, l->rows, &l->x));
  }
  return SP_OK;
}

static sp_status add_last(sp_amg *a, const sp_csr *matrix) {
  SP_TRY(add_level(a, matrix));
  return a->backend->inverse_create(a->device, a->precision, matrix,
                                    &a->level[a->levels - 1].inverse);
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

/* A level that is smoothed, and the interpolation from the next one. */
static sp_status add_smoothed(sp_amg *a, const sp_csr *matrix, const sp_csr *interpolation) {
  sp_csr restriction = {0};
  SP_TRY(add_level(a, matrix));
  level *l = &a->level[a->levels - 1];
  SP_TRY(create_vector(a, l->rows, &l->inverse_diagonal));
  SP_TRY(create_vector(a, l->rows, &l->r));
  SP_TRY(create_vector(a, l->rows, &l->d));
  SP_TRY(a->backend->matrix_create(a->device, a->precision, matrix, &l->matrix));
  SP_TRY(a->backend->matrix_create(a->device, a->precision, interpolation, &l->prolongation));
  sp_status status = transpose(interpolation, &restriction);
  if (!status)
    status = a->backend->matrix_create(a->device, a->precision, &restriction, &l->restriction);
  sp_csr_free(&restriction);
  return status ? status : prepare_smoother(a, matrix, l);
}

/* ---- hypre's levels ---- */

static sp_status fill(const sp_csr *matrix, HYPRE_IJMatrix out) {
  HYPRE_BigInt *columns;
  SP_TRY(sp_allocate((size_t)matrix->rows, sizeof *columns, "algebraic multigrid", &columns));
  for (int i = 0; i < matrix->rows; i++) {
    const HYPRE_BigInt row = i;
    const int first = matrix->start[i];
    HYPRE_Int count = matrix->start[i + 1] - first;
    for (int n = 0; n < count; n++) columns[n] = matrix->column[first + n];
    HYPRE_IJMatrixSetValues(out, 1, &count, &row, columns, &matrix->values[first]);
  }
  free(columns);
  return SP_OK;
}

/* As in coarse_boomer.c, but for levels that end earlier. */
static sp_status set_up(void *boomer_) {
  boomer *h = boomer_;
  const HYPRE_BigInt last = h->source->rows - 1;
  HYPRE_ParCSRMatrix par_matrix;
  HYPRE_ParVector par_vector;
  HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, last, 0, last, &h->matrix);
  HYPRE_IJMatrixSetObjectType(h->matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(h->matrix);
  SP_TRY(fill(h->source, h->matrix));
  HYPRE_IJMatrixAssemble(h->matrix);
  HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, last, &h->vector);
  HYPRE_IJVectorSetObjectType(h->vector, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(h->vector);
  HYPRE_IJVectorAssemble(h->vector);
  HYPRE_IJMatrixGetObject(h->matrix, (void **)&par_matrix);
  HYPRE_IJVectorGetObject(h->vector, (void **)&par_vector);
  HYPRE_BoomerAMGCreate(&h->amg);
  HYPRE_BoomerAMGSetCoarsenType(h->amg, 8);
  HYPRE_BoomerAMGSetInterpType(h->amg, 17);
  HYPRE_BoomerAMGSetPMaxElmts(h->amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(h->amg, 0.25);
  HYPRE_BoomerAMGSetMaxCoarseSize(h->amg, h->direct);
  HYPRE_BoomerAMGSetMaxLevels(h->amg, MOST);
  HYPRE_BoomerAMGSetRelaxType(h->amg, 0); /* Jacobi: nothing to prepare, since we smooth */
  HYPRE_BoomerAMGSetPrintLevel(h->amg, 0);
  HYPRE_BoomerAMGSetup(h->amg, par_matrix, par_vector, par_vector);
  return sp_hypre_check("BoomerAMG's set-up");
}

static void release(boomer *h) {
  if (h->amg) HYPRE_BoomerAMGDestroy(h->amg);
  if (h->matrix) HYPRE_IJMatrixDestroy(h->matrix);
  if (h->vector) HYPRE_IJVectorDestroy(h->vector);
  *h = (boomer){0};
  HYPRE_ClearAllErrors();
}

/* A copy of a matrix of one rank. */
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

static sp_status read_level(hypre_ParAMGData *data, int index, bool last, sp_amg *a) {
  sp_csr matrix = {0}, interpolation = {0};
  sp_status status = copy(hypre_ParAMGDataAArray(data)[index], &matrix);
  if (last) {
    if (!status) status = add_last(a, &matrix);
  } else {
    if (!status) status = copy(hypre_ParAMGDataPArray(data)[index], &interpolation);
    if (!status) status = add_smoothed(a, &matrix, &interpolation);
  }
  sp_csr_free(&matrix);
  sp_csr_free(&interpolation);
  return status;
}

static sp_status read_levels(const boomer *h, sp_amg *a) {
  hypre_ParAMGData *data = (hypre_ParAMGData *)h->amg;
  const int levels = (int)hypre_ParAMGDataNumLevels(data);
  for (int i = 0; i < levels; i++) SP_TRY(read_level(data, i, i + 1 == levels, a));
  return SP_OK;
}

sp_status sp_amg_create(const sp_backend *backend, sp_device *device, sp_precision precision,
                        const sp_csr *matrix, int direct, sp_amg **out) {
  sp_amg *a;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *a, "algebraic multigrid", &a));
  *a = (sp_amg){.backend = backend, .device = device, .precision = precision};
  a->boomer = (boomer){.source = matrix, .direct = direct};
  const sp_status status = matrix->rows <= direct
                               ? add_last(a, matrix)
                               : sp_task_start(true, set_up, &a->boomer, &a->task);
  if (status)
    sp_amg_destroy(&a);
  else
    *out = a;
  return status;
}

sp_status sp_amg_complete(sp_amg *amg) {
  if (!amg->task) return SP_OK; /* an inverse alone */
  sp_status status = sp_task_finish(&amg->task);
  if (!status) status = read_levels(&amg->boomer, amg);
  release(&amg->boomer);
  return status;
}

void sp_amg_destroy(sp_amg **amg) {
  sp_amg *a = *amg;
  if (!a) return;
  (void)sp_task_finish(&a->task);
  release(&a->boomer);
  for (int i = 0; i < a->levels; i++) {
    level *l = &a->level[i];
    sp_device_matrix **const matrices[] = {&l->matrix, &l->prolongation, &l->restriction,
                                           &l->inverse};
    void **const vectors[] = {&l->inverse_diagonal, &l->b, &l->x, &l->r, &l->d};
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
      a->backend->matrix_destroy(matrices[m]);
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
      a->backend->vector_destroy(a->device, vectors[v]);
  }
  free(a);
  *amg = NULL;
}
