/* Messages between GPUs through NCCL, on the device's urgent stream. */
#include <nccl.h>
#include <stdlib.h>

#include "operators/cuda/exchange.h"
#include "operators/cuda/peers.h"

struct sp_cuda_nccl {
  MPI_Comm comm; /* of the ranks it connects */
  ncclComm_t ranks;
};

#define TRY_NCCL(call)                                                                             \
  do {                                                                                             \
    const ncclResult_t result = (call);                                                            \
    if (result != ncclSuccess)                                                                     \
      return sp_fail(SP_ERR_SYSTEM, "NCCL: %s in %.60s", ncclGetErrorString(result), #call);       \
  } while (0)

static sp_status get_id(int rank, ncclUniqueId *id) {
  if (rank == 0) TRY_NCCL(ncclGetUniqueId(id));
  return SP_OK;
}

static sp_status connect(MPI_Comm comm, struct sp_cuda_nccl *nccl) {
  int rank, size;
  ncclUniqueId id;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  SP_TRY(sp_agree(comm, get_id(rank, &id)));
  MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, comm);
  MPI_Comm_dup(comm, &nccl->comm);
  TRY_NCCL(ncclCommInitRank(&nccl->ranks, size, id, rank));
  return SP_OK;
}

sp_status sp_cuda_nccl_connect(sp_device *device, MPI_Comm comm, const char **why) {
  *why = NULL;
  if (device->nccl) {
    int comparison;
    MPI_Comm_compare(comm, device->nccl->comm, &comparison);
    if (comparison != MPI_IDENT && comparison != MPI_CONGRUENT)
      *why = "NCCL connects other ranks already";
    return SP_OK;
  }
  sp_status status = sp_allocate(1, sizeof *device->nccl, "NCCL", &device->nccl);
  if (!status) device->nccl->comm = MPI_COMM_NULL;
  SP_TRY(sp_agree(comm, status));
  return sp_agree(comm, connect(comm, device->nccl));
}

static sp_status exchange_values(const sp_cuda_exchange *e, ncclComm_t ranks, cudaStream_t stream) {
  const sp_exchange_plan *plan = &e->plan;
  TRY_NCCL(ncclGroupStart());
  for (int b = 0; b < plan->neighbours; b++) {
    const int begin = plan->start[b];
    const size_t count = (size_t)(plan->start[b + 1] - begin);
    TRY_NCCL(ncclSend(e->sent + begin, count, ncclDouble, plan->ranks[b], ranks, stream));
    TRY_NCCL(ncclRecv(e->received + begin, count, ncclDouble, plan->ranks[b], ranks, stream));
  }
  TRY_NCCL(ncclGroupEnd());
  return SP_OK;
}

sp_status sp_cuda_nccl_begin(sp_cuda_exchange *exchange) {
  sp_device *device = exchange->device;
  SP_TRY(sp_cuda_fork(device));
  SP_TRY(exchange_values(exchange, device->nccl->ranks, device->urgent));
  SP_CUDA(cudaEventRecord(device->join, device->urgent));
  return SP_OK;
}

/* The host waits here, not the stream: later waits for the stream cannot hang for another rank. */
sp_status sp_cuda_nccl_end(sp_cuda_exchange *exchange) {
  struct sp_cuda_nccl *nccl = exchange->device->nccl;
  const double start = MPI_Wtime();
  cudaError_t state;
  while ((state = cudaEventQuery(exchange->device->join)) == cudaErrorNotReady) {
    ncclResult_t problem = ncclSuccess;
    TRY_NCCL(ncclCommGetAsyncError(nccl->ranks, &problem));
    TRY_NCCL(problem);
    if (MPI_Wtime() - start < 1e-9 * SP_CUDA_PATIENCE) continue;
    (void)ncclCommAbort(nccl->ranks);
    nccl->ranks = NULL;
    return sp_fail(SP_ERR_ELSEWHERE, "no answer through NCCL for %.0f s", 1e-9 * SP_CUDA_PATIENCE);
  }
  SP_CUDA(state);
  return SP_OK;
}

void sp_cuda_nccl_close(struct sp_cuda_nccl **nccl) {
  if (!*nccl) return;
  if ((*nccl)->ranks) (void)ncclCommDestroy((*nccl)->ranks);
  if ((*nccl)->comm != MPI_COMM_NULL) MPI_Comm_free(&(*nccl)->comm);
  free(*nccl);
  *nccl = NULL;
}
