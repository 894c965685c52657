#include "solver/bench/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/path.h"
#include "io/record.h"
#include "io/run_log.h"

/* ---- Plan ---- */

static sp_status add_row(sp_bench_plan *plan, sp_bench_row key) {
  SP_TRY(sp_reserve((size_t)plan->count, 1, sizeof *plan->rows, "results", &plan->rows));
  key.warm_cache = key.warm_cache || key.what == SP_BENCH_CG;
  plan->rows[plan->count++] = key;
  return SP_OK;
}

static sp_status add_paper(sp_bench_plan *plan, sp_bench_row key) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  for (int k = 0; k < count; k++) {
    key.paper = &kernels[k];
    if (kernels[k].problem == key.problem && kernels[k].order[key.order].launch)
      SP_TRY(add_row(plan, key));
  }
  return SP_OK;
}

static sp_status add_problem(sp_bench_plan *plan, const sp_bench_options *o, sp_bench_row key) {
  const bool in_double = key.precision == SP_DOUBLE;
  key.geometry = SP_GEOMETRY_STORED;
  key.what = SP_BENCH_COPY;
  if (sp_bench_has(&o->measures, SP_BENCH_UNASSEMBLED)) {
    SP_TRY(add_row(plan, key));
    key.what = SP_BENCH_UNASSEMBLED;
    if (sp_bench_has(&o->kernels, SP_BENCH_PAPER) && in_double) SP_TRY(add_paper(plan, key));
  }
  for (int g = 0; g < o->geometries.count && sp_bench_has(&o->kernels, SP_BENCH_PRODUCTION); g++)
    for (int m = 0; m < o->measures.count; m++) {
      key.geometry = (sp_geometry_kind)o->geometries.values[g];
      key.what = (sp_bench_what)o->measures.values[m];
      if (in_double || key.what != SP_BENCH_CG) SP_TRY(add_row(plan, key));
    }
  return SP_OK;
}

static sp_status add_order(sp_bench_plan *plan, const sp_bench_options *o, sp_bench_row key) {
  for (int p = 0; p < o->problems.count; p++)
    for (int s = 0; s < o->precisions.count; s++) {
      key.problem = (sp_operator_kind)o->problems.values[p];
      key.precision = (sp_precision)o->precisions.values[s];
      SP_TRY(add_problem(plan, o, key));
    }
  return SP_OK;
}

/* Return the number of elements of a cube with about `dofs` degrees of freedom. */
static sp_gid elements_for_dofs(int64_t dofs, int order) {
  const sp_gid side = (sp_gid)fmax(1, round(cbrt((double)dofs) / order));
  return side * side * side;
}

sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench *b,
                             sp_bench_plan *plan) {
  const sp_bench_options *o = options;
  const bool by_elements = o->elements.count > 0;
  const sp_bench_list *sizes = by_elements ? &o->elements : &o->dofs;
  int kernels;
  *plan = (sp_bench_plan){0};
  sp_paper_kernels(&kernels);
  if (sp_bench_has(&o->kernels, SP_BENCH_PAPER) && (kernels == 0 || !b->stamps))
    return sp_fail(SP_ERR_INPUT,
                   "--kernel: the paper's kernels need a GPU (--device cuda) and a program built "
                   "with -DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON; or use --kernel production");
  for (int m = 0; m < sizes->count; m++)
    for (int n = 0; n < o->orders.count; n++) {
      const int order = (int)o->orders.values[n];
      const sp_gid elements =
          by_elements ? sizes->values[m] : elements_for_dofs(sizes->values[m], order);
      SP_TRY(add_order(
          plan, o,
          (sp_bench_row){.order = order, .elements = elements, .warm_cache = b->warm_cache}));
    }
  for (int r = 0; r < plan->count; r++)
    if (plan->rows[r].what != SP_BENCH_COPY) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "nothing to measure: no kernel matches the problems, "
                               "orders, precisions and measurements requested");
}

void sp_bench_plan_destroy(sp_bench_plan *plan) {
  free(plan->rows);
  *plan = (sp_bench_plan){0};
}

/* ---- File ---- */

