/* Evaluation of formulas, a chunk of points at a time. */
#include "io/expression_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Copy the variables of a chunk. Those that pad it to whole vectors repeat the last point, so that
 * they take no slow path that the points do not take. */
static void load_variables(const sp_program *program,
                           const double *const values[SP_EXPRESSION_VARIABLES], size_t start,
                           size_t count, size_t padded) {
  for (int v = 0; v < SP_EXPRESSION_VARIABLES; v++) {
    double *slot = program->variable[v];
    if (!slot) continue;
    memcpy(slot, values[v] + start, count * sizeof *slot);
    for (size_t p = count; p < padded; p++) slot[p] = slot[count - 1];
  }
}

/* Run the program for n points. An instruction whose result is an output writes it there, if
 * `direct` allows; output[k] begins at the chunk. */
static void run(const sp_program *program, sp_expression_kernel *kernel, unsigned wanted, size_t n,
                bool direct, double *const output[SP_EXPRESSION_OUTPUTS]) {
  for (size_t k = 0; k < program->length; k++) {
    const sp_instruction *i = &program->instructions[k];
    const bool first = i->needed[0] & wanted, second = i->needed[1] & wanted;
    if (first && second)
      kernel(i->operation, n, i->operand, i->out, i->second);
    else if (first)
      kernel(i->operation == SP_OP_SINCOS ? SP_OP_SIN : i->operation, n, i->operand,
             direct && i->stores >= 0 ? output[i->stores] : i->out, NULL);
    else if (second)
      kernel(SP_OP_COS, n, i->operand, i->second, NULL);
  }
}

/* Copy the outputs that the program has not written. */
static void store(const sp_program *program, bool direct, size_t count,
                  double *const output[SP_EXPRESSION_OUTPUTS]) {
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) {
    const sp_operand *result = &program->output[k];
    if (!output[k] || (direct && program->direct[k])) continue;
    if (result->step)
      memcpy(output[k], result->data, count * sizeof(double));
    else
      for (size_t p = 0; p < count; p++) output[k][p] = result->data[0];
  }
}

static void evaluate(const sp_expression *expression, size_t n,
                     const double *const variables[SP_EXPRESSION_VARIABLES],
                     double *const output[SP_EXPRESSION_OUTPUTS]) {
  assert(expression->is_of_u == (variables[SP_VARIABLE_U] != NULL));
  unsigned wanted = 0;
  for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) wanted |= output[k] ? 1u << k : 0;
  const sp_program *program = &expression->programs[wanted & SP_EXPRESSION_LAPLACIAN ? 2
                                                    : wanted != SP_EXPRESSION_VALUE  ? 1
                                                                                     : 0];
  for (size_t start = 0; start < n; start += program->chunk) {
    const size_t count = n - start < program->chunk ? n - start : program->chunk;
    const size_t padded =
        (count + SP_EXPRESSION_PADDING - 1) / SP_EXPRESSION_PADDING * SP_EXPRESSION_PADDING;
    load_variables(program, variables, start, count, padded);
    double *out[SP_EXPRESSION_OUTPUTS];
    for (int k = 0; k < SP_EXPRESSION_OUTPUTS; k++) out[k] = output[k] ? output[k] + start : NULL;
    const bool direct = padded == count;
    run(program, expression->kernel, wanted, padded, direct, out);
    store(program, direct, count, out);
  }
}

void sp_expression_evaluate(const sp_expression *expression, size_t n, const double *x,
                            const double *y, const double *z, double *value) {
  evaluate(expression, n, (const double *const[]){x, y, z, NULL},
           (double *const[]){value, 0, 0, 0, 0});
}

void sp_expression_evaluate_of_u(const sp_expression *expression, size_t n, const double *x,
                                 const double *y, const double *z, const double *u, double *value) {
  evaluate(expression, n, (const double *const[]){x, y, z, u},
           (double *const[]){value, 0, 0, 0, 0});
}

void sp_expression_evaluate_jet(const sp_expression *expression, size_t n, const double *x,
                                const double *y, const double *z, double *value,
                                double *const gradient[3], double *laplacian) {
  evaluate(expression, n, (const double *const[]){x, y, z, NULL},
           (double *const[]){value, gradient[0], gradient[1], gradient[2], laplacian});
}

void sp_expression_destroy(sp_expression **expression) {
  if (!*expression) return;
  for (int k = 0; k < SP_EXPRESSION_PROGRAMS; k++) sp_program_free(&(*expression)->programs[k]);
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
