/* The processor cores of a machine that its ranks leave idle, as threads. Define _GNU_SOURCE before
 * the first header, for cpu_set_t: processors as the operating system numbers them.
 *
 * A launcher binds each rank to some processors. A core that several ranks may use is divided
 * equally between them. Ranks that only wait get no part, and lend their cores. */
#pragma once

#include <sched.h>
#include <stdbool.h>

#include <mpi.h>

#include "io/error.h"

/* The ranks of one machine. */
typedef struct sp_core_view {
  int ranks;
  const cpu_set_t *bound; /* [ranks], the processors to which each rank is bound */
  const bool *works;      /* [ranks], false if the rank only waits */
  const int *core;        /* [CPU_SETSIZE], of each processor: its lowest processor */
} sp_core_view;

/* The share of the working rank `rank` in cores, rounded down but at least 1. *usable becomes its
 * processors and all processors of waiting ranks. Local. */
int sp_cores_share(const sp_core_view *view, int rank, cpu_set_t *usable);

/* Set the number of threads (io/threads.h) of this rank. It is `requested` if > 0, else
 * OMP_NUM_THREADS if set, else sp_cores_share. A rank with `works` = false waits, and has one. If a
 * rank's share includes processors of waiting ranks, also bind it to these. *smallest and *largest
 * become the extremes over the working ranks, and *idle_cores the number of cores of this rank's
 * machine to which no rank is bound. Errors: SP_ERR_SYSTEM. Collective over `all`. */
sp_status sp_cores_choose(MPI_Comm all, bool works, int requested, int *smallest, int *largest,
                          int *idle_cores);

/* Set the team of threads for kernels (io/team.h) of this rank: `requested` > 0, else
 * OMP_NUM_THREADS if this is set, else 1. Returns its size. Local. */
int sp_cores_set_team(int requested);
