/* How long a call takes: samples on the device's own clock (events) on a GPU, on the host's
 * otherwise. */
#ifndef SP_SOLVER_BENCH_CLOCK_H
#define SP_SOLVER_BENCH_CLOCK_H

#include <stdbool.h>

#include "operators/paper/measure.h"
#include "operators/platform.h"
#include "solver/bench/file.h"

/* A device and what is needed to time it. */
typedef struct sp_bench_clock {
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  int samples;
  bool warm_cache;   /* calls need no changing inputs: as asked for, or because this is no GPU */
  sp_gpu gpu;        /* all zero on the host */
  sp_stamps *stamps; /* NULL on the host */
} sp_bench_clock;

/* The platform stays with the caller. The caller destroys *clock, also after an error. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_clock_create(const sp_platform *platform, int samples, bool warm_cache,
                                sp_bench_clock *clock);
void sp_bench_clock_destroy(sp_bench_clock *clock); /* Local. */

/* How many input sets of `bytes` each exceed the cache together, several times; 1 with warm_cache.
 * The same on all ranks for the largest of their `bytes`. Collective. */
int sp_bench_input_sets(const sp_bench_clock *clock, double bytes);

/* Queue one call; `turn` counts them, for choosing among input sets. */
typedef sp_status sp_bench_call(const void *context, int turn);

/* Time `call`: some calls to warm up, then clock->samples samples of `calls` calls each, queued
 * back to back (0: few that take long, or up to ten short ones; on the host, as many as the clock
 * needs). Of several ranks the slowest counts. Fills the times and rates of *row, whose dofs, flops
 * and bytes are set. Errors: those of the calls. Collective. */
sp_status sp_bench_time(const sp_bench_clock *clock, sp_bench_call *call, const void *context,
                        int calls, sp_bench_row *row);

/* Fill the times and rates of *row from samples[count], which this sorts. Of several ranks the
 * slowest counts. Collective. */
void sp_bench_summarize(MPI_Comm comm, int count, double *samples, sp_bench_row *row);

#endif
