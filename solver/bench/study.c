#include "solver/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/record.h"
#include "io/run_log.h"

/* ---- Plan ---- */

enum { PRODUCTION, PAPER }; /* of SP_BENCH_KERNELS */

static sp_status add_measurement(sp_bench_plan *plan, sp_bench_row key) {
  SP_TRY(sp_reserve((size_t)plan->count, 1, sizeof *plan->rows, "results", &plan->rows));
  key.warm_cache = key.warm_cache || key.what == SP_BENCH_CG;
  plan->rows[plan->count++] = key;
  return SP_OK;
}

/* Plan a copy, and the paper's kernels if they are selected. */
static sp_status add_roofline(sp_bench_plan *plan, bool paper, sp_bench_row key) {
  int count;
  const sp_paper_kernel *kernels = sp_paper_kernels(&count);
  key.what = SP_BENCH_COPY;
  key.geometry = SP_GEOMETRY_STORED;
  SP_TRY(add_measurement(plan, key));
  key.what = SP_BENCH_UNASSEMBLED;
  for (int k = 0; k < count && paper && key.precision == SP_DOUBLE; k++) {
    key.paper = &kernels[k];
    if (kernels[k].problem == key.problem && kernels[k].order[key.order].launch)
      SP_TRY(add_measurement(plan, key));
  }
  return SP_OK;
}

/* Return the number of elements of a cube with about `dofs` degrees of freedom. */
static sp_gid elements_for_dofs(int64_t dofs, int order) {
  const sp_gid side = (sp_gid)fmax(1, round(cbrt((double)dofs) / order));
  return side * side * side;
}

/* v = combination n of the values of the lists, 0 for an empty list. False if n is too large. */
static bool find_combination(const sp_bench_list *lists, int n, int64_t v[SP_BENCH_VARIED]) {
  for (int i = SP_BENCH_VARIED - 1; i >= 0; i--) {
    const int count = lists[i].count > 0 ? lists[i].count : 1;
    v[i] = lists[i].values[n % count];
    n /= count;
  }
  return n == 0;
}

