/* Time calls: by the device's own clock (events) on a GPU, by the host's otherwise. */
#pragma once

#include <stdbool.h>

#include "operators/paper/measure.h"
#include "operators/platform.h"
#include "solver/bench/file.h"

/* A device, and how to time it. */
typedef struct sp_bench_clock {
  MPI_Comm comm;
  const sp_platform *platform; /* borrowed */
  int samples;
  bool warm_cache;   /* all calls use the same input: as requested, or always on a host */
  sp_gpu gpu;        /* all zero on the host */
  sp_stamps *stamps; /* NULL on the host */
} sp_bench_clock;

/* *clock borrows the platform, which must outlive it. `samples`: 1 to SP_BENCH_MAX_REPEATS
 * (solver/bench/options.h). The caller destroys *clock, also after an error. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_bench_clock_create(const sp_platform *platform, int samples, bool warm_cache,
                                sp_bench_clock *clock);
void sp_bench_clock_destroy(sp_bench_clock *clock); /* Local. */

/* The number of input sets of `bytes` each that together are several times larger than the cache; 1
 * with warm_cache. The same on all ranks, for the largest `bytes` of any rank. Collective. */
int sp_bench_input_sets(const sp_bench_clock *clock, double bytes);

/* Queue one call; `turn` is its number, from 0, for choosing the input set. */
typedef sp_status sp_bench_call(const void *context, int turn);

/* Time `call`: some calls to warm up, then clock->samples samples of `calls` calls each, queued
 * back to back. With calls = 0 their number is chosen: on a GPU one long call or up to ten short
 * ones, on the host the number that the clock's resolution needs. The slowest rank counts. Sets the
 * times and rates of *row; its dofs, flops and bytes must be set before. Errors: those of the
 * calls. Collective. */
sp_status sp_bench_time(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                        int calls, sp_bench_row *row);

/* Set the times and rates of *row from samples[count], in seconds per call; sorts them. For each
 * sample the slowest rank counts. Collective. */
void sp_bench_summarize(MPI_Comm comm, int count, double *samples, sp_bench_row *row);
