/* The arithmetic of formulas. Compiled once per instruction set; the build sets the function's name
 * (SP_EXPRESSION_KERNEL). It computes whole vectors only, so a point takes the same path anywhere
 * in a chunk. */
#include "io/formula/kernel.h"
#include "io/formula/vector.h"

#include <assert.h>
#include <stdbool.h>

sp_expression_kernel SP_EXPRESSION_KERNEL;

static inline vec load(sp_operand o, size_t p) {
  return *(const vec *)&o.data[p * o.step];
}

/* A case of an operation: out = an expression of the vectors u (and v, and w). */
#define CASE(operation, result, ...)                                                               \
  case operation:                                                                                  \
    _Pragma("GCC unroll 4") for (size_t p = 0; p < n; p += LANES) {                                \
      const vec __VA_ARGS__;                                                                       \
      *(stored *)&out[p] = result;                                                                 \
    }                                                                                              \
    break
#define CASE_1(operation, result) CASE(operation, result, u = load(a, p))
#define CASE_2(operation, result) CASE(operation, result, u = load(a, p), v = load(b, p))
#define CASE_3(operation, result)                                                                  \
  CASE(operation, result, u = load(a, p), v = load(b, p), w = load(c, p))

static inline vec sign(vec u) {
  return select_lanes(is_nan(u), u, truth((mask)(u > 0)) - truth((mask)(u < 0)));
}

/* A comparison with NaN is NaN. */
static inline vec compared(vec u, vec v, mask holds) {
  return select_lanes(is_nan(u) | is_nan(v), u + v, truth(holds));
}

static inline mask min_is_first(vec u, vec v) {
  return (mask)(u < v) | is_nan(u);
}

static inline mask max_is_first(vec u, vec v) {
  return (mask)(u > v) | is_nan(u);
}

/* v as a condition: 1, 0 or NaN. */
static inline vec condition(vec v) {
  return select_lanes(is_nan(v), v, truth((mask)(v != 0)));
}

/* Vectors that exceed the limit of vec_sincos or are not finite go to libm. */
static void sincos_kernel(size_t n, const double *x, double *sine, double *cosine) {
  mask large = {0};
  for (size_t p = 0; p < n; p += LANES) {
    const vec u = *(const vec *)&x[p];
    vec c;
    const vec s = vec_sincos(u, &c);
    if (sine) *(stored *)&sine[p] = s;
    if (cosine) *(stored *)&cosine[p] = c;
    large |= ~(mask)(absolute(u) <= SINCOS_LIMIT);
  }
  int64_t any = 0;
  for (int lane = 0; lane < LANES; lane++) any |= large[lane];
  if (!any) return;
  for (size_t p = 0; p < n; p++) {
    if (fabs(x[p]) <= SINCOS_LIMIT) continue;
    if (sine) sine[p] = sin(x[p]);
    if (cosine) cosine[p] = cos(x[p]);
  }
}

/* The interval of x that has `at`: x[low] <= at < x[low + 1]. */
static size_t find_interval(size_t n, const double *x, double at) {
  size_t low = 0, high = n;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    *(at < x[middle] ? &high : &low) = middle;
  }
  return low;
}

/* Value or slope of the table {n, x[n], y[n]} at `at`. */
static double look_up(const double *table, bool slope, double at) {
  const size_t n = (size_t)table[0];
  const double *x = table + 1, *y = x + n;
  if (isnan(at)) return at;
  if (at < x[0] || at >= x[n - 1]) return slope ? 0 : at < x[0] ? y[0] : y[n - 1];
  const size_t low = find_interval(n, x, at), high = low + 1;
  const double rise = (y[high] - y[low]) / (x[high] - x[low]);
  return slope ? rise : y[low] + (at - x[low]) * rise;
}

/* Return the interval that contains `at`, the part of it below `at`, and the derivative of that
 * part. Outside of all intervals, the values at the nearest end. */
static size_t find_part(size_t n, const double *x, double at, double *part, double *slope) {
  const bool below = at < x[0], above = at >= x[n - 1];
  const size_t low = below ? 0 : above ? n - 2 : find_interval(n, x, at);
  const double width = x[low + 1] - x[low];
  *part = below ? 0 : above ? 1 : (at - x[low]) / width;
  *slope = below || above ? 0 : 1 / width;
  return low;
}

/* Value or a derivative of a map at (a, b). */
static double look_up_map(const double *map, sp_operation operation, double a, double b) {
  const size_t nx = (size_t)map[0], ny = (size_t)map[1];
  const double *x = map + 2, *y = x + nx;
  double s, t, ds, dt;
  if (isnan(a) || isnan(b)) return a + b;
  const size_t i = find_part(nx, x, a, &s, &ds), j = find_part(ny, y, b, &t, &dt);
  const double *low = y + ny + j * nx + i, *high = low + nx;
  const double rise[2] = {low[1] - low[0], high[1] - high[0]};
  const double along = low[0] + s * rise[0];
  const double across = high[0] + s * rise[1] - along, turn = rise[1] - rise[0];
  return operation == SP_OP_MAP           ? along + t * across
         : operation == SP_OP_MAP_SLOPE_A ? (rise[0] + t * turn) * ds
         : operation == SP_OP_MAP_SLOPE_B ? across * dt
                                          : turn * ds * dt;
}

