#include "tests/reference_operator.h"

#include <float.h>
#include <math.h>

#include "mesh/reference.h"

enum { MAX_NODES = SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ };

/* l_i(r) and l_i'(r) from the definition, as products over the other nodes. */
static double basis(int n, const double *nodes, int i, double r) {
  long double product = 1;
  for (int k = 0; k < n; k++)
    if (k != i) product *= ((long double)r - nodes[k]) / ((long double)nodes[i] - nodes[k]);
  return (double)product;
}

static double basis_derivative(int n, const double *nodes, int i, double r) {
  long double sum = 0;
  for (int left_out = 0; left_out < n; left_out++) {
    if (left_out == i) continue;
    long double product = 1 / ((long double)nodes[i] - nodes[left_out]);
    for (int k = 0; k < n; k++)
      if (k != i && k != left_out)
        product *= ((long double)r - nodes[k]) / ((long double)nodes[i] - nodes[k]);
    sum += product;
  }
  return (double)sum;
}

static double determinant(double m[3][3]) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* By Cramer's rule: entry (b, a) is the cofactor of m[a][b] over the determinant. */
static void invert(double m[3][3], double inverse[3][3]) {
  const double det = determinant(m);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      const int a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
      inverse[b][a] = (m[a1][b1] * m[a2][b2] - m[a1][b2] * m[a2][b1]) / det;
    }
}

double reference_map(const sp_hexes *hexes, sp_lid element, const double at[3], double point[3],
                     double jacobian[3][3]) {
  const int g = hexes->map_order, n = g + 1;
  double nodes[SP_MAX_NQ], value[3][SP_MAX_NQ], derivative[3][SP_MAX_NQ];
  for (int i = 0; i < n; i++) nodes[i] = -1 + 2.0 * i / g;
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < n; i++) {
      value[d][i] = basis(n, nodes, i, at[d]);
      derivative[d][i] = basis_derivative(n, nodes, i, at[d]);
    }
  const double *lattice = &hexes->lattice[(size_t)element * (size_t)(n * n * n) * 3];
  for (int a = 0; a < 3; a++) point[a] = jacobian[a][0] = jacobian[a][1] = jacobian[a][2] = 0;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
          const double x = lattice[((k * n + j) * n + i) * 3 + a];
          point[a] += x * value[0][i] * value[1][j] * value[2][k];
          jacobian[a][0] += x * derivative[0][i] * value[1][j] * value[2][k];
          jacobian[a][1] += x * value[0][i] * derivative[1][j] * value[2][k];
          jacobian[a][2] += x * value[0][i] * value[1][j] * derivative[2][k];
        }
  return determinant(jacobian);
}

/* All basis functions of an element at one point: value and physical gradient, and the sum of
 * absolute values of which each component of the gradient is made. */
typedef struct point_basis {
  double value[MAX_NODES], gradient[3][MAX_NODES], terms[3][MAX_NODES];
} point_basis;

static void fill_point(int nq, const double *nodes, const double at[3], double inverse[3][3],
                       point_basis *out) {
  double value[3][SP_MAX_NQ], derivative[3][SP_MAX_NQ];
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < nq; i++) {
      value[d][i] = basis(nq, nodes, i, at[d]);
      derivative[d][i] = basis_derivative(nq, nodes, i, at[d]);
    }
  for (int k = 0; k < nq; k++)
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++) {
        const int node = (k * nq + j) * nq + i;
        const double r = derivative[0][i] * value[1][j] * value[2][k];
        const double s = value[0][i] * derivative[1][j] * value[2][k];
        const double t = value[0][i] * value[1][j] * derivative[2][k];
        out->value[node] = value[0][i] * value[1][j] * value[2][k];
        for (int a = 0; a < 3; a++) {
          const double tr = inverse[0][a] * r, ts = inverse[1][a] * s, tt = inverse[2][a] * t;
          out->gradient[a][node] = tr + ts + tt;
          out->terms[a][node] = fabs(tr) + fabs(ts) + fabs(tt);
        }
      }
}