static void record_row(sp_record *record, const sp_bench_row *r) {
  const sp_paper_resources *used = &r->resources;
  sp_record_open(record, SP_RECORD_TABLE, "bench");
  sp_record_row(record,
                "what %s, problem %s, geometry %s, precision %s, threads %d, kernel %d, "
                "order %d, elements %lld, warm_cache %d, dofs %lld, sets %d, samples %d, calls %d, "
                "seconds %g [s], seconds_min %g [s], seconds_max %g [s], flops %g, bytes %g [B], "
                "tflops %g [TFLOP/s], gbytes_per_second %g [GB/s], gdofs_per_second %g [GDOF/s], "
                "error %g, registers %d, shared_bytes %d, local_bytes %d, block_threads %d, "
                "shared_traffic %d",
                sp_bench_what_names[r->what], sp_operator_names[r->problem],
                sp_geometry_names[r->geometry], sp_bench_precision_names[r->precision],
                r->paper ? r->paper->threads : 0, r->paper ? r->paper->number : 0, r->order,
                (long long)r->elements, r->warm_cache, (long long)r->dofs, r->sets, r->samples,
                r->calls, r->seconds, r->seconds_min, r->seconds_max, r->flops, r->bytes, r->tflops,
                r->gbytes_per_second, r->gdofs_per_second, r->error, used->registers,
                used->shared_bytes, used->local_bytes, used->threads,
                r->paper ? (int)sp_paper_shared_bytes(r->paper, r->order) : 0);
  sp_record_close(record);
}

static sp_status open_log(const char *path, const sp_record *record, sp_run_log **log) {
  if (!sp_path_is_ordinary(path))
    return sp_fail(SP_ERR_INPUT, "--output: %s is not a regular file; give another name", path);
  SP_TRY(sp_run_log_create(path, record, 0, NULL, log));
  return sp_run_log_flush(*log);
}

/* ---- Table: the program's own kernels. (io/plot draws the paper's.) ---- */

enum { COLUMNS = 8 };

static void print_head(sp_terminal *terminal) {
  static const char *const head[2][COLUMNS] = {
      {"MDOF", "copy", "local", "local", "of paper", "L to L", "CG", "CG"},
      {"", "GB/s", "Gnode/s", "TFLOP/s", "roof %", "GDOF/s", "us", "GDOF/s"}};
  for (int line = 0; line < 2; line++) {
    sp_terminal_print(terminal, "%s%-6s %-9s %-6s %3s %9s", line ? "" : "\n", "",
                      line ? "" : "geometry", "", line ? "" : "N", line ? "" : "elements");
    for (int n = 0; n < COLUMNS; n++) sp_terminal_print(terminal, " %8s", head[line][n]);
    sp_terminal_print(terminal, "\n");
  }
}

static void print_number(sp_terminal *terminal, double value) {
  const int digits = value < 1 ? 4 : value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  if (isfinite(value))
    sp_terminal_print(terminal, " %8.*f", digits, value);
  else
    sp_terminal_print(terminal, " %8s", "-");
}

static bool is_same_case(const sp_bench_row *a, const sp_bench_row *b) {
  return a->elements == b->elements && a->order == b->order && a->problem == b->problem &&
         a->precision == b->precision;
}

/* The measured row of this kind beside `key`, or one without rates. */
static const sp_bench_row *find_row(const sp_bench_plan *plan, const sp_bench_row *key,
                                    sp_bench_what what) {
  static const sp_bench_row none = {
      .seconds = NAN, .tflops = NAN, .gbytes_per_second = NAN, .gdofs_per_second = NAN};
  for (const sp_bench_row *r = plan->rows; r < plan->rows + plan->count; r++)
    if (r->what == what && r->samples > 0 && !r->paper && is_same_case(r, key) &&
        (what == SP_BENCH_COPY || r->geometry == key->geometry))
      return r;
  return &none;
}

