#include "solver/bench/clock.h"

#include <math.h>
#include <stdlib.h>

#include "solver/bench/options.h"

/* Long enough that the cost of reading the clock is negligible. */
static const double SHORTEST_HOST_SAMPLE = 2e-3;
/* Events resolve about half a microsecond; the paper averages copies over ten calls. */
static const double SHORTEST_GPU_SAMPLE = 1e-3;
enum { MOST_GPU_CALLS = 10, MOST_GPU_CALLS_OF_SEVERAL_RANKS = 200 };
/* The device pauses while the host queues a sample; these seconds exceed the time of the launches.
 */
static const double PAUSE_PER_CALL = 20e-6, PAUSE_PER_SAMPLE = 20e-6;
/* All input sets together are larger than the cache by this factor. */
static const double TIMES_CACHE = 4;
enum { MOST_SETS = 8192 };

sp_status sp_bench_clock_create(const sp_platform *platform, int samples, bool warm_cache,
                                sp_bench_clock *clock) {
  *clock = (sp_bench_clock){.comm = platform->comm,
                            .platform = platform,
                            .samples = samples,
                            .warm_cache = warm_cache || platform->backend != sp_backend_cuda};
  sp_status status = SP_OK;
  if (platform->backend == sp_backend_cuda) {
    status = sp_gpu_describe(platform->device, &clock->gpu);
    if (!status) status = sp_stamps_create(2 * samples, &clock->stamps);
  }
  return sp_agree(clock->comm, status);
}

void sp_bench_clock_destroy(sp_bench_clock *clock) {
  sp_stamps_destroy(&clock->stamps);
}

int sp_bench_input_sets(const sp_bench_clock *clock, double bytes) {
  if (clock->warm_cache) return 1;
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MAX, clock->comm);
  return (int)fmin(MOST_SETS, 1 + ceil(TIMES_CACHE * clock->gpu.cache_bytes / bytes));
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

/* ---- The host's clock ---- */

/* Calls may exchange data with neighbours, so a rank that fails still makes all of them. */

static sp_status host_sample(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                             int calls, int *turn, double *seconds) {
  sp_status status = SP_OK;
  MPI_Barrier(clock->comm);
  const double start = MPI_Wtime();
  for (int c = 0; c < calls; c++) {
    const sp_status called = call(context, (*turn)++);
    if (!status) status = called;
  }
  if (!status) status = clock->platform->backend->finish(clock->platform->device);
  *seconds = MPI_Wtime() - start;
  return sp_agree(clock->comm, status);
}

static sp_status host_time(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                           int calls, sp_bench_row *row, double *samples) {
  enum { WARM_UP = 8 };
  const bool choose = calls == 0;
  int turn = 0;
  if (choose) calls = 1;
  for (int w = 0; w < (choose ? WARM_UP : 1); w++) {
    double seconds;
    SP_TRY(host_sample(clock, call, context, calls, &turn, &seconds));
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, clock->comm);
    if (choose && seconds < SHORTEST_HOST_SAMPLE) calls *= 2;
  }
  for (int s = 0; s < clock->samples; s++) {
    SP_TRY(host_sample(clock, call, context, calls, &turn, &samples[s]));
    samples[s] /= calls;
  }
  row->calls = calls;
  return SP_OK;
}

/* ---- The device's clock ---- */

/* Queue a sample between two time stamps. */
static sp_status queue_sample(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                              int calls, int *turn, int stamp) {
  sp_status status =
      sp_gpu_pause(clock->platform->device, PAUSE_PER_SAMPLE + PAUSE_PER_CALL * calls);
  if (!status) status = sp_stamps_queue(clock->platform->device, clock->stamps, stamp);
  for (int c = 0; c < calls; c++) {
    const sp_status called = call(context, (*turn)++);
    if (!status) status = called;
  }
  if (!status) status = sp_stamps_queue(clock->platform->device, clock->stamps, stamp + 1);
  return status;
}

static sp_status warm_up(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                         int *turn, double *seconds) {
  enum { WARM_UP = 2 };
  sp_status status = SP_OK;
  for (int w = 0; w < WARM_UP; w++) {
    const sp_status queued = queue_sample(clock, call, context, 1, turn, 0);
    if (!status) status = queued;
  }
  return status ? status : sp_stamps_seconds(clock->stamps, 0, 1, seconds);
}

static sp_status gpu_time(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                          int calls, sp_bench_row *row, double *samples) {
  int turn = 0;
  double seconds = 0;
  SP_TRY(sp_agree(clock->comm, warm_up(clock, call, context, &turn, &seconds)));
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, clock->comm);
  /* Ranks do not start a sample at the same moment, so with several ranks samples must be longer.
   */
  if (calls == 0)
    calls = sp_comm_size(clock->comm) > 1
                ? MOST_GPU_CALLS_OF_SEVERAL_RANKS
                : (int)fmin(MOST_GPU_CALLS, 1 + floor(SHORTEST_GPU_SAMPLE / fmax(seconds, 1e-9)));
  sp_status status = SP_OK;
  for (int s = 0; s < clock->samples; s++) {
    const sp_status queued = queue_sample(clock, call, context, calls, &turn, 2 * s);
    if (!status) status = queued;
  }
  for (int s = 0; s < clock->samples && !status; s++) {
    status = sp_stamps_seconds(clock->stamps, 2 * s, 2 * s + 1, &samples[s]);
    samples[s] /= calls;
  }
  row->calls = calls;
  return sp_agree(clock->comm, status);
}

sp_status sp_bench_time(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                        int calls, sp_bench_row *row) {
  double samples[SP_BENCH_MAX_REPEATS];
  SP_TRY((clock->stamps ? gpu_time : host_time)(clock, call, context, calls, row, samples));
  sp_bench_summarize(clock->comm, clock->samples, samples, row);
  return SP_OK;
}
