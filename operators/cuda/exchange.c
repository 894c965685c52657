#include "operators/cuda/exchange.h"

#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include "operators/cuda/vectors.h"

static sp_status list(const int *host, size_t count, const int **out) {
  void *copy;
  const sp_status status = sp_cuda_copy_of(host, count, sizeof *host, "exchange", &copy);
  *out = copy;
  return status;
}

static sp_status pinned(size_t count, double **out) {
  SP_CUDA(cudaMallocHost((void **)out, (count > 0 ? count : 1) * sizeof **out));
  return SP_OK;
}

static sp_status build(const sp_exchange_plan *plan, sp_cuda_exchange *e) {
  const size_t shared = (size_t)plan->start[plan->neighbours], targets = (size_t)plan->targets;
  const size_t sources = targets > 0 ? (size_t)plan->source_start[targets] : 0;
  e->lists.shared = (int)shared;
  e->lists.targets = plan->targets;
  SP_TRY(list(plan->dofs, shared, &e->lists.dofs));
  SP_TRY(list(plan->target, targets, &e->lists.target));
  SP_TRY(list(plan->source_start, targets + 1, &e->lists.source_start));
  SP_TRY(list(plan->sources, sources, &e->lists.sources));
  SP_TRY(sp_cuda_allocate(shared, sizeof(double), "shared values", (void **)&e->sent));
  SP_TRY(sp_cuda_allocate(shared, sizeof(double), "shared values", (void **)&e->received));
  SP_TRY(pinned(shared, &e->host_sent));
  return pinned(shared, &e->host_received);
}

sp_status sp_cuda_exchange_create(sp_device *device, MPI_Comm comm, const sp_exchange_plan *plan,
                                  sp_cuda_exchange *out) {
  *out = (sp_cuda_exchange){.device = device, .kind = SP_TRANSPORT_STAGED, .plan = *plan};
  return sp_agree(comm, build(plan, out));
}

void sp_cuda_exchange_free(sp_cuda_exchange *exchange) {
  const sp_cuda_lists *lists = &exchange->lists;
  (void)cudaFree((void *)lists->dofs);
  (void)cudaFree((void *)lists->target);
  (void)cudaFree((void *)lists->source_start);
  (void)cudaFree((void *)lists->sources);
  (void)cudaFree(exchange->sent);
  (void)cudaFree(exchange->received);
  (void)cudaFreeHost(exchange->host_sent);
  (void)cudaFreeHost(exchange->host_received);
  *exchange = (sp_cuda_exchange){0};
}

/* ---- What is possible --------------------------------------------------------------------------
 */

bool sp_cuda_all_agree(MPI_Comm comm, bool mine) {
  int all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all;
}

sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ) {
  enum { BUS = 32 };
  MPI_Comm machine;
  int rank, size, device;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_size(machine, &size);
  char *all = NULL, mine[BUS] = "";
  sp_status status = sp_allocate((size_t)size, BUS, "exchange", &all);
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(mine, BUS, device);
  if (!status && error != cudaSuccess)
    status = sp_cuda_failed(error, "cudaDeviceGetPCIBusId", __FILE__, __LINE__);
  status = sp_agree(comm, status);
  bool alone = true;
  if (!status) {
    MPI_Allgather(mine, BUS, MPI_CHAR, all, BUS, MPI_CHAR, machine);
    for (int r = 0; r < size; r++)
      alone = alone && (r == rank || strcmp(&all[(size_t)r * BUS], mine) != 0);
  }
  MPI_Comm_free(&machine);
  free(all);
  SP_TRY(status);
  *differ = sp_cuda_all_agree(comm, alone);
  return SP_OK;
}

static bool mpi_reports_cuda(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1; /* the macro tells of the headers, this of the library */
#else
  return false;
#endif
}

/* A short and a long message of known values from the rank before to the rank after, from one GPU's
 * memory to the other's. */
