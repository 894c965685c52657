#include "solver/run/answers.h"

#include <math.h>
#include <stdlib.h>

/* The size of a result of u if u is as large as `largest`. */
static double scale_of(const sp_quantity *q, double largest, double flux) {
  if (q->kind == SP_RESULT_FLUX) return flux;
  if (q->formula || q->kind == SP_RESULT_RESISTANCE) return fabs(q->value);
  if (q->kind == SP_RESULT_INTEGRAL) return largest * q->size;
  return q->kind == SP_RESULT_NORM ? largest * sqrt(q->size) : largest;
}

sp_status sp_answers_collect(const sp_quantities *quantities, const sp_problem *problem,
                             const sp_balance *balance, const sp_probes *probes, sp_answers *out) {
  const int most = quantities->materials + problem->part_count + probes->count;
  *out = (sp_answers){0};
  SP_TRY(sp_allocate((size_t)most, sizeof *out->list, "answers", &out->list));
  double largest = 0;
  for (int r = quantities->count; r < quantities->materials; r++)
    largest = fmax(largest, fabs(quantities->list[r].value));
  for (int r = 0; r < quantities->materials; r++) {
    const sp_quantity *q = &quantities->list[r];
    out->list[out->count++] =
        (sp_answer){.name = q->name,
                    .kind = sp_result_names[q->kind],
                    .table = r < quantities->count ? "results" : "extrema",
                    .pointwise = q->kind == SP_RESULT_MINIMUM || q->kind == SP_RESULT_MAXIMUM,
                    .value = q->value,
                    .scale = scale_of(q, largest, balance->largest)};
  }
  for (int p = 0; p < problem->part_count; p++)
    if (sp_balance_has_part(balance, problem, p))
      out->list[out->count++] = (sp_answer){.name = sp_balance_part_name(problem, p),
                                            .kind = sp_result_names[SP_RESULT_FLUX],
                                            .table = "balance",
                                            .value = sp_balance_part(balance, problem, p),
                                            .scale = balance->largest};
  for (int p = 0; p < probes->count; p++)
    out->list[out->count++] = (sp_answer){.name = probes->list[p].name,
                                          .kind = "probe",
                                          .table = "probes",
                                          .pointwise = true,
                                          .value = probes->list[p].value,
                                          .scale = largest};
  return SP_OK;
}

void sp_answers_free(sp_answers *answers) {
  free(answers->list);
  *answers = (sp_answers){0};
}

int sp_answers_other_order(int order) {
  return order + 2 <= SP_MAX_ORDER ? order + 2 : order < SP_MAX_ORDER ? SP_MAX_ORDER : order - 2;
}

/* ---- Error bars ---- */

sp_status sp_accuracy_compare(double tolerance, const sp_answers *others, sp_accuracy *accuracy) {
  const sp_answers *answers = &accuracy->answers;
  double **e = &accuracy->errors;
  if (!*e) SP_TRY(sp_allocate((size_t)answers->count, sizeof **e, "error bars", e));
  for (int i = 0; i < answers->count; i++) {
    const double difference = fabs(others->list[i].value - answers->list[i].value);
    const double least = fmax((*e)[i], tolerance * answers->list[i].scale);
    (*e)[i] = difference <= least ? least : difference; /* NaN if an answer is */
  }
  return SP_OK;
}

void sp_accuracy_free(sp_accuracy *accuracy) {
  sp_answers_free(&accuracy->answers);
  free(accuracy->errors);
  *accuracy = (sp_accuracy){0};
}