void SP_EXPRESSION_KERNEL(sp_operation operation, size_t n, const sp_operand operand[3],
                          double *restrict out, double *restrict second) {
  const sp_operand a = operand[0], b = operand[1], c = operand[2];
  switch (operation) {
    CASE_1(SP_OP_NEGATE, -u);
    CASE_1(SP_OP_NOT, select_lanes(is_nan(u), u, truth((mask)(u == 0))));
  case SP_OP_SIN:
    sincos_kernel(n, a.data, out, NULL);
    break;
  case SP_OP_COS:
    sincos_kernel(n, a.data, NULL, out);
    break;
  case SP_OP_SINCOS:
    sincos_kernel(n, a.data, out, second);
    break;
    CASE_1(SP_OP_TAN, vec_tan(u));
    CASE_1(SP_OP_ASIN, vec_asin(u));
    CASE_1(SP_OP_ACOS, vec_acos(u));
    CASE_1(SP_OP_ATAN, vec_atan(u));
    CASE_1(SP_OP_SINH, vec_sinh(u));
    CASE_1(SP_OP_COSH, vec_cosh(u));
    CASE_1(SP_OP_TANH, vec_tanh(u));
    CASE_1(SP_OP_EXP, vec_exp(u));
    CASE_1(SP_OP_LOG, vec_log(u));
    CASE_1(SP_OP_LOG10, vec_log10(u));
    CASE_1(SP_OP_CBRT, vec_cbrt(u));
    CASE_1(SP_OP_ERF, vec_erf(u));
    CASE_1(SP_OP_ABS, absolute(u));
    CASE_1(SP_OP_SIGN, sign(u));
  /* sqrt is exact, so the compiler may compute the last points separately. */
  case SP_OP_SQRT:
    for (size_t p = 0; p < n; p++) out[p] = sqrt(a.data[p]);
    break;
  case SP_OP_FLOOR:
    for (size_t p = 0; p < n; p++) out[p] = floor(a.data[p]);
    break;
    CASE_2(SP_OP_ADD, u + v);
    CASE_2(SP_OP_SUBTRACT, u - v);
    CASE_2(SP_OP_MULTIPLY, u * v);
    CASE_2(SP_OP_DIVIDE, u / v);
    CASE_2(SP_OP_POWER, vec_pow(u, v));
    CASE_2(SP_OP_ATAN2, vec_atan2(u, v));
    CASE_2(SP_OP_MIN, select_lanes(min_is_first(u, v), u, v));
    CASE_2(SP_OP_MAX, select_lanes(max_is_first(u, v), u, v));
    CASE_2(SP_OP_MIN_IS_FIRST, truth(min_is_first(u, v)));
    CASE_2(SP_OP_MAX_IS_FIRST, truth(max_is_first(u, v)));
    CASE_2(SP_OP_EQUAL, compared(u, v, (mask)(u == v)));
    CASE_2(SP_OP_NOT_EQUAL, compared(u, v, (mask)(u != v)));
    CASE_2(SP_OP_LESS, compared(u, v, (mask)(u < v)));
    CASE_2(SP_OP_LESS_EQUAL, compared(u, v, (mask)(u <= v)));
    CASE_2(SP_OP_GREATER, compared(u, v, (mask)(u > v)));
    CASE_2(SP_OP_GREATER_EQUAL, compared(u, v, (mask)(u >= v)));
  case SP_OP_TABLE:
  case SP_OP_TABLE_SLOPE:
    for (size_t p = 0; p < n; p++)
      out[p] = look_up(b.data, operation == SP_OP_TABLE_SLOPE, a.data[p * a.step]);
    break;
    CASE_2(SP_OP_AND,
           select_lanes((mask)(u == 0), splat(0), select_lanes(is_nan(u), u, condition(v))));
    CASE_2(SP_OP_OR, select_lanes((mask)(u == 0), condition(v), condition(u)));
    CASE_3(SP_OP_SELECT, select_lanes((mask)(u == 0), w, select_lanes(is_nan(u), u, v)));
    CASE_3(SP_OP_MULTIPLY_ADD, u * v + w);
    CASE_3(SP_OP_SUBTRACT_MULTIPLY, w - u * v);
  case SP_OP_MAP:
  case SP_OP_MAP_SLOPE_A:
  case SP_OP_MAP_SLOPE_B:
  case SP_OP_MAP_SLOPE_AB:
    for (size_t p = 0; p < n; p++)
      out[p] = look_up_map(c.data, operation, a.data[p * a.step], b.data[p * b.step]);
    break;
  default:
    assert(false && "an operation with operands");
  }
}