static sp_status mpi_passes_messages(MPI_Comm comm, bool *passes) {
  enum { LONG = 1 << 18 };
  static const int counts[] = {1, LONG};
  int rank, size;
  double *host = NULL, *sent = NULL, *received = NULL;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  sp_status status = sp_allocate(LONG, sizeof *host, "exchange", &host);
  for (int i = 0; i < LONG && !status; i++) host[i] = rank + (double)i / LONG;
  if (!status) status = sp_cuda_copy_of(host, LONG, sizeof *host, "exchange", (void **)&sent);
  if (!status) status = sp_cuda_allocate(LONG, sizeof *host, "exchange", (void **)&received);
  status = sp_agree(comm, status);
  const int before = (rank + size - 1) % size, after = (rank + 1) % size;
  *passes = true;
  for (int m = 0; m < 2 && !status; m++) {
    MPI_Sendrecv(sent, counts[m], MPI_DOUBLE, after, m, received, counts[m], MPI_DOUBLE, before, m,
                 comm, MPI_STATUS_IGNORE);
    const size_t bytes = (size_t)counts[m] * sizeof *host;
    *passes = *passes && cudaMemcpy(host, received, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    for (int i = 0; i < counts[m]; i++) *passes = *passes && host[i] == before + (double)i / LONG;
  }
  free(host);
  (void)cudaFree(sent);
  (void)cudaFree(received);
  SP_TRY(status);
  *passes = sp_cuda_all_agree(comm, *passes);
  return SP_OK;
}

sp_status sp_cuda_exchange_choose(sp_cuda_exchange *exchange, MPI_Comm comm, sp_transport kind,
                                  const char **why) {
  if (kind == SP_TRANSPORT_CUDA_AWARE) {
    bool passes = false;
    *why = "MPI does not report it";
    if (!sp_cuda_all_agree(comm, mpi_reports_cuda())) return SP_OK;
    *why = "messages between GPUs did not arrive whole";
    SP_TRY(mpi_passes_messages(comm, &passes));
    if (!passes) return SP_OK;
  } else {
    bool differ = false;
    *why = "ranks share a GPU";
    SP_TRY(sp_cuda_gpus_differ(comm, &differ));
    if (!differ) return SP_OK;
    SP_TRY(sp_cuda_nccl_connect(exchange->device, comm, why));
    if (*why) return SP_OK;
  }
  *why = NULL;
  exchange->kind = kind;
  return SP_OK;
}

/* ---- Messages ----------------------------------------------------------------------------------
 */

sp_status sp_cuda_exchange_pack(sp_cuda_exchange *e, const double *vector, double **sent,
                                double **received) {
  const bool staged = e->kind == SP_TRANSPORT_STAGED, nccl = e->kind == SP_TRANSPORT_NCCL;
  const size_t bytes = (size_t)e->lists.shared * sizeof *vector;
  *sent = nccl ? NULL : staged ? e->host_sent : e->sent;
  *received = staged ? e->host_received : e->received;
  if (e->lists.shared == 0) return SP_OK;
  cudaStream_t stream = e->device->stream;
  SP_CUDA(sp_cuda_pack(&e->lists, vector, e->sent, stream));
  if (nccl) return sp_cuda_nccl_begin(e);
  if (staged)
    SP_CUDA(cudaMemcpyAsync(e->host_sent, e->sent, bytes, cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaStreamSynchronize(stream));
  return SP_OK;
}

sp_status sp_cuda_exchange_unpack(sp_cuda_exchange *e, double *vector) {
  if (e->lists.shared == 0) return SP_OK;
  const size_t bytes = (size_t)e->lists.shared * sizeof *vector;
  cudaStream_t stream = e->device->stream;
  if (e->kind == SP_TRANSPORT_NCCL) SP_TRY(sp_cuda_nccl_end(e));
  if (e->kind == SP_TRANSPORT_STAGED)
    SP_CUDA(cudaMemcpyAsync(e->received, e->host_received, bytes, cudaMemcpyHostToDevice, stream));
  SP_CUDA(sp_cuda_combine(&e->lists, e->received, vector, stream));
  return SP_OK;
}
