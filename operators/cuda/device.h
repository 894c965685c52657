/* The GPU of this rank: choosing it, its memory, and errors. C++ inside .cu files only. */
#pragma once

#include <cuda_runtime.h>

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sp_device {
  int id; /* index of the GPU on this machine */
  cudaStream_t stream;
  /* A second stream of higher priority, for work on which other ranks wait. It starts after event
   * `fork` of the first stream and ends with `join`. */
  cudaStream_t urgent;
  cudaEvent_t fork, join;
  struct sp_cuda_nccl *nccl;   /* NULL until a space needs it (exchange.h) */
  struct sp_cuda_peers *peers; /* likewise (peers.h) */
  /* Workspace of dot (blas.h). */
  double *partial, *sum; /* on the device, and pinned */
  unsigned *arrived;
  char description[320];
};

/* Return SP_ERR_SYSTEM with call, place, rank and device in the message; for SP_CUDA. Local. */
sp_status sp_cuda_failed(cudaError_t error, const char *call, const char *file, int line);

/* Return from the calling function if a CUDA call fails. */
#define SP_CUDA(call)                                                                              \
  do {                                                                                             \
    const cudaError_t sp_cuda_error = (call);                                                      \
    if (sp_cuda_error != cudaSuccess)                                                              \
      return sp_cuda_failed(sp_cuda_error, #call, __FILE__, __LINE__);                             \
  } while (0)

/* Allocate zeroed device memory. NULL after a failure, with the needed and free bytes in the
 * message. Local. */
sp_status sp_cuda_allocate(size_t count, size_t size, const char *what, void **out);

/* The same from a pool, in the order of the device's stream: for memory that comes and goes. It may
 * be used after work that is queued later, and is given back after work that is queued before.
 * sp_cuda_give is NULL-safe and sets *memory to NULL. Local. */
sp_status sp_cuda_take(sp_device *device, size_t count, size_t size, const char *what, void **out);
void sp_cuda_give(sp_device *device, void **memory);

/* Fork: the urgent stream waits for the work queued on the device's stream. Join: the device's
 * stream waits for the urgent one. Local. */
sp_status sp_cuda_fork(sp_device *device);
sp_status sp_cuda_join(sp_device *device);

/* True on all ranks if `mine` is true on all ranks. Collective. */
bool sp_cuda_all_agree(MPI_Comm comm, bool mine);

/* True if every rank of a machine has a GPU of its own. Collective. */
sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ);

/* Open and close only the device; the backend's table adds the data of other files. */
sp_status sp_cuda_open(MPI_Comm comm, sp_device **out);
void sp_cuda_close(sp_device **device);

#ifdef __cplusplus
}
#endif
