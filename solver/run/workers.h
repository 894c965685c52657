/* The ranks of a run that have elements, and how the other ranks wait for them.
 *
 * With fewer GPUs than ranks, one rank for each GPU has elements (backend.share = no). A case runs
 * on the communicator of these ranks alone: mesh, vectors, exchange, sums, coarse solver and files.
 * So it runs as if the others had not been started. The others sleep, look every millisecond
 * whether the case is over, and open no device. (In a plain MPI call they would poll, and take a
 * core each.) A signal to one of them ends the iteration like a signal to any other rank. */
#ifndef SP_SOLVER_RUN_WORKERS_H
#define SP_SOLVER_RUN_WORKERS_H

#include <stdbool.h>

#include "operators/platform.h"
#include "solver/case/config.h"

typedef struct sp_workers {
  MPI_Comm all;          /* every rank of the run; borrowed */
  int ranks, count;      /* in `all`; of them with elements */
  int leader;            /* in `all`: the first rank with elements */
  bool works;            /* this rank has elements */
  MPI_Comm comm;         /* the ranks with elements, in their order; elsewhere MPI_COMM_NULL */
  sp_platform platform;  /* on `comm`; elsewhere not open */
  char description[256]; /* which ranks have elements, in words */
  int threads[2];        /* of set-up and results: the smallest and largest number per rank */
  int team;              /* threads of this rank's kernels, on CPUs */
  int idle_cores;        /* of this rank's machine: no rank may use them */
} sp_workers;

/* Choose ranks and threads as [backend] says, and open the device. Close *workers with the last
 * function, also after an error. Errors: those of sp_platform_choose_ranks, sp_platform_open and
 * sp_cores_choose. Collective over `all`. */
sp_status sp_workers_open(MPI_Comm all, const sp_config *config, sp_workers *workers);

/* The same for a choice of ranks that is made, with threads as before: this rank has elements if
 * `works`. At least one has; rank 0 must if anything is to be printed. */
sp_status sp_workers_open_on(MPI_Comm all, bool works, sp_device_kind kind, sp_transport transport,
                             sp_workers *workers);

/* All ranks meet and get the status of sp_agree. A rank without elements passes SP_OK, at once, and
 * sleeps until the others come. Collective over `all`. */
sp_status sp_workers_meet(const sp_workers *workers, sp_status status);

/* Whether a rank without elements has been asked to end by a signal; true on the leader alone.
 * Local. */
bool sp_workers_interrupted(const sp_workers *workers);

void sp_workers_close(sp_workers *workers); /* Collective. */

#endif
