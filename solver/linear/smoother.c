#include "solver/linear/smoother.h"

#include <stdlib.h>

/* ---- Jacobi: S = D^-1 ---- */

typedef struct jacobi {
  sp_smoother base;
  sp_vector inverse;
} jacobi;

static sp_status apply_jacobi(sp_smoother *self, const sp_vector *r, sp_vector *z) {
  return sp_vector_multiply(&((jacobi *)self)->inverse, r, z);
}

static sp_status step_jacobi(sp_smoother *self, const sp_vector *b, const sp_vector *y,
                             sp_smoothing *step) {
  step->s = &((jacobi *)self)->inverse;
  step->t = b;
  if (y) {
    step->q = &self->product;
    return sp_operator_apply_step(self->op, y, &self->product, step);
  }
  step->r = NULL;
  return sp_vector_correct(step);
}

static void destroy_jacobi(sp_smoother *self) {
  sp_vector_destroy(&((jacobi *)self)->inverse);
}

static sp_status create_jacobi(sp_operator *op, const sp_operator_setup *setup, sp_system *system,
                               const double *inverse, sp_smoother **out) {
  (void)setup, (void)system;
  jacobi *s = NULL;
  sp_status status = sp_allocate(1, sizeof *s, "smoother", &s);
  *out = (sp_smoother *)s;
  if (!status) {
    s->base = (sp_smoother){.apply = apply_jacobi, .step = step_jacobi, .destroy = destroy_jacobi};
    status = sp_space_vector(op->space, op->precision, &s->inverse);
  }
  if (!status) status = sp_vector_write(inverse, &s->inverse);
  return sp_agree(op->comm, status);
}

/* ---- Additive Schwarz (operators/schwarz/schwarz.h) ---- */

typedef struct schwarz {
  sp_smoother base;
  sp_schwarz *blocks;
} schwarz;

static const char *misfit_schwarz(sp_operator_kind kind) {
  return sp_operator_rows[kind].has_stiffness
             ? NULL
             : "schwarz needs an operator with stiffness, but mass has none; use jacobi";
}

static sp_status apply_schwarz(sp_smoother *self, const sp_vector *r, sp_vector *z) {
  return sp_schwarz_apply(((schwarz *)self)->blocks, r, z);
}

static sp_status step_schwarz(sp_smoother *self, const sp_vector *b, const sp_vector *y,
                              sp_smoothing *step) {
  sp_status status = SP_OK;
  if (y) {
    const sp_smoothing residual = {.t = b, .q = &self->product, .r = step->r};
    status = sp_operator_apply_step(self->op, y, &self->product, &residual);
    b = step->r;
  }
  step->r = NULL;
  step->t = &self->product;
  return sp_first_failure(status,
                          sp_schwarz_step(((schwarz *)self)->blocks, b, &self->product, step));
}

static sp_status correct_schwarz(sp_smoother *self, const double *marks) {
  return sp_schwarz_correct(((schwarz *)self)->blocks, marks);
}

static void destroy_schwarz(sp_smoother *self) {
  sp_schwarz_destroy(&((schwarz *)self)->blocks);
}

static sp_status create_schwarz(sp_operator *op, const sp_operator_setup *setup, sp_system *system,
                                const double *inverse, sp_smoother **out) {
  schwarz *s = NULL;
  SP_TRY(sp_agree(op->comm, sp_allocate(1, sizeof *s, "smoother", &s)));
  *out = &s->base;
  s->base = (sp_smoother){.apply = apply_schwarz,
                          .step = step_schwarz,
                          .correct = correct_schwarz,
                          .destroy = destroy_schwarz};
  SP_TRY(sp_system_find_boxes(system));
  SP_TRY(sp_schwarz_create(op, setup, system->boxes, inverse, &s->blocks));
  s->base.columns = sp_schwarz_columns(s->blocks);
  return SP_OK;
}

/* ---- All ---- */

const char *const sp_smoother_names[] = {[SP_SMOOTHER_AUTO] = "auto",
                                         [SP_SMOOTHER_JACOBI] = "jacobi",
                                         [SP_SMOOTHER_SCHWARZ] = "schwarz",
                                         NULL};

static const sp_smoother_type types[] = {
    [SP_SMOOTHER_JACOBI] = {.title = "Chebyshev-Jacobi",
                            .least_order = 1,
                            .low_order = 5,
                            .create = create_jacobi},
    [SP_SMOOTHER_SCHWARZ] = {.title = "Chebyshev-Schwarz",
                             .least_order = 2,
                             .sums = 1,
                             .keeps_blocks = true,
                             .keeps_bars = true,
                             .misfit = misfit_schwarz,
                             .create = create_schwarz},
};

const sp_smoother_type *sp_smoother_type_of(sp_smoother_kind kind, int order) {
  return &types[order < types[kind].least_order ? SP_SMOOTHER_JACOBI : kind];
}

sp_smoother_kind sp_smoother_choose(sp_operator_kind kind, const sp_mesh_shape *shape,
                                    bool is_tensor) {
  const bool stretched =
      shape->stretch > SP_SMOOTHER_STRETCH || shape->stretched > SP_SMOOTHER_SHARE;
  return (is_tensor || stretched) && !misfit_schwarz(kind) ? SP_SMOOTHER_SCHWARZ
                                                           : SP_SMOOTHER_JACOBI;
}

sp_status sp_smoother_check(sp_smoother_kind smoother, sp_operator_kind kind) {
  const sp_smoother_type *type = &types[smoother];
  const char *misfit = type->misfit ? type->misfit(kind) : NULL;
  return misfit ? sp_fail(SP_ERR_INPUT, "solver.smoother = %s", misfit) : SP_OK;
}

void sp_smoother_destroy(sp_smoother **smoother) {
  if (!*smoother) return;
  (*smoother)->destroy(*smoother);
  sp_vector_destroy(&(*smoother)->product);
  free(*smoother);
  *smoother = NULL;
}
