/* Messages between GPUs through NCCL, beside the device's stream. */
#include <nccl.h>
#include <stdlib.h>

#include "operators/cuda/exchange.h"
#include "operators/cuda/peers.h"

struct sp_cuda_nccl {
  MPI_Comm comm; /* of the ranks it connects */
  ncclComm_t ranks;
  cudaStream_t stream;
  cudaEvent_t ready, done; /* values are packed; they have come */
};

#define TRY_NCCL(call)                                                                             \
  do {                                                                                             \
    const ncclResult_t result = (call);                                                            \
    if (result != ncclSuccess)                                                                     \
      return sp_fail(SP_ERR_SYSTEM, "NCCL: %s in %.60s", ncclGetErrorString(result), #call);       \
  } while (0)

/* Urgent: the elements inside fill the GPU meanwhile. */
static sp_status prepare(struct sp_cuda_nccl *nccl) {
  int least, greatest;
  SP_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  SP_CUDA(cudaStreamCreateWithPriority(&nccl->stream, cudaStreamNonBlocking, greatest));
  SP_CUDA(cudaEventCreateWithFlags(&nccl->ready, cudaEventDisableTiming));
  SP_CUDA(cudaEventCreateWithFlags(&nccl->done, cudaEventDisableTiming));
  return SP_OK;
}

static sp_status get_id(int rank, ncclUniqueId *id) {
  if (rank == 0) TRY_NCCL(ncclGetUniqueId(id));
  return SP_OK;
}

static sp_status connect(MPI_Comm comm, struct sp_cuda_nccl *nccl) {
  int rank, size;
  ncclUniqueId id;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  sp_status status = prepare(nccl);
  if (!status) status = get_id(rank, &id);
  SP_TRY(sp_agree(comm, status));
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

static sp_status exchange_values(const sp_cuda_exchange *e, const struct sp_cuda_nccl *nccl) {
  const sp_exchange_plan *plan = &e->plan;
  TRY_NCCL(ncclGroupStart());
  for (int b = 0; b < plan->neighbours; b++) {
    const int begin = plan->start[b];
    const size_t count = (size_t)(plan->start[b + 1] - begin);
    TRY_NCCL(
        ncclSend(e->sent + begin, count, ncclDouble, plan->ranks[b], nccl->ranks, nccl->stream));
    TRY_NCCL(ncclRecv(e->received + begin, count, ncclDouble, plan->ranks[b], nccl->ranks,
                      nccl->stream));
  }
  TRY_NCCL(ncclGroupEnd());
  return SP_OK;
}

sp_status sp_cuda_nccl_begin(sp_cuda_exchange *exchange) {
  const struct sp_cuda_nccl *nccl = exchange->device->nccl;
  SP_CUDA(cudaEventRecord(nccl->ready, exchange->device->stream));
  SP_CUDA(cudaStreamWaitEvent(nccl->stream, nccl->ready, 0));
  SP_TRY(exchange_values(exchange, nccl));
  SP_CUDA(cudaEventRecord(nccl->done, nccl->stream));
  return SP_OK;
}

/* The host waits here, not the stream: later waits for the stream cannot hang for another rank. */
sp_status sp_cuda_nccl_end(sp_cuda_exchange *exchange) {
  struct sp_cuda_nccl *nccl = exchange->device->nccl;
  const double start = MPI_Wtime();
  cudaError_t state;
  while ((state = cudaEventQuery(nccl->done)) == cudaErrorNotReady) {
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
  if ((*nccl)->ready) (void)cudaEventDestroy((*nccl)->ready);
  if ((*nccl)->done) (void)cudaEventDestroy((*nccl)->done);
  if ((*nccl)->stream) (void)cudaStreamDestroy((*nccl)->stream);
  if ((*nccl)->comm != MPI_COMM_NULL) MPI_Comm_free(&(*nccl)->comm);
  free(*nccl);
  *nccl = NULL;
}
