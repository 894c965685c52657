#include <math.h>
#include <stdlib.h>

#include "solver/bench/bench.h"

/* Long enough that the cost of reading the clock is negligible. */
static const double SHORTEST_HOST_SAMPLE = 2e-3;
/* Events resolve about half a microsecond; the paper averages copies over ten calls. Ranks do not
 * start a sample at the same moment, so with several ranks samples must be longer. */
static const double SHORTEST_GPU_SAMPLE = 1e-3;
enum { MOST_GPU_CALLS = 10, GPU_CALLS_OF_SEVERAL_RANKS = 200 };
/* The device pauses while the host queues a sample; these seconds exceed the time of the launches.
 */
static const double PAUSE_PER_CALL = 20e-6, PAUSE_PER_SAMPLE = 20e-6;
enum { HOST_WARM_UP = 8, GPU_WARM_UP = 2 };
/* All input sets together are larger than the cache by this factor. */
static const double TIMES_CACHE = 4;
enum { MOST_SETS = 8192 };

int sp_bench_input_sets(const sp_bench *b, double bytes) {
  if (b->warm_cache) return 1;
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MAX, b->platform->comm);
  return (int)fmin(MOST_SETS, 1 + ceil(TIMES_CACHE * b->gpu.cache_bytes / bytes));
}

static int compare_seconds(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void sp_bench_summarize(MPI_Comm comm, int count, double *samples, sp_bench_row *row) {
  MPI_Allreduce(MPI_IN_PLACE, samples, count, MPI_DOUBLE, MPI_MAX, comm);
  qsort(samples, (size_t)count, sizeof *samples, compare_seconds);
  row->samples = count;
  row->seconds = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
  row->seconds_min = samples[0];
  row->seconds_max = samples[count - 1];
  row->tflops = row->flops / row->seconds * 1e-12;
  row->gbytes_per_second = row->bytes / row->seconds * 1e-9;
  row->gdofs_per_second = (double)row->dofs / row->seconds * 1e-9;
}

/* Time calls on the device, or from start to end on the host. Calls may exchange data with
 * neighbours, so a rank that fails still makes all of them. */
static sp_status time_calls(const sp_bench *b, sp_bench_call *call, int calls, int *turn,
                            double *seconds) {
  const sp_gpu_tools *gpu = sp_gpu_tools_cuda;
  sp_device *device = b->platform->device;
  sp_status status = SP_OK;
  MPI_Barrier(b->platform->comm);
  const double start = MPI_Wtime();
  if (b->stamps) status = gpu->pause(device, PAUSE_PER_SAMPLE + PAUSE_PER_CALL * calls);
  if (b->stamps && !status) status = gpu->start(device, b->stamps);
  for (int c = 0; c < calls; c++) status = sp_first_failure(status, call(b, (*turn)++));
  if (b->stamps && !status) status = gpu->end(device, b->stamps);
  if (!status) status = b->platform->backend->finish(device);
  *seconds = MPI_Wtime() - start;
  if (b->stamps && !status) status = gpu->seconds(b->stamps, seconds);
  MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, b->platform->comm);
  return sp_agree(b->platform->comm, status);
}

/* The number of calls for the next sample, if `calls` took these seconds. */
static int choose_calls(const sp_bench *b, int calls, double seconds) {
  if (!b->stamps) return seconds < SHORTEST_HOST_SAMPLE ? 2 * calls : calls;
  if (sp_comm_size(b->platform->comm) > 1) return GPU_CALLS_OF_SEVERAL_RANKS;
  return (int)fmin(MOST_GPU_CALLS, 1 + floor(SHORTEST_GPU_SAMPLE * calls / fmax(seconds, 1e-9)));
}

sp_status sp_bench_time(const sp_bench *b, sp_bench_call *call, sp_bench_row *row) {
  const bool chooses = row->calls == 0;
  double samples[SP_BENCH_MOST_REPEATS], seconds;
  int turn = 0;
  if (chooses) row->calls = 1;
  for (int s = b->stamps ? -GPU_WARM_UP : -HOST_WARM_UP; s < b->samples; s++) {
    SP_TRY(time_calls(b, call, row->calls, &turn, &seconds));
    if (s >= 0) samples[s] = seconds / row->calls;
    if (s < 0 && chooses) row->calls = choose_calls(b, row->calls, seconds);
  }
  sp_bench_summarize(b->platform->comm, b->samples, samples, row);
  return SP_OK;
}
