#include "tests/reference_operator.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/geometry.h"
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

/* Add one point's part of the sum: weight (grad l_i . K grad u + lambda l_i u), and its scale,
 * where the components of K have these sizes. */
static void add_point(int nodes, double weight, double k[3][3], double size[3][3], double lambda,
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
      for (int i = 0; i < nodes && size[b][a] != 0; i++) {
        y[i] += weight * k[b][a] * at->gradient[b][i] * slope;
        scale[i] += weight * size[b][a] * at->terms[b][i] * slope_terms;
      }
  }
}

/* K = kappa at a point of an element, or, of given factors, G. */
static double entry(const sp_operator_setup *setup, const double *factors, size_t element,
                    size_t points, size_t point, int a, int b) {
  static const size_t in_tensor[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  static const size_t in_factors[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  if (factors) return factors[in_factors[a][b] * points + point];
  if (setup->kappa && setup->is_tensor)
    return setup->kappa[(element * 6 + in_tensor[a][b]) * points + point];
  if (a != b || setup->kind == SP_MASS) return 0;
  return setup->kappa ? setup->kappa[element * points + point] : 1;
}

void reference_apply(const sp_operator_setup *setup, int order, const double *factors,
                     const double *sizes, const sp_hexes *hexes, sp_lid element, const double *x,
                     double *y, double *scale) {
  static point_basis at;
  const int nq = order + 1, nodes = nq * nq * nq;
  sp_rule gll, rule;
  sp_rule_gll(nq, &gll);
  if (setup->kind == SP_BP35)
    rule = gll;
  else
    sp_rule_gl(nq + 1, &rule);
  for (int i = 0; i < nodes; i++) y[i] = scale[i] = 0;
  const int n = rule.n, points = n * n * n;
  for (int p = 0; p < points; p++) {
    const size_t e = (size_t)element;
    const size_t each = setup->by_element ? 1 : (size_t)points, q = (size_t)p % each;
    const double rst[3] = {rule.nodes[p % n], rule.nodes[p / n % n], rule.nodes[p / n / n]};
    double point[3], jacobian[3][3], inverse[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double k[3][3], size[3][3], weight = 1, lambda = setup->kind == SP_MASS ? 1 : setup->lambda;
    if (factors) {
      lambda *= factors[SP_G_WJ * points + p];
    } else {
      weight = rule.weights[p % n] * rule.weights[p / n % n] * rule.weights[p / n / n] *
               reference_map(hexes, element, rst, point, jacobian);
      invert(jacobian, inverse);
    }
    if (setup->lambda_values) lambda *= setup->lambda_values[e * each + q];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        k[a][b] = entry(setup, factors, e, each, q, a, b);
        size[a][b] = fabs(entry(setup, sizes, e, each, q, a, b));
      }
    fill_point(nq, gll.nodes, rst, inverse, &at);
    add_point(nodes, weight, k, size, lambda, &at, x, y, scale);
  }
}

void reference_sum(const deformed_box *box, const double *elements, const double *part,
                   double *sum) {
  const sp_numbering *numbering = box->numbering;
  const size_t count = (size_t)box->mesh->hexes->count * element_nodes(box);
  const sp_lid whole = box->whole_numbering->local;
  double *all = calloc((size_t)whole, sizeof *all);
  if (!all) abort();
  for (size_t i = 0; i < count; i++) all[box->whole_dof[numbering->nodes[i]]] += elements[i];
  for (sp_lid i = 0; i < numbering->local && part; i++) all[box->whole_dof[i]] += part[i];
  MPI_Allreduce(MPI_IN_PLACE, all, whole, MPI_DOUBLE, MPI_SUM, box->mesh->comm);
  for (sp_lid i = 0; i < numbering->local; i++) sum[i] = all[box->whole_dof[i]];
  free(all);
}

double reference_tolerance(int order, double epsilon) {
  return 3 * (10 * (order + 2) + 30) * epsilon;
}
