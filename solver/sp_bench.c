#define _GNU_SOURCE /* cpu_set_t */
/* The benchmark program: measures the paper's kernels and the program's own operators by order and
 * mesh, and the machine's rates for their rooflines; writes one file. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/cores.h"
#include "solver/bench/bench.h"
#include "solver/report/provenance.h"
#include "solver/solve/interrupt.h"

/* *out = the attributes of the file, on rank 0; the caller destroys it, also after an error. */
static sp_status record_provenance(const sp_bench *b, const sp_bench_options *o,
                                   const char *command_line, sp_record **out) {
  MPI_Comm comm = b->platform->comm;
  sp_device *device = b->platform->device;
  const sp_gpu_facts *gpu = &b->gpu;
  double shared = 0, fp64 = 0;
  char text[2][32];
  SP_OWNED char *hosts = NULL;
  SP_TRY(sp_list_hosts(comm, &hosts));
  sp_status status = sp_comm_rank(comm) == 0 ? sp_record_create(out) : SP_OK;
  if (!status && b->stamps) status = sp_gpu_tools_cuda->measure_shared(device, &shared);
  if (!status && b->stamps) status = sp_gpu_tools_cuda->measure_fp64(device, &fp64);
  SP_TRY(sp_agree(comm, status));
  sp_record *record = *out;
  sp_record_program(record, "sp_bench");
  sp_record_add(record, "hosts %s, ranks %d, device %s, exchange %s, options %s, status %s", hosts,
                sp_comm_size(comm), b->platform->backend->describe(device),
                sp_transport_names[o->lists[SP_BENCH_EXCHANGE].values[0]], command_line, "running");
  if (!b->stamps) return SP_OK;
  const int versions[] = {gpu->driver, gpu->runtime};
  for (int v = 0; v < 2; v++)
    snprintf(text[v], sizeof text[v], "%d.%d", versions[v] / 1000, versions[v] % 1000 / 10);
  sp_record_add(record,
                "cuda_driver %s, cuda_runtime %s, multiprocessors %d, clock %g [Hz], cache %g [B], "
                "shared_bandwidth_formula %g [B/s], shared_bandwidth_measured %g [B/s], "
                "fp64_measured %g [flop/s]",
                text[0], text[1], gpu->multiprocessors, gpu->clock, gpu->cache_bytes,
                gpu->shared_bandwidth, shared, fp64);
  if (gpu->memory_bandwidth > 0)
    sp_record_real(record, "memory_bandwidth_theoretical", gpu->memory_bandwidth, "B/s");
  return SP_OK;
}

static sp_status run_study(sp_bench *b, const sp_bench_options *o, const char *command_line) {
  sp_terminal terminal = sp_terminal_open(MPI_COMM_WORLD, o->quiet);
  SP_AUTO(sp_record) record = NULL;
  SP_TRY(record_provenance(b, o, command_line, &record));
  sp_record_print(record, &terminal,
                  "sp_bench {version:s} ({git_revision:s})\n{device:s}\n"
                  "[memory   {memory_bandwidth_theoretical*1e-9:.0f} GB/s by its clock and bus\n]"
                  "[shared   {shared_bandwidth_formula*1e-12:.1f} TB/s by the paper's formula, "
                  "{shared_bandwidth_measured*1e-12:.1f} TB/s measured\n"
                  "FP64     {fp64_measured*1e-12:.1f} TFLOP/s measured (multiply-adds, no tensor "
                  "cores)\n]");
  sp_interrupt_watch();
  SP_TRY(sp_bench_study(b, o, record, &terminal, sp_interrupt_noted));
  sp_terminal_print(&terminal, "\nresults          %s\n", o->output);
  return SP_OK;
}

static sp_status run_bench(const sp_bench_options *o, const char *command_line) {
  sp_platform platform;
  sp_bench b;
  int smallest, largest, idle_cores;
  SP_TRY(sp_cores_choose(MPI_COMM_WORLD, true, 0, &smallest, &largest, &idle_cores));
  sp_cores_set_team(0);
  SP_TRY(sp_platform_open(MPI_COMM_WORLD, (sp_device_kind)o->lists[SP_BENCH_DEVICE].values[0],
                          (sp_transport)o->lists[SP_BENCH_EXCHANGE].values[0], &platform));
  sp_status status =
      sp_bench_open(&platform, (int)o->lists[SP_BENCH_REPEATS].values[0], o->warm_cache, &b);
  if (!status) status = run_study(&b, o, command_line);
  sp_bench_close(&b);
  sp_platform_close(&platform);
  return status;
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
  sp_status status = sp_format(&command_line, "%s", argc > 1 ? argv[1] : "");
  for (int a = 2; a < argc && !status; a++)
    status = sp_format(&command_line, "%s %s", command_line, argv[a]);
  if (!status) status = sp_bench_options_parse(argc, argv, &o);
  status = sp_agree(MPI_COMM_WORLD, status);
  if (!status && o.help && rank == 0) sp_bench_print_usage();
  if (!status && !o.help) status = run_bench(&o, command_line);
  if (!status) status = sp_agree(MPI_COMM_WORLD, sp_terminal_check());
  if (status && rank == 0) fprintf(stderr, "sp_bench: %s\n", sp_error_message());
  free(command_line);
  MPI_Finalize();
  return sp_exit_code(status);
}
