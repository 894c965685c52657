/* Ranks of one machine, with a GPU each, write into each other's memory (CUDA IPC): sums over
 * shared DOFs and sums over all ranks without the host and without the latency of a library.
 *
 * Every rank owns regions that other ranks map: one per device for sums over all ranks, one per
 * space for the neighbours' values.
 *
 * A rank writes its values of exchange n to buffer n mod 2 of the neighbour's region, then sets a
 * flag there to n (release, system scope); the owner waits for the flag (acquire). Two buffers are
 * enough: a rank sends exchange n + 2 only after its neighbours' flags of n + 1, set after they
 * have read buffer n mod 2. So no sum over all ranks is needed between exchanges.
 *
 * Sums over all ranks are a few words and need no flag: each word of 64 bits holds one half of a
 * value and the number of the sum (as in NCCL's protocol LL). Two kinds of sums alternate, so a
 * word is overwritten only after all ranks have read it. Spaces that share few values also exchange
 * them in such words, which takes two kernels instead of three and no fence. These two may also
 * complete the values before and use them afterwards.
 *
 * A rank that waits longer than SP_CUDA_PATIENCE assumes that the other one has failed. */
#pragma once

#include <stdbool.h>

#include "operators/cuda/assembly.h"
#include "operators/cuda/device.h"
#include "operators/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SP_CUDA_PATIENCE 60e9 /* ns */

#define SP_CUDA_MOST_PEERS 64 /* ranks */

typedef unsigned long long sp_cuda_epoch;

/* Two values of a rank in four words (gather.cuh). */
typedef struct sp_cuda_sums {
  unsigned long long words[4];
} sp_cuda_sums;

/* If no rank shares more values in a space, they travel as words, after all elements instead of
 * concurrently with the inner ones. On four H200 8192 is as fast, and 100,000 a tenth slower at N =
 * 2. */
#define SP_CUDA_FEW_SHARED 32768

/* 1 + the rank that did not respond to a kernel; 0: all responded. */
typedef struct sp_cuda_missing {
  int *on_device, *on_host; /* on_host is pinned, so the host reads it without a copy */
} sp_cuda_missing;

/* For sums over all ranks; passed to kernels by value, pointers are to device memory. size = 0:
 * only this rank. */
typedef struct sp_cuda_ranks {
  int rank, size;
  sp_cuda_sums *sums;               /* [2][size]: two kinds of sums, by rank */
  sp_cuda_sums *const *remote_sums; /* [size] */
  sp_cuda_epoch *epoch;             /* iterations since creation */
  sp_cuda_missing missing;
} sp_cuda_ranks;

/* Values for neighbours, and the order of sums of received ones; pointers are to device memory. */
typedef struct sp_cuda_lists {
  int shared, targets;
  const int *dofs;                            /* [shared]: values to send */
  const int *target, *source_start, *sources; /* the sum, as in sp_exchange_plan */
} sp_cuda_lists;

/* A neighbour in the exchange of a space. */
typedef struct sp_cuda_neighbour {
  int rank;
  int begin, end;         /* its part of the lists */
  int shared;             /* number of values that it shares: the size of its buffers */
  int place;              /* index of the value `begin` in its buffers */
  double *received;       /* its buffers */
  sp_cuda_epoch *arrived; /* its flag for this rank */
} sp_cuda_neighbour;

/* The exchange of one space; passed to kernels by value, pointers are to device memory. */
typedef struct sp_cuda_border {
  int neighbours;
  bool few; /* SP_CUDA_FEW_SHARED */
  sp_cuda_lists lists;
  const sp_cuda_neighbour *of; /* [neighbours] */
  /* [2][2 shared]. Doubles fill the first half of a buffer, floats the first quarter. Words take
   * two entries per value; a float uses only the first. */
  double *received;
  sp_cuda_epoch *arrived; /* [neighbours] */
  sp_cuda_epoch *begun;   /* exchanges since creation */
  unsigned *sent;         /* blocks that have sent */
  sp_cuda_missing missing;
} sp_cuda_border;

/* Edge nodes (assembly.h) whose sums are values to send. */
typedef struct sp_cuda_pending {
  const sp_cuda_assembly *assembly;
  const void *edges;
  bool constrained;
} sp_cuda_pending;

/* A region of this rank, and the regions of others that it has mapped. */
typedef struct sp_cuda_mapping {
  MPI_Comm comm; /* MPI_COMM_NULL: nothing is mapped */
  int size;
  void *region, **mapped; /* [size], NULL for this rank and for ranks that are not mapped */
} sp_cuda_mapping;

/* Data of a device for its peers. */
typedef struct sp_cuda_peers {
  sp_cuda_ranks view;
  sp_cuda_mapping mapping;
} sp_cuda_peers;

/* Data of a space for its neighbours. */
typedef struct sp_cuda_border_memory {
  sp_cuda_border view;
  sp_cuda_mapping mapping;
} sp_cuda_border_memory;

/* Connect the devices of all ranks of `comm`, once: device->peers. *why = NULL on success, else the
 * reason, which is not an error: ranks are on several machines, share a GPU, or cannot map each
 * other's memory. Collective. */
sp_status sp_cuda_peers_connect(sp_device *device, MPI_Comm comm, const char **why);

/* NULL-safe; sets *peers to NULL. Collective over the ranks it connects. */
void sp_cuda_peers_close(sp_cuda_peers **peers);

/* Return SP_ERR_ELSEWHERE if another rank did not respond to a kernel; `peers` may be NULL. Local.
 */
sp_status sp_cuda_peers_check(const sp_cuda_peers *peers);

/* Create regions for the values of `plan`, whose lists on the device are `lists`, after
 * sp_cuda_peers_connect. *why as above. sp_cuda_border_free frees *out, also after an error.
 * Collective. */
sp_status sp_cuda_border_create(sp_device *device, MPI_Comm comm, const sp_exchange_plan *plan,
                                const sp_cuda_lists *lists, const char **why,
                                sp_cuda_border_memory *out);
void sp_cuda_border_free(sp_cuda_border_memory *memory); /* Collective. */

/* Queue kernels that send the shared values of `vector`, or that wait for the neighbours' values
 * and add them in the order of ranks. If `pending` is not NULL (only with few shared values), the
 * values are first completed as by sp_cuda_assemble_shared. Kernels do nothing after iterations
 * have stopped, on all ranks at once; scalars may be NULL. */
cudaError_t sp_cuda_border_send(const sp_cuda_border *border, sp_precision precision,
                                const sp_cuda_pending *pending, void *vector,
                                const sp_cuda_scalars *scalars, cudaStream_t stream);
cudaError_t sp_cuda_border_receive(const sp_cuda_border *border, sp_precision precision,
                                   void *vector, const sp_cuda_scalars *scalars,
                                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
