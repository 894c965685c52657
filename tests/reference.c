/* One-dimensional nodes, weights and matrices: the exactness that defines them.
 * They are rounded once from extended precision, so the relative error of a node or matrix entry is
 * at most EPSILON / 2. */
#include "mesh/reference.h"

#include <float.h>

#include "mesh/tensor.h"
#include "tests/check.h"

static const double EPSILON = DBL_EPSILON;

static long double legendre(int n, long double x) {
  long double p0 = 1, p1 = x;
  if (n == 0) return 1;
  for (int k = 2; k <= n; k++) {
    const long double p = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
    p0 = p1;
    p1 = p;
  }
  return p1;
}

static double integrate_legendre(const sp_rule *rule, int degree) {
  long double sum = 0;
  for (int i = 0; i < rule->n; i++) sum += rule->weights[i] * legendre(degree, rule->nodes[i]);
  return (double)sum;
}

static double integrate_power(const sp_rule *rule, int degree) {
  long double sum = 0;
  for (int i = 0; i < rule->n; i++) sum += rule->weights[i] * powl(rule->nodes[i], degree);
  return (double)sum;
}

static void check_rule(const sp_rule *rule, int n, int exact_degree, const char *name) {
  CHECK(rule->n == n, "%s %d has %d nodes", name, n, rule->n);
  double sum = 0;
  for (int i = 0; i < n; i++) {
    sum += rule->weights[i];
    CHECK(rule->weights[i] > 0, "%s %d weight %d", name, n, i);
    CHECK(i == 0 || rule->nodes[i] > rule->nodes[i - 1], "%s %d ascending at %d", name, n, i);
    CHECK(rule->nodes[i] == -rule->nodes[n - 1 - i], "%s %d node %d not symmetric", name, n, i);
    CHECK(rule->weights[i] == rule->weights[n - 1 - i], "%s %d weight %d not symmetric", name, n,
          i);
  }
  CHECK_CLOSE(sum, 2, 4 * EPSILON);
  /* Sums are formed in extended precision. Weights sum to 2 and |P_k|, |x^k| <= 1, so rounding the
   * weights costs EPSILON. Rounding a node costs EPSILON / 4 times the slope |P_k'| <= k / (1 -
   * x^2), times a weight of order (1 - x^2) / n. */
  for (int degree = 1; degree <= exact_degree; degree++) {
    CHECK_CLOSE(integrate_legendre(rule, degree), 0, (1 + degree) * EPSILON);
    CHECK_CLOSE(integrate_power(rule, degree), degree % 2 ? 0 : 2.0 / (degree + 1),
                (1 + degree) * EPSILON);
  }
  /* Not exact at one degree more: the error is the integral of the square of the node polynomial,
   * scaled like a Legendre polynomial, of order one. */
  CHECK(fabs(integrate_legendre(rule, exact_degree + 1)) > 0.1,
        "%s %d integrates degree %d as well: %.3g", name, n, exact_degree + 1,
        integrate_legendre(rule, exact_degree + 1));
}

static void check_rules(void) {
  for (int n = 2; n <= SP_MAX_RULE; n++) {
    sp_rule rule;
    sp_rule_gll(n, &rule);
    check_rule(&rule, n, 2 * n - 3, "GLL");
    CHECK(rule.nodes[0] == -1 && rule.nodes[n - 1] == 1, "GLL %d ends at %.17g", n, rule.nodes[0]);
    CHECK_CLOSE(rule.weights[0], 2.0 / (n * (n - 1)), EPSILON * 2.0 / (n * (n - 1)));
  }
  for (int n = 1; n <= SP_MAX_RULE; n++) {
    sp_rule rule;
    sp_rule_gl(n, &rule);
    check_rule(&rule, n, 2 * n - 1, "GL");
  }
}

/* A polynomial of the given degree with values of order one and slopes of order degree^2. */
static long double polynomial(int degree, long double x) {
  long double sum = 0;
  for (int k = 0; k <= degree; k++) sum += legendre(k, x) / (k + 1);
  return sum;
}

/* P_k'(x) = P_{k-2}'(x) + (2k - 1) P_{k-1}(x). */
static long double polynomial_slope(int degree, long double x) {
  long double sum = 0, slope[SP_MAX_RULE + 2] = {0, 1};
  for (int k = 2; k <= degree; k++) slope[k] = slope[k - 2] + (2 * k - 1) * legendre(k - 1, x);
  for (int k = 1; k <= degree; k++) sum += slope[k] / (k + 1);
  return sum;
}

/* Each row applied to polynomials of degree 0 to `exact` gives their value or slope. Entries are
 * rounded by EPSILON / 2 relative, and once more when made symmetric; the polynomials are
 * below 3.5. All else is in extended precision. */
