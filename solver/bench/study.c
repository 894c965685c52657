#include "solver/bench/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/path.h"
#include "io/record.h"
#include "io/run_log.h"

/* ---- Plan ---- */

enum { PRODUCTION, PAPER }; /* of SP_BENCH_KERNELS */

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
  const sp_bench_list *geometries = &o->lists[SP_BENCH_GEOMETRIES];
  const bool in_double = key.precision == SP_DOUBLE;
  key.geometry = SP_GEOMETRY_STORED;
  if (sp_bench_has(o, SP_BENCH_MEASURES, SP_BENCH_UNASSEMBLED)) {
    SP_TRY(add_row(plan, key)); /* a copy */
    key.what = SP_BENCH_UNASSEMBLED;
    if (sp_bench_has(o, SP_BENCH_KERNELS, PAPER) && in_double) SP_TRY(add_paper(plan, key));
  }
  for (int g = 0; g < geometries->count && sp_bench_has(o, SP_BENCH_KERNELS, PRODUCTION); g++)
    for (int what = SP_BENCH_UNASSEMBLED; what <= SP_BENCH_CG; what++) {
      if (!sp_bench_has(o, SP_BENCH_MEASURES, what) || (what == SP_BENCH_CG && !in_double))
        continue;
      key.geometry = (sp_geometry_kind)geometries->values[g];
      key.what = (sp_bench_what)what;
      SP_TRY(add_row(plan, key));
    }
  return SP_OK;
}

/* The number of elements of a cube with about `dofs` degrees of freedom. */
static sp_gid elements_for_dofs(int64_t dofs, int order) {
  const sp_gid side = (sp_gid)fmax(1, round(cbrt((double)dofs) / order));
  return side * side * side;
}

/* Take the value of number n % count of the list, and n / count for the lists that vary slower. */
static int64_t next_value(const sp_bench_list *list, int *n) {
  const int64_t value = list->values[*n % list->count];
  *n /= list->count;
  return value;
}

sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench *b,
                             sp_bench_plan *plan) {
  const sp_bench_list *lists = options->lists;
  const bool by_elements = lists[SP_BENCH_ELEMENTS].count > 0;
  const sp_bench_list *sizes = &lists[by_elements ? SP_BENCH_ELEMENTS : SP_BENCH_DOFS];
  const sp_bench_list *precisions = &lists[SP_BENCH_PRECISIONS];
  const sp_bench_list *problems = &lists[SP_BENCH_PROBLEMS], *orders = &lists[SP_BENCH_ORDERS];
  int kernels;
  *plan = (sp_bench_plan){0};
  sp_paper_kernels(&kernels);
  if (sp_bench_has(options, SP_BENCH_KERNELS, PAPER) && (kernels == 0 || !b->stamps))
    return sp_fail(SP_ERR_INPUT,
                   "--kernel: the paper's kernels need a GPU (--device cuda) and a program built "
                   "with -DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON; or use --kernel production");
  const int total = precisions->count * problems->count * orders->count * sizes->count;
  for (int n = 0; n < total; n++) {
    sp_bench_row key = {.warm_cache = b->warm_cache};
    int rest = n;
    key.precision = (sp_precision)next_value(precisions, &rest);
    key.problem = (sp_operator_kind)next_value(problems, &rest);
    key.order = (int)next_value(orders, &rest);
    key.elements = next_value(sizes, &rest);
    if (!by_elements) key.elements = elements_for_dofs(key.elements, key.order);
    SP_TRY(add_problem(plan, options, key));
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

/* ---- Study ---- */

/* Fail if any rank got a signal. */
static sp_status check_signals(MPI_Comm comm, bool is_interrupted, int done, int planned) {
  MPI_Allreduce(MPI_IN_PLACE, &is_interrupted, 1, MPI_C_BOOL, MPI_LOR, comm);
  if (!is_interrupted) return SP_OK;
  return sp_fail(SP_ERR_INTERRUPTED, "interrupted by a signal, %d of %d measurements done", done,
                 planned);
}

/* `roof`: TFLOP/s of the last copy, the paper's roofline. */
static void print_row(const sp_bench_row *row, const char *text, double *roof, sp_terminal *out) {
  if (row->what == SP_BENCH_COPY) *roof = row->tflops;
  sp_terminal_print(out, "%-60s %10.4g %9.4g", text, row->seconds * 1e6, row->gdofs_per_second);
  if (row->what != SP_BENCH_CG)
    sp_terminal_print(out, " %9.4g %9.4g", row->gbytes_per_second, row->tflops);
  if (row->what != SP_BENCH_CG && *roof > 0)
    sp_terminal_print(out, " %9.1f", 100 * row->tflops / *roof);
  sp_terminal_print(out, "\n");
}

sp_status sp_bench_study(sp_bench *b, const sp_bench_options *options, sp_record *record,
                         sp_terminal *terminal, bool (*is_interrupted)(void)) {
  MPI_Comm comm = b->platform->comm;
  SP_AUTO_VALUE(sp_bench_plan) plan = {0};
  sp_run_log *log = NULL;
  sp_kept_error kept;
  double roof = 0;
  SP_TRY(sp_agree(comm, sp_bench_plan_make(options, b, &plan)));
  sp_status status = sp_agree(comm, record ? open_log(options->output, record, &log) : SP_OK);
  if (!status)
    sp_terminal_print(terminal, "\n%60s %10s %9s %9s %9s %9s\n", "", "us", "GDOF/s", "GB/s",
                      "TFLOP/s", "% of copy");
  for (int r = 0; r < plan.count && !status; r++) {
    sp_bench_row *row = &plan.rows[r];
    char text[128];
    sp_bench_describe(row, sizeof text, text);
    if (sp_terminal_is_due(terminal))
      sp_terminal_show(terminal, "%d of %d: %s", r + 1, plan.count, text);
    status = check_signals(comm, is_interrupted(), r, plan.count);
    if (!status) status = sp_bench_measure(b, row);
    if (status) break;
    print_row(row, text, &roof, terminal);
    record_row(record, row);
    status = sp_agree(comm, log ? sp_run_log_flush_if_due(log) : SP_OK);
  }
  sp_terminal_clear(terminal);
  sp_error_keep(status, &kept);
  sp_record_text(record, "status", status ? kept.message : "complete");
  const sp_status closed = sp_agree(comm, sp_run_log_close(&log));
  return status ? sp_error_restore(&kept) : closed;
}
