/* Nodes of formulas: value numbering, constant folding, simplification. */
#include "io/formula/graph.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"

sp_status sp_graph_create(bool anisotropic, sp_direction direction, sp_graph *graph) {
  enum { FIRST = 64 };
  sp_expression_kernel *usable[SP_EXPRESSION_SETS];
  sp_expression_usable_kernels(usable);
  *graph = (sp_graph){.kernel = usable[0],
                      .capacity = FIRST,
                      .count = SP_EXPRESSION_VARIABLES,
                      .anisotropic = anisotropic,
                      .direction = direction};
  SP_TRY(SP_ALLOCATE("a formula", SP_ARRAY(graph->nodes, FIRST), SP_ARRAY(graph->jets, FIRST),
                     SP_ARRAY(graph->table, 2 * (size_t)FIRST)));
  for (int k = 0; k < 2 * FIRST; k++) graph->table[k] = -1;
  for (int v = 0; v < SP_EXPRESSION_VARIABLES; v++) {
    graph->nodes[v] = (sp_node){.operation = SP_OP_VARIABLE, .constant = v, .varies = true};
    graph->jets[v] = (sp_jet){true, {SP_ZERO, SP_ZERO, SP_ZERO}, SP_ZERO};
    if (v < SP_VARIABLE_U && direction == SP_ALONG_SPACE)
      graph->jets[v].gradient[v] = sp_graph_constant(graph, 1);
    if (v == SP_VARIABLE_U && direction == SP_ALONG_U)
      graph->jets[v].gradient[0] = sp_graph_constant(graph, 1);
  }
  return SP_OK;
}

