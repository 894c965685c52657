#include "solver/linear/coarse_direct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sp_direct {
  const sp_space *space;
  const sp_free_rows *rows;
  double *factor; /* [rows][rows], U with A = U^T U; zeros below the diagonal are not used */
  double *all;    /* [rows] */
};

/* Replace A by U, row by row: rows below get rank-one updates. */
static sp_status factorise(size_t n, double *a) {
  for (size_t k = 0; k < n; k++) {
    double *u = &a[k * n];
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

sp_status sp_direct_create(const sp_space *space, const sp_free_rows *rows, sp_direct **out) {
  const size_t n = (size_t)rows->total;
  const sp_csr *m = &rows->matrix;
  sp_direct *d;
  SP_TRY(sp_agree(space->platform->comm, sp_allocate(1, sizeof *d, "coarse solver", &d)));
  *d = (sp_direct){.space = space, .rows = rows};
  sp_status status = sp_allocate(n * n, sizeof *d->factor, "coarse solver", &d->factor);
  if (!status) status = sp_allocate(n, sizeof *d->all, "coarse solver", &d->all);
  for (size_t i = 0; i < n && !status; i++)
    for (int e = m->start[i]; e < m->start[i + 1]; e++)
      d->factor[i * n + (size_t)m->column[e]] = m->values[e];
  if (!status) status = factorise(n, d->factor);
  status = sp_agree(space->platform->comm, status);
  *out = d;
  if (status) sp_direct_destroy(out);
  return status;
}

void sp_direct_destroy(sp_direct **direct) {
  if (!*direct) return;
  free((*direct)->factor);
  free((*direct)->all);
  free(*direct);
  *direct = NULL;
}

/* x = U^-1 U^-T x. */
static void substitute(size_t n, const double *factor, double *x) {
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

void sp_direct_solve(sp_direct *d, const double *b, double *x) {
  const sp_lid owned = d->space->numbering->owned;
  const int *row = d->rows->of_dof;
  memset(d->all, 0, (size_t)d->rows->total * sizeof *d->all);
  for (sp_lid i = 0; i < owned; i++)
    if (row[i] >= 0) d->all[row[i]] = b[i];
  /* A sum with zeros, which is exact in any order. */
  MPI_Allreduce(MPI_IN_PLACE, d->all, d->rows->total, MPI_DOUBLE, MPI_SUM,
                d->space->platform->comm);
  substitute((size_t)d->rows->total, d->factor, d->all);
  for (sp_lid i = 0; i < owned; i++) x[i] = row[i] >= 0 ? d->all[row[i]] : 0;
}
