/* What each operation of a formula computes: values and partial derivatives. */
#define _GNU_SOURCE /* sincos */
#include "io/expression_internal.h"

#include <assert.h>
#include <math.h>

static const double PI = 3.14159265358979323846;
static const double LN10 = 2.30258509299404568402;

void sp_choose(size_t n, const double *restrict condition, const double *restrict a,
               const double *restrict b, double *restrict v) {
  for (size_t i = 0; i < n; i++) v[i] = condition[i] != 0 ? a[i] : b[i];
}

void sp_operation_choice(sp_operation operation, size_t n, const double *restrict a,
                         const double *restrict b, double *restrict choice) {
  if (operation == SP_OP_MIN)
    for (size_t i = 0; i < n; i++) choice[i] = a[i] < b[i] || isnan(a[i]);
  else
    for (size_t i = 0; i < n; i++) choice[i] = a[i] > b[i] || isnan(a[i]);
}

static void unary_value(sp_operation operation, double constant, size_t n, const double *restrict a,
                        double *restrict v) {
  switch (operation) {
  case SP_OP_NEGATE:
    for (size_t i = 0; i < n; i++) v[i] = -a[i];
    break;
  case SP_OP_NOT:
    for (size_t i = 0; i < n; i++) v[i] = a[i] == 0;
    break;
  case SP_OP_SIN:
    for (size_t i = 0; i < n; i++) v[i] = sin(a[i]);
    break;
  case SP_OP_COS:
    for (size_t i = 0; i < n; i++) v[i] = cos(a[i]);
    break;
  case SP_OP_TAN:
    for (size_t i = 0; i < n; i++) v[i] = tan(a[i]);
    break;
  case SP_OP_ASIN:
    for (size_t i = 0; i < n; i++) v[i] = asin(a[i]);
    break;
  case SP_OP_ACOS:
    for (size_t i = 0; i < n; i++) v[i] = acos(a[i]);
    break;
  case SP_OP_ATAN:
    for (size_t i = 0; i < n; i++) v[i] = atan(a[i]);
    break;
  case SP_OP_SINH:
    for (size_t i = 0; i < n; i++) v[i] = sinh(a[i]);
    break;
  case SP_OP_COSH:
    for (size_t i = 0; i < n; i++) v[i] = cosh(a[i]);
    break;
  case SP_OP_TANH:
    for (size_t i = 0; i < n; i++) v[i] = tanh(a[i]);
    break;
  case SP_OP_EXP:
    for (size_t i = 0; i < n; i++) v[i] = exp(a[i]);
    break;
  case SP_OP_LOG:
    for (size_t i = 0; i < n; i++) v[i] = log(a[i]);
    break;
  case SP_OP_LOG10:
    for (size_t i = 0; i < n; i++) v[i] = log10(a[i]);
    break;
  case SP_OP_SQRT:
    for (size_t i = 0; i < n; i++) v[i] = sqrt(a[i]);
    break;
  case SP_OP_CBRT:
    for (size_t i = 0; i < n; i++) v[i] = cbrt(a[i]);
    break;
  case SP_OP_ABS:
    for (size_t i = 0; i < n; i++) v[i] = fabs(a[i]);
    break;
  case SP_OP_ERF:
    for (size_t i = 0; i < n; i++) v[i] = erf(a[i]);
    break;
  case SP_OP_SIGN:
    for (size_t i = 0; i < n; i++) v[i] = isnan(a[i]) ? a[i] : (double)((a[i] > 0) - (a[i] < 0));
    break;
  case SP_OP_FLOOR:
    for (size_t i = 0; i < n; i++) v[i] = floor(a[i]);
    break;
  case SP_OP_SMALL_POWER:
    for (size_t i = 0; i < n; i++) v[i] = a[i];
    for (int k = 1; k < (int)constant; k++)
      for (size_t i = 0; i < n; i++) v[i] *= a[i];
    break;
  default:
    assert(false && "an operation with one operand");
  }
}

