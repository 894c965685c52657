#include "solver/linear/jacobi.h"

#include <stdlib.h>

typedef struct jacobi {
  sp_preconditioner base;
  sp_operator *op;
  double *inverse_diagonal; /* L-vector on the device */
} jacobi;

static sp_status apply(sp_preconditioner *self, double norm, const double *r, double *z) {
  (void)norm;
  const jacobi *j = (const jacobi *)self;
  return j->op->backend->multiply(j->op->device, SP_DOUBLE, (size_t)j->op->dofs,
                                  j->inverse_diagonal, r, z);
}

static void destroy(sp_preconditioner *self) {
  jacobi *j = (jacobi *)self;
  j->op->backend->vector_destroy(j->op->device, &j->inverse_diagonal);
  free(j);
}

static void describe(const sp_preconditioner *self, size_t room, char *text) {
  (void)self;
  if (room > 0) text[0] = '\0';
}

static sp_status upload(const double *inverse, jacobi *j) {
  const size_t dofs = (size_t)j->op->dofs;
  SP_TRY(j->op->backend->vector_create(j->op->device, SP_DOUBLE, dofs, &j->inverse_diagonal));
  return j->op->backend->upload(j->op->device, SP_DOUBLE, dofs, inverse, j->inverse_diagonal);
}

sp_status sp_jacobi_create(sp_operator *op, const sp_operator_setup *setup,
                           sp_preconditioner **out) {
  double *inverse = NULL;
  jacobi *j = NULL;
  *out = NULL;
  sp_status status = sp_allocate((size_t)op->dofs, sizeof *inverse, "diagonal", &inverse);
  if (!status) status = sp_allocate(1, sizeof *j, "preconditioner", &j);
  status = sp_agree(op->comm, status);
  if (!status) {
    *j = (jacobi){
        .base = {.name = "jacobi", .apply = apply, .destroy = destroy, .describe = describe},
        .op = op};
    status = sp_operator_inverse_diagonal(setup, inverse);
  }
  if (!status) status = sp_agree(op->comm, upload(inverse, j));
  free(inverse);
  if (status) {
    if (j) destroy(&j->base);
    return status;
  }
  j->base.inverse_diagonal = j->inverse_diagonal;
  *out = &j->base;
  return SP_OK;
}
