/* Derivatives of formulas: the jet of a node from the jets of its operands. */
#include "io/formula/graph.h"

#include <math.h>

static const double PI = 3.14159265358979323846;
static const double LN10 = 2.30258509299404568402;

/* Partial derivatives of g(a) or g(a, b): nodes or SP_ZERO. */
typedef struct partials {
  int a, b, aa, ab, bb;
} partials;

/* ---- Arithmetic of derivatives, which may be SP_ZERO ---- */

static int constant(sp_graph *g, double value) {
  return sp_graph_constant(g, value);
}

static int known_zero(const sp_graph *g, int node) {
  return sp_graph_is_constant(g, node) && g->nodes[node].constant == 0 ? SP_ZERO : node;
}

static int scaled(sp_graph *g, double factor, int a) {
  return sp_graph_node(g, SP_OP_MULTIPLY, constant(g, factor), a, 0);
}

/* Split *node into a constant factor, which is returned, and the rest. */
static double split_factor(sp_graph *g, int *node) {
  double factor = 1;
  for (;;) {
    const sp_node *n = &g->nodes[*node];
    if (n->operation == SP_OP_NEGATE) {
      factor = -factor;
      *node = n->operand[0];
    } else if (n->operation == SP_OP_MULTIPLY && sp_graph_is_constant(g, n->operand[0])) {
      factor *= g->nodes[n->operand[0]].constant;
      *node = n->operand[1];
    } else
      return factor;
  }
}

/* a b = *factor *rest, without the constant factors of a and b, so that multiples of one product
 * are recognized: often the Laplacian is a multiple of the value. */
static void split_product(sp_graph *g, int a, int b, double *factor, int *rest) {
  int u = a, v = b;
  *factor = split_factor(g, &u) * split_factor(g, &v);
  if (!isnormal(*factor)) {
    *factor = 1;
    u = a;
    v = b;
  }
  *rest = sp_graph_node(g, SP_OP_MULTIPLY, u, v, 0);
}

static int product(sp_graph *g, int a, int b) {
  double factor;
  int rest;
  if (a == SP_ZERO || b == SP_ZERO) return SP_ZERO;
  const int known = sp_graph_find(g, SP_OP_MULTIPLY, a, b);
  if (known >= 0) return known;
  split_product(g, a, b, &factor, &rest);
  return known_zero(g, scaled(g, factor, rest));
}

static int negative(sp_graph *g, int a) {
  return a == SP_ZERO ? SP_ZERO : sp_graph_node(g, SP_OP_NEGATE, a, 0, 0);
}

/* a b + c */
static int product_sum(sp_graph *g, int a, int b, int c) {
  double factor;
  int rest, other = c;
  if (a == SP_ZERO || b == SP_ZERO) return c;
  if (c == SP_ZERO) return product(g, a, b);
  split_product(g, a, b, &factor, &rest);
  const double sum = factor + split_factor(g, &other);
  /* Keep terms that cancel: where they are NaN, so is their sum. */
  if (rest == other && isnormal(sum)) return scaled(g, sum, rest);
  const int known = sp_graph_find(g, SP_OP_MULTIPLY, a, b);
  if (known >= 0) return known_zero(g, sp_graph_node(g, SP_OP_ADD, known, c, 0));
  if (fabs(factor) == 1) return known_zero(g, sp_graph_node(g, SP_OP_MULTIPLY_ADD, a, b, c));
  return known_zero(g, sp_graph_node(g, SP_OP_MULTIPLY_ADD, constant(g, factor), rest, c));
}

static int select_node(sp_graph *g, int condition, int a, int b) {
  if (a == SP_ZERO && b == SP_ZERO) return SP_ZERO;
  if (a == SP_ZERO) a = constant(g, 0);
  if (b == SP_ZERO) b = constant(g, 0);
  return known_zero(g, sp_graph_node(g, SP_OP_SELECT, condition, a, b));
}

