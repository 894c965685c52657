#include "solver/linear/amg.h"

#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/chebyshev.h"
#include "solver/linear/hierarchy.h"

/* Degrees of the smoother, of the first level and of the others, which cost less. */
enum { DEGREE_FIRST = 2, DEGREE = 3 };

/* A level. The last one has no transfer; with an inverse, it has no smoother. */
typedef struct level {
  int rows, degree;
  sp_device_matrix *matrix, *prolongation, *restriction; /* to the next level and from it */
  sp_device_matrix *inverse;
  double bound;
  sp_vector inverse_diagonal, b, x, r, d; /* b and x of the first level belong to the caller */
} level;

struct sp_amg {
  const sp_platform *platform;
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

/* y = M x. */
static sp_status multiply_matrix(sp_device_matrix *matrix, const sp_vector *x, sp_vector *y) {
  return y->platform->backend->matrix_apply(matrix, 1, x->data, 0, NULL, y->data);
}

/* y += M x. */
static sp_status add_product(sp_device_matrix *matrix, const sp_vector *x, sp_vector *y) {
  return y->platform->backend->matrix_apply(matrix, 1, x->data, 1, y->data, y->data);
}

/* r = b - A x. */
static sp_status find_residual(level *l, const sp_vector *b, const sp_vector *x) {
  return b->platform->backend->matrix_apply(l->matrix, -1, x->data, 1, b->data, l->r.data);
}

/* Do the steps of Chebyshev's iteration, from the residual b - A x, or b if x = 0. */
static sp_status smooth_level(level *l, bool from_zero, const sp_vector *b, sp_vector *x) {
  sp_status status = SP_OK;
  if (!from_zero) status = find_residual(l, b, x);
  for (int i = 0; i < l->degree; i++) {
    const sp_vector *t = from_zero && i < 2 ? b : &l->r; /* the residual of the step before */
    if (i > 0) {
      status = sp_first_failure(status, find_residual(l, t, &l->d));
      t = &l->r;
    }
    sp_smoothing step = sp_chebyshev_step(l->degree, i, l->bound, from_zero);
    step.s = &l->inverse_diagonal;
    step.t = t;
    step.d = &l->d;
    step.x = x;
    status = sp_first_failure(status, sp_vector_correct(&step));
  }
  return status;
}

static sp_status cycle_level(sp_amg *a, int index, const sp_vector *b, sp_vector *x) {
  level *l = &a->level[index], *next = l + 1;
  if (l->inverse) return multiply_matrix(l->inverse, b, x);
  sp_status status = smooth_level(l, true, b, x);
  if (!l->restriction) return status;
  status = sp_first_failure(status, find_residual(l, b, x));
  status = sp_first_failure(status, multiply_matrix(l->restriction, &l->r, &next->b));
  status = sp_first_failure(status, cycle_level(a, index + 1, &next->b, &next->x));
  status = sp_first_failure(status, add_product(l->prolongation, &next->x, x));
  return sp_first_failure(status, smooth_level(l, false, b, x));
}

sp_status sp_amg_apply(sp_amg *amg, const sp_vector *b, sp_vector *x) {
  return cycle_level(amg, 0, b, x);
}

int sp_amg_levels(const sp_amg *amg) {
  return amg->levels;
}

/* ---- Set-up ---- */

static sp_status create_vector(const sp_amg *a, int rows, sp_vector *out) {
  return sp_vector_create(a->platform, a->precision, (size_t)rows, out);
}

static sp_status create_level_matrix(const sp_amg *a, const sp_csr *matrix,
                                     sp_device_matrix **out) {
  return a->platform->backend->matrix_create(a->platform->device, a->precision, matrix, out);
}

static sp_status add_level(sp_amg *a, const sp_csr *matrix) {
  level *l = &a->level[a->levels++];
  l->rows = matrix->rows;
  l->degree = a->levels > 1 ? DEGREE : DEGREE_FIRST;
  if (a->levels > 1) {
    SP_TRY(create_vector(a, l->rows, &l->b));
    SP_TRY(create_vector(a, l->rows, &l->x));
  }
  return SP_OK;
}

static sp_status add_last(sp_amg *a, const sp_csr *matrix) {
  SP_TRY(add_level(a, matrix));
  return a->platform->backend->inverse_create(a->platform->device, a->precision, matrix,
                                              &a->level[a->levels - 1].inverse);
}

static sp_status add_smoothed(sp_amg *a, const sp_hierarchy_level *host) {
  SP_TRY(add_level(a, &host->matrix));
  level *l = &a->level[a->levels - 1];
  l->bound = host->bound;
  SP_TRY(create_vector(a, l->rows, &l->inverse_diagonal));
  SP_TRY(create_vector(a, l->rows, &l->r));
  SP_TRY(create_vector(a, l->rows, &l->d));
  SP_TRY(create_level_matrix(a, &host->matrix, &l->matrix));
  if (host->restriction.rows > 0) {
    SP_TRY(create_level_matrix(a, &host->interpolation, &l->prolongation));
    SP_TRY(create_level_matrix(a, &host->restriction, &l->restriction));
  }
  return sp_vector_write(host->inverse_diagonal, &l->inverse_diagonal);
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

sp_status sp_amg_create(const sp_platform *platform, sp_precision precision, const sp_csr *matrix,
                        int direct, sp_amg **out) {
  SP_AUTO(sp_amg) a = NULL;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *a, "algebraic multigrid", &a));
  *a = (sp_amg){.platform = platform, .precision = precision, .matrix = matrix, .direct = direct};
  SP_TRY(matrix->rows <= direct ? add_last(a, matrix) : sp_task_start(make_hierarchy, a, &a->task));
  *out = a;
  a = NULL;
  return SP_OK;
}

sp_status sp_amg_complete(sp_amg *amg) {
  if (!amg->task) return SP_OK; /* only an inverse, no levels */
  sp_status status = sp_task_finish(&amg->task);
  if (!status) status = add_levels(amg);
  sp_hierarchy_destroy(&amg->hierarchy);
  return status;
}

void sp_amg_destroy(sp_amg **amg) {
  sp_amg *a = *amg;
  if (!a) return;
  sp_kept_error kept; /* the error that led here, if any */
  sp_error_keep(SP_ERR_SYSTEM, &kept);
  (void)sp_task_finish(&a->task);
  (void)sp_error_restore(&kept);
  sp_hierarchy_destroy(&a->hierarchy);
  for (int i = 0; i < a->levels; i++) {
    level *l = &a->level[i];
    sp_device_matrix **const matrices[] = {&l->matrix, &l->prolongation, &l->restriction,
                                           &l->inverse};
    sp_vector *const vectors[] = {&l->inverse_diagonal, &l->b, &l->x, &l->r, &l->d};
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
      a->platform->backend->matrix_destroy(matrices[m]);
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) sp_vector_destroy(vectors[v]);
  }
  free(a);
  *amg = NULL;
}
