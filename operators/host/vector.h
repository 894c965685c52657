/* One real in each lane, for the files that are compiled once per instruction set and precision.
 * The build says which: SP_REAL is double or float. */
#ifndef SP_OPERATORS_HOST_VECTOR_H
#define SP_OPERATORS_HOST_VECTOR_H

#include "operators/host/kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

/* Names and lists that end in the real: PASTE(name_, SP_REAL) is name_double or name_float. */
#define PASTE_NAMES(a, b) a##b
#define PASTE(a, b) PASTE_NAMES(a, b)

typedef SP_REAL real;
enum { LANES = SP_VECTOR_BYTES / sizeof(real) };
typedef real vec __attribute__((vector_size(SP_VECTOR_BYTES)));
typedef PASTE(sp_host_even_odd_, SP_REAL) even_odd;
typedef PASTE(sp_host_matrices_, SP_REAL) matrices;

/* DO(0), ..., DO(LANES - 1): the initializers of a vector. */
#define LANES_double(DO) DO(0), DO(1), DO(2), DO(3), DO(4), DO(5), DO(6), DO(7)
#define LANES_float(DO)                                                                            \
  LANES_double(DO), DO(8), DO(9), DO(10), DO(11), DO(12), DO(13), DO(14), DO(15)
#define EACH_LANE PASTE(LANES_, SP_REAL)

INLINE vec splat(real value) {
#define VALUE(lane) value
  return (vec){EACH_LANE(VALUE)};
#undef VALUE
}

#endif
