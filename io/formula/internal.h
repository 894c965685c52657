/* The inside of formulas: text -> graph -> programs -> values.
 *
 *     kernel.h                the arithmetic of each operation, once per instruction set.
 *     graph.h                 nodes: value numbering, constant folding, derivatives (derive.c).
 *     program.h               the nodes that the outputs need, as instructions on slots.
 *     token.h                 numbers, names and symbols of a text
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
#include "io/formula/program.h"

/* Programs for the value, for value and gradient, and for all outputs. A formula of u has only the
 * first one, unless its derivatives are by u. */
enum { SP_EXPRESSION_PROGRAMS = 3 };

struct sp_expression_code {
  bool is_anisotropic;
  sp_expression_kernel *kernel;
  sp_program programs[SP_EXPRESSION_PROGRAMS];
};