/* Add one point's part of the sum: weight (grad l_i . K grad u + lambda l_i u), and its scale. */
static void add_point(int nodes, double weight, double k[3][3], double lambda,
                      const point_basis *at, const double *x, double *y, double *scale) {
  double u = 0, u_terms = 0;
  for (int j = 0; j < nodes; j++) {
    u += at->value[j] * x[j];
    u_terms += fabs(at->value[j]);
  }
  for (int i = 0; i < nodes; i++) {
    y[i] += weight * lambda * at->value[i] * u;
    scale[i] += weight * lambda * fabs(at->value[i]) * u_terms;
  }
  for (int a = 0; a < 3; a++) {
    double slope = 0, slope_terms = 0;
    for (int j = 0; j < nodes; j++) {
      slope += at->gradient[a][j] * x[j];
      slope_terms += at->terms[a][j];
    }
    for (int b = 0; b < 3; b++)
      for (int i = 0; i < nodes && k[b][a] != 0; i++) {
        y[i] += weight * k[b][a] * at->gradient[b][i] * slope;
        scale[i] += weight * fabs(k[b][a]) * at->terms[b][i] * slope_terms;
      }
  }
}

/* A coefficient is values[point], or `constant` where there are none. */
typedef struct coefficient {
  double constant;
  const double *values;
  bool is_tensor;
} coefficient;

static double value_of(coefficient c, int point) {
  return c.values ? c.values[point] : c.constant;
}

static void matrix_of(coefficient c, int points, int point, double k[3][3]) {
  static const int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  for (int i = 0; i < 6; i++) {
    const int a = pairs[i][0], b = pairs[i][1];
    k[a][b] = k[b][a] = c.is_tensor ? c.values[i * points + point] : i < 3 ? value_of(c, point) : 0;
  }
}

static void apply(sp_operator_kind kind, int order, coefficient kappa, coefficient lambda,
                  const sp_hexes *hexes, sp_lid element, const double *x, double *y,
                  double *scale) {
  const int nq = order + 1, nodes = nq * nq * nq;
  static point_basis at;
  sp_rule gll, rule;
  sp_rule_gll(nq, &gll);
  if (kind == SP_BP35)
    rule = gll;
  else
    sp_rule_gl(nq + 1, &rule);
  for (int i = 0; i < nodes; i++) y[i] = scale[i] = 0;
  for (int c = 0; c < rule.n; c++)
    for (int b = 0; b < rule.n; b++)
      for (int a = 0; a < rule.n; a++) {
        const double rst[3] = {rule.nodes[a], rule.nodes[b], rule.nodes[c]};
        double point[3], jacobian[3][3], inverse[3][3];
        const double det = reference_map(hexes, element, rst, point, jacobian);
        const double weight = rule.weights[a] * rule.weights[b] * rule.weights[c] * det;
        invert(jacobian, inverse);
        fill_point(nq, gll.nodes, rst, inverse, &at);
        const int p = (c * rule.n + b) * rule.n + a;
        double k[3][3];
        matrix_of(kappa, rule.n * rule.n * rule.n, p, k);
        add_point(nodes, weight, k, value_of(lambda, p), &at, x, y, scale);
      }
}

void reference_apply(sp_operator_kind kind, int order, double lambda, const sp_hexes *hexes,
                     sp_lid element, const double *x, double *y, double *scale) {
  const coefficient stiffness = {.constant = kind == SP_MASS ? 0 : 1};
  const coefficient mass = {.constant = kind == SP_MASS ? 1 : lambda};
  apply(kind, order, stiffness, mass, hexes, element, x, y, scale);
}

void reference_apply_coefficients(sp_operator_kind kind, int order, const double *kappa,
                                  bool is_tensor, const double *lambda, const sp_hexes *hexes,
                                  sp_lid element, const double *x, double *y, double *scale) {
  apply(kind, order, (coefficient){1, kappa, is_tensor}, (coefficient){1, lambda, false}, hexes,
        element, x, y, scale);
}

double reference_tolerance(int order, double epsilon) {
  return 3 * (10 * (order + 2) + 30) * epsilon;
}
