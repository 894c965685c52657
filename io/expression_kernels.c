/* The arithmetic of formulas. Compiled once per instruction set; the build says what the function
 * is called (SP_EXPRESSION_KERNEL). Whole vectors only: each point takes the same path, wherever it
 * is in the chunk. */
#include "io/expression_kernel.h"
#include "io/expression_vector.h"

#include <assert.h>
#include <stdbool.h>

sp_expression_kernel SP_EXPRESSION_KERNEL;

static inline vec load(sp_operand o, size_t p) {
  return *(const vec *)&o.data[p * o.step];
}

/* out = an expression of the vectors u (and v, and w). */
#define UNROLL _Pragma("GCC unroll 4")
#define LOOP_1(result)                                                                             \
  UNROLL                                                                                           \
  for (size_t p = 0; p < n; p += LANES) {                                                          \
    const vec u = load(a, p);                                                                      \
    *(stored *)&out[p] = result;                                                                   \
  }                                                                                                \
  break
#define LOOP_2(result)                                                                             \
  UNROLL                                                                                           \
  for (size_t p = 0; p < n; p += LANES) {                                                          \
    const vec u = load(a, p), v = load(b, p);                                                      \
    *(stored *)&out[p] = result;                                                                   \
  }                                                                                                \
  break
#define LOOP_3(result)                                                                             \
  UNROLL                                                                                           \
  for (size_t p = 0; p < n; p += LANES) {                                                          \
    const vec u = load(a, p), v = load(b, p), w = load(c, p);                                      \
    *(stored *)&out[p] = result;                                                                   \
  }                                                                                                \
  break

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

/* Vectors beyond the limit of vec_sincos, and those that are not finite, are left to libm. */
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

/* Value or slope of the table {n, x[n], y[n]} at `at`. */
static double look_up(const double *table, bool slope, double at) {
  const size_t n = (size_t)table[0];
  const double *x = table + 1, *y = x + n;
  size_t low = 0, high = n; /* x[low] <= at < x[high] */
  if (isnan(at)) return at;
  if (at < x[0] || at >= x[n - 1]) return slope ? 0 : at < x[0] ? y[0] : y[n - 1];
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    *(at < x[middle] ? &high : &low) = middle;
  }
  const double rise = (y[high] - y[low]) / (x[high] - x[low]);
  return slope ? rise : y[low] + (at - x[low]) * rise;
}

static void kernel_1(sp_operation operation, size_t n, sp_operand a, double *restrict out) {
  switch (operation) {
  case SP_OP_NEGATE:
    LOOP_1(-u);
  case SP_OP_NOT:
    LOOP_1(select_lanes(is_nan(u), u, truth((mask)(u == 0))));
  case SP_OP_TAN:
    LOOP_1(vec_tan(u));
  case SP_OP_ASIN:
    LOOP_1(vec_asin(u));
  case SP_OP_ACOS:
    LOOP_1(vec_acos(u));
  case SP_OP_ATAN:
    LOOP_1(vec_atan(u));
  case SP_OP_SINH:
    LOOP_1(vec_sinh(u));
  case SP_OP_COSH:
    LOOP_1(vec_cosh(u));
  case SP_OP_TANH:
    LOOP_1(vec_tanh(u));
  case SP_OP_EXP:
    LOOP_1(vec_exp(u));
  case SP_OP_LOG:
    LOOP_1(vec_log(u));
  case SP_OP_LOG10:
    LOOP_1(vec_log10(u));
  case SP_OP_CBRT:
    LOOP_1(vec_cbrt(u));
  case SP_OP_ERF:
    LOOP_1(vec_erf(u));
  case SP_OP_ABS:
    LOOP_1(absolute(u));
  case SP_OP_SIGN:
    LOOP_1(sign(u));
  /* Exact, so the compiler may treat the last points otherwise. */
  case SP_OP_SQRT:
    for (size_t p = 0; p < n; p++) out[p] = sqrt(a.data[p]);
    break;
  case SP_OP_FLOOR:
    for (size_t p = 0; p < n; p++) out[p] = floor(a.data[p]);
    break;
  default:
    assert(false && "an operation with one operand");
  }
}

