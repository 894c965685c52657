#include "operators/intervals.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "io/clones.h"
#include "mesh/reference.h"

/* ---- Eigenvectors of symmetric matrices ---- */

/* Matrices diagonalized together by vector instructions: entry [i][lane]. */
enum { LANES = 8 };
typedef double lanes[LANES];

/* c and s of the rotation that annihilates entry (p, q) of a symmetric matrix, and t = s / c. */
SP_INLINE void choose_rotation(const lanes pp, const lanes qq, const lanes pq, lanes c, lanes s,
                               lanes t) {
  for (int l = 0; l < LANES; l++) {
    const double theta = (qq[l] - pp[l]) / (2 * pq[l]);
    const double tangent = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    t[l] = pq[l] == 0 ? 0 : tangent;
    c[l] = 1 / sqrt(t[l] * t[l] + 1);
    s[l] = t[l] * c[l];
  }
}

SP_INLINE void rotate(const lanes c, const lanes s, lanes a, lanes b) {
  for (int l = 0; l < LANES; l++) {
    const double old = a[l];
    a[l] = c[l] * old - s[l] * b[l];
    b[l] = s[l] * old + c[l] * b[l];
  }
}

/* True if all matrices are diagonal to 1e-13, enough for single precision. */
SP_INLINE bool are_diagonal(int n, lanes *matrix) {
  lanes off = {0}, on = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int l = 0; l < LANES; l++) {
        const double entry = matrix[i * n + j][l];
        (i == j ? on : off)[l] += entry * entry;
      }
  bool all = true;
  for (int l = 0; l < LANES; l++) all = all && off[l] <= 1e-26 * on[l];
  return all;
}

/* Jacobi's rotations: matrix[n][n], of which the lower triangle is used, becomes diagonal; the rows
 * of vectors[n][n] are the eigenvectors. */
SP_CLONES static void diagonalize_lanes(int n, lanes *matrix, lanes *vectors) {
  enum { SWEEPS = 30 }; /* convergence is quadratic: about six are enough */
  for (int i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) vectors[i][l] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < SWEEPS && !are_diagonal(n, matrix); sweep++)
    for (int q = 1; q < n; q++)
      for (int p = 0; p < q; p++) {
        lanes c, s, t;
        double *pp = matrix[p * n + p], *qq = matrix[q * n + q], *pq = matrix[q * n + p];
        choose_rotation(pp, qq, pq, c, s, t);
        for (int l = 0; l < LANES; l++) {
          pp[l] -= t[l] * pq[l];
          qq[l] += t[l] * pq[l];
          pq[l] = 0;
        }
        for (int k = 0; k < p; k++) rotate(c, s, matrix[p * n + k], matrix[q * n + k]);
        for (int k = p + 1; k < q; k++) rotate(c, s, matrix[k * n + p], matrix[q * n + k]);
        for (int k = q + 1; k < n; k++) rotate(c, s, matrix[k * n + p], matrix[k * n + q]);
        for (int k = 0; k < n; k++) rotate(c, s, vectors[p * n + k], vectors[q * n + k]);
      }
}

/* ---- Intervals ---- */

struct sp_intervals {
  int n;
  const sp_rule *gll;
  double stiffness[SP_MAX_NQ * SP_MAX_NQ]; /* D^T W D on [-1, 1] */
  /* The queued intervals, and their results. */
  int count;
  sp_interval waiting[LANES];
  double *basis[LANES], *values[LANES];
  lanes matrix[SP_MAX_NQ * SP_MAX_NQ], vectors[SP_MAX_NQ * SP_MAX_NQ], scale[SP_MAX_NQ];
};

sp_status sp_intervals_create(int order, sp_intervals **out) {
  const sp_reference *reference = sp_reference_get(order);
  const int n = order + 1;
  sp_intervals *s;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  s->n = n;
  s->gll = &reference->gll;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int q = 0; q < n; q++)
        s->stiffness[i * n + j] += s->gll->weights[q] * reference->differentiation[q * n + i] *
                                   reference->differentiation[q * n + j];
  *out = s;
  return SP_OK;
}

void sp_intervals_destroy(sp_intervals **intervals) {
  free(*intervals);
  *intervals = NULL;
}

const double *sp_intervals_stiffness(const sp_intervals *intervals) {
  return intervals->stiffness;
}

/* Fill one lane with M^(-1/2) K M^(-1/2) of an interval, and `scale` with M^(-1/2). Eliminated ends
 * have 0 in `scale` and any positive number on K's diagonal. */
static void fill_lane(sp_intervals *s, const sp_interval *line, int lane) {
  const int n = s->n, ends[2] = {0, n - 1};
  for (int i = 0; i < n; i++) {
    double mass = line->length / 2 * s->gll->weights[i];
    for (int side = 0; side < 2; side++)
      if (i == ends[side]) mass += line->mass[side];
    s->scale[i][lane] = 1 / sqrt(mass);
  }
  for (int side = 0; side < 2; side++)
    if (line->fixed[side]) s->scale[ends[side]][lane] = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      s->matrix[i * n + j][lane] =
          s->scale[i][lane] * s->scale[j][lane] * 2 / line->length * s->stiffness[i * n + j];
  for (int side = 0; side < 2; side++) {
    const int i = ends[side];
    double *entry = &s->matrix[i * n + i][lane];
    *entry += s->scale[i][lane] * s->scale[i][lane] * line->stiffness[side];
    if (line->fixed[side]) *entry = s->stiffness[0] / line->length;
  }
}

void sp_intervals_finish(sp_intervals *s) {
  const int n = s->n, count = s->count;
  for (int l = 0; l < LANES && count > 0; l++) fill_lane(s, &s->waiting[l < count ? l : 0], l);
  if (count > 0) diagonalize_lanes(n, s->matrix, s->vectors);
  for (int l = 0; l < count; l++)
    for (int c = 0; c < n; c++) {
      s->values[l][c] = fmax(0, s->matrix[c * n + c][l]);
      for (int r = 0; r < n; r++)
        s->basis[l][r * n + c] = s->scale[r][l] * s->vectors[c * n + r][l];
    }
  s->count = 0;
}

void sp_intervals_solve(sp_intervals *s, const sp_interval *interval, double *basis,
                        double *values) {
  s->waiting[s->count] = *interval;
  s->basis[s->count] = basis;
  s->values[s->count] = values;
  if (++s->count == LANES) sp_intervals_finish(s);
}
