#include "solver/linear/rounding.h"

#include <float.h>

#include "io/hash.h"

static const double OPERATIONS = 32; /* roundings per entry, in units of one, at all orders */

/* signed_x = x with pseudorandom signs. */
static sp_status sign_randomly(const sp_operator *op, const sp_vector *x, double *host,
                               sp_vector *signed_x) {
  for (sp_lid i = 0; i < op->dofs; i++)
    host[i] = sp_hash((uint64_t)sp_numbering_global(op->space->numbering, i)) >> 63 ? -1 : 1;
  SP_TRY(sp_vector_write(host, signed_x));
  return sp_vector_multiply(x, signed_x, signed_x);
}

sp_status sp_rounding_estimate(sp_operator *op, bool preconditioned, const sp_vector *x,
                               double *rounding) {
  SP_AUTO_VALUE(sp_vector) v = {0}, av = {0};
  SP_OWNED double *host = NULL;
  double sum;
  sp_status status = sp_allocate((size_t)op->dofs, sizeof *host, "random signs", &host);
  if (!status) status = sp_space_vector(op->space, SP_DOUBLE, &v);
  if (!status) status = sp_space_vector(op->space, SP_DOUBLE, &av);
  if (!status) status = sign_randomly(op, x, host, &v);
  SP_TRY(sp_agree(op->comm, status));
  status = sp_operator_apply(op, true, &v, &av);
  SP_TRY(sp_operator_dot(op, preconditioned ? &v : &av, &av, status, &sum));
  *rounding = OPERATIONS * OPERATIONS * DBL_EPSILON * DBL_EPSILON * sum;
  return SP_OK;
}
