#include "solver/problem/conductivity.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/evaluate.h"

enum { BATCH = 256 }; /* points */

/* The row and the column of each component. */
static const int PAIRS[SP_TENSOR][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

void sp_conductivity_destroy(sp_conductivity **conductivity) {
  for (int i = 0; i < SP_TENSOR && *conductivity; i++)
    sp_expression_destroy(&(*conductivity)->formulas[i]);
  free(*conductivity);
  *conductivity = NULL;
}

static double dot_product(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Cholesky's pivots are positive beyond rounding. */
static bool is_definite(const double k[SP_TENSOR]) {
  const double yx = k[3] / k[0], zx = k[4] / k[0];
  const double yy = k[1] - yx * k[3], zy = (k[5] - zx * k[3]) / yy;
  const double zz = k[2] - zx * k[4] - zy * (k[5] - zx * k[3]);
  const double rounding = 4 * DBL_EPSILON;
  return k[0] > 0 && yy > rounding * k[1] && zz > rounding * k[2] && k[0] <= DBL_MAX &&
         k[1] <= DBL_MAX && k[2] <= DBL_MAX;
}

/* K in the axes of the mesh from k_ab. */
static void turn_tensor(const double axes[3][3], double k[SP_TENSOR]) {
  double own[SP_TENSOR];
  memcpy(own, k, sizeof own);
  for (int c = 0; c < SP_TENSOR; c++) {
    const int i = PAIRS[c][0], j = PAIRS[c][1];
    k[c] = 0;
    for (int m = 0; m < SP_TENSOR; m++) {
      const double *a = axes[PAIRS[m][0]], *b = axes[PAIRS[m][1]];
      k[c] += own[m] * (m < 3 ? a[i] * b[j] : a[i] * b[j] + b[i] * a[j]);
    }
  }
}

/* Add the contribution of component m: grad k_ab . e_a along e_b, and the converse. */
static void add_divergence(const sp_conductivity *c, int m, size_t n, double (*gradient)[BATCH],
                           double *const divergence[3], size_t first) {
  const double *a = c->axes[PAIRS[m][0]], *b = c->axes[PAIRS[m][1]];
  for (size_t p = 0; p < n; p++) {
    const double slope[3] = {gradient[0][p], gradient[1][p], gradient[2][p]};
    const double along = dot_product(slope, a), across = m < 3 ? 0 : dot_product(slope, b);
    for (int d = 0; d < 3; d++) divergence[d][first + p] += along * b[d] + across * a[d];
  }
}

static sp_status fail_indefinite(const sp_conductivity *c, const double at[3],
                                 const double own[SP_TENSOR]) {
  char place[100] = "";
  if (!c->is_constant)
    snprintf(place, sizeof place, " at (%.12g, %.12g, %.12g)", at[0], at[1], at[2]);
  return sp_fail(SP_ERR_INPUT,
                 "%s: '%s' is not positive definite%s: xx, yy, zz, xy, xz, yz are %g, %g, %g, %g, "
                 "%g, %g",
                 c->text->where, c->text->text, place, own[0], own[1], own[2], own[3], own[4],
                 own[5]);
}

/* At up to BATCH points from `first` on, k[component][stride]. */
static sp_status evaluate_batch(const sp_conductivity *c, size_t first, size_t n, size_t stride,
                                const double *const xyz[3], double *k,
                                double *const divergence[3]) {
  const double *at[3] = {xyz[0] + first, xyz[1] + first, xyz[2] + first};
  double gradient[3][BATCH], *const slopes[3] = {gradient[0], gradient[1], gradient[2]};
  for (size_t p = first; p < first + n && divergence; p++)
    divergence[0][p] = divergence[1][p] = divergence[2][p] = 0;
  for (int m = 0; m < SP_TENSOR; m++) {
    double *value = &k[(size_t)m * stride + first];
    for (size_t p = 0; p < n; p++) value[p] = c->constants[m];
    if (!c->formulas[m]) continue;
    SP_TRY(
        sp_problem_evaluate(c->formulas[m], n, at, NULL, value, divergence ? slopes : NULL, NULL));
    if (divergence) add_divergence(c, m, n, gradient, divergence, first);
  }
  for (size_t p = first; p < first + n; p++) {
    double own[SP_TENSOR];
    for (size_t m = 0; m < SP_TENSOR; m++) own[m] = k[m * stride + p];
    if (!is_definite(own))
      return fail_indefinite(c, (const double[]){xyz[0][p], xyz[1][p], xyz[2][p]}, own);
    if (c->axes_text) turn_tensor(c->axes, own);
    for (size_t m = 0; m < SP_TENSOR; m++) k[m * stride + p] = own[m];
  }
  return SP_OK;
}

sp_status sp_conductivity_evaluate(const sp_conductivity *conductivity, size_t n,
                                   const double *const xyz[3], double *k,
                                   double *const divergence[3]) {
  for (size_t first = 0; first < n; first += BATCH)
    SP_TRY(evaluate_batch(conductivity, first, n - first < BATCH ? n - first : BATCH, n, xyz, k,
                          divergence));
  return SP_OK;
}
