#define _GNU_SOURCE /* cpu_set_t */
/* The benchmark program: measures the paper's kernels and the program's own operators by order and
 * mesh, and the machine's rates for their rooflines; writes one file. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/cores.h"
#include "io/terminal.h"
#include "solver/bench/paper.h"
#include "solver/bench/production.h"
#include "solver/bench/table.h"
#include "solver/report/provenance.h"
#include "solver/solve/interrupt.h"

/* The current data: a step of the plan reuses or replaces them. */
typedef struct study {
  sp_bench_clock clock;
  sp_bench_case c;
  sp_bench_paper paper;
  sp_bench_production production;
} study;

static void drop_data(study *s) {
  sp_bench_paper_destroy(&s->paper);
  sp_bench_production_destroy(&s->production);
}

/* Make the data that a step needs; keep those that fit. */
static sp_status set_up(study *s, const sp_bench_step *step) {
  const sp_bench_row *key = &step->key;
  const bool same_case = s->c.elements == key->elements && s->c.order == key->order;
  const bool have_paper = s->paper.clock && same_case && s->paper.kind == key->problem;
  const bool have_production =
      s->production.clock && same_case && s->production.kind == key->problem &&
      s->production.geometry == key->geometry && s->production.precision == key->precision;
  const bool is_copy = key->what == SP_BENCH_COPY;
  if (step->kernel ? have_paper : have_production && !is_copy) return SP_OK;
  drop_data(s);
  SP_TRY(sp_bench_case_set(&s->c, key->elements, key->order));
  if (is_copy) return SP_OK;
  if (step->kernel) return sp_bench_paper_create(&s->clock, &s->c, key->problem, &s->paper);
  return sp_bench_production_create(&s->clock, &s->c, key->problem, key->geometry, key->precision,
                                    &s->production);
}

static sp_status measure(study *s, const sp_bench_step *step, sp_bench_row *row) {
  *row = step->key;
  SP_TRY(set_up(s, step));
  if (row->what == SP_BENCH_COPY)
    return sp_bench_copy_time(&s->clock, &s->c, row->problem, row->precision, row);
  if (step->kernel) return sp_bench_paper_time(&s->paper, step->kernel, row);
  return sp_bench_production_time(&s->production, row->what, row);
}

/* Fail with SP_ERR_INTERRUPTED if any rank got a signal. Called between measurements.
 * Collective. */
static sp_status check_signals(MPI_Comm comm, int done, int planned) {
  int noted = sp_interrupt_noted();
  MPI_Allreduce(MPI_IN_PLACE, &noted, 1, MPI_INT, MPI_MAX, comm);
  if (!noted) return SP_OK;
  return sp_fail(SP_ERR_INTERRUPTED, "interrupted by a signal, %d of %d measurements done", done,
                 planned);
}

static sp_status run_plan(study *s, const sp_bench_plan *plan, sp_bench_file *file,
                          sp_terminal *terminal) {
  sp_status status = SP_OK;
  sp_interrupt_watch();
  for (int n = 0; n < plan->count && !status; n++) {
    const sp_bench_step *step = &plan->steps[n];
    char text[128];
    sp_bench_row row;
    sp_bench_step_describe(step, sizeof text, text);
    if (sp_terminal_is_due(terminal))
      sp_terminal_show(terminal, "%d of %d: %s", n + 1, plan->count, text);
    status = check_signals(s->clock.comm, n, plan->count);
    if (!status) status = measure(s, step, &row);
    if (!status) status = sp_bench_file_add(file, &row);
  }
  drop_data(s);
  sp_bench_case_clear(&s->c);
  sp_terminal_clear(terminal);
  return status;
}

static void record_version(sp_record *record, const char *name, int version) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
  sp_record_text(record, name, text);
}

/* *out = the attributes of the file, on rank 0; the caller destroys it, also after an error. */
static sp_status record_provenance(const sp_bench_clock *clock, const sp_bench_options *o,
                                   const char *command_line, sp_record **out) {
  const sp_platform *platform = clock->platform;
  const sp_gpu *gpu = &clock->gpu;
  double shared = 0, fp64 = 0;
  SP_OWNED char *hosts = NULL;
  SP_TRY(sp_list_hosts(clock->comm, &hosts));
  sp_status status = sp_comm_rank(clock->comm) == 0 ? sp_record_create(out) : SP_OK;
  if (!status && clock->stamps) status = sp_gpu_measure_shared(platform->device, &shared);
  if (!status && clock->stamps) status = sp_gpu_measure_fp64(platform->device, &fp64);
  SP_TRY(sp_agree(clock->comm, status));
  sp_record *record = *out;
  sp_record_program(record, "sp_bench");
  sp_record_add(record, "hosts %s, ranks %d, device %s, exchange %s, options %s, status %s", hosts,
                sp_comm_size(clock->comm), platform->backend->describe(platform->device),
                sp_transport_names[o->exchange], command_line, "running");
  if (!clock->stamps) return SP_OK;
  record_version(record, "cuda_driver", gpu->driver);
  record_version(record, "cuda_runtime", gpu->runtime);
  sp_record_add(record, "multiprocessors %d, clock %g [Hz], cache %g [B]", gpu->multiprocessors,
                gpu->clock, gpu->cache_bytes);
  if (gpu->memory_bandwidth > 0)
    sp_record_real(record, "memory_bandwidth_theoretical", gpu->memory_bandwidth, "B/s");
  sp_record_add(record,
                "shared_bandwidth_formula %g [B/s], shared_bandwidth_measured %g [B/s], "
                "fp64_measured %g [flop/s]",
                gpu->shared_bandwidth, shared, fp64);
  return SP_OK;
}

