#include "solver/bench/table.h"

#include <math.h>
#include <stdio.h>

typedef struct tables {
  const sp_bench_plan *plan;
  const sp_bench_file *file;
  bool precisions; /* name them: not all is in double */
  sp_terminal *terminal;
} tables;

/* `key` for another kind of measurement of operators. */
static sp_bench_row with_what(sp_bench_row key, sp_bench_what what) {
  if (what == SP_BENCH_CG) key.warm_cache = 1;
  if (what == SP_BENCH_COPY) {
    key.geometry = SP_GEOMETRY_STORED;
    key.threads = key.kernel = 0;
  }
  key.what = what;
  return key;
}

static void print_number(const tables *t, int width, int digits, double value) {
  if (isfinite(value))
    sp_terminal_print(t->terminal, " %*.*f", width, digits, value);
  else
    sp_terminal_print(t->terminal, " %*s", width, "-");
}

/* Three significant digits, for a GPU as for one CPU core. */
static void print_rate(const tables *t, double value) {
  print_number(t, 9, value < 1 ? 4 : value < 10 ? 3 : 2, value);
}

/* The first columns. */
static void print_names(const tables *t, const char *problem, const char *geometry,
                        const char *precision) {
  sp_terminal_print(t->terminal, "%-6s %-9s", problem, geometry);
  if (t->precisions) sp_terminal_print(t->terminal, " %-9s", precision);
}

static void print_production_head(const tables *t) {
  sp_terminal_print(t->terminal, "\n");
  print_names(t, "", "geometry", "precision");
  sp_terminal_print(t->terminal, " %3s %9s %7s %8s %9s %9s %9s %9s %8s %9s\n", "N", "elements",
                    "MDOF", "copy", "local", "local", "of paper", "L to L", "CG", "CG");
  print_names(t, "", "", "");
  sp_terminal_print(t->terminal, " %3s %9s %7s %8s %9s %9s %9s %9s %8s %9s\n", "", "", "", "GB/s",
                    "Gnode/s", "TFLOP/s", "roof %", "GDOF/s", "us", "GDOF/s");
}

static void print_production_row(const tables *t, const sp_bench_step *step) {
  const sp_bench_row *key = &step->key, *rows[SP_BENCH_WHATS];
  for (int what = 0; what < SP_BENCH_WHATS; what++) {
    const sp_bench_row other = with_what(*key, (sp_bench_what)what);
    rows[what] = sp_bench_file_find(t->file, &other);
  }
  const sp_bench_row *copy = rows[SP_BENCH_COPY], *local = rows[SP_BENCH_UNASSEMBLED];
  const sp_bench_row *op = rows[SP_BENCH_OPERATOR], *cg = rows[SP_BENCH_CG];
  const sp_bench_row *global = op ? op : cg;
  print_names(t, sp_operator_names[key->problem], sp_geometry_names[key->geometry],
              sp_bench_precision_names[key->precision]);
  sp_terminal_print(t->terminal, " %3d %9lld", key->order, (long long)key->elements);
  print_number(t, 7, 2, global ? (double)global->dofs * 1e-6 : NAN);
  print_number(t, 8, 0, copy ? copy->gbytes_per_second : NAN);
  print_rate(t, local ? local->gdofs_per_second : NAN);
  print_rate(t, local ? local->tflops : NAN);
  print_number(t, 9, 1, local && copy ? 100 * local->tflops / copy->tflops : NAN);
  print_rate(t, op ? op->gdofs_per_second : NAN);
  print_number(t, 8, 1, cg ? cg->seconds * 1e6 : NAN);
  print_rate(t, cg ? cg->gdofs_per_second : NAN);
  sp_terminal_print(t->terminal, "\n");
}

/* True if a step has a place in the table of operators. */
static bool is_production(const sp_bench_step *step) {
  return !step->kernel && step->key.what != SP_BENCH_COPY;
}

static bool same_production(const sp_bench_step *a, const sp_bench_step *b) {
  return is_production(a) && a->key.problem == b->key.problem &&
         a->key.geometry == b->key.geometry && a->key.precision == b->key.precision &&
         a->key.elements == b->key.elements && a->key.order == b->key.order;
}

/* One line per order and mesh, sorted by problem and geometry. */
static void print_production(const tables *t) {
  bool headed = false;
  for (int kind = 0; kind < SP_OPERATORS; kind++)
    for (int g = SP_GEOMETRY_STORED; g <= SP_GEOMETRY_TRILINEAR; g++)
      for (int s = 0; s < t->plan->count; s++) {
        const sp_bench_step *step = &t->plan->steps[s];
        if (!is_production(step) || (int)step->key.problem != kind ||
            (int)step->key.geometry != g || (s > 0 && same_production(step - 1, step)))
          continue;
        if (!headed) print_production_head(t);
        headed = true;
        print_production_row(t, step);
      }
}

static bool has_precisions(const sp_bench_plan *plan) {
  for (int s = 0; s < plan->count; s++)
    if (plan->steps[s].key.precision != SP_DOUBLE) return true;
  return false;
}

void sp_bench_table_print(const sp_bench_plan *plan, const sp_bench_file *file,
                          sp_terminal *terminal) {
  const tables t = {
      .plan = plan, .file = file, .precisions = has_precisions(plan), .terminal = terminal};
  print_production(&t);
}
