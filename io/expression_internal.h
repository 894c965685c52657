/* The inside of formulas: text -> graph -> programs -> values.
 *
 *     expression_parse.c      the parser; calls sp_graph_apply for each operation it meets
 *     expression_graph.c      nodes: equal ones are one node, constants are folded
 *     expression_derive.c     the nodes of the derivatives, by forward differentiation
 *     expression_program.c    the nodes that the outputs need, as instructions on slots
 *     expression.c            evaluation, a chunk of points at a time
 *     expression_kernels.c    the arithmetic of each operation, once per instruction set
 *
 * For example sin(pi*x) + y, with the derivative along x:
 *
 *     nodes 0 to 3    x, y, z, u         node 7   sin(node 5)
 *     node 4          pi                 node 8   cos(node 5)
 *     node 5          multiply(4, 0)     node 9   multiply(4, 8)      the derivative of node 7
 *                                        node 10  add(7, 1)
 */
#ifndef SP_IO_EXPRESSION_INTERNAL_H
#define SP_IO_EXPRESSION_INTERNAL_H

#include "io/expression.h"

typedef enum sp_operation {
  SP_OP_VARIABLE,
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
  SP_OP_AND,
  SP_OP_OR,
  /* three operands */
  SP_OP_SELECT,            /* b where a is not zero, c where a is zero, NaN where a is NaN */
  SP_OP_MULTIPLY_ADD,      /* a * b + c; in derivatives only, because it may round once */
  SP_OP_SUBTRACT_MULTIPLY, /* c - a * b; likewise */
} sp_operation;

static inline int sp_operation_arity(sp_operation operation) {
  return operation < SP_OP_NEGATE   ? 0
         : operation < SP_OP_ADD    ? 1
         : operation < SP_OP_SELECT ? 2
                                    : 3;
}

/* ---- Kernels ---- */

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
 * bits of out[p] depend on nothing but the operands at p. Local. */
typedef void sp_expression_kernel(sp_operation operation, size_t n, const sp_operand operand[3],
                                  double *out, double *second);

enum { SP_EXPRESSION_SETS = 3 };

/* The kernels that were built and that this processor can run, widest vectors first. Returns how
 * many there are, at least 1. Local. */
int sp_expression_usable_kernels(sp_expression_kernel *usable[SP_EXPRESSION_SETS]);

/* ---- Graph ---- */

/* x, y, z and u, which only formulas of sp_expression_parse_of_u have. */
enum { SP_VARIABLE_U = 3, SP_EXPRESSION_VARIABLES };

/* Unused operands are 0. Operands have smaller indices than the node. */
typedef struct sp_node {
  sp_operation operation;
  int operand[3];
  double constant;
} sp_node;

/* The derivatives of a node are nodes too, or SP_ZERO if they vanish everywhere. */
enum { SP_ZERO = -1 };
typedef struct sp_jet {
  bool known;
  int gradient[3], laplacian;
} sp_jet;

typedef struct sp_graph {
  sp_expression_kernel *kernel;
  int count, capacity;
  sp_node *nodes; /* the first are the variables */
  sp_jet *jets;
  int *table;  /* open hashing: [2 * capacity], node or -1 */
  bool failed; /* out of memory: nodes are wrong from then on */
} sp_graph;

/* sp_graph_free releases *graph, also after a failure. Local. Errors: SP_ERR_SYSTEM. */
sp_status sp_graph_create(sp_graph *graph);
void sp_graph_free(sp_graph *graph);

/* The node of a constant, or of an operation, simplified without a change of its value. They return
 * 0 and set graph->failed if memory is short. Local. */
int sp_graph_constant(sp_graph *graph, double value);
int sp_graph_node(sp_graph *graph, sp_operation operation, int a, int b, int c);

/* The node of an operation with one or two operands (b = 0 for one) if it exists, else -1. Local.
 */
int sp_graph_find(const sp_graph *graph, sp_operation operation, int a, int b);

static inline bool sp_graph_is_constant(const sp_graph *graph, int node) {
  return graph->nodes[node].operation == SP_OP_CONSTANT;
}

/* Up to this, constant integer exponents are multiplications: pow is no faster then, and less
 * accurate. */
enum { SP_SMALL_POWER_MAX = 8 };

/* The same as sp_graph_node, and the jet of the node is known afterwards. Local. */
int sp_graph_apply(sp_graph *graph, sp_operation operation, const int operand[3]);

/* ---- Programs ---- */

/* Value, three derivatives, Laplacian. A set of outputs has bit k for output k. */
enum { SP_EXPRESSION_OUTPUTS = 5, SP_EXPRESSION_VALUE = 1, SP_EXPRESSION_LAPLACIAN = 16 };

/* Where an operand is: a constant of the program, or a slot. */
typedef struct sp_source {
  const double *constant; /* NULL for a slot */
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
  int variable[SP_EXPRESSION_VARIABLES]; /* slots to be filled; -1 if it is not read */
  sp_source output[SP_EXPRESSION_OUTPUTS];
  bool direct[SP_EXPRESSION_OUTPUTS]; /* an instruction `stores` it */
  double *constants; /* each repeated SP_EXPRESSION_PADDING times; the first is 0 */
} sp_program;

/* The program for `outputs` of the node `result`. sp_program_free releases *program, also after a
 * failure. Local. Errors: SP_ERR_SYSTEM. */
sp_status sp_program_create(const sp_graph *graph, int result, unsigned outputs,
                            sp_program *program);
void sp_program_free(sp_program *program);

/* Programs for the value; value and gradient; all outputs. Fewer outputs leave instructions out. A
 * formula of u has the first one only. */
enum { SP_EXPRESSION_PROGRAMS = 3 };

struct sp_expression {
  char *where, *text;
  bool is_constant, is_rough, is_of_u;
  sp_expression_kernel *kernel;
  sp_program programs[SP_EXPRESSION_PROGRAMS];
};

#endif
