#include "solver/run/report.h"

#include <math.h>

void sp_report_levels(sp_report *report, int64_t applications, int count,
                      const sp_level_time *times) {
  sp_record *record = report->record;
  double all = 0;
  if (count == 0) return;
  for (int i = 0; i < count; i++) all += times[i].seconds;
  sp_terminal_print(report->terminal, "\n  %-16s %14s %14s %14s\n", "multigrid level", "DOFs",
                    "ms per cycle", "of the cycle");
  sp_record_open(record, SP_RECORD_TABLE, "levels");
  for (int i = 0; i < count; i++) {
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_integer(record, "order", times[i].order);
    sp_record_integer(record, "dofs", times[i].dofs);
    sp_record_integer(record, "applications", applications);
    sp_record_real(record, "seconds", (double)applications * times[i].seconds, "s");
    sp_record_real(record, "share", all > 0 ? times[i].seconds / all : 0, NULL);
    sp_record_close(record);
    sp_terminal_print(report->terminal, "  order %-10d %14lld %14.3g %12.1f %%\n", times[i].order,
                      (long long)times[i].dofs, 1e3 * times[i].seconds,
                      all > 0 ? 100 * times[i].seconds / all : 0);
  }
  sp_record_close(record);
}

/* ---- Balance ---- */

static void add_term(sp_record *record, const char *name, const char *kind, double value) {
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_text(record, "name", name);
  sp_record_text(record, "kind", kind);
  sp_record_real(record, "value", value, NULL);
  sp_record_close(record);
}

void sp_report_balance(sp_report *report, const sp_problem *problem, const sp_balance *balance) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  sp_record_open(record, SP_RECORD_TABLE, "balance");
  add_term(record, "f", "source", balance->source);
  if (balance->absorbed != 0) add_term(record, "lambda u", "absorbed", balance->absorbed);
  for (int p = 0; p < problem->part_count; p++)
    if (sp_balance_has_part(balance, problem, p))
      add_term(record, sp_balance_part_name(problem, p), "flux",
               sp_balance_part(balance, problem, p));
  if (balance->removed != 0) add_term(record, "projection", "removed", balance->removed);
  sp_terminal_print(t, "\n  %-16s %-10s %20s\n", "balance", "", "integral");
  sp_record_print_rows(record, t, "balance", "  {name:-16s} {kind:-10s} {value:20.12g}\n");
  add_term(record, "imbalance", "imbalance", balance->imbalance);
  sp_record_close(record);
  sp_terminal_print(t, "  %-16s %-10s %20.2e", "imbalance", "", balance->imbalance);
  if (balance->largest > 0)
    sp_terminal_print(t, ", %.1e of the largest", fabs(balance->imbalance) / balance->largest);
  sp_terminal_print(t, "\n");
}

/* ---- Results ---- */

static bool has_place(const sp_quantity *q) {
  return (q->kind == SP_RESULT_MINIMUM || q->kind == SP_RESULT_MAXIMUM) && !isnan(q->value);
}

static const char *formula_of(const sp_quantity *q) {
  return q->formula ? sp_expression_text(q->formula) : "u";
}

static void record_quantity(sp_record *record, const sp_quantity *q) {
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_text(record, "name", q->name);
  sp_record_text(record, "kind", sp_result_kind_name(q->kind));
  sp_record_text(record, "formula", formula_of(q));
  sp_record_text(record, "group", q->group ? q->group : "");
  sp_record_real(record, "value", q->value, NULL);
  sp_record_real(record, "size", q->size, NULL);
  for (int d = 0; d < 3; d++)
    sp_record_real(record, (const char *const[]){"x", "y", "z"}[d],
                   has_place(q) ? q->place[d] : NAN, NULL);
  sp_record_close(record);
}

void sp_report_quantities(sp_report *report, const sp_quantities *quantities) {
  sp_terminal *t = report->terminal;
  if (quantities->count == 0) return;
  sp_record_open(report->record, SP_RECORD_TABLE, "results");
  sp_terminal_print(t, "\n  %-16s %-10s %-16s %20s\n", "result", "", "over", "value");
  for (int r = 0; r < quantities->count; r++) {
    const sp_quantity *q = &quantities->list[r];
    record_quantity(report->record, q);
    sp_terminal_print(t, "  %-16s %-10s %-16s %20.12g", q->name, sp_result_kind_name(q->kind),
                      q->group ? q->group : "all elements", q->value);
    if (has_place(q))
      sp_terminal_print(t, "  at (%.12g, %.12g, %.12g)", q->place[0], q->place[1], q->place[2]);
    else
      sp_terminal_print(t, "  %s %g", q->on_surface ? "area" : "volume", q->size);
    if (q->formula) sp_terminal_print(t, "  of %s", formula_of(q));
    sp_terminal_print(t, "\n");
  }
  sp_record_close(report->record);
}

/* ---- Probes ---- */

void sp_report_probes(sp_report *report, const sp_probes *probes, bool have_errors) {
  sp_record *record = report->record;
  if (probes->count == 0) return;
  sp_record_open(record, SP_RECORD_TABLE, "probes");
  for (int p = 0; p < probes->count; p++) {
    const sp_probe *probe = &probes->list[p];
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_text(record, "name", probe->name);
    sp_record_real(record, "x", probe->point[0], NULL);
    sp_record_real(record, "y", probe->point[1], NULL);
    sp_record_real(record, "z", probe->point[2], NULL);
    sp_record_real(record, "u", probe->value, NULL);
    if (have_errors) sp_record_real(record, "error", probe->error, NULL);
    sp_record_close(record);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n  %-16s %12s %12s %12s %20s%s\n", "probe", "x", "y", "z",
                    "u", have_errors ? "      error" : "");
  sp_record_print_rows(record, report->terminal, "probes",
                       "  {name:-16s} {x:12.12g} {y:12.12g} {z:12.12g} {u:20.12g}[ {error:10.2e}]"
                       "\n");
}
