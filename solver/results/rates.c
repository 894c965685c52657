#include "solver/results/rates.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const char *const norm_names[SP_NORMS] = {[SP_L2] = "L2", [SP_H1] = "H1"};

double sp_rates_relative_floor(double tolerance, int64_t iterations) {
  const double root = fmax(1, 2 * (double)iterations / log(2 / tolerance)); /* sqrt(kappa) */
  return SP_RATES_CLEAR * (tolerance * root + DBL_EPSILON * root * root);
}

void sp_rates_floor(sp_operator_kind kind, double tolerance, const sp_mesh_size *size,
                    sp_study_row *row) {
  const double relative = sp_rates_relative_floor(tolerance, row->iterations);
  if (!sp_operator_rows[kind].has_stiffness) { /* the energy norm is L2 */
    row->floor[SP_L2] = relative * row->norm[SP_L2];
    row->floor[SP_H1] = row->floor[SP_L2] * sqrt(12) * row->order * row->order / size->width;
  } else {
    row->floor[SP_H1] = relative * row->norm[SP_H1];
    row->floor[SP_L2] = row->floor[SP_H1] * size->diameter / acos(-1);
  }
}

void sp_rates_observe(sp_study_axis axis, int count, sp_study_row *rows) {
  sp_study_row *row = &rows[count - 1];
  for (int n = 0; n < SP_NORMS; n++) {
    row->rate[n] = NAN;
    if (count == 1 || !(row[0].error[n] > 0) || !(row[-1].error[n] > 0)) continue;
    const double ratio = row[-1].error[n] / row[0].error[n];
    row->rate[n] = axis == SP_ALONG_ORDERS ? log10(ratio) : log2(ratio);
  }
}

const char *sp_study_place(sp_study_axis axis, const sp_study_row *row, size_t size, char *text) {
  const int length = snprintf(text, size, "order %d, refine %d", row->order, row->refine);
  if (axis == SP_ALONG_STEPS)
    snprintf(text + length, size - (size_t)length, ", step %d", row->step);
  return text;
}

int sp_rates_expected(int order, sp_norm norm) {
  return order + (norm == SP_L2);
}

static bool is_clear(const sp_study_row *row, sp_norm norm) {
  return !(row->error[norm] <= row->floor[norm]);
}

bool sp_rates_at_floor(int count, const sp_study_row *rows, sp_norm norm) {
  bool at_floor = true;
  for (int i = 0; i < count; i++) {
    const bool gains = i > 0 && rows[i].error[norm] <= 0.1 * rows[i - 1].error[norm];
    at_floor = !is_clear(&rows[i], norm) && (at_floor || !gains);
  }
  return at_floor;
}

/* Give advice. If the solution is not resolved yet, a low rate is no bug. */
static const char *advise_on_rate(sp_study_axis axis, const sp_study_row *row, sp_norm norm) {
  if (row->error[norm] > 0.9 * row[-1].error[norm])
    return "; the error does not fall: check that all data fit the solution";
  if (row->error[norm] <= 0.05 * row->norm[norm]) return "";
  return axis == SP_ALONG_STEPS ? "; this step is before the asymptotic range: take shorter steps"
                                : "; this step is before the asymptotic range: refine further";
}

const char *sp_rates_rule(sp_operator_kind kind, sp_study_axis axis) {
  if (axis == SP_ALONG_STEPS)
    return "the shortest step above the floor may fall short by 0.2; the floor has ten times the "
           "error of the solution's interpolant";
  if (axis == SP_ALONG_ORDERS)
    return "each step until the floor must fall, or rise by 10 % at most to below two orders "
           "before";
  if (sp_operator_rows[kind].boundary_layer)
    return "the finest step above the floor may fall short by 0.2, for even N by 0.2 + 1/n with n "
           "= "
           "elements^(1/3) of its coarser mesh";
  return "the finest step above the floor may fall short by 0.2";
}

static const double SHORTFALL = 0.2;

double sp_rates_shortfall(sp_operator_kind kind, int order, int64_t elements) {
  return SHORTFALL +
         (sp_operator_rows[kind].boundary_layer && order % 2 == 0 ? 1 / cbrt((double)elements) : 0);
}

/* Along refinements or steps. */
static sp_status judge_halving(sp_operator_kind kind, sp_study_axis axis, int count,
                               const sp_study_row *rows, sp_norm norm, int *judged) {
  int last = count - 1;
  while (last > 0 && !is_clear(&rows[last], norm)) last--;
  if (last == 0) return SP_OK;
  const sp_study_row *row = &rows[last];
  const bool in_time = axis == SP_ALONG_STEPS;
  const double least =
      row->expected[norm] -
      (in_time ? SHORTFALL : sp_rates_shortfall(kind, row->order, row[-1].elements));
  char place[64];
  ++*judged;
  if (row->rate[norm] >= least) return SP_OK;
  return sp_fail(SP_ERR_STUDY,
                 "%s to %d: the %s error goes from %.3g to %.3g, a rate of %.2f; expected %d, %.2f "
                 "at least%s",
                 sp_study_place(axis, &row[-1], sizeof place, place),
                 in_time ? row->step : row->refine, norm_names[norm], row[-1].error[norm],
                 row->error[norm], row->rate[norm], row->expected[norm], least,
                 advise_on_rate(axis, row, norm));
}

