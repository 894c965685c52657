/* Vectors of reals, for the files that are compiled once per instruction set and precision. The
 * build defines SP_REAL, double or float, and SP_HOST_VECTOR_BYTES. gcc would split wider vectors
 * and pass the parts through memory, at half the speed. */
#pragma once

#include "operators/host/kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

/* Names and lists that end in the real: PASTE(name_, SP_REAL) is name_double or name_float. */
#define PASTE_NAMES(a, b) a##b
#define PASTE(a, b) PASTE_NAMES(a, b)

typedef SP_REAL real;
enum { LANES = SP_HOST_VECTOR_BYTES / sizeof(real) };
typedef real vec __attribute__((vector_size(SP_HOST_VECTOR_BYTES)));
typedef __typeof__((vec){0} < (vec){0}) mask; /* integers of the real's size */
typedef PASTE(sp_host_even_odd_, SP_REAL) even_odd;
typedef PASTE(sp_host_matrices_, SP_REAL) matrices;

/* DO(0), ..., DO(LANES - 1): the initializers of a vector. */
#define LANES_2(DO) DO(0), DO(1)
#define LANES_4(DO) LANES_2(DO), DO(2), DO(3)
#define LANES_8(DO) LANES_4(DO), DO(4), DO(5), DO(6), DO(7)
#define LANES_16(DO) LANES_8(DO), DO(8), DO(9), DO(10), DO(11), DO(12), DO(13), DO(14), DO(15)
#if SP_HOST_VECTOR_BYTES == 16
#define LANES_double LANES_2
#define LANES_float LANES_4
#elif SP_HOST_VECTOR_BYTES == 32
#define LANES_double LANES_4
#define LANES_float LANES_8
#else
#define LANES_double LANES_8
#define LANES_float LANES_16
#endif
#define EACH_LANE PASTE(LANES_, SP_REAL)

#if SP_HOST_VECTOR_BYTES == 64
#include <immintrin.h>
INLINE __m512d divide_double(__m512d a, __m512d b) {
  const __m512d one = _mm512_set1_pd(1),
                guess = _mm512_rcp14_pd(b); /* accurate to 14 bits, then 28 */
  const __m512d inverse = _mm512_fmadd_pd(guess, _mm512_fnmadd_pd(b, guess, one), guess);
  const __m512d quotient = _mm512_mul_pd(a, inverse);
  return _mm512_fmadd_pd(inverse, _mm512_fnmadd_pd(b, quotient, a), quotient);
}
INLINE __m512 divide_float(__m512 a, __m512 b) {
  const __m512 inverse = _mm512_rcp14_ps(b), quotient = _mm512_mul_ps(a, inverse);
  return _mm512_fmadd_ps(inverse, _mm512_fnmadd_ps(b, quotient, a), quotient);
}
/* a / b to one or two units in the last place, far from overflow and underflow. A division of such
 * vectors takes as long as eight to sixteen products. */
#define divide(a, b) ((vec)PASTE(divide_, SP_REAL)(a, b))
#else
#define divide(a, b) ((a) / (b))
#endif

INLINE vec splat(real value) {
#define VALUE(lane) value
  return (vec){EACH_LANE(VALUE)};
#undef VALUE
}
