/* One double in each lane, for the files that are compiled once per instruction set. */
#ifndef SP_OPERATORS_HOST_VECTOR_H
#define SP_OPERATORS_HOST_VECTOR_H

#include "operators/host/kernels.h"

typedef double vec __attribute__((vector_size(SP_LANES * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

INLINE vec splat(double value) {
  return (vec){value, value, value, value, value, value, value, value};
}

/* The set's local operators (local.c): [problem kind][stored, trilinear]. */
extern sp_host_local_function *const SP_HOST_LOCALS[3][2];

/* The set's vector operations (vectors.c). */
extern const sp_host_vectors SP_HOST_VECTORS;

/* The set's transfer kernels (interpolate.c), by precision. */
extern const sp_host_interpolate SP_HOST_INTERPOLATE_DOUBLE, SP_HOST_INTERPOLATE_SINGLE;

/* The set's inverses of boxes (boxes.c), by precision. */
sp_host_boxes_function SP_HOST_BOXES_DOUBLE, SP_HOST_BOXES_SINGLE;

#endif
