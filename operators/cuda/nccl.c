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
    const ncclResult_t nccl_result = (call);                                                       \
    if (nccl_result != ncclSuccess)                                                                \
      return sp_fail(SP_ERR_SYSTEM, "NCCL: %s in %.60s", ncclGetErrorString(nccl_result), #call);  \
  } while (0)

static sp_status get_id(int rank, ncclUniqueId *id) {
  if (rank == 0) TRY_NCCL(ncclGetUniqueId(id));
  return SP_OK;
}

static sp_status initialize(MPI_Comm comm, struct sp_cuda_nccl *nccl) {
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

/* After an error others may be gone: what ends a communicator in order would wait for them. */
static sp_status give_up(struct sp_cuda_nccl *nccl, sp_status status) {
  if (nccl->ranks) (void)ncclCommAbort(nccl->ranks);
  nccl->ranks = NULL;
  return status;
}

static bool connects(const struct sp_cuda_nccl *nccl, MPI_Comm comm) {
  int comparison;
  MPI_Comm_compare(comm, nccl->comm, &comparison);
  return comparison == MPI_IDENT || comparison == MPI_CONGRUENT;
}

sp_status sp_cuda_nccl_connect(sp_device *device, MPI_Comm comm, const char **why) {
  *why = NULL;
  if (sp_cuda_all_agree(comm, device->nccl && connects(device->nccl, comm))) return SP_OK;
  *why = "NCCL connects other ranks already";
  if (!sp_cuda_all_agree(comm, !device->nccl)) return SP_OK;
  sp_status status = sp_allocate(1, sizeof *device->nccl, "NCCL", &device->nccl);
  if (!status) device->nccl->comm = MPI_COMM_NULL;
  status = sp_agree(comm, status);
  if (!status) status = sp_agree(comm, initialize(comm, device->nccl));
  *why = status ? "NCCL could not connect the ranks (NCCL_DEBUG=WARN tells more)" : NULL;
  if (status && device->nccl) give_up(device->nccl, status);
  if (status) sp_cuda_nccl_close(&device->nccl);
  return SP_OK;
}

static ncclResult_t send_and_receive(const sp_cuda_exchange *e, int b) {
  const ncclComm_t ranks = e->device->nccl->ranks;
  const int begin = e->plan.start[b], rank = e->plan.ranks[b];
  const size_t count = (size_t)(e->plan.start[b + 1] - begin);
  cudaStream_t stream = e->device->urgent;
  const ncclResult_t result = ncclSend(e->sent + begin, count, ncclDouble, rank, ranks, stream);
  if (result != ncclSuccess) return result;
  return ncclRecv(e->received + begin, count, ncclDouble, rank, ranks, stream);
}

/* A group that was begun is ended, whatever happens. */
static sp_status exchange_values(const sp_cuda_exchange *e) {
  ncclResult_t result = ncclSuccess;
  TRY_NCCL(ncclGroupStart());
  for (int b = 0; b < e->plan.neighbours && result == ncclSuccess; b++)
    result = send_and_receive(e, b);
  const ncclResult_t ended = ncclGroupEnd();
  TRY_NCCL(result);
  TRY_NCCL(ended);
  return SP_OK;
}

static sp_status begin(sp_cuda_exchange *exchange) {
  sp_device *device = exchange->device;
  if (!device->nccl->ranks) return sp_fail(SP_ERR_ELSEWHERE, "NCCL has been given up");
  SP_TRY(sp_cuda_fork(device));
  SP_TRY(exchange_values(exchange));
  SP_CUDA(cudaEventRecord(device->join, device->urgent));
  return SP_OK;
}

sp_status sp_cuda_nccl_begin(sp_cuda_exchange *exchange) {
  const sp_status status = begin(exchange);
  return status ? give_up(exchange->device->nccl, status) : SP_OK;
}

/* The host waits here, not the stream: later waits for the stream cannot hang for another rank. */
static sp_status wait_for_values(const sp_cuda_exchange *exchange) {
  const double start = MPI_Wtime();
  cudaError_t state;
  while ((state = cudaEventQuery(exchange->device->join)) == cudaErrorNotReady) {
    ncclResult_t problem = ncclSuccess;
    TRY_NCCL(ncclCommGetAsyncError(exchange->device->nccl->ranks, &problem));
    TRY_NCCL(problem);
    if (MPI_Wtime() - start > 1e-9 * SP_CUDA_PATIENCE)
      return sp_fail(SP_ERR_ELSEWHERE, "no answer through NCCL for %.0f s",
                     1e-9 * SP_CUDA_PATIENCE);
  }
  SP_CUDA(state);
  return SP_OK;
}

sp_status sp_cuda_nccl_end(sp_cuda_exchange *exchange) {
  struct sp_cuda_nccl *nccl = exchange->device->nccl;
  if (!nccl->ranks) return sp_fail(SP_ERR_ELSEWHERE, "NCCL has been given up");
  const sp_status status = wait_for_values(exchange);
  return status ? give_up(nccl, status) : SP_OK;
}

void sp_cuda_nccl_close(struct sp_cuda_nccl **nccl) {
  if (!*nccl) return;
  if ((*nccl)->ranks) (void)ncclCommDestroy((*nccl)->ranks);
  if ((*nccl)->comm != MPI_COMM_NULL) MPI_Comm_free(&(*nccl)->comm);
  free(*nccl);
  *nccl = NULL;
}
