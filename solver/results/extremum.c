#include "solver/results/extremum.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "mesh/locate.h"

/* Boxes are halved so often: to 4 per direction, with Nq points each. */
enum { DEPTH = 2 };

/* Value, gradient and Hessian of a polynomial at a point. */
typedef struct expansion {
  double value, gradient[3], hessian[3][3];
} expansion;

/* basis[direction][derivative][node]: the basis of an element at a point, with its first and second
 * derivatives, from slopes[nq][nq], the derivatives at the nodes. */
static void fill_basis(int nq, const double *nodes, const double *slopes, const double r[3],
                       double basis[3][3][SP_MAX_NQ]) {
  for (int d = 0; d < 3; d++) {
    sp_interpolation_matrix(nq, nodes, 1, &r[d], basis[d][0]);
    sp_derivative_matrix(nq, nodes, 1, &r[d], basis[d][1]);
    for (int i = 0; i < nq; i++) {
      basis[d][2][i] = 0;
      for (int m = 0; m < nq; m++) basis[d][2][i] += basis[d][1][m] * slopes[m * nq + i];
    }
  }
}

/* sums[d][o], with `stride` from d to d + 1, = sum over i of at[d][i] in[o][i]: derivatives up to
 * order `most`. */
static void contract_direction(int nq, int outer, int most, double at[3][SP_MAX_NQ],
                               const double *in, int stride, double *sums) {
  for (int o = 0; o < outer; o++, in += nq)
    for (int d = 0; d <= most; d++) {
      double sum = 0;
      for (int i = 0; i < nq; i++) sum += at[d][i] * in[i];
      sums[d * stride + o] = sum;
    }
}

static expansion expand_at(const sp_reference *reference, int nq, double sign, const double *nodal,
                           const double r[3]) {
  double rows[3][SP_MAX_NQ * SP_MAX_NQ], lines[3][SP_MAX_NQ], u[3][3][3];
  double basis[3][3][SP_MAX_NQ];
  fill_basis(nq, reference->gll.nodes, reference->differentiation, r, basis);
  contract_direction(nq, nq * nq, 2, basis[0], nodal, SP_MAX_NQ * SP_MAX_NQ, rows[0]);
  for (int i = 0; i < 3; i++) {
    contract_direction(nq, nq, 2 - i, basis[1], rows[i], SP_MAX_NQ, lines[0]);
    for (int j = 0; i + j < 3; j++) {
      contract_direction(nq, 1, 2 - i - j, basis[2], lines[j], 1, u[i][j]);
      for (int k = 0; i + j + k < 3; k++) u[i][j][k] *= sign;
    }
  }
  return (expansion){.value = u[0][0][0],
                     .gradient = {u[1][0][0], u[0][1][0], u[0][0][1]},
                     .hessian = {{u[2][0][0], u[1][1][0], u[1][0][1]},
                                 {u[1][1][0], u[0][2][0], u[0][1][1]},
                                 {u[1][0][1], u[0][1][1], u[0][0][2]}}};
}

/* Solve (H + damping) step = -gradient on the free directions, with Cholesky's factors. False if
 * the matrix is not positive definite. */
static bool solve_newton_step(const expansion *e, const bool free[3], double damping,
                              double step[3]) {
  double l[3][3] = {{0}};
  for (int a = 0; a < 3; a++) {
    step[a] = free[a] ? -e->gradient[a] : 0;
    for (int b = 0; b <= a; b++) {
      double sum = a == b ? (free[a] ? e->hessian[a][a] + damping : 1)
                          : (free[a] && free[b] ? e->hessian[a][b] : 0);
      for (int c = 0; c < b; c++) sum -= l[a][c] * l[b][c];
      if (a == b && !(sum > 0)) return false;
      l[a][b] = a == b ? sqrt(sum) : sum / l[b][b];
    }
    for (int c = 0; c < a; c++) step[a] -= l[a][c] * step[c];
    step[a] /= l[a][a];
  }
  for (int a = 2; a >= 0; a--) {
    for (int c = a + 1; c < 3; c++) step[a] -= l[c][a] * step[c];
    step[a] /= l[a][a];
  }
  return true;
}

/* Mark the directions that may change: not the face's, and none that leads out of the element. */
static void find_free(const expansion *e, int f, const double r[3], bool free[3]) {
  for (int d = 0; d < 3; d++) {
    const bool leaves = (r[d] >= 1 && e->gradient[d] < 0) || (r[d] <= -1 && e->gradient[d] > 0);
    free[d] = !leaves && !(f >= 0 && f / 2 == d);
  }
}

/* Newton's method from r, which becomes a local minimum. Returns sign * u there. */
static double descend_newton(int order, int f, double sign, const double *nodal, double range,
                             double r[3]) {
  static const double SMALL = 1e-14; /* of the range: the last step, and the first damping */
  const sp_reference *reference = sp_reference_get(order);
  const int nq = order + 1;
  expansion e = expand_at(reference, nq, sign, nodal, r);
  double damping = 0;
  for (int trial = 0; trial < 60; trial++) {
    double next[3], step[3] = {0};
    bool free[3];
    find_free(&e, f, r, free);
    const bool solved = solve_newton_step(&e, free, damping, step);
    for (int d = 0; d < 3; d++) next[d] = fmax(-1, fmin(1, r[d] + step[d]));
    if (solved && memcmp(next, r, sizeof next) == 0) break;
    const expansion there = solved ? expand_at(reference, nq, sign, nodal, next) : e;
    if (there.value < e.value) {
      const bool is_last = e.value - there.value <= SMALL * range;
      memcpy(r, next, sizeof next);
      e = there;
      damping *= 0.1;
      if (is_last) break;
    } else {
      damping = fmax(10 * damping, SMALL * range);
      if (damping > 1e6 * range) break;
    }
  }
  return e.value;
}

