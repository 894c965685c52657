/* The inside of formulas: text -> graph -> programs -> values.
 *
 *     kernel.h                the arithmetic of each operation, once per instruction set.
 *     graph.h                 nodes: value numbering, constant folding, derivatives (derive.c).
 *     program.h               the nodes that the outputs need, as instructions on slots.
 *     token.h                 numbers, names and symbols of a text.
 *     parse.c                 the parser; calls sp_graph_apply for each operation.
 *     expression.c            evaluation, a chunk of points at a time.
 *
 * Each of these headers includes only the ones above it.
 *
 * For example sin(pi*x) + y, with the derivative along x:
 *
 *     nodes 0 to 3    x, y, z, u         node 7   sin(node 5)
 *     node 4          pi                 node 8   cos(node 5)
 *     node 5          multiply(4, 0)     node 9   multiply(4, 8)      the derivative of node 7
 *                                        node 10  add(7, 1) */
#pragma once

#include "io/formula/expression.h"
#include "io/formula/graph.h"

/* Value, three derivatives, Laplacian. A set of outputs has bit k for output k. */
enum { SP_EXPRESSION_OUTPUTS = 5, SP_EXPRESSION_VALUE = 1, SP_EXPRESSION_LAPLACIAN = 16 };

/* An operand: a constant of the program, or a slot. */
typedef struct sp_source {
  const double *constant; /* of the program, or a table; NULL for a slot */
  size_t slot;
} sp_source;

typedef struct sp_instruction {
  sp_operation operation;
  unsigned needed[2]; /* the outputs that need `out` and `second` */
  sp_source operand[3];
  size_t out, second; /* slots */
  int stores;         /* the output that `out` is, if no instruction reads it; else -1 */
} sp_instruction;

/* A slot holds values at a chunk of points. Slots are memory of the evaluation, so that several
 * threads may run a program at a time. */
typedef struct sp_program {
  size_t length, chunk, slots;
  sp_instruction *instructions;
  int variable[SP_EXPRESSION_VARIABLES]; /* slots to fill; -1 if not read */
  sp_source output[SP_EXPRESSION_OUTPUTS];
  bool direct[SP_EXPRESSION_OUTPUTS]; /* an instruction `stores` it */
  double *constants; /* each repeated SP_EXPRESSION_PADDING times; the first is 0 */
} sp_program;

/* The program for `outputs` of the node `result`. sp_program_free releases *program, also after a
 * failure. Local. Errors: SP_ERR_SYSTEM. */
sp_status sp_program_create(const sp_graph *graph, int result, unsigned outputs,
                            sp_program *program);
void sp_program_free(sp_program *program);

/* Programs for the value, for value and gradient, and for all outputs. A formula of u has only the
 * first one, unless its derivatives are by u. */
enum { SP_EXPRESSION_PROGRAMS = 3 };

struct sp_expression_code {
  bool is_anisotropic;
  sp_expression_kernel *kernel;
  sp_program programs[SP_EXPRESSION_PROGRAMS];
};
