/* The ranks of a run that have elements, and how the other ranks wait for them.
 *
 * With fewer GPUs than ranks, one rank for each GPU has elements (backend.share = no). A case runs
 * on the communicator of only these ranks: mesh, vectors, exchange, sums, coarse solver and files.
 * So it runs as if the other ranks had not been started. These open no device and sleep; every
 * millisecond they check if the case is over. (In a plain MPI call they would poll, which uses a
 * core.) A signal to one of them ends the iteration like a signal to any other rank. */
#pragma once

#include <stdbool.h>

#include "operators/platform.h"

typedef struct sp_backend_options {
  sp_device_kind device;
  sp_transport exchange; /* how GPUs sum over ranks */
  sp_share share;
  int threads; /* per rank; 0: OMP_NUM_THREADS, else the program chooses */
} sp_backend_options;

typedef struct sp_workers {
  MPI_Comm all;      /* every rank of the run; borrowed */
  int ranks, count;  /* ranks of `all`; number of ranks with elements */
  int leader;        /* in `all`: the first rank with elements */
  bool has_elements; /* this rank has elements */
  MPI_Comm comm;     /* the ranks with elements, in the order of `all`; MPI_COMM_NULL on others */
  sp_platform platform;  /* on `comm`; not open on other ranks */
  char description[256]; /* the ranks that have elements, in words */
  int threads[2];        /* of set-up and results: the smallest and largest number per rank */
  int team;              /* threads of this rank's kernels, on CPUs */
  int idle_cores;        /* cores of this rank's machine that no rank may use */
} sp_workers;

/* Choose ranks and threads as [backend] says, and open the device. Close *workers with the last
 * function, also after an error. Errors: as sp_platform_choose_ranks, sp_platform_open and
 * sp_cores_choose. Collective over `all`. */
sp_status sp_workers_open(MPI_Comm all, const sp_backend_options *options, sp_workers *workers);

/* Do the same for a given choice of ranks, and leave threads unchanged. At least one rank has
 * elements, and rank 0 if anything is printed. */
sp_status sp_workers_open_on(MPI_Comm all, bool has_elements, sp_device_kind kind,
                             sp_transport transport, sp_workers *workers);

/* Meet all ranks; all get the status of sp_agree. A rank without elements passes SP_OK, at once,
 * and sleeps until the others arrive. Collective over `all`. */
sp_status sp_workers_meet(const sp_workers *workers, sp_status status);

/* True on the leader if a rank without elements got a signal to end. Local. */
bool sp_workers_interrupted(const sp_workers *workers);

void sp_workers_close(sp_workers *workers); /* Collective. */
