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

static const char INFINITE[] = "infinite: Dirichlet values jump";

static bool part_is_infinite(const sp_data_jump *jump, int part) {
  return jump->of_part && sp_data_jump_is_real(jump, jump->of_part[part]);
}

/* True for a flux through a surface with such a part, and for a resistance with it. */
static bool is_infinite(const sp_quantities *quantities, const sp_quantity *q,
                        const sp_problem *problem, const sp_data_jump *jump, int surfaces) {
  if (q->kind == SP_RESULT_RESISTANCE) q = &quantities->list[q->parts + 2];
  if (q->kind != SP_RESULT_FLUX || q->crosses) return false;
  for (int s = 0; s < surfaces; s++)
    if (q->members[s] && part_is_infinite(jump, problem->part_of_surface[s])) return true;
  return false;
}

sp_status sp_answers_collect(const sp_quantities *quantities, const sp_problem *problem,
                             const sp_data_jump *jump, const sp_balance *balance,
                             const sp_probes *probes, sp_answers *out) {
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
                    .scale = scale_of(q, largest, balance->largest),
                    .own_scale = q->formula || q->kind == SP_RESULT_RESISTANCE,
                    .infinite = is_infinite(quantities, q, problem, jump, balance->surfaces - 1)};
  }
  for (int p = 0; p < problem->part_count; p++)
    if (sp_balance_has_part(balance, problem, p))
      out->list[out->count++] = (sp_answer){.name = sp_balance_part_name(problem, p),
                                            .kind = sp_result_names[SP_RESULT_FLUX],
                                            .table = "balance",
                                            .value = sp_balance_part(balance, problem, p),
                                            .scale = balance->largest,
                                            .infinite = part_is_infinite(jump, p)};
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

/* ---- Series ---- */

/* Print and record the values of answer `i`. */
static void add_values(sp_report *report, int along, int i, int count, const sp_study_row *rows,
                       const sp_answers *answers) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  for (int r = 0; r < count; r++) {
    const sp_answer *a = &answers[r].list[i];
    double f[3] = {NAN, NAN, a->value};
    for (int k = 1; k <= 2 && k <= r; k++) f[2 - k] = answers[r - k].list[i].value;
    const double difference = f[2] - f[1], rate = sp_convergence_rate(along, f);
    sp_record_row(record,
                  "name %s, kind %s, table %s, order %d, refine %d, value %g, difference %g, "
                  "rate %g",
                  a->name, a->kind, a->table, rows[r].order, rows[r].refine, a->value, difference,
                  rate);
    sp_terminal_print(t, "  %-16s %-10s %2d %6d %20.12g", r == 0 ? a->name : "",
                      r == 0 ? a->kind : "", rows[r].order, rows[r].refine, a->value);
    if (r >= 1) sp_terminal_print(t, " %11.3e", difference);
    if (r >= 2 && isfinite(rate)) sp_terminal_print(t, " %6.2f", rate);
    sp_terminal_print(t, "\n");
  }
}

static void add_limit(sp_report *report, const sp_answer *a, const sp_study_row *finest,
                      const sp_convergence *c) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  sp_record_row(record,
                "name %s, kind %s, table %s, order %d, refine %d, rate %g, limit %g, gci %g, "
                "verdict %s",
                a->name, a->kind, a->table, finest->order, finest->refine, c->rate, c->limit,
                c->gci, c->verdict);
  sp_terminal_print(t, "  %-16s %-20s", "", c->verdict);
  if (isfinite(c->limit)) sp_terminal_print(t, " %20.12g limit, +- %.2e", c->limit, c->gci);
  if (isfinite(c->limit) && a->value != 0)
    sp_terminal_print(t, ", %.1e of the value", c->gci / fabs(a->value));
  sp_terminal_print(t, "\n");
}

