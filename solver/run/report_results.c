#include "solver/run/report_results.h"

#include <math.h>
#include <stdlib.h>

/* ---- Balance ---- */

typedef struct term {
  const char *name, *kind;
  double value;
} term;

/* A part without faces but periodic ones has no flux. */
static bool has_flux(const sp_problem *problem, const sp_balance *balance, int part) {
  const int fallback = problem->part_count - 1;
  if (problem->parts[part].condition == SP_PERIODIC) return false;
  return part < fallback || balance->has_default;
}

static double flux_of(const sp_problem *problem, const sp_balance *balance, int part) {
  double flux = part == problem->part_count - 1 ? balance->flux[balance->surfaces - 1] : 0;
  for (int s = 0; s < balance->surfaces - 1; s++)
    if (problem->part_of_surface[s] == part) flux += balance->flux[s];
  return flux;
}

/* Fill terms[part_count + 4]; returns how many there are. */
static int list_terms(const sp_problem *problem, const sp_balance *balance, term *terms) {
  int count = 0;
  terms[count++] = (term){"f", "source", balance->source};
  if (balance->absorbed != 0) terms[count++] = (term){"lambda u", "absorbed", balance->absorbed};
  for (int p = 0; p < problem->part_count; p++)
    if (has_flux(problem, balance, p))
      terms[count++] = (term){p == problem->part_count - 1 ? "default" : problem->parts[p].group,
                              "flux", flux_of(problem, balance, p)};
  if (balance->removed != 0) terms[count++] = (term){"projection", "removed", balance->removed};
  terms[count++] = (term){"imbalance", "imbalance", balance->imbalance};
  return count;
}

static void log_terms(sp_report *report, int count, const term *terms) {
  static const sp_log_column columns[] = {
      {"name", "1", SP_LOG_TEXT}, {"kind", "1", SP_LOG_TEXT}, {"value", "1", SP_LOG_REAL}};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  sp_log_cell(*cells)[COLUMNS];
  if (sp_report_keep(report, sp_allocate((size_t)count, sizeof *cells, "balance", &cells))) return;
  for (int t = 0; t < count; t++) {
    cells[t][0].text = terms[t].name;
    cells[t][1].text = terms[t].kind;
    cells[t][2].real = terms[t].value;
  }
  sp_report_table(report, "balance", COLUMNS, columns, count, cells[0]);
  free(cells);
}

void sp_report_balance(sp_report *report, sp_terminal *terminal, const sp_problem *problem,
                       const sp_balance *balance) {
  term *terms;
  const size_t most = (size_t)problem->part_count + 4;
  if (sp_report_keep(report, sp_allocate(most, sizeof *terms, "balance", &terms))) return;
  const int count = list_terms(problem, balance, terms);
  sp_terminal_print(terminal, "\n  %-16s %-10s %20s\n", "balance", "", "integral");
  for (int t = 0; t < count - 1; t++)
    sp_terminal_print(terminal, "  %-16s %-10s %20.12g\n", terms[t].name, terms[t].kind,
                      terms[t].value);
  sp_terminal_print(terminal, "  %-16s %-10s %20.2e", "imbalance", "", balance->imbalance);
  if (balance->largest > 0)
    sp_terminal_print(terminal, ", %.1e of the largest",
                      fabs(balance->imbalance) / balance->largest);
  sp_terminal_print(terminal, "\n");
  log_terms(report, count, terms);
  free(terms);
}

/* ---- Results ---- */

static bool has_place(const sp_quantity *q) {
  return (q->kind == SP_RESULT_MINIMUM || q->kind == SP_RESULT_MAXIMUM) && !isnan(q->value);
}

static const char *formula_of(const sp_quantity *q) {
  return q->formula ? sp_expression_text(q->formula) : "u";
}

