#include "operators/host/device.h"

#include <math.h>
#include <string.h>

#include "io/team.h"
#include "operators/host/memory.h"

struct sp_device_matrix {
  sp_precision precision;
  int rows;
  int *start, *column; /* of a sparse matrix */
  void *values;
  double *factor; /* [rows][rows], U; below the diagonal unused. NULL: sparse */
  double *work;   /* [rows] */
};

/* Least entries per thread. */
enum { ENTRIES_LEAST = 8192 };

/* Relative to the diagonal. */
static const double LEAST_PIVOT = 1e-14;

/* ---- Products ---- */

typedef struct product {
  const sp_device_matrix *m;
  int threads;
  double a, b;
  const void *x, *z;
  void *y;
} product;

/* Two sums per row hide the latency of an addition. */
#define DEFINE_MULTIPLY(real)                                                                      \
  static void multiply_##real(const product *p, int first, int last) {                             \
    const sp_device_matrix *m = p->m;                                                              \
    const real *values = m->values, *x = p->x, *z = p->z, a = (real)p->a, b = (real)p->b;          \
    real *y = p->y;                                                                                \
    for (int i = first; i < last; i++) {                                                           \
      real even = 0, odd = 0;                                                                      \
      int n = m->start[i];                                                                         \
      for (; n + 1 < m->start[i + 1]; n += 2) {                                                    \
        even += values[n] * x[m->column[n]];                                                       \
        odd += values[n + 1] * x[m->column[n + 1]];                                                \
      }                                                                                            \
      if (n < m->start[i + 1]) even += values[n] * x[m->column[n]];                                \
      y[i] = b == 0 ? a * (even + odd) : a * (even + odd) + b * z[i];                              \
    }                                                                                              \
  }

DEFINE_MULTIPLY(double)
DEFINE_MULTIPLY(float)

static void multiply_share(void *product_, int thread) {
  const product *p = product_;
  const int first = (int)sp_team_share(p->m->rows, thread, p->threads);
  const int last = (int)sp_team_share(p->m->rows, thread + 1, p->threads);
  (p->m->precision == SP_SINGLE ? multiply_float : multiply_double)(p, first, last);
}

/* x = U^-1 U^-T x. */
static void substitute_factor(size_t n, const double *factor, double *x) {
  for (size_t k = 0; k < n; k++) {
    const double *u = &factor[k * n];
    x[k] /= u[k];
    for (size_t j = k + 1; j < n; j++) x[j] -= u[j] * x[k];
  }
  for (size_t k = n; k-- > 0;) {
    const double *u = &factor[k * n];
    double sum = x[k];
    for (size_t j = k + 1; j < n; j++) sum -= u[j] * x[j];
    x[k] = sum / u[k];
  }
}

static void solve_factor(const product *p) {
  const sp_device_matrix *m = p->m;
  const size_t rows = (size_t)m->rows;
  const bool single = m->precision == SP_SINGLE;
  for (size_t i = 0; i < rows; i++)
    m->work[i] = single ? (double)((const float *)p->x)[i] : ((const double *)p->x)[i];
  substitute_factor(rows, m->factor, m->work);
  for (size_t i = 0; i < rows; i++) {
    double sum = p->a * m->work[i];
    if (p->b != 0)
      sum += p->b * (single ? (double)((const float *)p->z)[i] : ((const double *)p->z)[i]);
    sp_host_store(m->precision, sum, i, p->y);
  }
}

sp_status sp_host_matrix_apply(sp_device_matrix *m, double a, const void *x, double b,
                               const void *z, void *y) {
  product p = {.m = m, .threads = sp_team_size(), .a = a, .b = b, .x = x, .z = z, .y = y};
  if (m->factor) {
    solve_factor(&p);
    return SP_OK;
  }
  const int worth = m->start[m->rows] / ENTRIES_LEAST;
  if (p.threads > worth) p.threads = worth > 0 ? worth : 1;
  sp_team_run(p.threads, multiply_share, &p);
  return SP_OK;
}

/* ---- Creation ---- */

void sp_host_matrix_destroy(sp_device_matrix **matrix) {
  sp_device_matrix *m = *matrix;
  if (!m) return;
  sp_host_free(m->start);
  sp_host_free(m->column);
  sp_host_free(m->values);
  SP_FREE(m->factor, m->work, m);
  *matrix = NULL;
}

static sp_status copy_sparse(const sp_csr *matrix, sp_device_matrix *m) {
  const size_t rows = (size_t)matrix->rows, entries = (size_t)matrix->start[rows];
  SP_TRY(sp_host_allocate(rows + 1, sizeof *m->start, "matrix", &m->start));
  SP_TRY(sp_host_allocate(entries, sizeof *m->column, "matrix", &m->column));
  memcpy(m->start, matrix->start, (rows + 1) * sizeof *m->start);
  memcpy(m->column, matrix->column, entries * sizeof *m->column);
  return sp_host_copy_rounded(m->precision, entries, matrix->values, "matrix", &m->values);
}

/* Cholesky's factorisation. Replace M by U, row by row: rows below get rank-one updates. A pivot at
 * rounding level (only a tiny coefficient determines a mean) is raised to that level. */
static sp_status factorise_matrix(const sp_csr *matrix, sp_device_matrix *m) {
  const size_t n = (size_t)matrix->rows;
  SP_TRY(SP_ALLOCATE("coarse solver", SP_ARRAY(m->factor, n * n), SP_ARRAY(m->work, n)));
  double *a = m->factor;
  for (size_t i = 0; i < n; i++)
    for (int e = matrix->start[i]; e < matrix->start[i + 1]; e++)
      a[i * n + (size_t)matrix->column[e]] = matrix->values[e];
  for (size_t k = 0; k < n; k++) m->work[k] = LEAST_PIVOT * a[k * n + k];
  for (size_t k = 0; k < n; k++) {
    double *u = &a[k * n];
    if (fabs(u[k]) < m->work[k]) u[k] = m->work[k];
    if (!(u[k] > 0) || isinf(u[k]))
      return sp_fail(SP_ERR_BREAKDOWN,
                     "multigrid: the coarsest problem is not positive definite (pivot %g): are the "
                     "data finite, or try solver.preconditioner = jacobi",
                     u[k]);
    const double inverse = 1 / sqrt(u[k]);
    for (size_t j = k; j < n; j++) u[j] *= inverse;
    for (size_t i = k + 1; i < n; i++) {
      const double factor = u[i];
      if (factor == 0) continue;
      for (size_t j = i; j < n; j++) a[i * n + j] -= factor * u[j];
    }
  }
  return SP_OK;
}

static sp_status create_matrix(sp_precision precision, const sp_csr *matrix,
                               sp_status (*fill)(const sp_csr *, sp_device_matrix *),
                               sp_device_matrix **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "matrix", out));
  (*out)->precision = precision;
  (*out)->rows = matrix->rows;
  const sp_status status = fill(matrix, *out);
  if (status) sp_host_matrix_destroy(out);
  return status;
}

sp_status sp_host_matrix_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                sp_device_matrix **out) {
  (void)device;
  return create_matrix(precision, matrix, copy_sparse, out);
}

sp_status sp_host_inverse_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                 sp_device_matrix **out) {
  (void)device;
  return create_matrix(precision, matrix, factorise_matrix, out);
}
