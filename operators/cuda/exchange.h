/* The sum over ranks of an L-vector's shared DOFs on the GPU: lists, buffers, and how values travel
 * where the host drives the iterations. (Whole iterations without the host: peers.h.)
 *
 * Values are packed, sent, and what arrives is added in the order of ranks, all on the GPU. MPI
 * sends from pinned host memory (staged) or from the GPU's (cuda-aware); NCCL sends by itself. */
#ifndef SP_OPERATORS_CUDA_EXCHANGE_H
#define SP_OPERATORS_CUDA_EXCHANGE_H

#include "operators/cuda/device.h"
#include "operators/exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By value to kernels; all pointers are to device memory. */
typedef struct sp_cuda_lists {
  int shared, targets;
  const int *dofs;                            /* [shared]: what is sent */
  const int *target, *source_start, *sources; /* the sum, as in sp_exchange_plan */
} sp_cuda_lists;

typedef struct sp_cuda_exchange {
  sp_device *device;
  sp_cuda_lists lists;
  sp_transport kind;                 /* staged, cuda-aware or nccl */
  sp_exchange_plan plan;             /* the exchange's own, on the host */
  double *sent, *received;           /* [shared], on the device */
  double *host_sent, *host_received; /* the same, pinned; staged */
} sp_cuda_exchange;

/* Lists and buffers for `plan`, whose arrays must outlive them; *out is freed by
 * sp_cuda_exchange_free, also after a failure. It is staged until something else is chosen.
 * Collective. */
sp_status sp_cuda_exchange_create(sp_device *device, MPI_Comm comm, const sp_exchange_plan *plan,
                                  sp_cuda_exchange *out);
void sp_cuda_exchange_free(sp_cuda_exchange *exchange);

/* Let values travel by `kind` (cuda-aware or nccl) if that is possible on all ranks; if not, *why
 * says in words why, else it is NULL. Collective. */
sp_status sp_cuda_exchange_choose(sp_cuda_exchange *exchange, MPI_Comm comm, sp_transport kind,
                                  const char **why);

/* Pack the shared values of `vector`. MPI is to send *sent and to receive to *received; *sent is
 * NULL where they are under way already. Waits for the GPU unless it is NCCL that sends: then it is
 * Collective among neighbours, else Local. */
sp_status sp_cuda_exchange_pack(sp_cuda_exchange *exchange, const double *vector, double **sent,
                                double **received);

/* Add what was received to the shared values of `vector`. Waits for NCCL, not for MPI. Local.
 */
sp_status sp_cuda_exchange_unpack(sp_cuda_exchange *exchange, double *vector);

/* Whether all ranks say yes. Collective. */
bool sp_cuda_all_agree(MPI_Comm comm, bool mine);

/* Whether every rank of a machine has a GPU of its own. Collective. */
sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ);

/* Through NCCL, where the program is built with it (nccl.c; else no_nccl.c). One communicator a
 * device, made when it is first asked for: *why is NULL if there is one for `comm`'s ranks, else it
 * says why not, which is no error. The ranks' GPUs must differ. Collective. */
sp_status sp_cuda_nccl_connect(sp_device *device, MPI_Comm comm, const char **why);

/* Queue the messages of `exchange` behind what is on the device's stream; wait until they have
 * come. A rank that does not answer for SP_CUDA_PATIENCE has failed; after an error the
 * communicator is given up. Collective among neighbours. */
sp_status sp_cuda_nccl_begin(sp_cuda_exchange *exchange);
sp_status sp_cuda_nccl_end(sp_cuda_exchange *exchange);

/* NULL-safe; sets *nccl to NULL. Collective over the ranks it connects. */
void sp_cuda_nccl_close(struct sp_cuda_nccl **nccl);

#ifdef __cplusplus
}
#endif

#endif
