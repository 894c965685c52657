#include "solver/bench/table.h"

#include <math.h>
#include <stdio.h>

typedef struct tables {
  const sp_bench_plan *plan;
  const sp_bench_file *file;
  bool precisions; /* name them: not all is in double */
  sp_terminal *terminal;
} tables;

/* The measured row with the key `key` except for its order. */
static const sp_bench_row *at_order(const tables *t, const sp_bench_row *key, int order) {
  sp_bench_row other = *key;
  other.order = order;
  return sp_bench_file_find(t->file, &other);
}

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

/* ---- Ladders ---- */

static bool order_planned(const tables *t, int64_t elements, int order) {
  for (int s = 0; s < t->plan->count; s++)
    if (t->plan->steps[s].key.elements == elements && t->plan->steps[s].key.order == order)
      return true;
  return false;
}

/* One line of TFLOP/s; nothing if no order has such a row. */
static void print_line(const tables *t, const char *name, const sp_bench_row *key) {
  char line[256];
  bool any = false;
  int length = snprintf(line, sizeof line, "%-22s", name);
  for (int order = 1; order <= SP_MAX_ORDER; order++) {
    if (!order_planned(t, key->elements, order)) continue;
    const sp_bench_row *row = at_order(t, key, order);
    any |= row != NULL;
    length += row ? snprintf(line + length, sizeof line - (size_t)length, "%7.3f", row->tflops)
                  : snprintf(line + length, sizeof line - (size_t)length, "%7s", "-");
  }
  if (any) sp_terminal_print(t->terminal, "%s\n", line);
}

static void print_ladder(const tables *t, const sp_bench_step *first) {
  sp_bench_row key = first->key;
  sp_terminal_print(t->terminal, "\n%s, %dD thread blocks, %lld elements, TFLOP/s\n%-22s",
                    sp_operator_names[key.problem], key.threads, (long long)key.elements, "N");
  for (int order = 1; order <= SP_MAX_ORDER; order++)
    if (order_planned(t, key.elements, order)) sp_terminal_print(t->terminal, "%7d", order);
  sp_terminal_print(t->terminal, "\n");
  const sp_bench_row copy = with_what(key, SP_BENCH_COPY);
  print_line(t, "roofline by copies", &copy);
  for (key.kernel = 1; key.kernel <= SP_BENCH_MAX_KERNEL; key.kernel++) {
    char name[32];
    snprintf(name, sizeof name, "kernel %d", key.kernel);
    print_line(t, name, &key);
  }
  key.threads = key.kernel = 0;
  for (key.geometry = SP_GEOMETRY_STORED; key.geometry <= SP_GEOMETRY_TRILINEAR; key.geometry++) {
    char name[48];
    snprintf(name, sizeof name, "production, %s", sp_geometry_names[key.geometry]);
    print_line(t, name, &key);
  }
}

static bool same_ladder(const sp_bench_step *a, const sp_bench_step *b) {
  return a->kernel && b->kernel && a->key.problem == b->key.problem &&
         a->key.threads == b->key.threads && a->key.elements == b->key.elements;
}

static void print_ladders(const tables *t) {
  for (int s = 0; s < t->plan->count; s++) {
    bool seen = t->plan->steps[s].kernel == NULL;
    for (int earlier = 0; earlier < s && !seen; earlier++)
      seen = same_ladder(&t->plan->steps[earlier], &t->plan->steps[s]);
    if (!seen) print_ladder(t, &t->plan->steps[s]);
  }
}

/* ---- The program's own kernels ---- */

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
  print_ladders(&t);
  print_production(&t);
}