static void binary_value(sp_operation operation, size_t n, const double *restrict a,
                         const double *restrict b, double *restrict v) {
  switch (operation) {
  case SP_OP_ADD:
    for (size_t i = 0; i < n; i++) v[i] = a[i] + b[i];
    break;
  case SP_OP_SUBTRACT:
    for (size_t i = 0; i < n; i++) v[i] = a[i] - b[i];
    break;
  case SP_OP_MULTIPLY:
    for (size_t i = 0; i < n; i++) v[i] = a[i] * b[i];
    break;
  case SP_OP_DIVIDE:
    for (size_t i = 0; i < n; i++) v[i] = a[i] / b[i];
    break;
  case SP_OP_POWER:
    for (size_t i = 0; i < n; i++) v[i] = pow(a[i], b[i]);
    break;
  case SP_OP_ATAN2:
    for (size_t i = 0; i < n; i++) v[i] = atan2(a[i], b[i]);
    break;
  case SP_OP_MIN:
  case SP_OP_MAX: {
    double choice[SP_EXPRESSION_CHUNK];
    sp_operation_choice(operation, n, a, b, choice);
    sp_choose(n, choice, a, b, v);
    break;
  }
  case SP_OP_EQUAL:
    for (size_t i = 0; i < n; i++) v[i] = a[i] == b[i];
    break;
  case SP_OP_NOT_EQUAL:
    for (size_t i = 0; i < n; i++) v[i] = a[i] != b[i];
    break;
  case SP_OP_LESS:
    for (size_t i = 0; i < n; i++) v[i] = a[i] < b[i];
    break;
  case SP_OP_LESS_EQUAL:
    for (size_t i = 0; i < n; i++) v[i] = a[i] <= b[i];
    break;
  case SP_OP_GREATER:
    for (size_t i = 0; i < n; i++) v[i] = a[i] > b[i];
    break;
  case SP_OP_GREATER_EQUAL:
    for (size_t i = 0; i < n; i++) v[i] = a[i] >= b[i];
    break;
  case SP_OP_AND:
    for (size_t i = 0; i < n; i++) v[i] = a[i] != 0 && b[i] != 0;
    break;
  case SP_OP_OR:
    for (size_t i = 0; i < n; i++) v[i] = a[i] != 0 || b[i] != 0;
    break;
  default:
    assert(false && "an operation with two operands");
  }
}

void sp_operation_value(sp_operation operation, double constant, size_t n,
                        const double *const operand[3], double *restrict v) {
  if (operation == SP_OP_CONSTANT)
    for (size_t i = 0; i < n; i++) v[i] = constant;
  else if (operation < SP_OP_ADD)
    unary_value(operation, constant, n, operand[0], v);
  else if (operation < SP_OP_SELECT)
    binary_value(operation, n, operand[0], operand[1], v);
  else
    sp_choose(n, operand[0], operand[1], operand[2], v);
}

double sp_expression_fold(sp_operation operation, double constant, const double operand[3]) {
  double value;
  sp_operation_value(operation, constant, 1,
                     (const double *const[]){&operand[0], &operand[1], &operand[2]}, &value);
  return value;
}

