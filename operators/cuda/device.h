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
  /* Workspace of dot (blas.cu). */
  double *partial, *sum; /* on the device, and pinned */
  unsigned *arrived;
  char description[320];
};

/* The status of a CUDA call: SP_OK, or SP_ERR_SYSTEM with call, place, rank and device in the
 * message. Local. */
sp_status sp_cuda_status(cudaError_t error, const char *call, const char *file, int line);
#define SP_CUDA_STATUS(call) sp_cuda_status(call, #call, __FILE__, __LINE__)

/* Return from the calling function if a CUDA call fails. */
#define SP_CUDA(call) SP_TRY(sp_cuda_status(call, #call, __FILE__, __LINE__))

/* *out, a pointer of any type, becomes zeroed device memory; NULL after a failure, with the needed
 * and free bytes in the message. Local. */
sp_status sp_cuda_allocate(size_t count, size_t size, const char *what, void *out);

/* Free device arrays, which may be NULL: SP_CUDA_FREE(x->nodes, x->values). Local. */
#define SP_CUDA_FREE(...)                                                                          \
  do {                                                                                             \
    const void *const sp_cuda_arrays[] = {__VA_ARGS__};                                            \
    sp_cuda_free_each(sizeof sp_cuda_arrays / sizeof *sp_cuda_arrays, sp_cuda_arrays);             \
  } while (0)
void sp_cuda_free_each(size_t count, const void *const *arrays);

/* Entries of the backend's table (operators/backend.h). Memory of vectors comes from a pool, in the
 * order of the device's stream. */
sp_status sp_cuda_vector_create(sp_device *device, sp_precision precision, size_t count, void *out);
void sp_cuda_vector_destroy(sp_device *device, void *vector);

/* Fork: the urgent stream waits for the work queued on the device's stream. Join: the device's
 * stream waits for the urgent one. Local. */
sp_status sp_cuda_fork(sp_device *device);
sp_status sp_cuda_join(sp_device *device);

/* True on all ranks if `mine` is true on all ranks. Collective. */
bool sp_cuda_all_agree(MPI_Comm comm, bool mine);

/* True if the communicators have the same ranks in the same order. Local, between the ranks of
 * both.
 */
bool sp_cuda_same_ranks(MPI_Comm a, MPI_Comm b);

/* True if every rank of a machine has a GPU of its own. Collective. */
sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ);

/* Open and close only the device; the backend's table adds the data of other files. */
sp_status sp_cuda_open(MPI_Comm comm, sp_device **out);
void sp_cuda_close(sp_device **device);

#ifdef __cplusplus
}
#endif