static sp_status judge_orders(int count, const sp_study_row *rows, sp_norm norm, int *judged) {
  static const double FLAT = 1.1; /* because of under-integration, a flat step may rise a little */
  int last = 1;
  while (last < count && is_clear(&rows[last - 1], norm)) last++;
  for (int i = 1; i < last; i++) {
    const double before = rows[i - 1].error[norm], error = rows[i].error[norm];
    const bool unresolved = before >= 0.5 * rows[i - 1].norm[norm];
    if (!is_clear(&rows[i], norm) || (unresolved && i < count - 1)) continue;
    ++*judged;
    if (error < before || (error <= FLAT * before && (i == 1 || error < rows[i - 2].error[norm])))
      continue;
    return sp_fail(SP_ERR_STUDY,
                   "refine %d, order %d to %d: the %s error goes from %.3g to %.3g; expected it to "
                   "fall until about %.1g, where the solver's tolerance and rounding begin%s",
                   rows[i].refine, rows[i - 1].order, rows[i].order, norm_names[norm], before,
                   error, SP_RATES_CLEAR * rows[i].floor[norm],
                   advise_on_rate(SP_ALONG_ORDERS, &rows[i], norm));
  }
  return SP_OK;
}

sp_status sp_rates_judge(sp_operator_kind kind, sp_study_axis axis, int count,
                         const sp_study_row *rows, int *judged) {
  *judged = 0;
  for (sp_norm n = 0; n < SP_NORMS; n++)
    SP_TRY(axis == SP_ALONG_ORDERS ? judge_orders(count, rows, n, judged)
                                   : judge_halving(kind, axis, count, rows, n, judged));
  return SP_OK;
}

/* ---- Answers ---- */

static const double SAFETY = 1.25; /* of three grids */
/* The least |R| of an error bar, along refinements and along orders. Of 640 answers of random
 * boxes, the bar was smaller than the error for 175 without this limit, by a factor of up to 3e5,
 * and for 5 with it, by up to 2. Along orders it was smaller for 188 of 620 without, and for 13
 * with it, by up to 3. */
static const double LEAST[2] = {0.25, 0.5};

double sp_convergence_rate(int order, const double f[3]) {
  const double ratio = fabs((f[1] - f[0]) / (f[2] - f[1]));
  return order > 0 ? log10(ratio) : log2(ratio);
}

double sp_convergence_ratio(int order, double power) {
  if (order == 0) return exp2(-power);
  const double a = pow(order - 2, -2 * power), b = pow(order - 1, -2 * power);
  return (b - pow(order, -2 * power)) / (a - b);
}

const char *sp_convergence_growth(int order, const double f[3], const char *h, size_t size,
                                  char *text) {
  static const double NEAR = SP_CONVERGENCE_LEAST / 2; /* the power 0 is the logarithm */
  const double ratio = (f[2] - f[1]) / (f[1] - f[0]);
  text[0] = '\0';
  if (ratio > sp_convergence_ratio(order, -NEAR) && order == 0)
    snprintf(text, size, ", like %s^-%.2f", h, log2(ratio));
  else if (ratio > sp_convergence_ratio(order, -NEAR))
    snprintf(text, size, ", faster than log(N)");
  else if (ratio > sp_convergence_ratio(order, NEAR))
    snprintf(text, size, order == 0 ? ", like log(1/%s)" : ", like log(N)", h);
  else if (ratio > sp_convergence_ratio(order, SP_CONVERGENCE_LEAST))
    snprintf(text, size, order == 0 ? ", slower than %s^(1/4)" : ", slower than N^(-1/2)", h);
  return text;
}

sp_convergence sp_convergence_judge(int order, bool pointwise, const double f[3], double floor) {
  const bool along_orders = order > 0, may_alternate = along_orders || pointwise;
  const double fine = f[2] - f[1], ratio = fine / (f[1] - f[0]);
  const double trusted = fmax(fabs(ratio), LEAST[along_orders]);
  if (fabs(fine) <= floor)
    return (sp_convergence){.rate = NAN,
                            .limit = f[2],
                            .gci = SAFETY * floor,
                            .verdict = "at the floor",
                            .passes = true};
  if (!(ratio <= sp_convergence_ratio(order, SP_CONVERGENCE_LEAST) && ratio > -1))
    return (sp_convergence){
        .rate = NAN, .limit = NAN, .gci = NAN, .verdict = "diverging or singular"};
  return (sp_convergence){.rate = sp_convergence_rate(order, f),
                          .limit = f[2] + fine * ratio / (1 - ratio),
                          .gci = SAFETY * fabs(f[1] - f[0]) * trusted * trusted / (1 - trusted),
                          .verdict = ratio > 0       ? "monotone"
                                     : may_alternate ? "alternating"
                                                     : "oscillating",
                          .passes = ratio > 0 || may_alternate};
}