void sp_graph_free(sp_graph *graph) {
  SP_FREE(graph->nodes, graph->jets, graph->table);
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Position of the node in the table, or the free position where it belongs. Constants are compared
 * by their bits, since 0 and -0 differ and NaN is not equal to itself. */
static size_t table_position(const sp_graph *graph, const sp_node *node) {
  const uint64_t words[6] = {(uint64_t)node->operation,  (uint64_t)node->operand[0],
                             (uint64_t)node->operand[1], (uint64_t)node->operand[2],
                             bits_of(node->constant),    (uintptr_t)node->data};
  uint64_t hash = 0;
  for (int k = 0; k < 6; k++) hash = sp_hash_fold(hash, words[k]);
  const size_t mask = 2 * (size_t)graph->capacity - 1;
  size_t at = (size_t)hash & mask;
  for (; graph->table[at] >= 0; at = (at + 1) & mask) {
    const sp_node *other = &graph->nodes[graph->table[at]];
    if (other->operation == node->operation &&
        memcmp(other->operand, node->operand, sizeof node->operand) == 0 &&
        bits_of(other->constant) == bits_of(node->constant) && other->data == node->data)
      break;
  }
  return at;
}

static bool grow_table(sp_graph *graph) {
  if (graph->capacity > INT_MAX / 4) return false;
  const size_t capacity = 2 * (size_t)graph->capacity;
  sp_node *nodes = realloc(graph->nodes, capacity * sizeof *nodes);
  if (nodes) graph->nodes = nodes;
  sp_jet *jets = realloc(graph->jets, capacity * sizeof *jets);
  if (jets) graph->jets = jets;
  int *table = malloc(2 * capacity * sizeof *table);
  if (!nodes || !jets || !table) {
    free(table);
    return false;
  }
  free(graph->table);
  graph->table = table;
  graph->capacity = (int)capacity;
  for (size_t k = 0; k < 2 * capacity; k++) table[k] = -1;
  for (int k = SP_EXPRESSION_VARIABLES; k < graph->count; k++)
    table[table_position(graph, &nodes[k])] = k;
  return true;
}

static int intern_node(sp_graph *graph, const sp_node *node) {
  size_t at = table_position(graph, node);
  if (graph->table[at] >= 0) return graph->table[at];
  if (graph->count == graph->capacity) {
    if (!grow_table(graph)) {
      graph->failed = true;
      return 0;
    }
    at = table_position(graph, node);
  }
  graph->nodes[graph->count] = *node;
  graph->jets[graph->count] = (sp_jet){false, {SP_ZERO, SP_ZERO, SP_ZERO}, SP_ZERO};
  graph->jets[graph->count].known = sp_operation_arity(node->operation) == 0;
  graph->table[at] = graph->count;
  return graph->count++;
}

int sp_graph_constant(sp_graph *graph, double value) {
  return intern_node(graph, &(sp_node){.operation = SP_OP_CONSTANT, .constant = value});
}

int sp_graph_data(sp_graph *graph, const double *data) {
  return intern_node(graph, &(sp_node){.operation = SP_OP_DATA, .data = data});
}

/* With the same bits as at evaluation. */
static double fold_constants(const sp_graph *graph, sp_operation operation, const int operand[3]) {
  enum { N = SP_EXPRESSION_PADDING };
  _Alignas(64) double values[3][N], result[N];
  sp_operand operands[3];
  for (int k = 0; k < 3; k++) {
    const double value = graph->nodes[operand[k]].constant;
    for (int p = 0; p < N; p++) values[k][p] = value;
    operands[k] = (sp_operand){values[k], 1};
  }
  graph->kernel(operation, N, operands, result, NULL);
  return result[0];
}

/* A node for a power with a constant exponent, or -1 if pow is best. */
static int simplify_power(sp_graph *graph, int a, double exponent) {
  if (exponent == 0) return sp_graph_constant(graph, 1);
  if (exponent == 0.5) return sp_graph_node(graph, SP_OP_SQRT, a, 0, 0);
  if (!(fabs(exponent) <= SP_SMALL_POWER_MAX) || exponent != floor(exponent)) return -1;
  int power = a; /* the factors of different powers are shared */
  for (int k = 1; k < fabs(exponent); k++)
    power = sp_graph_node(graph, SP_OP_MULTIPLY, power, a, 0);
  if (exponent > 0) return power;
  return sp_graph_node(graph, SP_OP_DIVIDE, sp_graph_constant(graph, 1), power, 0);
}

static bool is_negated(const sp_graph *graph, int node) {
  return graph->nodes[node].operation == SP_OP_NEGATE;
}

static int without_sign(const sp_graph *graph, int node) {
  return graph->nodes[node].operand[0];
}

/* -x, exactly. */
static int negated(sp_graph *graph, int x) {
  if (is_negated(graph, x)) return without_sign(graph, x);
  return sp_graph_node(graph, SP_OP_NEGATE, x, 0, 0);
}

static void swap(int *a, int *b) {
  const int old = *a;
  *a = *b;
  *b = old;
}

/* Signs move outwards or into the constant. a is the constant if there is one. */
static int simplify_product(sp_graph *graph, int a, int b) {
  if (sp_graph_is_constant(graph, a)) {
    const double factor = graph->nodes[a].constant;
    if (factor == 1) return b;
    if (factor == -1) return negated(graph, b);
    if (!is_negated(graph, b)) return -1;
    return sp_graph_node(graph, SP_OP_MULTIPLY, sp_graph_constant(graph, -factor),
                         without_sign(graph, b), 0);
  }
  if (!is_negated(graph, a) && !is_negated(graph, b)) return -1;
  const bool both = is_negated(graph, a) && is_negated(graph, b);
  if (is_negated(graph, a)) a = without_sign(graph, a);
  if (is_negated(graph, b)) b = without_sign(graph, b);
  const int product = sp_graph_node(graph, SP_OP_MULTIPLY, a, b, 0);
  return both ? product : negated(graph, product);
}

/* a * b + c, or c - a * b. */
static int simplify_product_sum(sp_graph *graph, sp_operation operation, int a, int b, int c) {
  const sp_operation sum = operation == SP_OP_MULTIPLY_ADD ? SP_OP_ADD : SP_OP_SUBTRACT;
  const bool trivial = sp_graph_is_constant(graph, a) &&
                       (sp_graph_is_constant(graph, b) || fabs(graph->nodes[a].constant) == 1);
  if (trivial)
    return sp_graph_node(graph, sum, c, sp_graph_node(graph, SP_OP_MULTIPLY, a, b, 0), 0);
  for (int k = 0; k < 2; k++) {
    if (is_negated(graph, a))
      return sp_graph_node(
          graph, operation == SP_OP_MULTIPLY_ADD ? SP_OP_SUBTRACT_MULTIPLY : SP_OP_MULTIPLY_ADD,
          without_sign(graph, a), b, c);
    swap(&a, &b);
  }
  return -1;
}

/* An equal node, or -1. */
static int simplify_node(sp_graph *graph, sp_operation operation, int a, int b, int c) {
  const double constant = graph->nodes[a].constant;
  switch (operation) {
  case SP_OP_NEGATE:
    return is_negated(graph, a) ? without_sign(graph, a) : -1;
  case SP_OP_ADD:
    if (is_negated(graph, b))
      return sp_graph_node(graph, SP_OP_SUBTRACT, a, without_sign(graph, b), 0);
    if (is_negated(graph, a))
      return sp_graph_node(graph, SP_OP_SUBTRACT, b, without_sign(graph, a), 0);
    return -1;
  case SP_OP_SUBTRACT:
    if (!is_negated(graph, b)) return -1;
    return sp_graph_node(graph, SP_OP_ADD, a, without_sign(graph, b), 0);
  case SP_OP_MULTIPLY:
    return simplify_product(graph, a, b);
  case SP_OP_AND:
    return sp_graph_is_constant(graph, a) && constant == 0 ? sp_graph_constant(graph, 0) : -1;
  case SP_OP_SELECT:
    if (!sp_graph_is_constant(graph, a)) return -1;
    return isnan(constant) ? a : constant != 0 ? b : c;
  case SP_OP_MULTIPLY_ADD:
  case SP_OP_SUBTRACT_MULTIPLY:
    return simplify_product_sum(graph, operation, a, b, c);
  default:
    return -1;
  }
}

static bool commutes(sp_operation operation) {
  return operation == SP_OP_ADD || operation == SP_OP_MULTIPLY || operation == SP_OP_MULTIPLY_ADD ||
         operation == SP_OP_SUBTRACT_MULTIPLY;
}

/* Order commuting operands: a constant first, then the older node. */
static void order_operands(const sp_graph *graph, sp_operation operation, int *a, int *b) {
  if (!commutes(operation) || sp_graph_is_constant(graph, *a)) return;
  if (sp_graph_is_constant(graph, *b) || *b < *a) swap(a, b);
}

int sp_graph_node(sp_graph *graph, sp_operation operation, int a, int b, int c) {
  if (graph->failed) return 0;
  const int arity = sp_operation_arity(operation);
  order_operands(graph, operation, &a, &b);
  const int operand[3] = {a, b, c};
  bool constant = true;
  for (int k = 0; k < arity; k++) constant = constant && sp_graph_is_constant(graph, operand[k]);
  /* Before folding, because multiplications are more accurate than pow. */
  int equal = -1;
  if (operation == SP_OP_POWER && sp_graph_is_constant(graph, b))
    equal = simplify_power(graph, a, graph->nodes[b].constant);
  if (equal < 0 && constant)
    equal = sp_graph_constant(graph, fold_constants(graph, operation, operand));
  if (equal < 0) equal = simplify_node(graph, operation, a, b, c);
  if (equal >= 0) return equal;
  bool varies = false;
  for (int k = 0; k < arity; k++) varies = varies || graph->nodes[operand[k]].varies;
  return intern_node(graph,
                     &(sp_node){.operation = operation, .operand = {a, b, c}, .varies = varies});
}

int sp_graph_find(const sp_graph *graph, sp_operation operation, int a, int b) {
  order_operands(graph, operation, &a, &b);
  return graph->table[table_position(graph, &(sp_node){.operation = operation, .operand = {a, b}})];
}