static void check_exact(const double *matrix, int rows, const double *to, int columns,
                        const double *from, int exact, int slope, const char *name) {
  for (int degree = 0; degree <= exact; degree++)
    for (int a = 0; a < rows; a++) {
      long double sum = 0, absolute = 0;
      for (int i = 0; i < columns; i++) {
        sum += matrix[a * columns + i] * polynomial(degree, from[i]);
        absolute += fabsl((long double)matrix[a * columns + i]);
      }
      const long double expected =
          slope ? polynomial_slope(degree, to[a]) : polynomial(degree, to[a]);
      const double error = (double)fabsl(sum - expected);
      CHECK(error <= 3.5 * EPSILON * (double)absolute,
            "%s, %d rows, degree %d, row %d: off by %.3g", name, rows, degree, a, error);
    }
}

static void check_symmetry(const double *matrix, int rows, int columns, double sign,
                           const char *name) {
  for (int n = 0; n < rows * columns; n++)
    CHECK(matrix[n] == sign * matrix[rows * columns - 1 - n], "%s entry %d: %.17g and %.17g", name,
          n, matrix[n], matrix[rows * columns - 1 - n]);
}

/* The even and odd parts of unit vectors give the columns of the matrix. Kernels derive the parts
 * of the transposed matrix from the parts of the matrix: with a minus sign, even and odd are
 * exchanged. */
static void check_split(const double *matrix, int rows, int columns, double sign,
                        const char *name) {
  const int half_rows = (rows + 1) / 2, half_columns = (columns + 1) / 2;
  sp_even_odd parts, transposed;
  double transpose[SP_MAX_RULE * SP_MAX_RULE];
  sp_even_odd_split(rows, columns, matrix, &parts);
  for (int c = 0; c < columns; c++) {
    const bool middle = c == columns - 1 - c, low = c < half_columns;
    const int half = low ? c : columns - 1 - c;
    for (int r = 0; r < half_rows; r++) {
      const double p = parts.even[r * half_columns + half];
      const double q = middle ? 0 : (low ? 1 : -1) * parts.odd[r * half_columns + half];
      const double size = fabs(p) + fabs(q);
      CHECK_CLOSE(p + q, matrix[r * columns + c], EPSILON * size);
      CHECK_CLOSE(sign * (p - q), matrix[(rows - 1 - r) * columns + c], EPSILON * size);
    }
  }
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) transpose[c * rows + r] = matrix[r * columns + c];
  sp_even_odd_split(columns, rows, transpose, &transposed);
  const double *even = sign > 0 ? parts.even : parts.odd, *odd = sign > 0 ? parts.odd : parts.even;
  for (int r = 0; r < half_rows; r++)
    for (int c = 0; c < half_columns; c++) {
      const int there = c * half_rows + r, here = r * half_columns + c;
      CHECK(transposed.even[there] == even[here], "%s: even part at %d, %d", name, r, c);
      if (2 * r + 1 == rows) continue; /* a middle entry has no odd part */
      CHECK(transposed.odd[there] == odd[here], "%s: odd part at %d, %d", name, r, c);
    }
}

static void check_matrices(void) {
  for (int order = 1; order <= SP_MAX_ORDER; order++) {
    const sp_reference *r = sp_reference_get(order);
    const int nq = order + 1, m = order + 2;
    CHECK(r->order == order && r->gll.n == nq && r->gl.n == m, "sizes of order %d", order);
    CHECK(r == sp_reference_get(order), "order %d is not cached", order);
    const double *gll = r->gll.nodes, *gl = r->gl.nodes;
    check_symmetry(r->differentiation, nq, nq, -1, "D");
    check_symmetry(r->gl_differentiation, m, m, -1, "D~");
    check_symmetry(r->interpolation, m, nq, 1, "I");
    check_split(r->differentiation, nq, nq, -1, "D");
    check_split(r->gl_differentiation, m, m, -1, "D~");
    check_split(r->interpolation, m, nq, 1, "I");
    check_exact(r->differentiation, nq, gll, nq, gll, order, 1, "D");
    check_exact(r->gl_differentiation, m, gl, m, gl, order + 1, 1, "D~");
    check_exact(r->interpolation, m, gl, nq, gll, order, 0, "I");
  }
}

/* A Lagrange basis function is one at its own node and zero at the others. */
static void check_interpolation(void) {
  for (int n = 2; n <= SP_MAX_RULE; n++) {
    sp_rule rule, other;
    double matrix[SP_MAX_RULE * SP_MAX_RULE];
    sp_rule_gll(n, &rule);
    sp_interpolation_matrix(n, rule.nodes, n, rule.nodes, matrix);
    for (int a = 0; a < n; a++)
      for (int i = 0; i < n; i++)
        CHECK(matrix[a * n + i] == (a == i), "unit matrix of %d at %d, %d", n, a, i);
    for (int to = 1; to <= SP_MAX_RULE; to++) {
      sp_rule_gl(to, &other);
      sp_interpolation_matrix(n, rule.nodes, to, other.nodes, matrix);
      check_exact(matrix, to, other.nodes, n, rule.nodes, n - 1, 0, "GLL to GL");
      sp_derivative_matrix(n, rule.nodes, to, other.nodes, matrix);
      check_exact(matrix, to, other.nodes, n, rule.nodes, n - 1, 1, "slopes, GLL to GL");
    }
  }
}

