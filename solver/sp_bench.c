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
#include "solver/run/interrupt.h"
#include "solver/run/provenance.h"

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

static sp_status measure_gpu(const sp_bench_clock *clock, sp_bench_provenance *provenance) {
  provenance->gpu = true;
  provenance->properties = clock->gpu;
  SP_TRY(sp_gpu_measure_shared(clock->platform->device, &provenance->shared_bandwidth));
  return sp_gpu_measure_fp64(clock->platform->device, &provenance->fp64_rate);
}

static void print_head(const sp_bench_provenance *p, sp_terminal *terminal) {
  sp_terminal_print(terminal, "sp_bench %s (%s)\n%s\n", sp_version(), sp_revision(), p->device);
  if (!p->gpu) return;
  if (p->properties.memory_bandwidth > 0)
    sp_terminal_print(terminal, "memory   %.0f GB/s by its clock and bus\n",
                      p->properties.memory_bandwidth * 1e-9);
  sp_terminal_print(terminal,
                    "shared   %.1f TB/s by the paper's formula, %.1f TB/s measured\n"
                    "FP64     %.1f TFLOP/s measured (multiply-adds, no tensor cores)\n",
                    p->properties.shared_bandwidth * 1e-12, p->shared_bandwidth * 1e-12,
                    p->fp64_rate * 1e-12);
}

/* Run the whole study on an open device. Collective. */
static sp_status run_study(study *s, const sp_bench_options *o, sp_bench_provenance *provenance,
                           sp_terminal *terminal) {
  const sp_bench_clock *clock = &s->clock;
  const bool gpu = clock->stamps != NULL;
  const sp_bench_target target = {.gpu = gpu,
                                  .single_operators = clock->platform->backend->single_operators,
                                  .warm_cache = clock->warm_cache};
  sp_bench_plan plan = {0};
  sp_bench_file *file = NULL;
  sp_status status = gpu ? measure_gpu(clock, provenance) : SP_OK;
  status = sp_agree(clock->comm, status);
  if (!status) {
    print_head(provenance, terminal);
    status = sp_bench_plan_make(o, &target, terminal, &plan);
    status = sp_agree(clock->comm, status);
  }
  if (!status) status = sp_bench_file_open(clock->comm, o->output, provenance, &file);
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
  study s = {.c = {.map = o->map, .platform = &platform}};
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, o->quiet);
  int smallest, largest, idle_cores;
  SP_TRY(sp_cores_choose(MPI_COMM_WORLD, true, 0, &smallest, &largest, &idle_cores));
  sp_cores_set_team(0);
  SP_TRY(sp_platform_open(MPI_COMM_WORLD, o->device, o->exchange, &platform));
  sp_bench_provenance provenance = {.device = platform.backend->describe(platform.device),
                                    .exchange = sp_transport_names[o->exchange],
                                    .options = command_line};
  sp_status status = sp_bench_clock_create(&platform, o->repeats, o->warm_cache, &s.clock);
  if (!status) status = run_study(&s, o, &provenance, &terminal);
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