static void kernel_2(sp_operation operation, size_t n, sp_operand a, sp_operand b,
                     double *restrict out) {
  switch (operation) {
  case SP_OP_ADD:
    LOOP_2(u + v);
  case SP_OP_SUBTRACT:
    LOOP_2(u - v);
  case SP_OP_MULTIPLY:
    LOOP_2(u * v);
  case SP_OP_DIVIDE:
    LOOP_2(u / v);
  case SP_OP_POWER:
    LOOP_2(vec_pow(u, v));
  case SP_OP_ATAN2:
    LOOP_2(vec_atan2(u, v));
  case SP_OP_MIN:
    LOOP_2(select_lanes(min_is_first(u, v), u, v));
  case SP_OP_MAX:
    LOOP_2(select_lanes(max_is_first(u, v), u, v));
  case SP_OP_MIN_IS_FIRST:
    LOOP_2(truth(min_is_first(u, v)));
  case SP_OP_MAX_IS_FIRST:
    LOOP_2(truth(max_is_first(u, v)));
  case SP_OP_EQUAL:
    LOOP_2(compared(u, v, (mask)(u == v)));
  case SP_OP_NOT_EQUAL:
    LOOP_2(compared(u, v, (mask)(u != v)));
  case SP_OP_LESS:
    LOOP_2(compared(u, v, (mask)(u < v)));
  case SP_OP_LESS_EQUAL:
    LOOP_2(compared(u, v, (mask)(u <= v)));
  case SP_OP_GREATER:
    LOOP_2(compared(u, v, (mask)(u > v)));
  case SP_OP_GREATER_EQUAL:
    LOOP_2(compared(u, v, (mask)(u >= v)));
  case SP_OP_TABLE:
  case SP_OP_TABLE_SLOPE:
    for (size_t p = 0; p < n; p++)
      out[p] = look_up(b.data, operation == SP_OP_TABLE_SLOPE, a.data[p * a.step]);
    break;
  case SP_OP_AND:
    LOOP_2(select_lanes((mask)(u == 0), splat(0), select_lanes(is_nan(u), u, condition(v))));
  case SP_OP_OR:
    LOOP_2(select_lanes((mask)(u == 0), condition(v), condition(u)));
  default:
    assert(false && "an operation with two operands");
  }
}

static void kernel_3(sp_operation operation, size_t n, sp_operand a, sp_operand b, sp_operand c,
                     double *restrict out) {
  switch (operation) {
  case SP_OP_SELECT:
    LOOP_3(select_lanes((mask)(u == 0), w, select_lanes(is_nan(u), u, v)));
  case SP_OP_MULTIPLY_ADD:
    LOOP_3(u * v + w);
  case SP_OP_SUBTRACT_MULTIPLY:
    LOOP_3(w - u * v);
  default:
    assert(false && "an operation with three operands");
  }
}

void SP_EXPRESSION_KERNEL(sp_operation operation, size_t n, const sp_operand operand[3],
                          double *out, double *second) {
  switch (operation) {
  case SP_OP_SIN:
    sincos_kernel(n, operand[0].data, out, NULL);
    return;
  case SP_OP_COS:
    sincos_kernel(n, operand[0].data, NULL, out);
    return;
  case SP_OP_SINCOS:
    sincos_kernel(n, operand[0].data, out, second);
    return;
  default:
    break;
  }
  const int arity = sp_operation_arity(operation);
  if (arity == 1)
    kernel_1(operation, n, operand[0], out);
  else if (arity == 2)
    kernel_2(operation, n, operand[0], operand[1], out);
  else
    kernel_3(operation, n, operand[0], operand[1], operand[2], out);
}
