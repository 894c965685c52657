/* The sum over ranks of an L-vector's shared DOFs on the GPU: a space's data on the device, and the
 * transports.
 *
 * peer        GPUs write into each other's memory (peers.h)
 * cuda-aware  MPI sends from the GPU's memory
 * nccl        NCCL sends from the GPU's memory
 * staged      MPI sends from pinned host memory
 *
 * Received values are added on the GPU in the order of ranks. peer and nccl do not need the host;
 * the other two need it for MPI. */
#pragma once

#include "operators/cuda/device.h"
#include "operators/cuda/peers.h"
#include "operators/exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sp_device_space {
  sp_device *device;
  sp_exchange *exchange; /* the host's, for MPI's messages; borrowed */
  sp_exchange_plan plan; /* its plan */
  int ranks;             /* of the communicator; 1: nothing to exchange */
  sp_transport kind;     /* never SP_TRANSPORT_AUTO */
  sp_cuda_lists lists;
  void *sent, *received;           /* [shared] on the device, room for doubles */
  void *host_sent, *host_received; /* the same, pinned */
  sp_cuda_border_memory border;    /* peer */
  char how[320];                   /* description for the user */
};

/* Entries of the backend's table (operators/backend.h). */
sp_status sp_cuda_space_create(sp_device *device, MPI_Comm comm, sp_exchange *exchange,
                               sp_transport transport, sp_device_space **out, const char **how,
                               bool *resident);
void sp_cuda_space_destroy(sp_device_space **space);
sp_status sp_cuda_assemble(sp_device_space *space, sp_precision precision, void *vector);

/* The stream for work on which other ranks wait: the urgent one if the exchange does not need the
 * host and runs concurrently with the inner elements. */
cudaStream_t sp_cuda_border_stream(const sp_device_space *space);

/* Send the shared values of `vector` after the work queued on `stream`; `pending` as for
 * sp_cuda_border_send. Collective among neighbours, also after a failure. */
sp_status sp_cuda_exchange_begin(sp_device_space *space, sp_precision precision,
                                 const sp_cuda_pending *pending, void *vector, cudaStream_t stream);

/* Add the neighbours' values, on the device's stream. `stream` as in sp_cuda_exchange_begin. *joins
 * = true if the next kernel there follows kernels of two streams (queue.cuh). Collective among
 * neighbours. */
sp_status sp_cuda_exchange_end(sp_device_space *space, sp_precision precision, void *vector,
                               cudaStream_t stream, bool *joins);

/* Wait for the device's stream; for NCCL's messages at most SP_CUDA_PATIENCE. Returns a failure of
 * this rank or a neighbour. Local. */
sp_status sp_cuda_wait(sp_device *device);

/* Messages through NCCL, in a program that is built with it (nccl.c); else NULL. */
typedef struct sp_nccl {
  /* Connect the ranks of `comm`: one communicator per device, created on first use. *why = NULL on
   * success, else the reason, which is not an error. The ranks' GPUs must differ. Collective. */
  sp_status (*connect)(sp_device *device, MPI_Comm comm, const char **why);

  /* Queue the messages of `space` after the work on the device's stream, then record device->join.
   * After an error the communicator is aborted. Collective among neighbours. */
  sp_status (*begin)(sp_device_space *space, sp_precision precision);

  /* Wait until the device's stream is done. A rank that does not respond within SP_CUDA_PATIENCE
   * counts as failed. */
  sp_status (*wait)(sp_device *device);

  /* Sets *nccl to NULL. Collective over the ranks it connects. */
  void (*close)(struct sp_cuda_nccl **nccl);
} sp_nccl;
extern const sp_nccl *const sp_nccl_table;

#ifdef __cplusplus
}
#endif
