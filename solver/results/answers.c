#include "solver/results/answers.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The size of a result of u if u is as large as `largest`. */
static double scale_of(const sp_quantity *q, double largest, double flux) {
  if (q->type->through) return flux;
  if (q->formula || q->type->combine) return fabs(q->value);
  if (q->type->sign) return largest;
  const double sum = (q->type->summand ? q->type->summand(largest) : largest) * q->size;
  return q->type->value ? q->type->value(sum, q->size) : sum;
}

static bool part_is_infinite(const sp_data_jump *jump, int part) {
  return jump->of_part && sp_data_jump_is_real(jump, jump->of_part[part]);
}

/* True for a flux through a surface with such a part, and for a pair with it. */
static bool is_infinite(const sp_quantities *quantities, const sp_quantity *q,
                        const sp_problem *problem, const sp_data_jump *jump, int surfaces) {
  if (q->type->of_pair) q = &quantities->list[q->parts + 2];
  if (!q->type->through || q->crosses) return false;
  for (int s = 0; s < surfaces; s++)
    if (q->members[s] && part_is_infinite(jump, problem->part_of_surface[s])) return true;
  return false;
}

/* The largest flux or, if rounding hides all of them, the size of the terms of load - A u. */
static double scale_of_fluxes(const sp_balance *balance) {
  const double noise = balance->fluxes.noise;
  return balance->largest > noise ? balance->largest : noise / DBL_EPSILON;
}

/* ---- Formulas ---- */

/* The index of value k of the scope: of a probe, then of a result. */
static int answer_of(const sp_answers *answers, int k) {
  return k < answers->probes ? answers->count - answers->probes + k : k - answers->probes;
}

double sp_answers_formula(const sp_answers *answers, int i, const double *values) {
  for (int k = 0; k < answers->probes + i; k++)
    sp_scope_set_value(answers->scope, k, values[answer_of(answers, k)]);
  return sp_quantities_formula(answers->list[i].formula);
}

double sp_answers_bar(const sp_answers *answers, int i, const double *values, const double *bars) {
  const double value = sp_answers_formula(answers, i, values);
  double sum = 0;
  for (int k = 0; k < answers->probes + i; k++) {
    const int a = answer_of(answers, k);
    double most = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
      sp_scope_set_value(answers->scope, k, values[a] + sign * bars[a]);
      const double change = fabs(sp_quantities_formula(answers->list[i].formula) - value);
      most = change <= most ? most : change;
    }
    sp_scope_set_value(answers->scope, k, values[a]);
    sum += most;
  }
  return sum;
}

/* The scale of a formula: the sum of the scales of its terms, by its derivatives. */
static sp_status find_scales(sp_answers *answers) {
  static const double STEP = 1e-6;
  SP_OWNED double *values = NULL, *steps = NULL;
  const size_t count = (size_t)answers->count;
  SP_TRY(SP_ALLOCATE("answers", SP_ARRAY(values, count), SP_ARRAY(steps, count)));
  for (size_t i = 0; i < count; i++) {
    values[i] = answers->list[i].value;
    steps[i] = STEP * answers->list[i].scale;
  }
  for (int i = 0; i < answers->results; i++) {
    sp_answer *a = &answers->list[i];
    if (!a->formula) continue;
    steps[i] = sp_answers_bar(answers, i, values, steps);
    a->scale = steps[i] / STEP;
  }
  return SP_OK;
}