/* Component d of grad a, or of K grad a. */
static int conducted(sp_graph *g, const sp_jet *a, int d) {
  static const int component[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  int result = SP_ZERO;
  if (!g->anisotropic) return a->gradient[d];
  for (int e = 0; e < 3; e++)
    result = product_sum(g, SP_VARIABLE_K + component[d][e], a->gradient[e], result);
  return result;
}

/* grad a . grad b, or grad a . K grad b. */
static int gradient_dot(sp_graph *g, const sp_jet *a, const sp_jet *b) {
  int result = SP_ZERO;
  for (int d = 0; d < 3; d++) result = product_sum(g, a->gradient[d], conducted(g, b, d), result);
  return result;
}

static bool varies(const sp_jet *jet) {
  return jet->gradient[0] != SP_ZERO || jet->gradient[1] != SP_ZERO || jet->gradient[2] != SP_ZERO;
}

/* ---- Partial derivatives ---- */

static int unary(sp_graph *g, sp_operation operation, int a) {
  return sp_graph_node(g, operation, a, 0, 0);
}

static int binary(sp_graph *g, sp_operation operation, int a, int b) {
  return sp_graph_node(g, operation, a, b, 0);
}

static int times(sp_graph *g, int a, int b) {
  return binary(g, SP_OP_MULTIPLY, a, b);
}

static int inverse(sp_graph *g, int a) {
  return binary(g, SP_OP_DIVIDE, constant(g, 1), a);
}

/* +-asin. */
static partials arc_partials(sp_graph *g, double sign, int a) {
  const int one = constant(g, 1);
  const int product_of_both =
      times(g, binary(g, SP_OP_SUBTRACT, one, a), binary(g, SP_OP_ADD, one, a));
  const int r = inverse(g, unary(g, SP_OP_SQRT, product_of_both));
  const int first = scaled(g, sign, r);
  const int cube = times(g, first, times(g, r, r));
  return (partials){.a = first, .aa = times(g, cube, a)};
}

/* `scale` times log; NaN if the value is NaN. */
static partials log_partials(sp_graph *g, double scale, int a) {
  const int r = sp_graph_node(g, SP_OP_SELECT, binary(g, SP_OP_LESS, a, constant(g, 0)),
                              constant(g, NAN), inverse(g, a));
  const int first = scaled(g, scale, r);
  return (partials){.a = first, .aa = negative(g, times(g, first, r))};
}

/* Square and cubic root, of degree 2 and 3: v' = v^(1 - degree) / degree. */
static partials root_partials(sp_graph *g, int degree, int a, int v) {
  const int power = degree == 2 ? v : times(g, v, v);
  const int first = binary(g, SP_OP_DIVIDE, constant(g, 1.0 / degree), power);
  const int second = binary(g, SP_OP_DIVIDE, scaled(g, 1.0 / degree - 1, first), a);
  return (partials){.a = first, .aa = second};
}

/* g' = `first`, g'' = factor v g', as for v = tan a. */
static partials tangent_partials(sp_graph *g, double factor, int v, int first) {
  return (partials){.a = first, .aa = scaled(g, factor, times(g, v, first))};
}

/* v = operation(a). */
static partials unary_partials(sp_graph *g, sp_operation operation, int a, int v) {
  const int one = constant(g, 1);
  switch (operation) {
  case SP_OP_NEGATE:
    return (partials){.a = constant(g, -1), .aa = SP_ZERO};
  case SP_OP_SIN:
    return (partials){.a = unary(g, SP_OP_COS, a), .aa = negative(g, v)};
  case SP_OP_COS:
    return (partials){.a = negative(g, unary(g, SP_OP_SIN, a)), .aa = negative(g, v)};
  case SP_OP_TAN:
    return tangent_partials(g, 2, v, binary(g, SP_OP_ADD, one, times(g, v, v)));
  case SP_OP_ASIN:
    return arc_partials(g, 1, a);
  case SP_OP_ACOS:
    return arc_partials(g, -1, a);
  case SP_OP_ATAN: {
    const int first = inverse(g, binary(g, SP_OP_ADD, one, times(g, a, a)));
    return (partials){.a = first, .aa = scaled(g, -2, times(g, a, times(g, first, first)))};
  }
  case SP_OP_SINH:
    return (partials){.a = unary(g, SP_OP_COSH, a), .aa = v};
  case SP_OP_COSH:
    return (partials){.a = unary(g, SP_OP_SINH, a), .aa = v};
  case SP_OP_TANH: {
    /* 1 - tanh^2 suffers cancellation; cosh^2 would overflow too early. */
    const int r = inverse(g, unary(g, SP_OP_COSH, a));
    return tangent_partials(g, -2, v, times(g, r, r));
  }
  case SP_OP_EXP:
    return (partials){.a = v, .aa = v};
  case SP_OP_LOG:
    return log_partials(g, 1, a);
  case SP_OP_LOG10:
    return log_partials(g, 1 / LN10, a);
  case SP_OP_SQRT:
    return root_partials(g, 2, a, v);
  case SP_OP_CBRT:
    return root_partials(g, 3, a, v);
  case SP_OP_ABS:
    return (partials){.a = sp_graph_node(g, SP_OP_SELECT, binary(g, SP_OP_LESS, a, constant(g, 0)),
                                         constant(g, -1), one),
                      .aa = SP_ZERO};
  case SP_OP_ERF: {
    const int square = negative(g, times(g, a, a));
    return tangent_partials(g, -2, a, scaled(g, 2 / sqrt(PI), unary(g, SP_OP_EXP, square)));
  }
  default: /* constant pieces */
    return (partials){.a = SP_ZERO, .aa = SP_ZERO};
  }
}

static partials quotient_partials(sp_graph *g, int v, int b) {
  const int r = inverse(g, b), slope = times(g, v, r);
  return (partials){
      .a = r,
      .b = negative(g, slope),
      .aa = SP_ZERO,
      .ab = negative(g, times(g, r, r)),
      .bb = scaled(g, 2, times(g, slope, r)),
  };
}

static partials atan2_partials(sp_graph *g, int a, int b) {
  const int square = binary(g, SP_OP_ADD, times(g, a, a), times(g, b, b));
  const int p = binary(g, SP_OP_DIVIDE, b, square);
  const int q = negative(g, binary(g, SP_OP_DIVIDE, a, square));
  const int aa = scaled(g, 2, times(g, p, q));
  const int ab = binary(g, SP_OP_SUBTRACT, times(g, q, q), times(g, p, p));
  return (partials){.a = p, .b = q, .aa = aa, .ab = ab, .bb = negative(g, aa)};
}

/* factor a^exponent; 0 if the factor is 0, also if the power is infinite there: x^1 and x^0 are
 * smooth at 0. */
static int power_term(sp_graph *g, int factor, int a, int exponent) {
  const int zero = constant(g, 0);
  return select_node(g, binary(g, SP_OP_EQUAL, factor, zero), zero,
                     times(g, factor, binary(g, SP_OP_POWER, a, exponent)));
}

static partials power_partials(sp_graph *g, int a, bool a_varies, int b, bool b_varies, int v) {
  const int zero = constant(g, 0), one = constant(g, 1);
  const int b1 = binary(g, SP_OP_SUBTRACT, b, one);
  partials p = {SP_ZERO, SP_ZERO, SP_ZERO, SP_ZERO, SP_ZERO};
  if (a_varies) {
    const int b2 = binary(g, SP_OP_SUBTRACT, b, constant(g, 2));
    p.a = power_term(g, b, a, b1);
    p.aa = power_term(g, times(g, b, b1), a, b2);
  }
  if (!b_varies) return p;
  const int logarithm = unary(g, SP_OP_LOG, a), at_zero = binary(g, SP_OP_EQUAL, a, zero);
  /* 0^b is 0 for all b > 0. */
  const int vanishes = binary(g, SP_OP_AND, at_zero, binary(g, SP_OP_GREATER, b, zero));
  const int first = times(g, v, logarithm);
  p.b = select_node(g, vanishes, zero, first);
  p.bb = select_node(g, vanishes, zero, times(g, first, logarithm));
  if (!a_varies) return p;
  const int flat = binary(g, SP_OP_AND, at_zero, binary(g, SP_OP_GREATER, b, one));
  const int bracket = sp_graph_node(g, SP_OP_ADD, one, times(g, b, logarithm), 0);
  p.ab = select_node(g, flat, zero, times(g, binary(g, SP_OP_POWER, a, b1), bracket));
  return p;
}

/* ---- The chain rule ---- */

static sp_jet chain_rule(sp_graph *g, const sp_jet *a, const sp_jet *b, const partials *p) {
  sp_jet jet = {.known = true};
  for (int d = 0; d < 3; d++)
    jet.gradient[d] = product_sum(g, p->a, a->gradient[d], product(g, p->b, b->gradient[d]));
  int lap = product_sum(g, p->a, a->laplacian, product(g, p->b, b->laplacian));
  if (p->aa != SP_ZERO) lap = product_sum(g, p->aa, gradient_dot(g, a, a), lap);
  if (p->bb != SP_ZERO) lap = product_sum(g, p->bb, gradient_dot(g, b, b), lap);
  if (p->ab != SP_ZERO)
    lap = product_sum(g, p->ab, product(g, constant(g, 2), gradient_dot(g, a, b)), lap);
  jet.laplacian = lap;
  return jet;
}

/* The jet of select(condition, a, b). */
static sp_jet select_jet(sp_graph *g, int condition, const sp_jet *a, const sp_jet *b) {
  sp_jet jet = {.known = true};
  for (int d = 0; d < 3; d++)
    jet.gradient[d] = select_node(g, condition, a->gradient[d], b->gradient[d]);
  jet.laplacian = select_node(g, condition, a->laplacian, b->laplacian);
  return jet;
}

static const sp_jet constant_jet = {true, {SP_ZERO, SP_ZERO, SP_ZERO}, SP_ZERO};

static void set_jet(sp_graph *g, int node);

/* The jets of the operands; a copy, because the graph may move. */
static void operand_jets(sp_graph *g, const sp_node *node, sp_jet jets[3]) {
  const int arity = sp_operation_arity(node->operation);
  for (int k = 0; k < 3; k++) {
    jets[k] = constant_jet;
    if (k >= arity) continue;
    set_jet(g, node->operand[k]);
    jets[k] = g->jets[node->operand[k]];
  }
}

static sp_jet binary_jet(sp_graph *g, const sp_node *node, int v, const sp_jet *a,
                         const sp_jet *b) {
  const int *o = node->operand;
  const int one = constant(g, 1);
  partials p = {SP_ZERO, SP_ZERO, SP_ZERO, SP_ZERO, SP_ZERO};
  switch (node->operation) {
  case SP_OP_ADD:
    p.a = p.b = one;
    break;
  case SP_OP_SUBTRACT:
    p.a = one;
    p.b = constant(g, -1);
    break;
  case SP_OP_MULTIPLY:
    p = (partials){.a = o[1], .b = o[0], .aa = SP_ZERO, .ab = one, .bb = SP_ZERO};
    break;
  case SP_OP_DIVIDE:
    p = quotient_partials(g, v, o[1]);
    break;
  case SP_OP_ATAN2:
    p = atan2_partials(g, o[0], o[1]);
    break;
  case SP_OP_POWER:
    p = power_partials(g, o[0], varies(a), o[1], varies(b), v);
    break;
  case SP_OP_TABLE:
    p.a = binary(g, SP_OP_TABLE_SLOPE, o[0], o[1]);
    break;
  case SP_OP_MAP:
    p.a = sp_graph_node(g, SP_OP_MAP_SLOPE_A, o[0], o[1], o[2]);
    p.b = sp_graph_node(g, SP_OP_MAP_SLOPE_B, o[0], o[1], o[2]);
    p.ab = sp_graph_node(g, SP_OP_MAP_SLOPE_AB, o[0], o[1], o[2]);
    break;
  case SP_OP_MIN:
    return select_jet(g, binary(g, SP_OP_MIN_IS_FIRST, o[0], o[1]), a, b);
  case SP_OP_MAX:
    return select_jet(g, binary(g, SP_OP_MAX_IS_FIRST, o[0], o[1]), a, b);
  default: /* comparisons and conditions: constant pieces */
    break;
  }
  return chain_rule(g, a, b, &p);
}

/* Set the jet of a node. The recursion is shallow: the jets of all subexpressions exist already,
 * and a simplification adds at most a few nodes. */
static void set_jet(sp_graph *g, int v) {
  if (g->jets[v].known || g->failed) return;
  const sp_node node = g->nodes[v];
  sp_jet jets[3], jet = constant_jet;
  operand_jets(g, &node, jets);
  if (node.operation == SP_OP_SELECT)
    jet = select_jet(g, node.operand[0], &jets[1], &jets[2]);
  else if (varies(&jets[0]) || varies(&jets[1])) {
    if (sp_operation_arity(node.operation) == 1) {
      partials p = unary_partials(g, node.operation, node.operand[0], v);
      p.b = p.ab = p.bb = SP_ZERO;
      jet = chain_rule(g, &jets[0], &constant_jet, &p);
    } else
      jet = binary_jet(g, &node, v, &jets[0], &jets[1]);
  }
  if (!g->failed) g->jets[v] = jet;
}

/* Differentiate a small power as a power, not as a product: the result is shorter. */
static void derive_small_power(sp_graph *g, int v, int a, int exponent) {
  if (g->jets[v].known || g->failed) return;
  const int before = sp_graph_node(g, SP_OP_POWER, a, constant(g, exponent - 1), 0);
  const int second = sp_graph_node(g, SP_OP_POWER, a, constant(g, exponent - 2), 0);
  const sp_jet jet = g->jets[a];
  const partials p = {.a = scaled(g, exponent, before),
                      .aa = scaled(g, exponent * (exponent - 1), second),
                      .b = SP_ZERO,
                      .ab = SP_ZERO,
                      .bb = SP_ZERO};
  const sp_jet result = varies(&jet) ? chain_rule(g, &jet, &constant_jet, &p) : constant_jet;
  if (!g->failed) g->jets[v] = result;
}

int sp_graph_apply(sp_graph *graph, sp_operation operation, const int operand[3]) {
  const int a = operand[0], b = operand[1];
  const int node = sp_graph_node(graph, operation, a, b, operand[2]);
  if (operation == SP_OP_POWER && sp_graph_is_constant(graph, b)) {
    const double exponent = fabs(graph->nodes[b].constant);
    if (exponent >= 2 && exponent <= SP_SMALL_POWER_MAX && exponent == floor(exponent)) {
      const int power = sp_graph_node(graph, SP_OP_POWER, a, constant(graph, exponent), 0);
      derive_small_power(graph, power, a, (int)exponent);
    }
  }
  set_jet(graph, node);
  return node;
}
