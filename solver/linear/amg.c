#include "solver/linear/amg.h"

#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/chebyshev.h"
#include "solver/linear/hierarchy.h"

enum { DEGREE = 2 };

/* A level. The last one has no transfer; with an inverse, it has no smoother. */
typedef struct level {
  int rows;
  sp_device_matrix *matrix, *prolongation, *restriction; /* to the next level and from it */
  sp_device_matrix *inverse;
  double bound;
  void *inverse_diagonal, *b, *x, *r, *d; /* b and x of the first level belong to the caller */
} level;

struct sp_amg {
  const sp_backend *backend;
  sp_device *device;
  sp_precision precision;
  int levels;
  level level[SP_HIERARCHY_MOST];
  /* Used until the levels are on the device. */
  const sp_csr *matrix; /* borrowed */
  int direct;
  sp_hierarchy hierarchy;
  sp_task *task; /* builds the hierarchy */
};

/* ---- The cycle ---- */

/* Do the steps of Chebyshev's iteration, from the residual b - A x, or b if x = 0. */
static sp_status smooth(sp_amg *a, level *l, bool from_zero, const void *b, void *x) {
  const sp_backend *backend = a->backend;
  sp_status status = SP_OK;
  if (!from_zero) status = backend->matrix_apply(l->matrix, -1, x, 1, b, l->r);
  for (int i = 0; i < DEGREE; i++) {
    const void *t = from_zero && i < 2 ? b : l->r; /* the residual of the step before */
    if (i > 0) {
      status = sp_first_failure(status, backend->matrix_apply(l->matrix, -1, l->d, 1, t, l->r));
      t = l->r;
    }
    sp_correction step = sp_chebyshev_step(DEGREE, i, l->bound, from_zero);
    step.s = l->inverse_diagonal;
    step.t = t;
    step.d = l->d;
    step.x = x;
    status =
        sp_first_failure(status, backend->correct(a->device, a->precision, (size_t)l->rows, &step));
  }
  return status;
}

static sp_status cycle(sp_amg *a, int index, const void *b, void *x) {
  const sp_backend *backend = a->backend;
  level *l = &a->level[index], *next = l + 1;
  if (l->inverse) return backend->matrix_apply(l->inverse, 1, b, 0, NULL, x);
  sp_status status = smooth(a, l, true, b, x);
  if (!l->restriction) return status;
  status = sp_first_failure(status, backend->matrix_apply(l->matrix, -1, x, 1, b, l->r));
  status =
      sp_first_failure(status, backend->matrix_apply(l->restriction, 1, l->r, 0, NULL, next->b));
  status = sp_first_failure(status, cycle(a, index + 1, next->b, next->x));
  status = sp_first_failure(status, backend->matrix_apply(l->prolongation, 1, next->x, 1, x, x));
  return sp_first_failure(status, smooth(a, l, false, b, x));
}

sp_status sp_amg_apply(sp_amg *amg, const void *b, void *x) {
  return cycle(amg, 0, b, x);
}

int sp_amg_levels(const sp_amg *amg) {
  return amg->levels;
}

/* ---- Set-up ---- */

static sp_status create_vector(sp_amg *a, int rows, void **out) {
  return a->backend->vector_create(a->device, a->precision, (size_t)rows, out);
}

/* *out = values in the cycle's precision. */
static sp_status send(sp_amg *a, size_t count, const double *values, void *out) {
  double *full;
  SP_TRY(a->backend->vector_create(a->device, SP_DOUBLE, count, &full));
  sp_status status = a->backend->upload(a->device, SP_DOUBLE, count, values, full);
  if (!status)
    status = a->backend->convert(a->device, count, 1, SP_DOUBLE, full, a->precision, out);
  if (!status) status = a->backend->finish(a->device);
  a->backend->vector_destroy(a->device, &full);
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

static sp_status add_smoothed(sp_amg *a, const sp_hierarchy_level *host) {
  const sp_backend *b = a->backend;
  SP_TRY(add_level(a, &host->matrix));
  level *l = &a->level[a->levels - 1];
  l->bound = host->bound;
  SP_TRY(create_vector(a, l->rows, &l->inverse_diagonal));
  SP_TRY(create_vector(a, l->rows, &l->r));
  SP_TRY(create_vector(a, l->rows, &l->d));
  SP_TRY(b->matrix_create(a->device, a->precision, &host->matrix, &l->matrix));
  if (host->restriction.rows > 0) {
    SP_TRY(b->matrix_create(a->device, a->precision, &host->interpolation, &l->prolongation));
    SP_TRY(b->matrix_create(a->device, a->precision, &host->restriction, &l->restriction));
  }
  return send(a, (size_t)l->rows, host->inverse_diagonal, l->inverse_diagonal);
}

static sp_status add_levels(sp_amg *a) {
  const sp_hierarchy *h = &a->hierarchy;
  const sp_hierarchy_level *last = &h->level[h->levels - 1];
  for (const sp_hierarchy_level *l = h->level; l < last; l++) SP_TRY(add_smoothed(a, l));
  return last->matrix.rows <= SP_AMG_INVERSE_MOST ? add_last(a, &last->matrix)
                                                  : add_smoothed(a, last);
}

static sp_status make_hierarchy(void *amg) {
  sp_amg *a = amg;
  return sp_hierarchy_create(a->matrix, a->direct, &a->hierarchy);
}

sp_status sp_amg_create(const sp_backend *backend, sp_device *device, sp_precision precision,
                        const sp_csr *matrix, int direct, sp_amg **out) {
  sp_amg *a;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *a, "algebraic multigrid", &a));
  *a = (sp_amg){.backend = backend, .device = device, .precision = precision};
  a->matrix = matrix;
  a->direct = direct;
  const sp_status status = matrix->rows <= direct
                               ? add_last(a, matrix)
                               : sp_task_start(true, make_hierarchy, a, &a->task);
  if (status)
    sp_amg_destroy(&a);
  else
    *out = a;
  return status;
}

sp_status sp_amg_complete(sp_amg *amg) {
  if (!amg->task) return SP_OK; /* only an inverse, no levels */
  sp_status status = sp_task_finish(&amg->task);
  if (!status) status = add_levels(amg);
  sp_hierarchy_free(&amg->hierarchy);
  return status;
}

void sp_amg_destroy(sp_amg **amg) {
  sp_amg *a = *amg;
  if (!a) return;
  sp_kept_error kept; /* the error that led here, if any */
  sp_error_keep(SP_ERR_SYSTEM, &kept);
  (void)sp_task_finish(&a->task);
  (void)sp_error_restore(&kept);
  sp_hierarchy_free(&a->hierarchy);
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
