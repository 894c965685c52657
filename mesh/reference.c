#include "mesh/reference.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>

static const long double PI = 3.14159265358979323846264338327950288L;

/* Legendre polynomials P_n(x) and P_{n-1}(x) by their three-term recurrence. */
static long double legendre(int n, long double x, long double *previous) {
  long double p0 = 1, p1 = x;
  for (int k = 2; k <= n; k++) {
    const long double p = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
    p0 = p1;
    p1 = p;
  }
  *previous = p0;
  return p1;
}

/* More than enough: Newton's iterations converge quadratically from these starting values. */
enum { NEWTON_STEPS = 20 };

/* Mirror the left half, so that the rule is exactly symmetric. */
static void set_symmetric(sp_rule *rule, int i, long double x, long double w) {
  const int j = rule->n - 1 - i;
  rule->nodes[i] = (double)(i == j ? 0 : x);
  rule->nodes[j] = -rule->nodes[i];
  rule->weights[i] = rule->weights[j] = (double)w;
}

void sp_rule_gll(int n, sp_rule *rule) {
  assert(n >= 2 && n <= SP_MAX_RULE);
  rule->n = n;
  const int N = n - 1;
  for (int i = 0; i <= N / 2; i++) {
    long double previous, x = -cosl(PI * i / N);
    if (2 * i == N) x = 0;
    /* (1 - x^2) P_N'(x) = N (P_{N-1} - x P_N) vanishes at the nodes; its derivative is
     * -N (N + 1) P_N. */
    if (i > 0)
      for (int step = 0; step < NEWTON_STEPS; step++) {
        const long double p = legendre(N, x, &previous);
        x -= (x * p - previous) / ((N + 1) * p);
      }
    const long double p = legendre(N, x, &previous);
    set_symmetric(rule, i, x, 2 / (N * (N + 1) * p * p));
  }
}

void sp_rule_gl(int n, sp_rule *rule) {
  assert(n >= 1 && n <= SP_MAX_RULE);
  rule->n = n;
  for (int i = 0; i <= (n - 1) / 2; i++) {
    long double previous, slope = 0, x = -cosl(PI * (i + 0.75L) / (n + 0.5L));
    for (int step = 0; step < NEWTON_STEPS; step++) {
      const long double p = legendre(n, x, &previous);
      slope = n * (x * p - previous) / (x * x - 1);
      x -= p / slope;
    }
    const long double p = legendre(n, x, &previous);
    slope = n * (x * p - previous) / (x * x - 1);
    set_symmetric(rule, i, x, 2 / ((1 - x * x) * slope * slope));
  }
}

static long double lagrange(int n, const double *nodes, int a, long double x) {
  long double value = 1;
  for (int m = 0; m < n; m++)
    if (m != a) value *= (x - nodes[m]) / ((long double)nodes[a] - nodes[m]);
  return value;
}

static long double lagrange_derivative(int n, const double *nodes, int a, long double x) {
  long double sum = 0;
  for (int k = 0; k < n; k++) {
    if (k == a) continue;
    long double term = 1 / ((long double)nodes[a] - nodes[k]);
    for (int m = 0; m < n; m++)
      if (m != a && m != k) term *= (x - nodes[m]) / ((long double)nodes[a] - nodes[m]);
    sum += term;
  }
  return sum;
}

void sp_interpolation_matrix(int n_from, const double *from, int n_to, const double *to,
                             double *matrix) {
  for (int b = 0; b < n_to; b++)
    for (int a = 0; a < n_from; a++)
      matrix[b * n_from + a] = (double)lagrange(n_from, from, a, to[b]);
}

void sp_derivative_matrix(int n_from, const double *from, int n_to, const double *to,
                          double *matrix) {
  for (int b = 0; b < n_to; b++)
    for (int a = 0; a < n_from; a++)
      matrix[b * n_from + a] = (double)lagrange_derivative(n_from, from, a, to[b]);
}

void sp_average_matrix(const sp_rule *from, const sp_rule *to, double *matrix) {
  double low = 0;
  for (int b = 0; b < to->n; low += to->weights[b++]) {
    const double high = low + to->weights[b];
    double begin = 0, sum = 0, *row = &matrix[b * from->n];
    for (int a = 0; a < from->n; begin += from->weights[a++]) {
      row[a] = fmax(0, fmin(high, begin + from->weights[a]) - fmax(low, begin));
      sum += row[a];
    }
    for (int a = 0; a < from->n; a++) row[a] /= sum;
  }
}

/* Make matrix[a][i] = sign * matrix[n-a][m-i], true in exact arithmetic, hold to the last bit. */
static void symmetrize(int rows, int columns, double sign, double *matrix) {
  const int last = rows * columns - 1;
  for (int i = 0; i <= last / 2; i++) {
    const double mean = 0.5 * (matrix[i] + sign * matrix[last - i]);
    matrix[i] = mean;
    matrix[last - i] = sign * mean;
  }
}

void sp_even_odd_split(int rows, int columns, const double *matrix, sp_even_odd *out) {
  const int half_rows = (rows + 1) / 2, half_columns = (columns + 1) / 2;
  for (int r = 0; r < half_rows; r++)
    for (int c = 0; c < half_columns; c++) {
      const double low = matrix[r * columns + c], high = matrix[r * columns + columns - 1 - c];
      const bool middle = c == columns - 1 - c;
      out->even[r * half_columns + c] = middle ? low : 0.5 * (low + high);
      out->odd[r * half_columns + c] = middle ? 0 : 0.5 * (low - high);
    }
}

static void fill_reference(int order, sp_reference *reference) {
  const int nq = order + 1, m = order + 2;
  reference->order = order;
  sp_rule_gll(nq, &reference->gll);
  sp_rule_gl(m, &reference->gl);
  const double *gll = reference->gll.nodes, *gl = reference->gl.nodes;
  sp_derivative_matrix(nq, gll, nq, gll, reference->differentiation);
  sp_derivative_matrix(m, gl, m, gl, reference->gl_differentiation);
  sp_interpolation_matrix(nq, gll, m, gl, reference->interpolation);
  symmetrize(nq, nq, -1, reference->differentiation);
  symmetrize(m, m, -1, reference->gl_differentiation);
  symmetrize(m, nq, 1, reference->interpolation);
}

const sp_reference *sp_reference_get(int order) {
  static sp_reference cache[SP_MAX_ORDER + 1];
  static _Atomic bool known[SP_MAX_ORDER + 1];
  static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;
  assert(order >= 1 && order <= SP_MAX_ORDER);
  if (!known[order]) {
    pthread_mutex_lock(&filling);
    if (!known[order]) fill_reference(order, &cache[order]);
    known[order] = true;
    pthread_mutex_unlock(&filling);
  }
  return &cache[order];
}
