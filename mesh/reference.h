/* One-dimensional nodes, weights and matrices on the reference interval [-1, 1] (paper, Notation
 * and Section "Problem description"). All are computed in extended precision and rounded once; the
 * symmetries below hold to the last bit.
 *
 *     Gauss-Lobatto-Legendre (GLL)   r_0 = -1 .. r_N = 1,   N + 1 nodes, exact to degree 2N - 1
 *     Gauss-Legendre (GL)            n nodes, exact to degree 2n - 1
 *
 * Symmetries that kernels use (n = number of rows - 1, m = number of columns - 1):
 *     interpolation    I[a][i] =  I[n-a][m-i]
 *     differentiation  D[a][i] = -D[n-a][m-i]
 *
 * All functions are Local. */
#pragma once

#include <stddef.h>

#include "mesh/types.h"

enum {
  SP_MAX_NQ = SP_MAX_ORDER + 1,   /* GLL nodes */
  SP_MAX_M = SP_MAX_ORDER + 2,    /* GL nodes */
  SP_MAX_RULE = SP_MAX_ORDER + 4, /* points of the finest rule, for errors */
  SP_MAX_FACE_NODES = SP_MAX_NQ * SP_MAX_NQ,
  SP_MAX_NODES = SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ, /* of an element */
  SP_MAX_POINTS = SP_MAX_M * SP_MAX_M * SP_MAX_M,   /* of an operator's rule */
  SP_MAX_RULE_POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE,
  SP_MAX_HALF = (SP_MAX_M + 1) / 2
};

/* CASE(2) to CASE(SP_MAX_NQ) of a switch, to make the number of GLL nodes a constant. */
/* clang-format off */
#define SP_NQ_CASES(CASE)                                                                          \
  CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)       \
  CASE(13) CASE(14) CASE(15) CASE(16)
/* clang-format on */

/* A one-dimensional quadrature rule. */
typedef struct sp_rule {
  int n;
  double nodes[SP_MAX_RULE];
  double weights[SP_MAX_RULE];
} sp_rule;

/* Points of the tensor grid of n points per direction: n^3. */
static inline size_t sp_grid_points(int n) {
  return (size_t)n * (size_t)n * (size_t)n;
}

/* Nodes of an element of degree `order`, and quadrature points of an element. */
static inline size_t sp_element_nodes(int order) {
  return sp_grid_points(order + 1);
}

static inline size_t sp_rule_points(const sp_rule *rule) {
  return sp_grid_points(rule->n);
}

/* Data for the operators of degree N. Nq = N + 1, M = N + 2. */
typedef struct sp_reference {
  int order;
  sp_rule gll;                                    /* Nq nodes */
  sp_rule gl;                                     /* M nodes */
  double differentiation[SP_MAX_NQ * SP_MAX_NQ];  /* D [Nq][Nq] l_i'(r_a), GLL basis at GLL nodes */
  double gl_differentiation[SP_MAX_M * SP_MAX_M]; /* D~ [M][M], GL basis at GL nodes */
  double interpolation[SP_MAX_M * SP_MAX_NQ];     /* I [M][Nq] l_i(r~_a), GLL basis at GL nodes */
} sp_reference;

/* A matrix with one of the symmetries above, matrix[r][c] = +-matrix[rows-1-r][columns-1-c], split
 * into two half-size matrices for the even and odd parts of a line (half the multiplications):
 *
 *     even[r][c] = (matrix[r][c] + matrix[r][columns-1-c]) / 2,   odd likewise with a minus,
 *     e_c = x_c + x_{columns-1-c},   o_c = x_c - x_{columns-1-c},   P = even e,   Q = odd o,
 *     y_r = P_r + Q_r,   y_{rows-1-r} = +-(P_r - Q_r)
 *
 * with the sign of the symmetry. A middle column counts once: e = x and o = 0 there. Shapes are
 * [rows/2][columns/2], rounded up. */
typedef struct sp_even_odd {
  double even[SP_MAX_HALF * SP_MAX_HALF], odd[SP_MAX_HALF * SP_MAX_HALF];
} sp_even_odd;

/* The reference data of degree `order` (1..15), computed on first use and kept until the program
 * ends. */
const sp_reference *sp_reference_get(int order);

/* n GLL nodes and weights, 2 <= n <= SP_MAX_RULE. */
void sp_rule_gll(int n, sp_rule *rule);

/* n GL nodes and weights, 1 <= n <= SP_MAX_RULE. */
void sp_rule_gl(int n, sp_rule *rule);

void sp_even_odd_split(int rows, int columns, const double *matrix, sp_even_odd *out);

/* matrix[b][a] = l_a(to[b]), [n_to][n_from]: Lagrange basis on the nodes `from`, evaluated at `to`.
 */
void sp_interpolation_matrix(int n_from, const double *from, int n_to, const double *to,
                             double *matrix);

/* matrix[b][a], [to->n][from->n]: averages, at the points of `to`, of values at the points of
 * `from`. Each rule divides the interval into one cell per point, of the length of its weight. An
 * average weights each cell of `from` by its overlap with the cell of `to`:
 *
 *     matrix >= 0,   sum_a matrix[b][a] = 1,   sum_b w_b matrix[b][a] = w_a
 *
 * So averages keep the integral, and positive values stay positive. */
void sp_average_matrix(const sp_rule *from, const sp_rule *to, double *matrix);

/* matrix[b][a] = l_a'(to[b]), [n_to][n_from]. */
void sp_derivative_matrix(int n_from, const double *from, int n_to, const double *to,
                          double *matrix);
