#include "solver/problem/conductivity.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/ini.h"
#include "solver/problem/evaluate.h"

enum { BATCH = 256 }; /* points */

/* The row and the column of each component. */
static const int PAIRS[SP_TENSOR][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/* ---- Parsing ---- */

/* Length of the text before the first comma outside of parentheses and quotes. */
static size_t first_of(const char *text) {
  int depth = 0;
  bool quoted = false;
  size_t length = 0;
  for (; text[length] && (text[length] != ',' || depth > 0 || quoted); length++) {
    if (text[length] == '"') quoted = !quoted;
    if (!quoted) depth += (text[length] == '(') - (text[length] == ')');
  }
  return length;
}

bool sp_conductivity_is_tensor(const char *text) {
  return text[first_of(text)] != '\0';
}

/* Parse a list of up to six formulas. Constants are evaluated, and their formulas are NULL. */
static sp_status parse_list(const sp_formula *list, const char *const names[SP_TENSOR],
                            const sp_scope *scope, int *count, sp_expression *formulas[SP_TENSOR],
                            double constants[SP_TENSOR]) {
  const char *rest = list->text;
  *count = 0;
  for (bool last = false; !last; ++*count) {
    rest += strspn(rest, SP_INI_SPACE);
    const size_t length = first_of(rest);
    char *text = NULL, *where = NULL;
    sp_expression *formula = NULL;
    last = !rest[length];
    if (*count < SP_TENSOR) {
      sp_status status = sp_format(&text, "%.*s", (int)length, rest);
      if (!status) status = sp_format(&where, "%s (%s)", list->where, names[*count]);
      if (!status) status = sp_expression_parse(text, where, scope, &formula);
      SP_FREE(text, where);
      SP_TRY(status);
      formulas[*count] = formula;
    }
    if (formula) SP_TRY(sp_problem_fold(&formulas[*count], &constants[*count]));
    rest += length + !last;
  }
  return SP_OK;
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* v = v / |v|; false if |v| is not above `least`. */
static bool normalize(double least, double v[3]) {
  const double length = sqrt(dot(v, v));
  for (int d = 0; d < 3; d++) v[d] /= length;
  return length > least && length <= DBL_MAX;
}

static sp_status parse_axes(const sp_formula *text, const sp_scope *scope, double axes[3][3]) {
  static const double PARALLEL = 1e-10; /* the sine of the angle */
  static const char *const names[SP_TENSOR] = {"x1", "x2", "x3", "y1", "y2", "y3"};
  sp_expression *formulas[SP_TENSOR] = {NULL};
  double v[SP_TENSOR] = {0};
  int count;
  const sp_status status = parse_list(text, names, scope, &count, formulas, v);
  bool constant = true;
  for (int i = 0; i < SP_TENSOR; i++) {
    constant = constant && !formulas[i];
    sp_expression_destroy(&formulas[i]);
  }
  SP_TRY(status);
  if (count != SP_TENSOR || !constant)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected six constants, the vectors x1, x2, x3 and y1, y2, y3, found '%s'",
                   text->where, text->text);
  memcpy(axes, v, sizeof v);
  bool good = normalize(0, axes[0]) && normalize(0, axes[1]);
  const double along = dot(axes[0], axes[1]);
  for (int d = 0; d < 3; d++) axes[1][d] -= along * axes[0][d];
  good = good && normalize(PARALLEL, axes[1]);
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    axes[2][d] = axes[0][e] * axes[1][f] - axes[0][f] * axes[1][e];
  }
  if (good) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: expected two finite vectors that are neither zero nor parallel, found '%s'",
                 text->where, text->text);
}

static sp_status parse(const sp_formula *kappa, const sp_formula *axes, const sp_scope *scope,
                       sp_conductivity *c) {
  static const char *const names[SP_TENSOR] = {"xx", "yy", "zz", "xy", "xz", "yz"};
  int count;
  c->text = kappa;
  for (int d = 0; d < 3; d++) c->axes[d][d] = 1;
  SP_TRY(parse_list(kappa, names, scope, &count, c->formulas, c->constants));
  if (count != 3 && count != SP_TENSOR)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected one formula, three (xx, yy, zz) or six (xx, yy, zz, xy, xz, yz), "
                   "found %d in '%s'",
                   kappa->where, count, kappa->text);
  if (axes->text) {
    c->axes_text = axes;
    SP_TRY(parse_axes(axes, scope, c->axes));
  }
  c->is_constant = true;
  for (int i = 0; i < SP_TENSOR; i++) c->is_constant = c->is_constant && !c->formulas[i];
  const double origin[3] = {0, 0, 0}, *const xyz[3] = {origin, origin, origin};
  double k[SP_TENSOR];
  return c->is_constant ? sp_conductivity_evaluate(c, 1, xyz, k, NULL) : SP_OK;
}

sp_status sp_conductivity_create(const sp_formula *kappa, const sp_formula *axes,
                                 const sp_scope *scope, sp_conductivity **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "kappa", out));
  const sp_status status = parse(kappa, axes, scope, *out);
  if (status) sp_conductivity_destroy(out);
  return status;
}

void sp_conductivity_destroy(sp_conductivity **conductivity) {
  for (int i = 0; i < SP_TENSOR && *conductivity; i++)
    sp_expression_destroy(&(*conductivity)->formulas[i]);
  free(*conductivity);
  *conductivity = NULL;
}

/* ---- Values ---- */

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
static void turn(const double axes[3][3], double k[SP_TENSOR]) {
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

/* Add what component m contributes: grad k_ab . e_a along e_b, and the converse. */
static void add_divergence(const sp_conductivity *c, int m, size_t n, double (*gradient)[BATCH],
                           double *const divergence[3], size_t first) {
  const double *a = c->axes[PAIRS[m][0]], *b = c->axes[PAIRS[m][1]];
  for (size_t p = 0; p < n; p++) {
    const double slope[3] = {gradient[0][p], gradient[1][p], gradient[2][p]};
    const double along = dot(slope, a), across = m < 3 ? 0 : dot(slope, b);
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
    if (c->axes_text) turn(c->axes, own);
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

const sp_expression *sp_conductivity_rough(const sp_conductivity *conductivity,
                                           sp_regularity least) {
  for (int m = 0; m < SP_TENSOR; m++) {
    const sp_expression *formula = conductivity->formulas[m];
    if (formula && formula->regularity < least) return formula;
  }
  return NULL;
}
