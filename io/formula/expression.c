/* Evaluation of formulas, a chunk of points at a time. */
#include "io/formula/program.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* bytes of a cache line, and of the longest vectors */

/* The slots of one evaluation. */
typedef struct slots {
  const sp_program *program;
  double *memory;
} slots;

static double *slot(const slots *s, size_t index) {
  return s->memory + index * s->program->chunk;
}

static sp_operand operand(const slots *s, const sp_source *source) {
  return source->constant ? (sp_operand){source->constant, 0}
                          : (sp_operand){slot(s, source->slot), 1};
}

/* Copy the variables of a chunk. Padding to whole vectors repeats the last point, so that it takes
 * no slow path of its own. */
static void load_variables(const slots *s, const double *const values[SP_EXPRESSION_VARIABLES],
                           size_t start, size_t count, size_t padded) {
  for (int v = 0; v < SP_EXPRESSION_VARIABLES; v++) {
    if (s->program->variable[v] < 0) continue;
    double *target = slot(s, (size_t)s->program->variable[v]);
    memcpy(target, values[v] + start, count * sizeof *target);
    for (size_t p = count; p < padded; p++) target[p] = target[count - 1];
  }
}

/* Run the program for n points. An instruction whose result is an output writes it there, if
 * `direct` allows; output[k] begins at the chunk. */
static void run_program(const slots *s, sp_expression_kernel *kernel, unsigned wanted, size_t n,
                        bool direct, double *const output[SP_EXPRESSION_OUTPUTS]) {
  for (size_t k = 0; k < s->program->length; k++) {
    const sp_instruction *i = &s->program->instructions[k];
    const bool first = i->needed[0] & wanted, second = i->needed[1] & wanted;
    if (!first && !second) continue;
    sp_operand operands[3];
    for (int o = 0; o < 3; o++) operands[o] = operand(s, &i->operand[o]);
    double *const out = slot(s, i->out);
    if (first && second)
      kernel(i->operation, n, operands, out, slot(s, i->second));
    else if (first)
      kernel(i->operation == SP_OP_SINCOS ? SP_OP_SIN : i->operation, n, operands,
             direct && i->stores >= 0 ? output[i->stores] : out, NULL);
    else
      kernel(SP_OP_COS, n, operands, slot(s, i->second), NULL);
  }
}

/* Copy the outputs that no instruction has stored. */
static void copy_outputs(const slots *s, bool direct, size_t count,
                         double *const output[SP_EXPRESSION_OUTPUTS]) {
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) {
    if (!output[k] || (direct && s->program->direct[k])) continue;
    const sp_operand result = operand(s, &s->program->output[k]);
    if (result.step)
      memcpy(output[k], result.data, count * sizeof(double));
    else
      for (size_t p = 0; p < count; p++) output[k][p] = result.data[0];
  }
}

static const sp_program *program_for(const sp_expression *expression, unsigned wanted) {
  return &expression->code->programs[wanted & SP_EXPRESSION_LAPLACIAN ? 2
                                     : wanted != SP_EXPRESSION_VALUE  ? 1
                                                                      : 0];
}

sp_status sp_expression_evaluate(const sp_expression *expression, size_t n,
                                 const double *const xyz[3], const double *given, double *value,
                                 double *const gradient[3], double *laplacian) {
  double *const output[SP_EXPRESSION_OUTPUTS] = {value, gradient ? gradient[0] : NULL,
                                                 gradient ? gradient[1] : NULL,
                                                 gradient ? gradient[2] : NULL, laplacian};
  const double *variables[SP_EXPRESSION_VARIABLES] = {xyz[0], xyz[1], xyz[2], given};
  assert(given || !(expression->is_of_u || (expression->code->is_anisotropic && laplacian)));
  for (size_t k = 0; k < 6 && given && expression->code->is_anisotropic; k++)
    variables[SP_VARIABLE_K + k] = given + k * n;
  unsigned wanted = 0;
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) wanted |= output[k] ? 1u << k : 0;
  const sp_program *program = program_for(expression, wanted);
  const size_t bytes = (program->slots * program->chunk * sizeof(double) + LINE - 1) / LINE * LINE;
  const slots s = {program, aligned_alloc(LINE, bytes > 0 ? bytes : LINE)};
  if (!s.memory)
    return sp_fail(SP_ERR_SYSTEM, "out of memory: the values of a formula need %zu bytes", bytes);
  for (size_t start = 0; start < n; start += program->chunk) {
    const size_t count = n - start < program->chunk ? n - start : program->chunk;
    const size_t padded =
        (count + SP_EXPRESSION_PADDING - 1) / SP_EXPRESSION_PADDING * SP_EXPRESSION_PADDING;
    load_variables(&s, variables, start, count, padded);
    double *out[SP_EXPRESSION_OUTPUTS];
    for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) out[k] = output[k] ? output[k] + start : NULL;
    const bool direct = padded == count;
    run_program(&s, expression->code->kernel, wanted, padded, direct, out);
    copy_outputs(&s, direct, count, out);
  }
  free(s.memory);
  return SP_OK;
}

void sp_expression_destroy(sp_expression **expression) {
  if (!*expression) return;
  struct sp_expression_code *code = (*expression)->code;
  for (int k = 0; code && k < SP_EXPRESSION_PROGRAMS; k++) sp_program_free(&code->programs[k]);
  SP_FREE(code, (*expression)->text, (*expression)->where, *expression);
  *expression = NULL;
}

static sp_status evaluate_constant(const sp_scope *scope, const char *text, const char *where,
                                   double *value) {
  static const double zero = 0, *const origin[3] = {&zero, &zero, &zero};
  SP_AUTO(sp_expression) formula = NULL;
  SP_TRY(sp_expression_parse(text, where, scope, &formula));
  SP_TRY(sp_expression_evaluate(formula, 1, origin, NULL, value, NULL, NULL));
  if (formula->is_constant && isfinite(*value)) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected a finite number or a formula of the constants above it, found '%s'",
                 where, text);
}

sp_status sp_scope_define(sp_scope *scope, const char *name, const char *text, const char *where) {
  double value;
  if (!sp_expression_allows_name(name) || (scope->time && strcmp(name, "t") == 0))
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected a name of letters, digits and _ that begins with no digit and "
                   "means nothing else in formulas (as x, u, e, sin do)",
                   where);
  SP_TRY(evaluate_constant(scope, text, where, &value));
  SP_TRY(sp_reserve((size_t)scope->count, 1, sizeof *scope->constants, "constants",
                    &scope->constants));
  scope->constants[scope->count++] = (sp_constant){name, value, false};
  return SP_OK;
}