static void print_line(const sp_bench_plan *plan, const sp_bench_row *key, sp_terminal *terminal) {
  const sp_bench_row *copy = find_row(plan, key, SP_BENCH_COPY);
  const sp_bench_row *local = find_row(plan, key, SP_BENCH_UNASSEMBLED);
  const sp_bench_row *op = find_row(plan, key, SP_BENCH_OPERATOR);
  const sp_bench_row *cg = find_row(plan, key, SP_BENCH_CG);
  const sp_gid dofs = op->dofs > 0 ? op->dofs : cg->dofs;
  const double numbers[COLUMNS] = {dofs > 0 ? (double)dofs * 1e-6 : NAN,
                                   copy->gbytes_per_second,
                                   local->gdofs_per_second,
                                   local->tflops,
                                   100 * local->tflops / copy->tflops,
                                   op->gdofs_per_second,
                                   cg->seconds * 1e6,
                                   cg->gdofs_per_second};
  sp_terminal_print(terminal, "%-6s %-9s %-6s %3d %9lld", sp_operator_names[key->problem],
                    sp_geometry_names[key->geometry], sp_bench_precision_names[key->precision],
                    key->order, (long long)key->elements);
  for (int n = 0; n < COLUMNS; n++) print_number(terminal, numbers[n]);
  sp_terminal_print(terminal, "\n");
}

/* True if row r was measured, has a place in the table, and is the last one of its line. */
static bool ends_line(const sp_bench_plan *plan, int r) {
  const sp_bench_row *row = &plan->rows[r], *next = row + 1;
  if (row->samples == 0 || row->paper || row->what == SP_BENCH_COPY) return false;
  return r + 1 == plan->count || next->samples == 0 || next->geometry != row->geometry ||
         !is_same_case(next, row);
}

/* One line per order and mesh, sorted by problem and geometry. */
static void print_table(const sp_bench_plan *plan, sp_terminal *terminal) {
  bool headed = false;
  for (int kind = 0; kind < SP_OPERATORS; kind++)
    for (int g = SP_GEOMETRY_STORED; g <= SP_GEOMETRY_TRILINEAR; g++)
      for (int r = 0; r < plan->count; r++) {
        const sp_bench_row *row = &plan->rows[r];
        if (!ends_line(plan, r) || (int)row->problem != kind || (int)row->geometry != g) continue;
        if (!headed) print_head(terminal);
        headed = true;
        print_line(plan, row, terminal);
      }
}

/* ---- Study ---- */

/* Fail if any rank got a signal. */
static sp_status check_signals(MPI_Comm comm, bool is_interrupted, int done, int planned) {
  MPI_Allreduce(MPI_IN_PLACE, &is_interrupted, 1, MPI_C_BOOL, MPI_LOR, comm);
  if (!is_interrupted) return SP_OK;
  return sp_fail(SP_ERR_INTERRUPTED, "interrupted by a signal, %d of %d measurements done", done,
                 planned);
}

static sp_status measure_row(sp_bench *b, sp_bench_row *row, sp_record *record, sp_run_log *log) {
  SP_TRY(sp_bench_measure(b, row));
  record_row(record, row);
  return sp_agree(b->platform->comm, log ? sp_run_log_flush_if_due(log) : SP_OK);
}

sp_status sp_bench_study(sp_bench *b, const sp_bench_options *options, sp_record *record,
                         sp_terminal *terminal, bool (*is_interrupted)(void)) {
  MPI_Comm comm = b->platform->comm;
  SP_AUTO_VALUE(sp_bench_plan) plan = {0};
  sp_run_log *log = NULL;
  sp_kept_error kept;
  SP_TRY(sp_agree(comm, sp_bench_plan_make(options, b, &plan)));
  sp_status status = sp_agree(comm, record ? open_log(options->output, record, &log) : SP_OK);
  for (int r = 0; r < plan.count && !status; r++) {
    char text[128];
    sp_bench_describe(&plan.rows[r], sizeof text, text);
    if (sp_terminal_is_due(terminal))
      sp_terminal_show(terminal, "%d of %d: %s", r + 1, plan.count, text);
    status = check_signals(comm, is_interrupted(), r, plan.count);
    if (!status) status = measure_row(b, &plan.rows[r], record, log);
  }
  sp_terminal_clear(terminal);
  if (!status || status == SP_ERR_INTERRUPTED) print_table(&plan, terminal);
  sp_error_keep(status, &kept);
  sp_record_text(record, "status", status ? kept.message : "complete");
  const sp_status closed = sp_agree(comm, sp_run_log_close(&log));
  return status ? sp_error_restore(&kept) : closed;
}
