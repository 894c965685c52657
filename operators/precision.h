/* Precision of a vector or an operator. Problems are solved in double; a preconditioner may work in
 * single. Functions that take a precision take `void *` for arrays of it: double * or float *. */
#pragma once

#include <stddef.h>

typedef enum sp_precision { SP_DOUBLE, SP_SINGLE, SP_PRECISIONS } sp_precision;

/* Bytes per number. Local. */
static inline size_t sp_precision_bytes(sp_precision precision) {
  return precision == SP_SINGLE ? sizeof(float) : sizeof(double);
}
