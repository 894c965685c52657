#include "solver/linear/preconditioner.h"

#include <stdlib.h>

typedef struct jacobi {
  sp_preconditioner base;
  sp_vector inverse_diagonal;
} jacobi;

static sp_status apply_jacobi(sp_preconditioner *self, double norm, const sp_vector *r,
                              sp_vector *z) {
  (void)norm;
  return sp_vector_multiply(self->inverse_diagonal, r, z);
}

static void destroy_jacobi(sp_preconditioner *self) {
  jacobi *j = (jacobi *)self;
  sp_vector_destroy(&j->inverse_diagonal);
  free(j);
}

static void describe_jacobi(const sp_preconditioner *self, size_t room, char *text) {
  (void)self;
  if (room > 0) text[0] = '\0';
}

sp_status sp_jacobi_create(sp_operator *op, const sp_operator_setup *setup,
                           sp_preconditioner **out) {
  SP_OWNED double *inverse = NULL;
  jacobi *j = NULL;
  *out = NULL;
  sp_status status = SP_ALLOCATE("diagonal", SP_ARRAY(inverse, op->dofs), SP_ARRAY(j, 1));
  if (!status) status = sp_space_vector(op->space, SP_DOUBLE, &j->inverse_diagonal);
  status = sp_agree(op->comm, status);
  if (!status) status = sp_operator_inverse_diagonal(setup, inverse);
  if (!status) status = sp_agree(op->comm, sp_vector_write(inverse, &j->inverse_diagonal));
  if (status) {
    if (j) destroy_jacobi(&j->base);
    return status;
  }
  j->base = (sp_preconditioner){.name = "jacobi",
                                .inverse_diagonal = &j->inverse_diagonal,
                                .apply = apply_jacobi,
                                .destroy = destroy_jacobi,
                                .describe = describe_jacobi};
  *out = &j->base;
  return SP_OK;
}
