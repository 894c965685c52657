/* Evaluation of formulas, with and without derivatives. The parser is in expression_parse.c. */
#include "io/expression_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = SP_EXPRESSION_CHUNK, JET = SP_EXPRESSION_JET };

/* An operand's arrays. If it has no derivative along d, gradient[d] points to zeros. */
typedef struct view {
  const double *value, *gradient[3], *laplacian;
  unsigned depends;
} view;

/* A slot as a destination. */
typedef struct target {
  double *restrict value, *restrict gradient[3], *restrict laplacian;
  unsigned depends;
} target;

static const double zeros[CHUNK];

/* out += factor scale grad a . grad b, over the coordinates that both depend on. */
static void add_dot(size_t n, const view *a, const view *b, const double *restrict scale,
                    double factor, double *restrict out) {
  for (int d = 0; d < 3; d++) {
    const double *restrict s = a->gradient[d], *restrict t = b->gradient[d];
    if (a->depends & b->depends & 1u << d)
      for (size_t i = 0; i < n; i++) out[i] += factor * scale[i] * (s[i] * t[i]);
  }
}

static void add_product(size_t n, const double *restrict a, const double *restrict b,
                        double *restrict out) {
  for (size_t i = 0; i < n; i++) out[i] += a[i] * b[i];
}

static void clear_derivatives(size_t n, const target *out) {
  for (int d = 0; d < 3; d++)
    if (out->depends & 1u << d) memset(out->gradient[d], 0, n * sizeof(double));
  if (out->depends) memset(out->laplacian, 0, n * sizeof(double));
}

/* The terms of the chain rule that contain one operand only. */
static void add_chain(size_t n, const view *a, const double *restrict first,
                      const double *restrict second, const target *out) {
  if (!a->depends) return;
  for (int d = 0; d < 3; d++)
    if (a->depends & 1u << d) add_product(n, first, a->gradient[d], out->gradient[d]);
  add_product(n, first, a->laplacian, out->laplacian);
  if (second) add_dot(n, a, a, second, 1, out->laplacian);
}

/* The derivatives of out = a + sign b. */
static void sum_derivatives(size_t n, const view *a, const view *b, double sign,
                            const target *out) {
  for (int d = 0; d < 3; d++)
    if (out->depends & 1u << d)
      for (size_t i = 0; i < n; i++)
        out->gradient[d][i] = a->gradient[d][i] + sign * b->gradient[d][i];
  if (out->depends)
    for (size_t i = 0; i < n; i++) out->laplacian[i] = a->laplacian[i] + sign * b->laplacian[i];
}

static void choose_derivatives(size_t n, const double *condition, const view *a, const view *b,
                               const target *out) {
  for (int d = 0; d < 3; d++)
    if (out->depends & 1u << d)
      sp_choose(n, condition, a->gradient[d], b->gradient[d], out->gradient[d]);
  if (out->depends) sp_choose(n, condition, a->laplacian, b->laplacian, out->laplacian);
}

static void operation_jet(sp_operation operation, double constant, size_t n, const view operand[3],
                          const target *out) {
  const view *a = &operand[0], *b = &operand[1];
  const double *const values[3] = {a->value, b->value, operand[2].value};
  if (!out->depends) {
    sp_operation_value(operation, constant, n, values, out->value);
    return;
  }
  sp_partials p;
  if (operation < SP_OP_ADD && operation != SP_OP_NEGATE) {
    sp_unary_partials(operation, constant, n, a->value, out->value, &p);
    clear_derivatives(n, out);
    add_chain(n, a, p.a, p.aa, out);
    return;
  }
  sp_operation_value(operation, constant, n, values, out->value);
  switch (operation) {
  case SP_OP_NEGATE: {
    const view nothing = {zeros, {zeros, zeros, zeros}, zeros, 0};
    sum_derivatives(n, &nothing, a, -1, out);
    break;
  }
  case SP_OP_ADD:
    sum_derivatives(n, a, b, 1, out);
    break;
  case SP_OP_SUBTRACT:
    sum_derivatives(n, a, b, -1, out);
    break;
  case SP_OP_MULTIPLY:
    clear_derivatives(n, out);
    add_chain(n, a, b->value, NULL, out);
    add_chain(n, b, a->value, NULL, out);
    for (size_t i = 0; i < n; i++) p.ab[i] = 1;
    add_dot(n, a, b, p.ab, 2, out->laplacian);
    break;
  case SP_OP_MIN:
  case SP_OP_MAX:
    sp_operation_choice(operation, n, a->value, b->value, p.a);
    choose_derivatives(n, p.a, a, b, out);
    break;
  case SP_OP_SELECT:
    choose_derivatives(n, a->value, b, &operand[2], out);
    break;
  default:
    sp_binary_partials(operation, n, a->value, a->depends, b->value, b->depends, out->value, &p);
    clear_derivatives(n, out);
    add_chain(n, a, p.a, p.aa, out);
    add_chain(n, b, p.b, p.bb, out);
    add_dot(n, a, b, p.ab, 2, out->laplacian);
  }
}