void sp_unary_partials(sp_operation operation, double constant, size_t n, const double *restrict a,
                       double *restrict v, sp_partials *restrict p) {
  double *restrict first = p->a, *restrict second = p->aa;
  if (operation == SP_OP_SIN) {
    for (size_t i = 0; i < n; i++) sincos(a[i], &v[i], &first[i]);
    for (size_t i = 0; i < n; i++) second[i] = -v[i];
    return;
  }
  if (operation == SP_OP_COS) {
    for (size_t i = 0; i < n; i++) sincos(a[i], &first[i], &v[i]);
    for (size_t i = 0; i < n; i++) first[i] = -first[i], second[i] = -v[i];
    return;
  }
  unary_value(operation, constant, n, a, v);
  switch (operation) {
  case SP_OP_TAN:
    for (size_t i = 0; i < n; i++) {
      first[i] = 1 + v[i] * v[i];
      second[i] = 2 * v[i] * first[i];
    }
    break;
  case SP_OP_ASIN:
  case SP_OP_ACOS:
    for (size_t i = 0; i < n; i++) {
      const double r = 1 / sqrt((1 - a[i]) * (1 + a[i]));
      first[i] = operation == SP_OP_ASIN ? r : -r;
      second[i] = first[i] * r * r * a[i];
    }
    break;
  case SP_OP_ATAN:
    for (size_t i = 0; i < n; i++) {
      first[i] = 1 / (1 + a[i] * a[i]);
      second[i] = -2 * a[i] * first[i] * first[i];
    }
    break;
  case SP_OP_SINH:
    for (size_t i = 0; i < n; i++) first[i] = cosh(a[i]), second[i] = v[i];
    break;
  case SP_OP_COSH:
    for (size_t i = 0; i < n; i++) first[i] = sinh(a[i]), second[i] = v[i];
    break;
  case SP_OP_TANH:
    for (size_t i = 0; i < n; i++) {
      const double c = cosh(a[i]); /* 1 - tanh^2 suffers cancellation */
      first[i] = 1 / c / c;
      second[i] = -2 * v[i] * first[i];
    }
    break;
  case SP_OP_EXP:
    for (size_t i = 0; i < n; i++) first[i] = second[i] = v[i];
    break;
  case SP_OP_LOG:
  case SP_OP_LOG10:
    for (size_t i = 0; i < n; i++) {
      const double r = a[i] < 0 ? NAN : 1 / a[i]; /* NaN where the value is NaN */
      first[i] = operation == SP_OP_LOG ? r : r / LN10;
      second[i] = -first[i] * r;
    }
    break;
  case SP_OP_SQRT:
    for (size_t i = 0; i < n; i++) {
      first[i] = 0.5 / v[i];
      second[i] = -0.5 * first[i] / a[i];
    }
    break;
  case SP_OP_CBRT:
    for (size_t i = 0; i < n; i++) {
      first[i] = 1 / (3 * v[i] * v[i]);
      second[i] = -2.0 / 3 * first[i] / a[i];
    }
    break;
  case SP_OP_ABS:
    for (size_t i = 0; i < n; i++) first[i] = a[i] < 0 ? -1 : 1, second[i] = 0;
    break;
  case SP_OP_ERF: {
    const double scale = 2 / sqrt(PI);
    for (size_t i = 0; i < n; i++) {
      first[i] = scale * exp(-a[i] * a[i]);
      second[i] = -2 * a[i] * first[i];
    }
    break;
  }
  case SP_OP_SMALL_POWER:
    for (size_t i = 0; i < n; i++) second[i] = 1;
    for (int k = 2; k < (int)constant; k++)
      for (size_t i = 0; i < n; i++) second[i] *= a[i];
    for (size_t i = 0; i < n; i++) {
      first[i] = constant * (second[i] * a[i]);
      second[i] *= constant * (constant - 1);
    }
    break;
  default:
    assert(false && "a smooth operation with one operand");
  }
}

/* The derivatives of a^b. Factors of zero are tested first: x^1 and x^0 are smooth at 0, though the
 * formulas of their second derivatives contain 1/x. */
static void power_partials(size_t n, const double *restrict a, unsigned a_depends,
                           const double *restrict b, unsigned b_depends, const double *restrict v,
                           sp_partials *restrict p) {
  if (a_depends)
    for (size_t i = 0; i < n; i++) {
      const double factor = b[i] * (b[i] - 1);
      p->a[i] = b[i] == 0 ? 0 : b[i] * pow(a[i], b[i] - 1);
      p->aa[i] = factor == 0 ? 0 : factor * pow(a[i], b[i] - 2);
    }
  if (b_depends)
    for (size_t i = 0; i < n; i++) {
      const bool vanishes = a[i] == 0 && b[i] > 0; /* 0^b is 0 for all b > 0 */
      const double logarithm = log(a[i]);
      p->b[i] = vanishes ? 0 : v[i] * logarithm;
      p->bb[i] = vanishes ? 0 : v[i] * logarithm * logarithm;
    }
  if (a_depends & b_depends)
    for (size_t i = 0; i < n; i++)
      p->ab[i] = a[i] == 0 && b[i] > 1 ? 0 : pow(a[i], b[i] - 1) * (1 + b[i] * log(a[i]));
}

void sp_binary_partials(sp_operation operation, size_t n, const double *restrict a,
                        unsigned a_depends, const double *restrict b, unsigned b_depends,
                        const double *restrict v, sp_partials *restrict p) {
  switch (operation) {
  case SP_OP_DIVIDE:
    for (size_t i = 0; i < n; i++) {
      const double r = 1 / b[i];
      p->a[i] = r;
      p->b[i] = -v[i] * r;
      p->aa[i] = 0;
      p->ab[i] = -r * r;
      p->bb[i] = 2 * v[i] * r * r;
    }
    break;
  case SP_OP_ATAN2:
    for (size_t i = 0; i < n; i++) {
      const double r = a[i] * a[i] + b[i] * b[i];
      p->a[i] = b[i] / r;
      p->b[i] = -a[i] / r;
      p->aa[i] = 2 * p->a[i] * p->b[i];
      p->ab[i] = p->b[i] * p->b[i] - p->a[i] * p->a[i];
      p->bb[i] = -p->aa[i];
    }
    break;
  case SP_OP_POWER:
    power_partials(n, a, a_depends, b, b_depends, v, p);
    break;
  default:
    assert(false && "a smooth operation with two operands");
  }
}
