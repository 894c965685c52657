/* Vectors of doubles and their functions, for the kernels of formulas. They have the width of the
 * instruction set for which a file is compiled. Sine and cosine are computed here. The other
 * functions come from libmvec, the vector functions of the GNU C library, if the build found it
 * (SP_HAVE_LIBMVEC), else from libm, lane by lane. */
#pragma once

#include <math.h>
#include <stdint.h>

#if defined __AVX512F__
enum { LANES = 8 };
#define LIBMVEC_1(name) _ZGVeN8v_##name
#define LIBMVEC_2(name) _ZGVeN8vv_##name
#define LIBMVEC_CALL
#elif defined __AVX2__
enum { LANES = 4 };
#define LIBMVEC_1(name) _ZGVdN4v_##name
#define LIBMVEC_2(name) _ZGVdN4vv_##name
#define LIBMVEC_CALL
#elif defined __x86_64__
enum { LANES = 2 };
#define LIBMVEC_1(name) _ZGVbN2v_##name
#define LIBMVEC_2(name) _ZGVbN2vv_##name
#define LIBMVEC_CALL
#else
enum { LANES = 2 };
#define LIBMVEC_1(name) _ZGVnN2v_##name
#define LIBMVEC_2(name) _ZGVnN2vv_##name
#define LIBMVEC_CALL __attribute__((aarch64_vector_pcs))
#endif

/* may_alias: vectors are loaded from arrays of doubles; `stored`: at any address of a double. */
typedef double vec __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef vec stored __attribute__((aligned(8)));
typedef int64_t mask __attribute__((vector_size(LANES * sizeof(double)))); /* lanes 0 or -1 */
typedef uint64_t umask __attribute__((vector_size(LANES * sizeof(double))));

static inline vec splat(double value) {
  return (vec){0} + value;
}

static inline vec select_lanes(mask m, vec a, vec b) {
  return (vec)((m & (mask)a) | (~m & (mask)b));
}

static inline mask is_nan(vec a) {
  return (mask)(a != a);
}

/* 1 where m is true, else 0. */
static inline vec truth(mask m) {
  return (vec)(m & (mask)splat(1));
}

static inline vec absolute(vec a) {
  return (vec)((mask)a & INT64_MAX);
}

#ifdef SP_HAVE_LIBMVEC
#define FUNCTION_1(name)                                                                           \
  LIBMVEC_CALL vec LIBMVEC_1(name)(vec);                                                           \
  static inline vec vec_##name(vec a) {                                                            \
    return LIBMVEC_1(name)(a);                                                                     \
  }
#define FUNCTION_2(name)                                                                           \
  LIBMVEC_CALL vec LIBMVEC_2(name)(vec, vec);                                                      \
  static inline vec vec_##name(vec a, vec b) {                                                     \
    return LIBMVEC_2(name)(a, b);                                                                  \
  }
#else
#define FUNCTION_1(name)                                                                           \
  static inline vec vec_##name(vec a) {                                                            \
    for (int lane = 0; lane < LANES; lane++) a[lane] = name(a[lane]);                              \
    return a;                                                                                      \
  }
#define FUNCTION_2(name)                                                                           \
  static inline vec vec_##name(vec a, vec b) {                                                     \
    for (int lane = 0; lane < LANES; lane++) a[lane] = name(a[lane], b[lane]);                     \
    return a;                                                                                      \
  }
#endif
FUNCTION_1(tan)
FUNCTION_1(asin)
FUNCTION_1(acos)
FUNCTION_1(atan)
FUNCTION_1(sinh)
FUNCTION_1(cosh)
FUNCTION_1(tanh)
FUNCTION_1(exp)
FUNCTION_1(log)
FUNCTION_1(log10)
FUNCTION_1(cbrt)
FUNCTION_1(erf)
FUNCTION_2(atan2)
#ifdef __aarch64__
/* In libmvec (glibc 2.41) the last bits of a lane change if another lane takes a slow path, for
 * example with a negative base. */
static inline vec vec_pow(vec a, vec b) {
  for (int lane = 0; lane < LANES; lane++) a[lane] = pow(a[lane], b[lane]);
  return a;
}
#else
FUNCTION_2(pow)
#endif
#undef FUNCTION_1
#undef FUNCTION_2

/* ---- Sine and cosine ---- */

/* Callers use libm for larger arguments. */
#define SINCOS_LIMIT 0x1p16

/* x = k pi/2 + *r - *tail with |*r| < 0.79 and a negligible tail, for |x| <= SINCOS_LIMIT (Cody and
 * Waite). Returns k in the low bits. pi/2 has 125 bits: two parts of 36 bits, whose products with k
 * (at most 16 bits) are exact, and the rest. So *r - *tail has full relative accuracy even for the
 * doubles next to multiples of pi/2. The rounding error of *r is computed exactly; if the
 * subtraction cancels, it is zero. */
static inline umask reduce(vec x, vec *r, vec *tail) {
  const double two_over_pi = 0x1.45f306dc9c883p-1;
  const double part[3] = {0x1.921fb54440000p+0, 0x1.68c234c4c0000p-39, 0x1.98a2e03707345p-77};
  const double round = 0x1.8p52; /* adding it puts k into the low bits */
  const vec shifted = x * two_over_pi + round, k = shifted - round;
  const vec first = x - k * part[0], product = k * part[1];
  *r = first - product;
  *tail = k * part[2] - ((first - *r) - product);
  return (umask)shifted;
}

/* Coefficients: interpolation at Chebyshev's points of r^2 in [0, 0.79^2], in extended precision;
 * the error is below 2^-55 of the function. */
static inline vec polynomial(const double c[6], vec z, vec z2) {
  return (c[0] + z * c[1]) + z2 * ((c[2] + z * c[3]) + z2 * (c[4] + z * c[5]));
}

/* sin(r - tail) and *cosine = cos(r - tail) for |r| < 0.79, with the first order of the tail:
 *
 *     r - (r^3 p(r^2) + tail (1 - r^2/2))   and   1 - r^2/2 + r^4 q(r^2) + tail r,
 *
 * where the rounding of 1 - r^2/2 is corrected. The signs are such that sin(-0) is -0. */
static inline vec near_zero(vec r, vec tail, vec *cosine) {
  static const double p[6] = {0x1.5555555555555p-3,  -0x1.1111111110b60p-7,
                              0x1.a01a019e70424p-13, -0x1.71de377d84985p-19,
                              0x1.ae5ff116c8d06p-26, -0x1.5e01d1798c2b3p-33};
  static const double q[6] = {0x1.5555555555555p-5,  -0x1.6c16c16c1693ep-10,
                              0x1.a01a019f44f97p-16, -0x1.27e4fa0b544edp-22,
                              0x1.1eeb5bf022724p-29, -0x1.907458a591af7p-37};
  const vec z = r * r, z2 = z * z;
  const vec half = 0.5 * z, top = 1 - half, rounding = (1 - top) - half;
  *cosine = top + (z2 * polynomial(q, z, z2) + (rounding + r * tail));
  return r - (z * r * polynomial(p, z, z2) + tail * top);
}

/* Sine and cosine for |x| <= SINCOS_LIMIT. */
static inline vec vec_sincos(vec x, vec *cosine) {
  vec r, tail, c;
  const umask k = reduce(x, &r, &tail), sign = (umask){0} + (UINT64_C(1) << 63);
  const umask s = (umask)near_zero(r, tail, &c), swap = (s ^ (umask)c) & -(k & 1);
  *cosine = (vec)((umask)c ^ swap ^ ((k + 1) << 62 & sign));
  return (vec)(s ^ swap ^ (k << 62 & sign));
}
