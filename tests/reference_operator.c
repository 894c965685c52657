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

/* The Lagrange map of the element's equispaced lattice (mesh/hexes.h) at (r, s, t):
 * jacobian[a][b] = d x_a / d r_b. Returns |J|. */
static double find_jacobian(const sp_hexes *hexes, sp_lid element, const double at[3],
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
  for (int a = 0; a < 3; a++) jacobian[a][0] = jacobian[a][1] = jacobian[a][2] = 0;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
          const double x = lattice[((k * n + j) * n + i) * 3 + a];
          jacobian[a][0] += x * derivative[0][i] * value[1][j] * value[2][k];
          jacobian[a][1] += x * value[0][i] * derivative[1][j] * value[2][k];
          jacobian[a][2] += x * value[0][i] * value[1][j] * derivative[2][k];
        }
  return determinant(jacobian);
}

/* l_i and l_i' at the points of a rule, [point][i]. */
typedef struct line_basis {
  double value[SP_MAX_RULE][SP_MAX_NQ], derivative[SP_MAX_RULE][SP_MAX_NQ];
} line_basis;

/* All basis functions of an element at one point: values and slopes in reference coordinates. */
typedef struct point_basis {
  double value[MAX_NODES], slope[3][MAX_NODES];
} point_basis;

/* At point (at[0], at[1], at[2]) of the rule. */
static void fill_point(int nq, const line_basis *line, const int at[3], point_basis *out) {
  const double *const u = line->value[at[0]], *const du = line->derivative[at[0]];
  const double *const v = line->value[at[1]], *const dv = line->derivative[at[1]];
  const double *const w = line->value[at[2]], *const dw = line->derivative[at[2]];
  for (int k = 0, node = 0; k < nq; k++)
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++, node++) {
        out->value[node] = u[i] * v[j] * w[k];
        out->slope[0][node] = du[i] * v[j] * w[k];
        out->slope[1][node] = u[i] * dv[j] * w[k];
        out->slope[2][node] = u[i] * v[j] * dw[k];
      }
}

/* flux = J^-1 K J^-T slope, where inverse[c][a] = d r_c / d x_a. */
static void find_flux(double inverse[3][3], double k[3][3], const double slope[3], double flux[3]) {
  double in_space[3] = {0};
  for (int b = 0; b < 3; b++)
    for (int a = 0; a < 3; a++)
      for (int c = 0; c < 3; c++) in_space[b] += k[b][a] * inverse[c][a] * slope[c];
  for (int c = 0; c < 3; c++) {
    flux[c] = 0;
    for (int b = 0; b < 3; b++) flux[c] += inverse[c][b] * in_space[b];
  }
}

/* Add one point's part of the sum: weight (grad l_i . K grad u + lambda l_i u), and its scale: the
 * same with absolute values of all factors, where the components of K have these sizes. */
static void add_point(int nodes, double weight, double inverse[3][3], double k[3][3],
                      double size[3][3], double lambda, const point_basis *at, const double *x,
                      double *y, double *scale) {
  double u = 0, u_terms = 0, slope[3] = {0}, slope_terms[3] = {0}, flux[3], flux_terms[3];
  double positive[3][3];
  for (int j = 0; j < nodes; j++) {
    u += at->value[j] * x[j];
    u_terms += fabs(at->value[j]);
    for (int c = 0; c < 3; c++) {
      slope[c] += at->slope[c][j] * x[j];
      slope_terms[c] += fabs(at->slope[c][j]);
    }
  }
  for (int c = 0; c < 3; c++)
    for (int a = 0; a < 3; a++) positive[c][a] = fabs(inverse[c][a]);
  find_flux(inverse, k, slope, flux);
  find_flux(positive, size, slope_terms, flux_terms);
  for (int i = 0; i < nodes; i++) {
    double sum = lambda * at->value[i] * u, terms = lambda * fabs(at->value[i]) * u_terms;
    for (int c = 0; c < 3; c++) {
      sum += at->slope[c][i] * flux[c];
      terms += fabs(at->slope[c][i]) * flux_terms[c];
    }
    y[i] += weight * sum;
    scale[i] += weight * terms;
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
  static line_basis line;
  static point_basis basis_at;
  const int nq = order + 1, nodes = nq * nq * nq;
  sp_rule gll, rule;
  sp_rule_gll(nq, &gll);
  if (setup->kind == SP_BP35)
    rule = gll;
  else
    sp_rule_gl(nq + 1, &rule);
  for (int i = 0; i < nodes; i++) y[i] = scale[i] = 0;
  const int n = rule.n, points = n * n * n;
  for (int p = 0; p < n; p++)
    for (int i = 0; i < nq; i++) {
      line.value[p][i] = basis(nq, gll.nodes, i, rule.nodes[p]);
      line.derivative[p][i] = basis_derivative(nq, gll.nodes, i, rule.nodes[p]);
    }
  for (int p = 0; p < points; p++) {
    const size_t e = (size_t)element;
    const size_t each = setup->by_element ? 1 : (size_t)points, q = (size_t)p % each;
    const int at[3] = {p % n, p / n % n, p / n / n};
    double jacobian[3][3], inverse[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double k[3][3], size[3][3], weight = 1, lambda = setup->kind == SP_MASS ? 1 : setup->lambda;
    if (factors) {
      lambda *= factors[SP_G_WJ * points + p];
    } else {
      const double rst[3] = {rule.nodes[at[0]], rule.nodes[at[1]], rule.nodes[at[2]]};
      weight = rule.weights[at[0]] * rule.weights[at[1]] * rule.weights[at[2]] *
               find_jacobian(hexes, element, rst, jacobian);
      invert(jacobian, inverse);
    }
    if (setup->lambda_values) lambda *= setup->lambda_values[e * each + q];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        k[a][b] = entry(setup, factors, e, each, q, a, b);
        size[a][b] = fabs(entry(setup, sizes, e, each, q, a, b));
      }
    fill_point(nq, &line, at, &basis_at);
    add_point(nodes, weight, inverse, k, size, lambda, &basis_at, x, y, scale);
  }
}

void reference_elements(const deformed_box *box, const sp_operator_setup *setup, const double *x,
                        double *elements, double *scale) {
  const sp_numbering *numbering = box->numbering;
  const size_t np = element_nodes(box), count = (size_t)box->mesh->hexes->count;
  double *own = calloc(np, sizeof *own);
  if (!own) abort();
  for (size_t e = 0; e < count; e++) {
    for (size_t p = 0; p < np; p++) own[p] = x[numbering->nodes[e * np + p]];
    reference_apply(setup, numbering->order, NULL, NULL, box->mesh->hexes, (sp_lid)e, own,
                    &elements[e * np], &scale[e * np]);
  }
  free(own);
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

double reference_error(size_t n, const double *a, const double *b, const double *scale) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    const double error = fabs(a[i] - b[i]) / scale[i];
    if (!(error <= largest)) largest = error == error ? error : INFINITY;
  }
  return largest;
}

double reference_tolerance(int order, double epsilon) {
  return 3 * (10 * (order + 2) + 30) * epsilon;
}
