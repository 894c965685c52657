/* Operations of formulas, and the arithmetic of each at many points. */
#pragma once

#include <stddef.h>

typedef enum sp_operation {
  SP_OP_VARIABLE,
  SP_OP_CONSTANT,
  SP_OP_DATA, /* memory outside the formula, with the step 0: time, a table {n, x[n], y[n]} or a
                 map {nx, ny, x[nx], y[ny], v[ny][nx]} */
  /* one operand */
  SP_OP_NEGATE,
  SP_OP_NOT,
  SP_OP_SIN,
  SP_OP_COS,
  SP_OP_TAN,
  SP_OP_ASIN,
  SP_OP_ACOS,
  SP_OP_ATAN,
  SP_OP_SINH,
  SP_OP_COSH,
  SP_OP_TANH,
  SP_OP_EXP,
  SP_OP_LOG,
  SP_OP_LOG10,
  SP_OP_SQRT,
  SP_OP_CBRT,
  SP_OP_ABS,
  SP_OP_ERF,
  SP_OP_SIGN,
  SP_OP_FLOOR,
  SP_OP_SINCOS, /* two results; in programs only */
  /* two operands */
  SP_OP_ADD,
  SP_OP_SUBTRACT,
  SP_OP_MULTIPLY,
  SP_OP_DIVIDE,
  SP_OP_POWER,
  SP_OP_ATAN2,
  SP_OP_MIN,
  SP_OP_MAX,
  SP_OP_MIN_IS_FIRST, /* 1 where min(a, b) takes a, else 0 */
  SP_OP_MAX_IS_FIRST,
  SP_OP_EQUAL,
  SP_OP_NOT_EQUAL,
  SP_OP_LESS,
  SP_OP_LESS_EQUAL,
  SP_OP_GREATER,
  SP_OP_GREATER_EQUAL,
  SP_OP_TABLE,       /* a table at a: piecewise linear, end values outside */
  SP_OP_TABLE_SLOPE, /* its derivative, at x[k] from the right; 0 outside */
  SP_OP_AND,
  SP_OP_OR,
  /* three operands */
  SP_OP_SELECT,            /* b where a is not zero, c where a is zero, NaN where a is NaN */
  SP_OP_MULTIPLY_ADD,      /* a * b + c; in derivatives only, because it may round once */
  SP_OP_SUBTRACT_MULTIPLY, /* c - a * b; likewise */
  SP_OP_MAP,               /* the map c at (a, b): bilinear, end values outside */
  SP_OP_MAP_SLOPE_A,       /* its derivatives, from above; 0 outside */
  SP_OP_MAP_SLOPE_B,
  SP_OP_MAP_SLOPE_AB,
} sp_operation;

static inline int sp_operation_arity(sp_operation operation) {
  return operation < SP_OP_NEGATE   ? 0
         : operation < SP_OP_ADD    ? 1
         : operation < SP_OP_SELECT ? 2
                                    : 3;
}

/* The value at point p is data[p * step]; step is 1, or 0 for a constant, which data holds
 * SP_EXPRESSION_PADDING times. Aligned to 64 bytes. */
typedef struct sp_operand {
  const double *data;
  size_t step;
} sp_operand;

/* Kernels compute whole vectors: the points of a chunk are padded to a multiple of this. */
enum { SP_EXPRESSION_PADDING = 8 };

/* out[p] = operation(a[p], b[p], c[p]) for n points, a multiple of SP_EXPRESSION_PADDING. `out` and
 * `second` need no alignment and overlap no operand. `second` is the cosine of SP_OP_SINCOS. The
 * bits of out[p] depend only on the operands at p. Local. */
typedef void sp_expression_kernel(sp_operation operation, size_t n, const sp_operand operand[3],
                                  double *out, double *second);

enum { SP_EXPRESSION_SETS = 3 };

/* The kernels that were built and that this processor can run, widest vectors first. Returns their
 * number, at least 1. Local. */
int sp_expression_usable_kernels(sp_expression_kernel *usable[SP_EXPRESSION_SETS]);
