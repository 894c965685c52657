/* Messages between GPUs through NCCL, on the device's urgent stream. */
#include <nccl.h>
#include <stdlib.h>

#include "operators/cuda/exchange.h"

struct sp_cuda_nccl {
  MPI_Comm comm; /* the ranks that NCCL connects */
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

static sp_status initialize_nccl(MPI_Comm comm, struct sp_cuda_nccl *nccl) {
  ncclUniqueId id;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  SP_TRY(sp_agree(comm, get_id(rank, &id)));
  MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, comm);
  MPI_Comm_dup(comm, &nccl->comm);
  TRY_NCCL(ncclCommInitRank(&nccl->ranks, size, id, rank));
  return SP_OK;
}

/* Abort: after an error other ranks may be gone, and destroying the communicator would wait for
 * them. */
static sp_status give_up(struct sp_cuda_nccl *nccl, sp_status status) {
  if (nccl->ranks) (void)ncclCommAbort(nccl->ranks);
  nccl->ranks = NULL;
  return status;
}

static void close_nccl(struct sp_cuda_nccl **nccl) {
  if ((*nccl)->ranks) (void)ncclCommDestroy((*nccl)->ranks);
  if ((*nccl)->comm != MPI_COMM_NULL) MPI_Comm_free(&(*nccl)->comm);
  free(*nccl);
  *nccl = NULL;
}

static sp_status connect_nccl(sp_device *device, MPI_Comm comm, const char **why) {
  *why = NULL;
  if (sp_cuda_all_agree(comm, device->nccl && sp_cuda_same_ranks(device->nccl->comm, comm)))
    return SP_OK;
  *why = "NCCL connects other ranks already";
  if (!sp_cuda_all_agree(comm, !device->nccl)) return SP_OK;
  sp_status status = sp_allocate(1, sizeof *device->nccl, "NCCL", &device->nccl);
  if (!status) device->nccl->comm = MPI_COMM_NULL;
  status = sp_agree(comm, status);
  if (!status) status = sp_agree(comm, initialize_nccl(comm, device->nccl));
  *why = status ? "NCCL could not connect the ranks (NCCL_DEBUG=WARN tells more)" : NULL;
  if (status && device->nccl) give_up(device->nccl, status);
  if (status) close_nccl(&device->nccl);
  return SP_OK;
}

static ncclResult_t send_and_receive(const sp_device_space *s, sp_precision precision, int b) {
  const ncclComm_t ranks = s->device->nccl->ranks;
  const int begin = s->plan.start[b], rank = s->plan.ranks[b];
  const size_t count = (size_t)(s->plan.start[b + 1] - begin);
  const size_t offset = (size_t)begin * sp_precision_bytes(precision);
  const ncclDataType_t type = precision == SP_SINGLE ? ncclFloat : ncclDouble;
  cudaStream_t stream = s->device->urgent;
  const ncclResult_t result = ncclSend((char *)s->sent + offset, count, type, rank, ranks, stream);
  if (result != ncclSuccess) return result;
  return ncclRecv((char *)s->received + offset, count, type, rank, ranks, stream);
}

/* ncclGroupEnd is called even after an error. */
static sp_status exchange_values(const sp_device_space *s, sp_precision precision) {
  ncclResult_t result = ncclSuccess;
  TRY_NCCL(ncclGroupStart());
  for (int b = 0; b < s->plan.neighbours && result == ncclSuccess; b++)
    result = send_and_receive(s, precision, b);
  const ncclResult_t ended = ncclGroupEnd();
  TRY_NCCL(result);
  TRY_NCCL(ended);
  return SP_OK;
}

static sp_status begin_exchange(sp_device_space *space, sp_precision precision) {
  sp_device *device = space->device;
  if (!device->nccl->ranks) return sp_fail(SP_ERR_ELSEWHERE, "NCCL has been given up");
  SP_TRY(sp_cuda_fork(device));
  SP_TRY(exchange_values(space, precision));
  SP_CUDA(cudaEventRecord(device->join, device->urgent));
  return SP_OK;
}

static sp_status begin_nccl(sp_device_space *space, sp_precision precision) {
  const sp_status status = begin_exchange(space, precision);
  return status ? give_up(space->device->nccl, status) : SP_OK;
}

/* Poll instead of waiting: a message that never comes would hang the host. */
static sp_status wait_for_stream(sp_device *device) {
  const double start = MPI_Wtime();
  cudaError_t state;
  while ((state = cudaStreamQuery(device->stream)) == cudaErrorNotReady) {
    ncclResult_t problem = ncclSuccess;
    TRY_NCCL(ncclCommGetAsyncError(device->nccl->ranks, &problem));
    TRY_NCCL(problem);
    if (MPI_Wtime() - start > 1e-9 * SP_CUDA_PATIENCE)
      return sp_fail(SP_ERR_ELSEWHERE, "no answer through NCCL for %.0f s",
                     1e-9 * SP_CUDA_PATIENCE);
  }
  SP_CUDA(state);
  return SP_OK;
}

static sp_status wait_nccl(sp_device *device) {
  if (!device->nccl->ranks) return sp_fail(SP_ERR_ELSEWHERE, "NCCL has been given up");
  const sp_status status = wait_for_stream(device);
  return status ? give_up(device->nccl, status) : SP_OK;
}

static const sp_nccl table = {
    .connect = connect_nccl, .begin = begin_nccl, .wait = wait_nccl, .close = close_nccl};

const sp_nccl *const sp_nccl_table = &table;