/* Run the whole study on an open device. Collective. */
static sp_status run_study(study *s, const sp_bench_options *o, const char *command_line,
                           sp_terminal *terminal) {
  const sp_bench_clock *clock = &s->clock;
  const sp_bench_target target = {.gpu = clock->stamps != NULL,
                                  .single_operators = clock->platform->backend->single_operators,
                                  .warm_cache = clock->warm_cache};
  sp_bench_plan plan = {0};
  sp_bench_file *file = NULL;
  SP_AUTO(sp_record) record = NULL;
  sp_status status = record_provenance(clock, o, command_line, &record);
  if (!status) {
    sp_record_print(record, terminal,
                    "sp_bench {version:s} ({git_revision:s})\n{device:s}\n"
                    "[memory   {memory_bandwidth_theoretical*1e-9:.0f} GB/s by its clock and bus\n]"
                    "[shared   {shared_bandwidth_formula*1e-12:.1f} TB/s by the paper's formula, "
                    "{shared_bandwidth_measured*1e-12:.1f} TB/s measured\n"
                    "FP64     {fp64_measured*1e-12:.1f} TFLOP/s measured (multiply-adds, no tensor "
                    "cores)\n]");
    status = sp_agree(clock->comm, sp_bench_plan_make(o, &target, &plan));
  }
  if (!status) status = sp_bench_file_open(clock->comm, o->output, record, &file);
  if (!status) {
    status = run_plan(s, &plan, file, terminal);
    if (!status || status == SP_ERR_INTERRUPTED) sp_bench_table_print(&plan, file, terminal);
    status = sp_bench_file_close(&file, status);
  }
  if (!status) sp_terminal_print(terminal, "\nresults          %s\n", o->output);
  sp_bench_plan_destroy(&plan);
  return status;
}

static sp_status run(const sp_bench_options *o, const char *command_line) {
  sp_platform platform;
  study s = {.c = {.platform = &platform}};
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, o->quiet);
  int smallest, largest, idle_cores;
  SP_TRY(sp_cores_choose(MPI_COMM_WORLD, true, 0, &smallest, &largest, &idle_cores));
  sp_cores_set_team(0);
  SP_TRY(sp_platform_open(MPI_COMM_WORLD, o->device, o->exchange, &platform));
  sp_status status = sp_bench_clock_create(&platform, o->repeats, o->warm_cache, &s.clock);
  if (!status) status = run_study(&s, o, command_line, &terminal);
  sp_bench_clock_destroy(&s.clock);
  sp_platform_close(&platform);
  return status;
}

/* Join the arguments to one line, for the file; the caller frees it. */
static sp_status join(int argc, char **argv, char **line) {
  size_t size = 1;
  for (int a = 1; a < argc; a++) size += strlen(argv[a]) + 1;
  SP_TRY(sp_allocate(size, 1, "the command line", line));
  for (int a = 1; a < argc; a++) {
    if (a > 1) strcat(*line, " ");
    strcat(*line, argv[a]);
  }
  return SP_OK;
}

int main(int argc, char **argv) {
  int level;
  sp_bench_options o;
  char *command_line = NULL;
  /* Ignore SIGXFSZ so that write() fails and can be reported. */
  signal(SIGXFSZ, SIG_IGN);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  sp_terminal_start();
  sp_allocate_start();
  const int rank = sp_comm_rank(MPI_COMM_WORLD);
  sp_status status =
      join(argc, argv, &command_line); /* before parsing, which modifies lists in argv */
  if (!status) status = sp_bench_options_parse(argc, argv, &o);
  status = sp_agree(MPI_COMM_WORLD, status);
  if (!status && o.help && rank == 0) fputs(sp_bench_usage, stdout);
  if (!status && !o.help) status = run(&o, command_line);
  if (!status) status = sp_agree(MPI_COMM_WORLD, sp_terminal_check());
  if (status && rank == 0) fprintf(stderr, "sp_bench: %s\n", sp_error_message());
  free(command_line);
  MPI_Finalize();
  return sp_exit_code(status);
}
