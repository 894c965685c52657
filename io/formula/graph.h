/* Nodes of a formula. Equal nodes are one node, constants are folded, and derivatives of a node are
 * also nodes. All functions are Local. */
#pragma once

#include <stdbool.h>

#include "io/error.h"
#include "io/formula/kernel.h"

/* x, y, z; with sp_expression_parse_given also u, or the components of K, which occur in
 * derivatives only and have no name. */
enum { SP_VARIABLE_U = 3, SP_VARIABLE_K, SP_EXPRESSION_VARIABLES = SP_VARIABLE_K + 6 };

/* Unused operands are 0. Operands have smaller indices than the node. */
typedef struct sp_node {
  sp_operation operation;
  int operand[3];
  double constant;
  const double *data; /* of SP_OP_DATA, else NULL */
  bool varies;        /* it depends on a variable */
} sp_node;

/* The derivatives of a node: nodes, or SP_ZERO if they vanish everywhere. */
enum { SP_ZERO = -1 };
typedef struct sp_jet {
  bool known;
  int gradient[3], laplacian;
} sp_jet;

/* Derivatives of jets: by x, y and z, or gradient[0] by t, or by u. */
typedef enum sp_direction { SP_ALONG_SPACE, SP_ALONG_TIME, SP_ALONG_U } sp_direction;

typedef struct sp_graph {
  sp_expression_kernel *kernel;
  int count, capacity;
  sp_node *nodes; /* the first are the variables */
  sp_jet *jets;
  int *table;       /* open hashing: [2 * capacity], node or -1 */
  bool failed;      /* out of memory: nodes are wrong from then on */
  bool anisotropic; /* `laplacian` of jets is K : grad grad */
  sp_direction direction;
} sp_graph;

/* sp_graph_free releases *graph, also after a failure. Errors: SP_ERR_SYSTEM. */
sp_status sp_graph_create(bool anisotropic, sp_direction direction, sp_graph *graph);
void sp_graph_free(sp_graph *graph);

/* The node of a constant, of memory outside the formula, or of an operation, simplified without a
 * change of its value. They return 0 and set graph->failed if memory is short. */
int sp_graph_constant(sp_graph *graph, double value);
int sp_graph_data(sp_graph *graph, const double *data);
int sp_graph_node(sp_graph *graph, sp_operation operation, int a, int b, int c);

/* The node of an operation with one or two operands (b = 0 for one) if it exists, else -1. */
int sp_graph_find(const sp_graph *graph, sp_operation operation, int a, int b);

static inline bool sp_graph_is_constant(const sp_graph *graph, int node) {
  return graph->nodes[node].operation == SP_OP_CONSTANT;
}

/* Constant integer exponents up to this size become multiplications, which are more accurate than
 * pow and not slower. */
enum { SP_SMALL_POWER_MAX = 8 };

/* Add a node as sp_graph_node does, and its jet. */
int sp_graph_apply(sp_graph *graph, sp_operation operation, const int operand[3]);
