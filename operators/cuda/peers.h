/* Ranks of one machine with a GPU each that write into each other's memory (CUDA IPC): the sum over
 * shared DOFs and the sums of a CG iteration without the host and without a library's latency.
 *
 * Every rank owns a region that all others map. Shared values are written there, then a flag with
 * the number of the iteration (release, system scope); the owner waits for the flag (acquire). Sums
 * are few, and need no flag that travels behind them: each half of one has the number beside it in
 * its word (as in NCCL's protocol LL). One buffer is enough: between two exchanges lie sums over
 * all ranks, which nobody passes before everybody has read what came before. Who waits longer than
 * SP_CUDA_PATIENCE gives up: the others have failed.
 */
#ifndef SP_OPERATORS_CUDA_PEERS_H
#define SP_OPERATORS_CUDA_PEERS_H

#include "operators/cuda/exchange.h"
#include "operators/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SP_CUDA_PATIENCE 60e9 /* ns */

#define SP_CUDA_MOST_PEERS 64 /* ranks */

typedef unsigned long long sp_cuda_epoch;

/* Two values of a rank: words of 32 bits of a value, the low ones first, below 32 of the epoch. */
typedef struct sp_cuda_sums {
  unsigned long long halves[4];
} sp_cuda_sums;

/* By value to kernels; all pointers are to device memory. size = 0: there is only this rank. */
typedef struct sp_cuda_peers {
  int rank, size, neighbours;
  sp_cuda_lists lists;
  const int *start;               /* [neighbours + 1]: where the lists have neighbour b's */
  const int *ranks;               /* [neighbours] */
  double *received;               /* [shared] */
  double *const *remote_received; /* [neighbours], where this rank's values go */
  sp_cuda_epoch *arrived;         /* [neighbours] */
  sp_cuda_epoch *const *remote_arrived;
  sp_cuda_sums *sums;               /* [2][size]: two kinds of sums, of each rank */
  sp_cuda_sums *const *remote_sums; /* [size] */
  sp_cuda_epoch *epoch;             /* iterations done since the creation */
  unsigned *sent;                   /* blocks that have sent */
  int *missing;                     /* 1 + a rank that was waited for in vain, or 0 */
} sp_cuda_peers;

/* What a rank holds and has mapped. */
typedef struct sp_cuda_peer_memory {
  sp_cuda_peers view;
  MPI_Comm comm;
  void *region;
  int mapped_count;
  void **mapped; /* [mapped_count], NULL for this rank */
  void *tables[8];
  int table_count;
} sp_cuda_peer_memory;

/* Map the regions of all ranks of `comm` for the values of `exchange`, which must outlive *out. If
 * that is not possible, since ranks are on several machines, share a GPU, or cannot map each
 * other's memory, *why says so; that is no error. Else it is NULL. sp_cuda_peers_free frees *out,
 * in every case. Collective. */
sp_status sp_cuda_peers_create(MPI_Comm comm, const sp_cuda_exchange *exchange, const char **why,
                               sp_cuda_peer_memory *out);

/* After the last sums over all ranks nobody writes here any more. Collective where regions are
 * mapped (the same on all ranks), else Local. */
void sp_cuda_peers_free(sp_cuda_peer_memory *memory);

/* Send the shared values of `vector`, wait for those of the others and add them in the order of
 * ranks. Nothing once iterations have stopped. */
cudaError_t sp_cuda_peers_exchange(const sp_cuda_peers *peers, double *vector,
                                   const sp_cuda_scalars *scalars, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