sp_status sp_answers_collect(const sp_quantities *quantities, const sp_problem *problem,
                             const sp_data_jump *jump, const sp_balance *balance,
                             const sp_scope *scope, const sp_probes *probes, sp_answers *out) {
  const int most = quantities->materials + problem->part_count + probes->count;
  *out = (sp_answers){.results = quantities->count, .probes = probes->count, .scope = scope};
  SP_TRY(sp_allocate((size_t)most, sizeof *out->list, "answers", &out->list));
  double largest = 0;
  for (int r = quantities->count; r < quantities->materials; r++)
    largest = fmax(largest, fabs(quantities->list[r].value));
  for (int r = 0; r < quantities->materials; r++) {
    const sp_quantity *q = &quantities->list[r];
    out->list[out->count++] =
        (sp_answer){.name = q->name,
                    .kind = q->type->name,
                    .table = r < quantities->count ? "results" : "extrema",
                    .pointwise = q->type->sign,
                    .value = q->value,
                    .scale = scale_of(q, largest, scale_of_fluxes(balance)),
                    .own_scale = q->formula || q->type->combine,
                    .dimension = sp_quantity_dimension(q),
                    .formula = q->type->of_results ? q->formula : NULL,
                    .infinite = is_infinite(quantities, q, problem, jump, balance->surfaces - 1)};
  }
  for (int p = 0; p < problem->part_count; p++)
    if (sp_balance_has_part(balance, problem, p))
      out->list[out->count++] = (sp_answer){.name = sp_balance_part_name(problem, p),
                                            .kind = "flux",
                                            .table = "balance",
                                            .value = sp_balance_part(balance, problem, p),
                                            .scale = scale_of_fluxes(balance),
                                            .dimension = SP_OF_POWER,
                                            .infinite = part_is_infinite(jump, p)};
  for (int p = 0; p < probes->count; p++)
    out->list[out->count++] = (sp_answer){.name = probes->list[p].name,
                                          .kind = "probe",
                                          .table = "probes",
                                          .pointwise = true,
                                          .value = probes->list[p].value,
                                          .scale = largest,
                                          .dimension = SP_OF_TEMPERATURE};
  return find_scales(out);
}

void sp_answers_free(sp_answers *answers) {
  free(answers->list);
  *answers = (sp_answers){0};
}

int sp_answers_other_order(int order) {
  return order + 2 <= SP_MAX_ORDER ? order + 2 : order < SP_MAX_ORDER ? SP_MAX_ORDER : order - 2;
}

/* ---- Error bars ---- */

/* True if the values of three orders, the last of which is given, seem to grow. */
static bool seems_infinite(const sp_answer *a, int order, const double f[3]) {
  static const double LEAST = 0.01, POWER = 1; /* of a heat source at a point */
  const double ratio = (f[2] - f[1]) / (f[1] - f[0]);
  return !a->own_scale && ratio >= sp_convergence_ratio(order, SP_CONVERGENCE_LEAST) &&
         ratio <= sp_convergence_ratio(order, -POWER) && fabs(f[2] - f[1]) >= LEAST * a->scale;
}

/* The bars of formulas from the bars of their terms. */
static void propagate_bars(sp_accuracy *accuracy) {
  for (int i = 0; i < accuracy->answers.results; i++)
    if (accuracy->answers.list[i].formula)
      accuracy->errors[i] =
          sp_answers_bar(&accuracy->answers, i, accuracy->values, accuracy->errors);
}

sp_status sp_accuracy_compare(double tolerance, int order, const sp_answers *others,
                              sp_accuracy *accuracy) {
  const size_t count = (size_t)accuracy->answers.count;
  const bool first = !accuracy->errors;
  double **e = &accuracy->errors, **before = &accuracy->before;
  if (first) SP_TRY(SP_ALLOCATE("error bars", SP_ARRAY(*e, count), SP_ARRAY(*before, count)));
  if (first) SP_TRY(sp_allocate(count, sizeof(double), "error bars", &accuracy->values));
  for (size_t i = 0; i < count; i++) {
    const sp_answer *a = &accuracy->answers.list[i];
    accuracy->values[i] = a->value;
    const double f[3] = {a->value, (*before)[i], others->list[i].value};
    const double least = fmax((*e)[i], tolerance * a->scale);
    (*e)[i] = fabs(f[2] - f[0]) <= least ? least : fabs(f[2] - f[0]); /* NaN if an answer is */
    if (a->infinite || (!first && seems_infinite(a, order, f))) (*e)[i] = INFINITY;
    (*before)[i] = f[2];
  }
  propagate_bars(accuracy);
  return SP_OK;
}

void sp_accuracy_add_steps(int order, const sp_answers *others, sp_accuracy *accuracy) {
  const double factor = 1 / (1 - pow(2, -order)); /* the error of all steps, not half of them */
  for (int i = 0; i < accuracy->answers.count; i++)
    accuracy->errors[i] += factor * fabs(others->list[i].value - accuracy->answers.list[i].value);
  propagate_bars(accuracy);
}

void sp_accuracy_free(sp_accuracy *accuracy) {
  sp_answers_free(&accuracy->answers);
  SP_FREE(accuracy->values, accuracy->errors, accuracy->before);
  *accuracy = (sp_accuracy){0};
}
