#include "solver/report/report.h"

#include <math.h>
#include <stdio.h>

/* ---- Series ---- */

static void open_answer_row(sp_record *record, const char *table, sp_study_axis axis,
                            const sp_answer *a, const sp_study_row *row) {
  sp_record_open(record, SP_RECORD_TABLE, table);
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_add(record, "name %s, kind %s, table %s, order %d, refine %d", a->name, a->kind,
                a->table, row->order, row->refine);
  if (axis == SP_ALONG_STEPS) sp_record_integer(record, "step", row->step);
}

static void close_answer_row(sp_record *record) {
  sp_record_close(record);
  sp_record_close(record);
}

/* The order for the functions of convergence (solver/results/rates.h). */
static int order_along(sp_study_axis axis, const sp_study_row *row) {
  return axis == SP_ALONG_ORDERS ? row->order : 0;
}

static void add_answer_values(sp_report *report, sp_study_axis axis, int i, int count,
                              const sp_study_row *rows, const sp_answers *answers) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  for (int r = 0; r < count; r++) {
    const sp_answer *a = &answers[r].list[i];
    double f[3] = {NAN, NAN, a->value};
    for (int k = 1; k <= 2 && k <= r; k++) f[2 - k] = answers[r - k].list[i].value;
    const double difference = f[2] - f[1], rate = sp_convergence_rate(order_along(axis, rows), f);
    open_answer_row(record, "answers", axis, a, &rows[r]);
    sp_record_add(record, "value %g, difference %g, rate %g", a->value, difference, rate);
    close_answer_row(record);
    sp_terminal_print(t, "  %-16s %-10s %2d %6d", r == 0 ? a->name : "", r == 0 ? a->kind : "",
                      rows[r].order, rows[r].refine);
    if (axis == SP_ALONG_STEPS) sp_terminal_print(t, " %4d", rows[r].step);
    sp_terminal_print(t, " %20.12g", a->value);
    if (r >= 1) sp_terminal_print(t, " %11.3e", difference);
    if (r >= 2 && isfinite(rate)) sp_terminal_print(t, " %6.2f", rate);
    sp_terminal_print(t, "\n");
  }
}

static void add_limit(sp_report *report, sp_study_axis axis, const sp_answer *a,
                      const sp_study_row *finest, const sp_convergence *c) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  char unit[SP_UNIT_SIZE];
  sp_unit_text(&report->config->wanted.units, a->dimension, unit);
  open_answer_row(record, "limits", axis, a, finest);
  sp_record_add(record, "rate %g, limit %g, gci %g, verdict %s, unit %s", c->rate, c->limit, c->gci,
                c->verdict, unit);
  close_answer_row(record);
  sp_terminal_print(t, "  %-16s %-20s", "", c->verdict);
  if (isfinite(c->limit))
    sp_terminal_print(t, " %20.12g limit, +- %.2e%s%s", c->limit, c->gci, unit[0] ? " " : "", unit);
  if (isfinite(c->limit) && a->value != 0)
    sp_terminal_print(t, ", %.1e of the value", c->gci / fabs(a->value));
  sp_terminal_print(t, "\n");
}

/* Judge all answers; a formula by the limits of its terms. */
static sp_status judge_all(int along, double floor, const sp_answers *last, sp_convergence *out) {
  SP_OWNED double *limits = NULL, *bars = NULL;
  const size_t count = (size_t)last->count;
  SP_TRY(SP_ALLOCATE("answers", SP_ARRAY(limits, count), SP_ARRAY(bars, count)));
  for (size_t i = 0; i < count; i++) {
    const sp_answer *a = &last->list[i];
    const double f[3] = {last[-2].list[i].value, last[-1].list[i].value, a->value};
    out[i] = a->infinite ? (sp_convergence){NAN, NAN, NAN, SP_ANSWER_INFINITE, false}
                         : sp_convergence_judge(along, a->pointwise, f, floor * a->scale);
    limits[i] = out[i].limit;
    bars[i] = out[i].gci;
  }
  for (int i = 0; i < last->results; i++) {
    if (!last->list[i].formula) continue;
    limits[i] = sp_answers_formula(last, i, limits);
    bars[i] = sp_answers_bar(last, i, limits, bars);
    const bool good = isfinite(limits[i]) && isfinite(bars[i]);
    out[i] = (sp_convergence){out[i].rate, limits[i], bars[i],
                              good ? "by its terms" : "a term has no limit", good};
  }
  return SP_OK;
}

sp_status sp_answers_judge(sp_report *report, sp_study_axis axis, int count,
                           const sp_study_row *rows, const sp_answers *answers) {
  const sp_study_row *finest = &rows[count - 1];
  const sp_answers *last = &answers[count - 1];
  const double tolerance = report->config->solver.tolerance;
  const double floor = fmax(sp_rates_relative_floor(tolerance, finest->iterations),
                            sp_rates_relative_floor(tolerance, finest[-1].iterations));
  const int along = order_along(axis, finest);
  char place[64];
  sp_kept_error first = {0};
  SP_OWNED sp_convergence *judged = NULL;
  SP_TRY(sp_allocate((size_t)last->count, sizeof *judged, "answers", &judged));
  SP_TRY(judge_all(along, floor, last, judged));
  sp_terminal_print(report->terminal, "\n  %-16s %-10s %2s %6s%s %20s %11s %6s\n", "answer", "",
                    "N", "refine", axis == SP_ALONG_STEPS ? " step" : "", "value", "difference",
                    "rate");
  for (int i = 0; i < last->count; i++) {
    const sp_answer *a = &last->list[i];
    double f[3];
    char growth[32];
    for (int k = 0; k < 3; k++) f[k] = last[k - 2].list[i].value;
    const sp_convergence c = judged[i];
    add_answer_values(report, axis, i, count, rows, answers);
    add_limit(report, axis, a, finest, &c);
    if (c.passes || first.status) continue;
    sp_error_keep(sp_fail(SP_ERR_STUDY, "%s %s, %s: %s, as it went from %.9g to %.9g and %.9g%s%s",
                          a->kind, a->name, sp_study_place(axis, finest, sizeof place, place),
                          c.verdict, f[0], f[1], f[2],
                          sp_convergence_growth(along, f, axis == SP_ALONG_STEPS ? "dt" : "h",
                                                sizeof growth, growth),
                          a->infinite ? ""
                          : axis == SP_ALONG_STEPS
                              ? "; take shorter steps, or look for data that jump in time"
                              : "; refine further, or look for a corner or jump where u is not "
                                "smooth"),
                  &first);
  }
  return first.status ? sp_error_restore(&first) : SP_OK;
}

/* ---- Error bars ---- */

sp_status sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report) {
  sp_kept_error first = {0};
  sp_record *record = report->record;
  char text[256];
  snprintf(text, sizeof text,
           "differences from orders up to %d%s%s, started at this solution, %lld iteration%s",
           accuracy->order,
           accuracy->order < report->config->statement.order ? ", too large for order 15" : "",
           report->config->time.end > 0 ? ", and from steps half as long" : "",
           (long long)accuracy->iterations, sp_plural(accuracy->iterations));
  sp_record_text(record, "accuracy_method", text);
  sp_record_open(record, SP_RECORD_TABLE, "accuracy");
  for (int i = 0; i < accuracy->answers.count; i++) {
    const sp_answer *a = &accuracy->answers.list[i];
    const char *verdict = a->infinite                  ? SP_ANSWER_INFINITE
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