static void log_quantities(sp_report *report, const sp_quantities *quantities) {
  static const sp_log_column columns[] = {
      {"name", "1", SP_LOG_TEXT},  {"kind", "1", SP_LOG_TEXT},  {"formula", "1", SP_LOG_TEXT},
      {"group", "1", SP_LOG_TEXT}, {"value", "1", SP_LOG_REAL}, {"size", "1", SP_LOG_REAL},
      {"x", "1", SP_LOG_REAL},     {"y", "1", SP_LOG_REAL},     {"z", "1", SP_LOG_REAL}};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  sp_log_cell(*cells)[COLUMNS];
  const size_t count = (size_t)quantities->count;
  if (sp_report_keep(report, sp_allocate(count, sizeof *cells, "results", &cells))) return;
  for (size_t r = 0; r < count; r++) {
    const sp_quantity *q = &quantities->list[r];
    cells[r][0].text = q->name;
    cells[r][1].text = sp_result_kind_name(q->kind);
    cells[r][2].text = formula_of(q);
    cells[r][3].text = q->group ? q->group : "";
    cells[r][4].real = q->value;
    cells[r][5].real = q->size;
    for (int d = 0; d < 3; d++) cells[r][6 + d].real = has_place(q) ? q->place[d] : NAN;
  }
  sp_report_table(report, "results", COLUMNS, columns, quantities->count, cells[0]);
  free(cells);
}

void sp_report_quantities(sp_report *report, sp_terminal *t, const sp_quantities *quantities) {
  if (quantities->count == 0) return;
  sp_terminal_print(t, "\n  %-16s %-10s %-16s %20s\n", "result", "", "over", "value");
  for (int r = 0; r < quantities->count; r++) {
    const sp_quantity *q = &quantities->list[r];
    sp_terminal_print(t, "  %-16s %-10s %-16s %20.12g", q->name, sp_result_kind_name(q->kind),
                      q->group ? q->group : "all elements", q->value);
    if (has_place(q))
      sp_terminal_print(t, "  at (%.12g, %.12g, %.12g)", q->place[0], q->place[1], q->place[2]);
    else
      sp_terminal_print(t, "  %s %g", q->on_surface ? "area" : "volume", q->size);
    if (q->formula) sp_terminal_print(t, "  of %s", formula_of(q));
    sp_terminal_print(t, "\n");
  }
  log_quantities(report, quantities);
}

/* ---- Probes ---- */

static void log_probes(sp_report *report, const sp_probes *probes, bool have_errors) {
  static const sp_log_column columns[] = {{"name", "1", SP_LOG_TEXT}, {"x", "1", SP_LOG_REAL},
                                          {"y", "1", SP_LOG_REAL},    {"z", "1", SP_LOG_REAL},
                                          {"u", "1", SP_LOG_REAL},    {"error", "1", SP_LOG_REAL}};
  const int width = have_errors ? 6 : 5;
  sp_log_cell *cells;
  const sp_status status =
      sp_allocate((size_t)(probes->count * width), sizeof *cells, "probes", &cells);
  if (!status) {
    sp_log_cell *cell = cells;
    for (int p = 0; p < probes->count; p++) {
      const sp_probe *probe = &probes->list[p];
      (cell++)->text = probe->name;
      for (int d = 0; d < 3; d++) (cell++)->real = probe->point[d];
      (cell++)->real = probe->value;
      if (have_errors) (cell++)->real = probe->error;
    }
    sp_report_table(report, "probes", width, columns, probes->count, cells);
  }
  (void)sp_report_keep(report, status);
  free(cells);
}

void sp_report_probes(sp_report *report, sp_terminal *t, const sp_probes *probes,
                      bool have_errors) {
  if (probes->count == 0) return;
  log_probes(report, probes, have_errors);
  sp_terminal_print(t, "\n  %-16s %12s %12s %12s %20s%s\n", "probe", "x", "y", "z", "u",
                    have_errors ? "      error" : "");
  for (int p = 0; p < probes->count; p++) {
    const sp_probe *probe = &probes->list[p];
    sp_terminal_print(t, "  %-16s %12.12g %12.12g %12.12g %20.12g", probe->name, probe->point[0],
                      probe->point[1], probe->point[2], probe->value);
    if (have_errors) sp_terminal_print(t, " %10.2e", probe->error);
    sp_terminal_print(t, "\n");
  }
}
