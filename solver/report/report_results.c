#include "solver/report/report.h"

#include <math.h>
#include <stdio.h>

void sp_report_levels(sp_report *report, int64_t applications, int count,
                      const sp_level_time *times) {
  sp_record *record = report->record;
  double all = 0;
  if (count == 0) return;
  for (int i = 0; i < count; i++) all += times[i].seconds;
  sp_terminal *t = report->terminal;
  const bool sends = times[0].messages > 0;
  sp_terminal_print(t, "\n  %-16s %14s %14s %14s%s\n", "multigrid level", "DOFs", "ms per cycle",
                    "of the cycle", sends ? "   messages   sent [kB]" : "");
  sp_record_open(record, SP_RECORD_TABLE, "levels");
  for (int i = 0; i < count; i++) {
    const double share = all > 0 ? times[i].seconds / all : 0;
    sp_record_row(record,
                  "order %d, dofs %lld, applications %lld, seconds %g [s], share %g, messages %g, "
                  "bytes %g [B]",
                  times[i].order, (long long)times[i].dofs, (long long)applications,
                  (double)applications * times[i].seconds, share, times[i].messages,
                  times[i].bytes);
    sp_terminal_print(t, "  order %-10d %14lld %14.3g %12.1f %%", times[i].order,
                      (long long)times[i].dofs, 1e3 * times[i].seconds, 100 * share);
    if (sends) sp_terminal_print(t, " %10.0f %11.1f", times[i].messages, 1e-3 * times[i].bytes);
    sp_terminal_print(t, "\n");
  }
  sp_record_close(record);
}

/* ---- Balance ---- */

/* A unit from the labels of the case; "" without. */
typedef struct unit {
  char text[SP_UNIT_SIZE];
} unit;

static unit unit_of(const sp_report *report, sp_dimension dimension) {
  unit u;
  sp_unit_text(&report->config->wanted.units, dimension, u.text);
  return u;
}

/* The heading of a column: "maximum [K]". */
static const char *head(const char *name, const unit *u, char text[2 * SP_UNIT_SIZE]) {
  snprintf(text, 2 * SP_UNIT_SIZE, u->text[0] ? "%s [%s]" : "%s", name, u->text);
  return text;
}

static void add_term(sp_report *report, const char *name, const char *kind, double value) {
  const unit heat = unit_of(report, SP_OF_POWER);
  sp_record_row(report->record, "name %s, kind %s, value %g [%s]", name, kind, value, heat.text);
}

static void report_balance(sp_report *report, const sp_problem *problem,
                           const sp_balance *balance) {
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  sp_record_open(record, SP_RECORD_TABLE, "balance");
  add_term(report, "f", "source", balance->source);
  if (balance->absorbed != 0) add_term(report, "lambda u", "absorbed", balance->absorbed);
  if (balance->stored != 0) add_term(report, "capacity du/dt", "stored", balance->stored);
  for (int p = 0; p < problem->part_count; p++)
    if (sp_balance_has_part(balance, problem, p))
      add_term(report, sp_balance_part_name(problem, p), "flux",
               sp_balance_part(balance, problem, p));
  if (balance->projected) add_term(report, "projection", "removed", balance->removed);
  const unit heat = unit_of(report, SP_OF_POWER);
  char title[2 * SP_UNIT_SIZE];
  sp_terminal_print(t, "\n  %-16s %-10s %20s\n", "balance", "", head("integral", &heat, title));
  sp_record_print_rows(record, t, "balance", "  {name:-16s} {kind:-10s} {value:20.12g}\n");
  add_term(report, "imbalance", "imbalance", balance->imbalance);
  sp_record_close(record);
  sp_terminal_print(t, "  %-16s %-10s %20.2e", "imbalance", "", balance->imbalance);
  if (balance->largest > 0)
    sp_terminal_print(t, ", %.1e of the largest", fabs(balance->imbalance) / balance->largest);
  sp_terminal_print(t, "\n");
}

/* ---- Results ---- */

static bool has_place(const sp_quantity *q) {
  return q->type->sign && !isnan(q->value);
}

static const char *formula_of(const sp_quantity *q) {
  return q->formula ? q->formula->text : "u";
}

/* The group of a result; both groups of a resistance. */
static const char *over_of(const sp_quantity *q, size_t size, char *text) {
  snprintf(text, size, "%s%s%s", q->group ? q->group : "", q->other ? ", " : "",
           q->other ? q->other : "");
  return text;
}

