#include "mesh/roughness.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "mesh/reference.h"

enum { FIRST = 5 }; /* the lowest degree that is judged */

/* Matrix from the values at the lattice to the coefficients, [g+1][g+1], and the sum of absolute
 * values of each row: it bounds the rounding error of a coefficient, in roundings of the values. */
typedef struct transform {
  int n;
  double matrix[SP_MAX_NQ][SP_MAX_NQ], sum[SP_MAX_NQ];
} transform;

/* c_k = (2k+1)/2 times the integral of P_k x, by a rule that is exact for it. */
static void transform_make(int g, transform *t) {
  const int n = g + 1;
  double lattice[SP_MAX_NQ], values[SP_MAX_NQ * SP_MAX_NQ];
  sp_rule rule;
  sp_rule_gl(n, &rule);
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / g;
  sp_interpolation_matrix(n, lattice, n, rule.nodes, values);
  memset(t, 0, sizeof *t);
  t->n = n;
  for (int q = 0; q < n; q++) {
    const double r = rule.nodes[q];
    double before = 0, legendre = 1;
    for (int k = 0; k < n; k++) {
      for (int i = 0; i < n; i++)
        t->matrix[k][i] += (k + 0.5) * rule.weights[q] * legendre * values[q * n + i];
      const double next = ((2 * k + 1) * r * legendre - k * before) / (k + 1);
      before = legendre;
      legendre = next;
    }
  }
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++) t->sum[k] += fabs(t->matrix[k][i]);
}

/* Raise squares[k] to the largest |c_k|^2 of the lines in direction d. */
static void lines(const transform *t, const double *lattice, int d, double *squares) {
  const int n = t->n, step = d == 0 ? 1 : d == 1 ? n : n * n;
  for (int line = 0; line < n * n; line++) {
    const int low = line % step, high = line / step, first = high * step * n + low;
    for (int k = 2; k < n; k++) {
      double c[3] = {0, 0, 0}, square = 0;
      for (int i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) c[a] += t->matrix[k][i] * lattice[3 * (first + i * step) + a];
      for (int a = 0; a < 3; a++) square += c[a] * c[a];
      if (square > squares[k]) squares[k] = square;
    }
  }
}

/* Size of an element, and its largest coordinate, which sets the rounding error. */
static void extent(const double *lattice, int points, double *size, double *largest) {
  double square = 0;
  *largest = 0;
  for (int a = 0; a < 3; a++) {
    double low = lattice[a], high = lattice[a];
    for (int p = 1; p < points; p++) {
      low = fmin(low, lattice[3 * p + a]);
      high = fmax(high, lattice[3 * p + a]);
    }
    square += (high - low) * (high - low);
    *largest = fmax(*largest, fmax(fabs(low), fabs(high)));
  }
  *size = sqrt(square);
}

static double roughness(const transform *t, const double *lattice) {
  /* Tolerances of mesh generators bend straight elements slightly: ignore such curvature. */
  static const double STRAIGHT = 1e-4;
  const int n = t->n, g = n - 1;
  double m[SP_MAX_NQ] = {0}, size, largest, worst = 0, scale = 1;
  for (int d = 0; d < 3; d++) lines(t, lattice, d, m);
  extent(lattice, n * n * n, &size, &largest);
  double curvature = STRAIGHT * size;
  for (int k = 2; k < n; k++) {
    m[k] = sqrt(m[k]);
    curvature = fmax(curvature, m[k]);
  }
  if (fmax(m[g - 1], m[g]) <= fmax(m[g - 3], m[g - 2]) / 4) return 0;
  for (int k = 3; k < n; k++) {
    scale *= 3;
    const double rounding = sqrt(3) * t->sum[k] * n * DBL_EPSILON * largest;
    if (k >= FIRST) worst = fmax(worst, scale * (m[k] - rounding) / curvature);
  }
  return worst;
}

double sp_roughness(const sp_hexes *hexes, sp_lid element) {
  transform t;
  if (hexes->map_order < FIRST) return 0;
  transform_make(hexes->map_order, &t);
  return roughness(&t, sp_hexes_lattice(hexes, element));
}

void sp_roughness_count(MPI_Comm comm, sp_hexes *hexes) {
  transform t;
  double worst = 0, local = 0;
  hexes->file.rough = hexes->file.roughest = 0;
  if (hexes->map_order < FIRST) return;
  hexes->file.roughest = INT64_MAX;
  transform_make(hexes->map_order, &t);
  for (sp_lid e = 0; e < hexes->count; e++) {
    const double r = roughness(&t, sp_hexes_lattice(hexes, e));
    hexes->file.rough += r > 1;
    if (r > local || (r == local && hexes->tags[e] < hexes->file.roughest)) {
      local = r;
      hexes->file.roughest = hexes->tags[e];
    }
  }
  MPI_Allreduce(&local, &worst, 1, MPI_DOUBLE, MPI_MAX, comm);
  if (local < worst) hexes->file.roughest = INT64_MAX;
  MPI_Allreduce(MPI_IN_PLACE, &hexes->file.roughest, 1, SP_MPI_GID, MPI_MIN, comm);
  MPI_Allreduce(MPI_IN_PLACE, &hexes->file.rough, 1, SP_MPI_GID, MPI_SUM, comm);
  if (hexes->file.rough == 0) hexes->file.roughest = 0;
}
