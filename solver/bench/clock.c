#include <math.h>
#include <stdlib.h>

#include "solver/bench/measure.h"

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
enum { MOST_SETS = 8192, GPU_WARM_UP = 2, HOST_WARM_UP = 8 };

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

/* Calls may exchange data with neighbours, so a rank that fails still makes all of them. */
static sp_status make_calls(const sp_bench *b, sp_bench_call *call, int calls, int *turn) {
  sp_status status = SP_OK;
  for (int c = 0; c < calls; c++) status = sp_first_failure(status, call(b, (*turn)++));
  return status;
}

static sp_status sample_on_host(const sp_bench *b, sp_bench_call *call, int calls, int *turn,
                                double *seconds) {
  MPI_Comm comm = b->platform->comm;
  MPI_Barrier(comm);
  const double start = MPI_Wtime();
  sp_status status = make_calls(b, call, calls, turn);
  if (!status) status = b->platform->backend->finish(b->platform->device);
  *seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return sp_agree(comm, status);
}

static sp_status time_on_host(const sp_bench *b, sp_bench_call *call, double *samples,
                              sp_bench_row *row) {
  const bool chooses = row->calls == 0;
  int turn = 0;
  if (chooses) row->calls = 1;
  for (int s = chooses ? -HOST_WARM_UP : -1; s < b->samples; s++) {
    double seconds;
    SP_TRY(sample_on_host(b, call, row->calls, &turn, &seconds));
    if (s >= 0) samples[s] = seconds / row->calls;
    if (s < 0 && chooses && seconds < SHORTEST_HOST_SAMPLE) row->calls *= 2;
  }
  return SP_OK;
}

/* Queue a sample between two time stamps. */
static sp_status queue_on_gpu(const sp_bench *b, sp_bench_call *call, int calls, int *turn,
                              int stamp) {
  sp_device *device = b->platform->device;
  sp_status status = sp_gpu_pause(device, PAUSE_PER_SAMPLE + PAUSE_PER_CALL * calls);
  if (!status) status = sp_stamps_queue(device, b->stamps, stamp);
  status = sp_first_failure(status, make_calls(b, call, calls, turn));
  return status ? status : sp_stamps_queue(device, b->stamps, stamp + 1);
}

static sp_status time_on_gpu(const sp_bench *b, sp_bench_call *call, double *samples,
                             sp_bench_row *row) {
  MPI_Comm comm = b->platform->comm;
  sp_status status = SP_OK;
  int turn = 0;
  double seconds = 0;
  for (int w = 0; w < GPU_WARM_UP; w++)
    status = sp_first_failure(status, queue_on_gpu(b, call, 1, &turn, 0));
  SP_TRY(sp_agree(comm, status ? status : sp_stamps_seconds(b->stamps, 0, 1, &seconds)));
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, comm);
  /* Ranks do not start a sample at the same moment, so with several ranks samples must be longer.
   */
  if (row->calls == 0)
    row->calls =
        sp_comm_size(comm) > 1
            ? MOST_GPU_CALLS_OF_SEVERAL_RANKS
            : (int)fmin(MOST_GPU_CALLS, 1 + floor(SHORTEST_GPU_SAMPLE / fmax(seconds, 1e-9)));
  for (int s = 0; s < b->samples; s++)
    status = sp_first_failure(status, queue_on_gpu(b, call, row->calls, &turn, 2 * s));
  for (int s = 0; s < b->samples && !status; s++) {
    status = sp_stamps_seconds(b->stamps, 2 * s, 2 * s + 1, &samples[s]);
    samples[s] /= row->calls;
  }
  return sp_agree(comm, status);
}

sp_status sp_bench_time(const sp_bench *b, sp_bench_call *call, sp_bench_row *row) {
  double samples[SP_BENCH_MOST_REPEATS];
  SP_TRY((b->stamps ? time_on_gpu : time_on_host)(b, call, samples, row));
  sp_bench_summarize(b->platform->comm, b->samples, samples, row);
  return SP_OK;
}