sp_status sp_bench_plan_make(const sp_bench_options *options, const sp_bench *b,
                             sp_bench_plan *plan) {
  const sp_bench_list *lists = options->lists;
  const bool own = sp_bench_has(options, SP_BENCH_KERNELS, PRODUCTION);
  const bool paper = sp_bench_has(options, SP_BENCH_KERNELS, PAPER);
  const bool roofline = sp_bench_has(options, SP_BENCH_MEASURES, SP_BENCH_UNASSEMBLED);
  const int operators = lists[SP_BENCH_GEOMETRIES].count * lists[SP_BENCH_MEASURES].count;
  int64_t v[SP_BENCH_VARIED];
  int kernels;
  *plan = (sp_bench_plan){0};
  sp_paper_kernels(&kernels);
  if (paper && (kernels == 0 || !b->stamps))
    return sp_fail(SP_ERR_INPUT,
                   "--kernel: the paper's kernels need a GPU (--device cuda) and a program built "
                   "with -DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON; or use --kernel production");
  for (int n = 0; find_combination(lists, n, v); n++) {
    const int order = (int)v[SP_BENCH_ORDERS];
    const sp_bench_row key = {.what = (sp_bench_what)v[SP_BENCH_MEASURES],
                              .problem = (sp_operator_kind)v[SP_BENCH_PROBLEMS],
                              .geometry = (sp_geometry_kind)v[SP_BENCH_GEOMETRIES],
                              .precision = (sp_precision)v[SP_BENCH_PRECISIONS],
                              .order = order,
                              .elements = v[SP_BENCH_ELEMENTS] > 0
                                              ? v[SP_BENCH_ELEMENTS]
                                              : elements_for_dofs(v[SP_BENCH_DOFS], order),
                              .warm_cache = b->warm_cache};
    if (roofline && n % operators == 0) SP_TRY(add_roofline(plan, paper, key));
    if (own && (key.what != SP_BENCH_CG || key.precision == SP_DOUBLE))
      SP_TRY(add_measurement(plan, key));
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

static void record_measurement(sp_record *record, const sp_bench_row *r) {
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

/* The highest rate in the last of copy, unassembled, operator and cg that rows[count] have. */
static void record_merit(sp_record *record, int count, const sp_bench_row *rows) {
  const sp_bench_row *best = NULL;
  char text[128];
  for (const sp_bench_row *r = rows; r < rows + count; r++) {
    if (r->what == SP_BENCH_COPY || r->paper) continue;
    const bool beats = best && r->what == best->what ? r->gdofs_per_second > best->gdofs_per_second
                                                     : !best || r->what > best->what;
    if (beats) best = r;
  }
  if (!best) return;
  sp_bench_describe(best, sizeof text, text);
  sp_record_real(record, "figure_of_merit", best->gdofs_per_second, "GDOF/s");
  sp_record_text(record, "figure_of_merit_of", text);
}

static sp_status fail_json(sp_status status, const char *path) {
  return status ? sp_fail(status, "cannot write json %s: %s", path, sp_error_message()) : SP_OK;
}

static sp_status write_json(const sp_record *record, const char *path) {
  SP_OWNED char *text = NULL;
  SP_TRY(sp_record_format(record, &text));
  return fail_json(sp_file_replace(path, text, strlen(text)), path);
}

static sp_status open_log(const char *path, const sp_record *record, sp_run_log **log) {
  if (!sp_path_is_ordinary(path))
    return sp_fail(SP_ERR_INPUT, "--output: %s is not a regular file; give another name", path);
  SP_TRY(sp_run_log_create(path, record, 0, NULL, log));
  return sp_run_log_flush(*log);
}

/* ---- Study ---- */

/* `roof`: TFLOP/s of the last copy, the paper's roofline; 0: none. */
static void print_measurement(const sp_bench_row *row, const char *text, double roof,
                              sp_terminal *out) {
  sp_terminal_print(out, "%-60s %10.4g %9.4g", text, row->seconds * 1e6, row->gdofs_per_second);
  if (row->what != SP_BENCH_CG)
    sp_terminal_print(out, " %9.4g %9.4g", row->gbytes_per_second, row->tflops);
  if (row->what != SP_BENCH_CG && roof > 0)
    sp_terminal_print(out, " %9.1f", 100 * row->tflops / roof);
  sp_terminal_print(out, "\n");
}

sp_status sp_bench_study(sp_bench *b, const sp_bench_options *options, sp_record *record,
                         sp_terminal *terminal, bool (*is_interrupted)(void)) {
  MPI_Comm comm = b->platform->comm;
  SP_AUTO_VALUE(sp_bench_plan) plan = {0};
  sp_run_log *log = NULL;
  sp_kept_error kept;
  double roof = 0;
  int done = 0;
  SP_TRY(sp_agree(comm, sp_bench_plan_make(options, b, &plan)));
  sp_status status = SP_OK;
  if (record && options->json)
    status = fail_json(sp_file_try(options->json, SP_FILE_JSON), options->json);
  SP_TRY(sp_agree(comm, status));
  status = sp_agree(comm, record ? open_log(options->output, record, &log) : SP_OK);
  if (!status)
    sp_terminal_print(terminal, "\n%60s %10s %9s %9s %9s %9s\n", "", "us", "GDOF/s", "GB/s",
                      "TFLOP/s", "% of copy");
  for (; done < plan.count && !status; done++) {
    sp_bench_row *row = &plan.rows[done];
    char text[128];
    sp_bench_describe(row, sizeof text, text);
    if (sp_terminal_is_due(terminal))
      sp_terminal_show(terminal, "%d of %d: %s", done + 1, plan.count, text);
    if (is_interrupted())
      status = sp_fail(SP_ERR_INTERRUPTED, "interrupted by a signal, %d of %d measurements done",
                       done, plan.count);
    status = sp_agree(comm, status);
    if (!status) status = sp_bench_measure(b, row);
    if (status) break;
    if (row->what == SP_BENCH_COPY) roof = row->tflops;
    print_measurement(row, text, roof, terminal);
    record_measurement(record, row);
    status = sp_agree(comm, log ? sp_run_log_flush_if_due(log) : SP_OK);
  }
  sp_terminal_clear(terminal);
  sp_error_keep(status, &kept);
  record_merit(record, done, plan.rows);
  sp_record_print(record, terminal,
                  "[\nfigure of merit  {figure_of_merit:.4g} GDOF/s: {figure_of_merit_of:s}\n]");
  sp_record_text(record, "status", status ? kept.message : "complete");
  sp_status closed = sp_run_log_close(&log);
  if (!closed && record && options->json) closed = write_json(record, options->json);
  closed = sp_agree(comm, closed);
  return status ? sp_error_restore(&kept) : closed;
}