/* The arrays of a source; slots have `stride` doubles, JET arrays or only the value. */
static view view_of(sp_source source, const double *const coordinate[3], const double *slots,
                    size_t stride) {
  static const double ones[CHUNK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  view result = {zeros, {zeros, zeros, zeros}, zeros, source.depends};
  if (source.index < 0) {
    const int d = -1 - source.index;
    result.value = coordinate[d];
    result.gradient[d] = ones;
    return result;
  }
  const double *slot = slots + (size_t)source.index * stride;
  result.value = slot;
  for (size_t d = 0; d < 3; d++)
    if (source.depends & 1u << d) result.gradient[d] = slot + (1 + d) * CHUNK;
  if (source.depends) result.laplacian = slot + 4 * CHUNK;
  return result;
}

void sp_expression_evaluate(const sp_expression *expression, size_t n, const double *x,
                            const double *y, const double *z, double *value) {
  double *slots = expression->slots;
  for (size_t start = 0; start < n; start += CHUNK) {
    const size_t count = n - start < CHUNK ? n - start : CHUNK;
    const double *const coordinate[3] = {x + start, y + start, z + start};
    for (size_t k = 0; k < expression->length; k++) {
      const sp_instruction *instruction = &expression->program[k];
      const double *operand[3];
      for (int o = 0; o < 3; o++) {
        const int index = instruction->operand[o].index;
        operand[o] = index < 0 ? coordinate[-1 - index] : slots + index * CHUNK;
      }
      sp_operation_value(instruction->operation, instruction->constant, count, operand,
                         slots + instruction->destination.index * CHUNK);
    }
    const int index = expression->result.index;
    memcpy(value + start, index < 0 ? coordinate[-1 - index] : slots + index * CHUNK,
           count * sizeof *value);
  }
}

void sp_expression_evaluate_jet(const sp_expression *expression, size_t n, const double *x,
                                const double *y, const double *z, double *value,
                                double *const gradient[3], double *laplacian) {
  double *slots = expression->slots;
  const size_t stride = JET * CHUNK;
  for (size_t start = 0; start < n; start += CHUNK) {
    const size_t count = n - start < CHUNK ? n - start : CHUNK, bytes = count * sizeof *value;
    const double *const coordinate[3] = {x + start, y + start, z + start};
    for (size_t k = 0; k < expression->length; k++) {
      const sp_instruction *instruction = &expression->program[k];
      view operand[3];
      for (int o = 0; o < 3; o++)
        operand[o] = view_of(instruction->operand[o], coordinate, slots, stride);
      double *slot = slots + (size_t)instruction->destination.index * stride;
      const target out = {slot,
                          {slot + CHUNK, slot + 2 * CHUNK, slot + 3 * CHUNK},
                          slot + 4 * CHUNK,
                          instruction->destination.depends};
      operation_jet(instruction->operation, instruction->constant, count, operand, &out);
    }
    const view result = view_of(expression->result, coordinate, slots, stride);
    if (value) memcpy(value + start, result.value, bytes);
    for (int d = 0; d < 3; d++)
      if (gradient[d]) memcpy(gradient[d] + start, result.gradient[d], bytes);
    if (laplacian) memcpy(laplacian + start, result.laplacian, bytes);
  }
}

void sp_expression_destroy(sp_expression **expression) {
  if (!*expression) return;
  free((*expression)->program);
  free((*expression)->slots);
  free((*expression)->text);
  free((*expression)->where);
  free(*expression);
  *expression = NULL;
}

const char *sp_expression_where(const sp_expression *expression) {
  return expression->where;
}

const char *sp_expression_text(const sp_expression *expression) {
  return expression->text;
}

bool sp_expression_is_smooth(const sp_expression *expression) {
  return !expression->is_rough;
}

bool sp_expression_is_constant(const sp_expression *expression) {
  return expression->is_constant;
}
