/* The interface between parser and evaluation of formulas: a program for a machine with slots.
 *
 *     sin(pi*x) + y        slot 0 <- constant pi
 *                          slot 1 <- multiply(slot 0, x)
 *                          slot 0 <- sin(slot 1)
 *                          slot 1 <- add(slot 0, y)
 *
 * A slot holds values at a chunk of points, which share the cost of decoding an instruction.
 * Coordinates are read directly, without a slot. The destination of an instruction is never one of
 * its operands, so the loops may assume that input and output do not overlap. */
#ifndef SP_IO_EXPRESSION_INTERNAL_H
#define SP_IO_EXPRESSION_INTERNAL_H

#include "io/expression.h"

/* A slot is a jet at a chunk of points: five arrays of 64 doubles. */
enum { SP_EXPRESSION_SLOTS = 128, SP_EXPRESSION_CHUNK = 64, SP_EXPRESSION_JET = 5 };

typedef enum sp_operation {
  SP_OP_CONSTANT,
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
  SP_OP_SMALL_POWER, /* exponent 2 to SP_SMALL_POWER_MAX, held in `constant` */
  /* two operands */
  SP_OP_ADD,
  SP_OP_SUBTRACT,
  SP_OP_MULTIPLY,
  SP_OP_DIVIDE,
  SP_OP_POWER,
  SP_OP_ATAN2,
  SP_OP_MIN,
  SP_OP_MAX,
  SP_OP_EQUAL,
  SP_OP_NOT_EQUAL,
  SP_OP_LESS,
  SP_OP_LESS_EQUAL,
  SP_OP_GREATER,
  SP_OP_GREATER_EQUAL,
  SP_OP_AND,
  SP_OP_OR,
  /* three operands: condition, value if the condition is not zero, value if it is */
  SP_OP_SELECT
} sp_operation;

/* Above this, repeated multiplication is no faster than pow and less accurate. */
enum { SP_SMALL_POWER_MAX = 8 };

/* Where an operand is: the index of a slot, or -1 - d for coordinate d. Bit d of `depends` is set
 * if the derivative along coordinate d may be nonzero; if no bit is set, neither gradient nor
 * Laplacian is stored. */
typedef struct sp_source {
  int index;
  unsigned depends;
} sp_source;

typedef struct sp_instruction {
  sp_operation operation;
  sp_source operand[3];
  sp_source destination;
  double constant;
} sp_instruction;

struct sp_expression {
  char *where, *text;
  bool is_constant, is_rough;
  sp_instruction *program;
  size_t length;
  sp_source result;
  /* Only those that the program uses; all 128 would take 320 KiB, too much for the C stack. */
  int slot_count;
  double *slots;
};

/* The partial derivatives of g(a) or g(a, b) at a chunk of points. */
typedef struct sp_partials {
  double a[SP_EXPRESSION_CHUNK], b[SP_EXPRESSION_CHUNK];
  double aa[SP_EXPRESSION_CHUNK], ab[SP_EXPRESSION_CHUNK], bb[SP_EXPRESSION_CHUNK];
} sp_partials;

/* Below, n is at most SP_EXPRESSION_CHUNK and arrays are [n]; outputs overlap nothing, inputs may
 * be the same array. */

/* v = the operation at n points; `constant` as in the instruction. Unused operands may be anything.
 * Local. */
void sp_operation_value(sp_operation operation, double constant, size_t n,
                        const double *const operand[3], double *restrict v);

/* The value of one operation on constants, with the same bits as at evaluation. Local. */
double sp_expression_fold(sp_operation operation, double constant, const double operand[3]);

/* v = g(a) with p->a = g'(a) and p->aa = g''(a), for the operations with one operand whose
 * derivatives are not zero, SP_OP_NEGATE excepted. Local. */
void sp_unary_partials(sp_operation operation, double constant, size_t n, const double *restrict a,
                       double *restrict v, sp_partials *restrict p);

/* The partial derivatives of v = g(a, b) for division, power and atan2. The partials of an operand
 * without derivatives (`depends` is 0) may be left unset, and so may p->ab if the operands depend
 * on no common coordinate. Local. */
void sp_binary_partials(sp_operation operation, size_t n, const double *restrict a,
                        unsigned a_depends, const double *restrict b, unsigned b_depends,
                        const double *restrict v, sp_partials *restrict p);

/* For SP_OP_MIN and SP_OP_MAX: 1 where a is taken, 0 where b is. NaN propagates, unlike in fmin and
 * fmax, since callers check for it. Local. */
void sp_operation_choice(sp_operation operation, size_t n, const double *restrict a,
                         const double *restrict b, double *restrict choice);

/* v = a where the condition is not zero, b elsewhere. A selection, not a product with 0 or 1,
 * because the other side may be NaN. Local. */
void sp_choose(size_t n, const double *restrict condition, const double *restrict a,
               const double *restrict b, double *restrict v);

#endif