static void record_quantity(const sp_report *report, const sp_quantities *quantities,
                            const sp_quantity *q) {
  const unit value = unit_of(report, sp_quantity_dimension(q)),
             length = unit_of(report, SP_OF_LENGTH);
  static const double nowhere[3] = {NAN, NAN, NAN};
  const double *at = has_place(q) ? q->place : nowhere;
  char over[256], heat[300];
  sp_record_row(report->record,
                "name %s, kind %s, formula %s, group %s, value %g, size %g, x %g [%s], y %g [%s], "
                "z %g [%s], heat %s, unit %s",
                q->name, q->type->name, formula_of(q), over_of(q, sizeof over, over), q->value,
                q->size, at[0], length.text, at[1], length.text, at[2], length.text,
                sp_quantities_heat(quantities, q, sizeof heat, heat), value.text);
}

/* The material that has the extremum of u; empty if there is one material only. */
static const char *material_at(const sp_quantities *quantities, const sp_quantity *extremum) {
  for (int k = 0; k < 3 * quantities->material_count; k++) {
    const sp_quantity *q = &quantities->list[quantities->materials + k];
    if (q->type == extremum->type && q->value == extremum->value) return q->name;
  }
  return "";
}

static void report_extrema(sp_report *report, const sp_quantities *quantities,
                           const sp_heat *heat) {
  sp_record *record = report->record;
  const unit u = unit_of(report, SP_OF_TEMPERATURE), length = unit_of(report, SP_OF_LENGTH);
  const unit power = unit_of(report, SP_OF_POWER), size = unit_of(report, (sp_dimension){0, 3, 0});
  char titles[4][2 * SP_UNIT_SIZE], layout[4 * SP_UNIT_SIZE];
  sp_record_open(record, SP_RECORD_TABLE, "extrema");
  for (int r = quantities->count; r < quantities->materials; r++) {
    const sp_quantity *q = &quantities->list[r];
    sp_record_row(record,
                  "name %s, kind %s, material %s, value %g [%s], x %g [%s], y %g [%s], z %g [%s]",
                  q->name, q->type->name, material_at(quantities, q), q->value, u.text, q->place[0],
                  length.text, q->place[1], length.text, q->place[2], length.text);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n");
  snprintf(layout, sizeof layout,
           "  {kind:-16s} {value:20.12g}%s%s  at ({x:.12g}, {y:.12g}, {z:.12g})%s%s"
           "[ in {material:s}]\n",
           u.text[0] ? " " : "", u.text, length.text[0] ? " " : "", length.text);
  sp_record_print_rows(record, report->terminal, "extrema", layout);
  if (quantities->material_count == 0) return;
  sp_record_open(record, SP_RECORD_TABLE, "materials");
  for (int k = 0; k < quantities->material_count; k++) {
    const sp_quantity *q = &quantities->list[quantities->materials + 3 * k];
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_add(
        record, "name %s, minimum %g [%s], average %g [%s], maximum %g [%s], volume %g [%s]",
        q->name, q[0].value, u.text, q[1].value, u.text, q[2].value, u.text, q[1].size, size.text);
    if (heat)
      sp_record_add(record, "source %g [%s], heat_in %g [%s], heat_out %g [%s]", heat[k].source,
                    power.text, heat[k].in, power.text, heat[k].out, power.text);
    sp_record_close(record);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n  %-16s %14s %14s %14s %14s\n", "material",
                    head("minimum", &u, titles[0]), head("average", &u, titles[1]),
                    head("maximum", &u, titles[2]), head("volume", &size, titles[3]));
  sp_record_print_rows(record, report->terminal, "materials",
                       "  {name:-16s} {minimum:14.8g} {average:14.8g} {maximum:14.8g} "
                       "{volume:14.6g}\n");
  if (!heat) return;
  sp_terminal_print(report->terminal, "\n  %-16s %14s %14s %14s\n", "material",
                    head("source", &power, titles[0]), head("heat in", &power, titles[1]),
                    head("heat out", &power, titles[2]));
  sp_record_print_rows(record, report->terminal, "materials",
                       "  {name:-16s} {source:14.8g} {heat_in:14.8g} {heat_out:14.8g}\n");
}

static void report_quantities(sp_report *report, const sp_quantities *quantities) {
  sp_terminal *t = report->terminal;
  if (quantities->count == 0) return;
  sp_record_open(report->record, SP_RECORD_TABLE, "results");
  sp_terminal_print(t, "\n  %-16s %-10s %-16s %20s\n", "result", "", "over", "value");
  for (int r = 0; r < quantities->count; r++) {
    const sp_quantity *q = &quantities->list[r];
    const bool of_results = q->type->of_results;
    char over[256], heat[300];
    const unit value = unit_of(report, sp_quantity_dimension(q));
    record_quantity(report, quantities, q);
    sp_terminal_print(t, "  %-16s %-10s %-16s %20.12g%s%s", q->name, q->type->name,
                      q->group     ? over_of(q, sizeof over, over)
                      : of_results ? ""
                                   : "all elements",
                      q->value, value.text[0] ? " " : "", value.text);
    if (q->type->of_pair)
      sp_terminal_print(t, "  heat %g %s%s", q->size,
                        sp_quantities_heat(quantities, q, sizeof heat, heat),
                        !isnan(q->value)                      ? ""
                        : sp_quantities_differ(quantities, q) ? ": no heat flows"
                                                              : ": both averages are equal");
    else if (has_place(q))
      sp_terminal_print(t, "  at (%.12g, %.12g, %.12g)", q->place[0], q->place[1], q->place[2]);
    else if (!of_results)
      sp_terminal_print(t, "  %s %g", q->on_surface ? "area" : "volume", q->size);
    if (q->formula) sp_terminal_print(t, "  %s %s", of_results ? "=" : "of", formula_of(q));
    sp_terminal_print(t, "\n");
  }
  sp_record_close(report->record);
}

/* ---- Probes ---- */

static void report_probes(sp_report *report, const sp_probes *probes, bool have_errors) {
  sp_record *record = report->record;
  if (probes->count == 0) return;
  const unit u = unit_of(report, SP_OF_TEMPERATURE), length = unit_of(report, SP_OF_LENGTH);
  char titles[2][2 * SP_UNIT_SIZE];
  sp_record_open(record, SP_RECORD_TABLE, "probes");
  for (int p = 0; p < probes->count; p++) {
    const sp_probe *probe = &probes->list[p];
    sp_record_open(record, SP_RECORD_ROW, NULL);
    sp_record_add(record, "name %s, x %g [%s], y %g [%s], z %g [%s], u %g [%s]", probe->name,
                  probe->point[0], length.text, probe->point[1], length.text, probe->point[2],
                  length.text, probe->value, u.text);
    if (have_errors) sp_record_add(record, "error %g [%s]", probe->error, u.text);
    sp_record_close(record);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n  %-16s %12s %12s %12s %20s%s\n", "probe",
                    head("x", &length, titles[0]), "y", "z", head("u", &u, titles[1]),
                    have_errors ? "      error" : "");
  sp_record_print_rows(record, report->terminal, "probes",
                       "  {name:-16s} {x:12.12g} {y:12.12g} {z:12.12g} {u:20.12g}[ {error:10.2e}]"
                       "\n");
}

/* ---- Lines ---- */

static void record_sample(const sp_report *report, const sp_probe *sample, bool have_errors,
                          bool have_flux) {
  sp_record *record = report->record;
  const unit u = unit_of(report, SP_OF_TEMPERATURE), length = unit_of(report, SP_OF_LENGTH),
             flux = unit_of(report, (sp_dimension){0, -2, 1});
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_add(record, "name %s, distance %g [%s], x %g [%s], y %g [%s], z %g [%s], u %g [%s]",
                sample->name, sample->distance, length.text, sample->point[0], length.text,
                sample->point[1], length.text, sample->point[2], length.text, sample->value,
                u.text);
  if (have_errors) sp_record_add(record, "error %g [%s]", sample->error, u.text);
  if (have_flux)
    sp_record_add(record, "flux_x %g [%s], flux_y %g [%s], flux_z %g [%s]", sample->flux[0],
                  flux.text, sample->flux[1], flux.text, sample->flux[2], flux.text);
  sp_record_close(record);
}

static void report_lines(sp_report *report, const sp_probes *probes, bool have_errors,
                         bool have_flux) {
  const sp_probe *sample = &probes->list[probes->count], *end = &probes->list[probes->all];
  if (sample == end) return;
  const unit u = unit_of(report, SP_OF_TEMPERATURE);
  char titles[2][2 * SP_UNIT_SIZE];
  sp_record_open(report->record, SP_RECORD_TABLE, "lines");
  sp_terminal_print(report->terminal, "\n  %-16s %8s %8s %20s %20s\n", "line", "samples", "outside",
                    head("minimum of u", &u, titles[0]), head("maximum of u", &u, titles[1]));
  while (sample < end) {
    const char *name = sample->name;
    int count = 0, outside = 0;
    double low = NAN, high = NAN;
    for (; sample < end && sample->name == name; sample++, count++) {
      record_sample(report, sample, have_errors, have_flux);
      outside += sample->outside;
      low = fmin(low, sample->value);
      high = fmax(high, sample->value);
    }
    sp_terminal_print(report->terminal, "  %-16s %8d %8d %20.12g %20.12g\n", name, count, outside,
                      low, high);
  }
  sp_record_close(report->record);
}

void sp_report_solution(sp_report *report, const sp_problem *problem, const sp_balance *balance,
                        const sp_quantities *quantities, const sp_heat *heat,
                        const sp_probes *probes) {
  const bool have_errors = sp_materials_have_solution(&problem->materials);
  const bool have_flux = sp_operator_rows[problem->kind].has_stiffness;
  if (have_flux) report_balance(report, problem, balance);
  report_extrema(report, quantities, heat);
  report_quantities(report, quantities);
  report_probes(report, probes, have_errors);
  report_lines(report, probes, have_errors, have_flux);
}