sp_status sp_answers_judge(sp_report *report, bool along_orders, int count,
                           const sp_study_row *rows, const sp_answers *answers) {
  sp_record *record = report->record;
  const sp_study_row *finest = &rows[count - 1];
  const sp_answers *last = &answers[count - 1];
  const double tolerance = report->config->solver.tolerance;
  const double floor = fmax(sp_rates_relative_floor(tolerance, finest->iterations),
                            sp_rates_relative_floor(tolerance, finest[-1].iterations));
  const int along = along_orders ? finest->order : 0;
  sp_kept_error first = {0};
  sp_terminal_print(report->terminal, "\n  %-16s %-10s %2s %6s %20s %11s %6s\n", "answer", "", "N",
                    "refine", "value", "difference", "rate");
  for (int i = 0; i < last->count; i++) {
    const sp_answer *a = &last->list[i];
    double f[3];
    char growth[32];
    for (int k = 0; k < 3; k++) f[k] = last[k - 2].list[i].value;
    const sp_convergence c = a->infinite
                                 ? (sp_convergence){NAN, NAN, NAN, INFINITE, false}
                                 : sp_convergence_judge(along, a->pointwise, f, floor * a->scale);
    sp_record_open(record, SP_RECORD_TABLE, "answers");
    add_values(report, along, i, count, rows, answers);
    sp_record_close(record);
    sp_record_open(record, SP_RECORD_TABLE, "limits");
    add_limit(report, a, finest, &c);
    sp_record_close(record);
    if (c.passes || first.status) continue;
    sp_error_keep(sp_fail(SP_ERR_STUDY,
                          "%s %s, order %d, refine %d: %s, as it went from %.9g to %.9g and "
                          "%.9g%s%s",
                          a->kind, a->name, finest->order, finest->refine, c.verdict, f[0], f[1],
                          f[2], sp_convergence_growth(along, f, sizeof growth, growth),
                          a->infinite ? ""
                                      : "; refine further, or look for a corner or jump where u is "
                                        "not smooth"),
                  &first);
  }
  return first.status ? sp_error_restore(&first) : SP_OK;
}

/* ---- Error bars ---- */

/* True if the values of three orders, the last of which is given, seem to grow. */
static bool seems_infinite(const sp_answer *a, int order, const double f[3]) {
  static const double LEAST = 0.01, POWER = 1; /* of a heat source at a point */
  const double ratio = (f[2] - f[1]) / (f[1] - f[0]);
  return !a->own_scale && ratio >= sp_convergence_ratio(order, SP_CONVERGENCE_LEAST) &&
         ratio <= sp_convergence_ratio(order, -POWER) && fabs(f[2] - f[1]) >= LEAST * a->scale;
}

sp_status sp_accuracy_compare(double tolerance, int order, const sp_answers *others,
                              sp_accuracy *accuracy) {
  const size_t count = (size_t)accuracy->answers.count;
  const bool first = !accuracy->errors;
  double **e = &accuracy->errors, **before = &accuracy->before;
  if (first) SP_TRY(SP_ALLOCATE("error bars", SP_ARRAY(*e, count), SP_ARRAY(*before, count)));
  for (size_t i = 0; i < count; i++) {
    const sp_answer *a = &accuracy->answers.list[i];
    const double f[3] = {a->value, (*before)[i], others->list[i].value};
    const double least = fmax((*e)[i], tolerance * a->scale);
    (*e)[i] = fabs(f[2] - f[0]) <= least ? least : fabs(f[2] - f[0]); /* NaN if an answer is */
    if (a->infinite || (!first && seems_infinite(a, order, f))) (*e)[i] = INFINITY;
    (*before)[i] = f[2];
  }
  return SP_OK;
}

void sp_accuracy_free(sp_accuracy *accuracy) {
  sp_answers_free(&accuracy->answers);
  SP_FREE(accuracy->errors, accuracy->before);
  *accuracy = (sp_accuracy){0};
}

sp_status sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report) {
  sp_kept_error first = {0};
  sp_record *record = report->record;
  char text[256];
  snprintf(text, sizeof text,
           "differences from orders up to %d%s, started at this solution, %lld iteration%s",
           accuracy->order,
           accuracy->order < report->config->discretization.order ? ", too large for order 15" : "",
           (long long)accuracy->iterations, sp_plural(accuracy->iterations));
  sp_record_text(record, "accuracy_method", text);
  sp_record_open(record, SP_RECORD_TABLE, "accuracy");
  for (int i = 0; i < accuracy->answers.count; i++) {
    const sp_answer *a = &accuracy->answers.list[i];
    const char *verdict = a->infinite                  ? INFINITE
                          : isinf(accuracy->errors[i]) ? "diverging or singular"
                                                       : "";
    sp_record_row(record, "name %s, kind %s, table %s, value %g, error %g, verdict %s", a->name,
                  a->kind, a->table, a->value, accuracy->errors[i], verdict);
    if (verdict[0] && !first.status)
      sp_error_keep(sp_fail(SP_ERR_STUDY, "%s %s has no error bar: %s", a->kind, a->name, verdict),
                    &first);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n  %-16s %-10s %20s %13s\n", "answer", "", "value",
                    "error about");
  sp_record_print_rows(record, report->terminal, "accuracy",
                       "  {name:-16s} {kind:-10s} {value:20.12g} {error:13.1e}[  {verdict:s}]\n");
  sp_record_print(record, report->terminal, "  error bars       {accuracy_method:s}\n");
  return first.status ? sp_error_restore(&first) : SP_OK;
}