/* Values and gradient at once equal the separate results; all sums are exact. All sizes. */
static void check_tensor_gradient(void) {
  enum { POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE };
  static double in[POINTS], u[4][POINTS], expected[POINTS], v[SP_MAX_RULE * SP_MAX_RULE],
      d[SP_MAX_RULE * SP_MAX_RULE];
  for (int n = 0; n < POINTS; n++) in[n] = (11 * n + n / 7) % 13 - 6;
  for (int n = 0; n < SP_MAX_RULE * SP_MAX_RULE; n++) {
    v[n] = (5 * n + n / 3) % 7 - 3;
    d[n] = (3 * n + n / 5) % 11 - 5;
  }
  for (int columns = 1; columns <= SP_MAX_RULE; columns++)
    for (int rows = 1; rows <= SP_MAX_RULE; rows += columns % 3 + 1) {
      double *work = malloc(sp_tensor_gradient_work(rows, columns) * sizeof *work);
      if (!work) abort();
      sp_tensor_gradient(rows, columns, v, d, in, work, (double *[]){u[0], u[1], u[2], u[3]});
      for (int k = 0; k < 4; k++) {
        sp_tensor_apply(rows, columns, k == 1 ? d : v, k == 2 ? d : v, k == 3 ? d : v, in,
                        expected);
        size_t differing = 0;
        for (size_t n = 0; n < sp_grid_points(rows); n++) differing += u[k][n] != expected[n];
        CHECK(differing == 0, "part %d of %d rows and %d columns", k, rows, columns);
      }
      free(work);
    }
}

/* The tensor contraction and its transpose against the triple sum, with three different matrices
 * of small integers, for which every sum is exact. */
static void check_tensor(void) {
  enum { ROWS = 4, COLUMNS = 3, IN = 27, OUT = 64 };
  double matrix[3][ROWS * COLUMNS], in[IN], mixed[3 * IN], out[OUT], again[OUT], back[IN];
  for (int d = 0; d < 3; d++)
    for (int n = 0; n < ROWS * COLUMNS; n++) matrix[d][n] = (5 * n + 3 * d + n * n) % 7 - 3;
  for (int n = 0; n < IN; n++) in[n] = (11 * n * n + n) % 13 - 6;
  sp_tensor_apply(ROWS, COLUMNS, matrix[0], matrix[1], matrix[2], in, out);
  sp_tensor_apply_transposed(ROWS, COLUMNS, matrix[0], matrix[1], matrix[2], out, back);
  for (int n = 0; n < 3 * IN; n++) mixed[n] = n % 3 == 1 ? in[n / 3] : NAN;
  sp_tensor_apply_strided(ROWS, COLUMNS, (const double *[]){matrix[0], matrix[1], matrix[2]},
                          &mixed[1], 3, again);
  CHECK(!memcmp(out, again, sizeof out), "one of three interleaved components");
  double expected_back[IN];
  memset(expected_back, 0, sizeof expected_back);
  for (int o = 0; o < OUT; o++) {
    const int a = o % ROWS, b = o / ROWS % ROWS, c = o / ROWS / ROWS;
    double sum = 0;
    for (int n = 0; n < IN; n++) {
      const int i = n % COLUMNS, j = n / COLUMNS % COLUMNS, k = n / COLUMNS / COLUMNS;
      const double factor =
          matrix[0][a * COLUMNS + i] * matrix[1][b * COLUMNS + j] * matrix[2][c * COLUMNS + k];
      sum += factor * in[n];
      expected_back[n] += factor * out[o];
    }
    CHECK(out[o] == sum, "output %d is %g, expected %g", o, out[o], sum);
  }
  for (int n = 0; n < IN; n++)
    CHECK(back[n] == expected_back[n], "transpose %d is %g, expected %g", n, back[n],
          expected_back[n]);
  check_tensor_gradient();
}

/* Averages are weighted, and keep constants and integrals; from a rule to itself values stay. Sums
 * of at most 19 weights of size 2 at most are rounded. */
static void check_averages(void) {
  for (int n = 2; n <= SP_MAX_RULE; n++)
    for (int m = 2; m <= SP_MAX_RULE; m++)
      for (int gl = 0; gl < 2; gl++) {
        sp_rule from, to;
        double matrix[SP_MAX_RULE * SP_MAX_RULE];
        (gl ? sp_rule_gl : sp_rule_gll)(n, &from);
        sp_rule_gll(m, &to);
        sp_average_matrix(&from, &to, matrix);
        for (int b = 0; b < m; b++) {
          double sum = 0;
          for (int a = 0; a < n; a++) {
            sum += matrix[b * n + a];
            CHECK(matrix[b * n + a] >= 0, "a weight of %g", matrix[b * n + a]);
            if (n == m && !gl) CHECK_CLOSE(matrix[b * n + a], a == b, 0);
          }
          CHECK_CLOSE(sum, 1, 20 * EPSILON);
        }
        for (int a = 0; a < n; a++) {
          double sum = 0;
          for (int b = 0; b < m; b++) sum += to.weights[b] * matrix[b * n + a];
          CHECK_CLOSE(sum, from.weights[a], 40 * EPSILON);
        }
      }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_rules();
  check_matrices();
  check_interpolation();
  check_tensor();
  check_averages();
  return check_end();
}