/* ---- Where to start ---- */

/* out[o][b][i] = sum_j m[b][j] in[o][j][i], with m[n][nq] */
static void interpolate_direction(int outer, int inner, int nq, int n, const double *m,
                                  const double *in, double *out) {
  for (int o = 0; o < outer; o++, in += nq * inner)
    for (int b = 0; b < n; b++, out += inner)
      for (int i = 0; i < inner; i++) {
        double sum = 0;
        for (int j = 0; j < nq; j++) sum += m[b * nq + j] * in[j * inner + i];
        out[i] = sum;
      }
}

/* inverse[n][n], from values at the nodes to coefficients of Bernstein's polynomials. Their matrix
 * is totally positive, so elimination needs no pivots and no coefficient loses digits. */
static void find_bernstein(int n, const double *nodes, double *inverse) {
  double m[SP_MAX_NQ * SP_MAX_NQ] = {0};
  for (int i = 0; i < n; i++) {
    double *row = &m[i * n];
    const double t = (1 + nodes[i]) / 2;
    row[0] = 1;
    for (int degree = 1; degree < n; degree++)
      for (int j = degree; j >= 0; j--) row[j] = (1 - t) * row[j] + (j > 0 ? t * row[j - 1] : 0);
    for (int j = 0; j < n; j++) inverse[i * n + j] = i == j;
  }
  for (int p = 0; p < n; p++)
    for (int i = 0; i < n; i++) {
      const double factor = i == p ? 0 : m[i * n + p] / m[p * n + p];
      for (int j = 0; j < n && factor != 0; j++) {
        m[i * n + j] -= factor * m[p * n + j];
        inverse[i * n + j] -= factor * inverse[p * n + j];
      }
    }
  for (int i = 0; i < n * n; i++) inverse[i] /= m[i / n * (n + 1)];
}

double sp_extremum_bound(int order, int dimensions, double sign, double least, const double *values,
                         double *work) {
  const int n = order + 1, count = dimensions == 3 ? n * n * n : n * n;
  double m[SP_MAX_NQ * SP_MAX_NQ], bound = 0, *in = work, *out = work + count;
  find_bernstein(n, sp_reference_get(order)->gll.nodes, m);
  for (int i = 0; i < count; i++) in[i] = sign * values[i] - least;
  for (int inner = 1; inner < count; inner *= n) {
    interpolate_direction(count / inner / n, inner, n, n, m, in, out);
    double *const swap = in;
    in = out;
    out = swap;
  }
  for (int i = 0; i < count; i++) bound = fmin(bound, in[i]);
  return bound;
}

/* Search a box, begin[3] to begin + width, if its bound is below the least value so far: from its
 * least node, then in its halves per direction. */
static void search_box(sp_extremum_search *s, const double begin[3], double width, int depth) {
  const int nq = s->order + 1, across = s->face < 0 ? 3 : s->face / 2;
  const int count = s->face < 0 ? nq * nq * nq : nq * nq;
  const double *gll = sp_reference_get(s->order)->gll.nodes;
  double points[3][SP_MAX_NQ], m[SP_MAX_NQ * SP_MAX_NQ], *in = s->work, *out = s->work + count;
  int nodes[SP_MAX_NQ * SP_MAX_NQ], least = 0;
  if (s->face >= 0) sp_face_nodes(s->order, s->face, nodes);
  for (int i = 0; i < count; i++) in[i] = s->nodal[s->face < 0 ? i : nodes[i]];
  for (int d = 0, inner = 1; d < 3; d++) {
    if (d == across) continue;
    for (int i = 0; i < nq; i++) points[d][i] = begin[d] + (1 + gll[i]) / 2 * width;
    sp_interpolation_matrix(nq, gll, nq, points[d], m);
    interpolate_direction(count / inner / nq, inner, nq, nq, m, in, out);
    double *const swap = in;
    in = out;
    out = swap;
    inner *= nq;
  }
  for (int i = 1; i < count; i++)
    if (s->sign * in[i] < s->sign * in[least]) least = i;
  const double low = s->sign * in[least], known = fmin(s->least, s->limit);
  const double below = sp_extremum_bound(s->order, s->face < 0 ? 3 : 2, s->sign, low, in,
                                         s->work + 2 * (ptrdiff_t)count);
  if (low + below >= known - SP_EXTREMUM_VISIBLE * s->range) return;
  double r[3];
  for (int d = 0; d < 3; d++) {
    r[d] = d == across ? 2 * (s->face % 2) - 1 : points[d][least % nq];
    if (d != across) least /= nq;
  }
  const double value = descend_newton(s->order, s->face, s->sign, s->nodal, s->range, r);
  if (value < s->least) {
    s->least = value;
    memcpy(s->place, r, sizeof r);
  }
  for (int half = 0; half < SP_CORNERS && depth < DEPTH; half++) {
    double next[3];
    for (int d = 0; d < 3; d++) next[d] = begin[d] + (half >> d & 1) * width / 2;
    if (across == 3 || !(half >> across & 1)) search_box(s, next, width / 2, depth + 1);
  }
}

void sp_extremum_find(const sp_hexes *hexes, sp_lid element, sp_extremum_search *s) {
  double place[3], columns[3][3];
  s->least = DBL_MAX;
  search_box(s, (const double[]){-1, -1, -1}, 2, 0);
  sp_locate_map(hexes, element, s->place, place, columns);
  memcpy(s->place, place, sizeof place);
}
