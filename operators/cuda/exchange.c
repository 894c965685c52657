#include "operators/cuda/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include "operators/cuda/copies.h"
#include "operators/cuda/vectors.h"

/* ---- Lists and buffers ----------------------------------------------------------------------- */

static sp_status copy_list(const int *host, size_t count, const int **out) {
  return sp_cuda_copy_of(host, count, sizeof *host, "exchange", out);
}

static sp_status pinned(size_t count, void **out) {
  return SP_CUDA_STATUS(cudaMallocHost(out, (count > 0 ? count : 1) * sizeof(double)));
}

static sp_status build_space(sp_device_space *s) {
  const sp_exchange_plan *plan = &s->plan;
  const size_t shared = (size_t)plan->start[plan->neighbours], targets = (size_t)plan->targets;
  const size_t sources = targets > 0 ? (size_t)plan->source_start[targets] : 0;
  s->lists.shared = (int)shared;
  s->lists.targets = plan->targets;
  SP_TRY(copy_list(plan->dofs, shared, &s->lists.dofs));
  SP_TRY(copy_list(plan->target, targets, &s->lists.target));
  SP_TRY(copy_list(plan->source_start, targets + 1, &s->lists.source_start));
  SP_TRY(copy_list(plan->sources, sources, &s->lists.sources));
  SP_TRY(sp_cuda_allocate(shared, sizeof(double), "shared values", &s->sent));
  SP_TRY(sp_cuda_allocate(shared, sizeof(double), "shared values", &s->received));
  SP_TRY(pinned(shared, &s->host_sent));
  return pinned(shared, &s->host_received);
}

/* ---- Possible transports
 * -------------------------------------------------------------------------- */

static bool mpi_reports_cuda(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1; /* the macro only describes the headers */
#else
  return false;
#endif
}

/* Test with a short and a long message of known values: every rank sends to the next rank, from GPU
 * memory to GPU memory. */
static sp_status mpi_passes_messages(MPI_Comm comm, bool *passes) {
  enum { LONG = 1 << 18 };
  static const int counts[] = {1, LONG};
  double *host = NULL, *sent = NULL, *received = NULL;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  sp_status status = sp_allocate(LONG, sizeof *host, "exchange", &host);
  for (int i = 0; i < LONG && !status; i++) host[i] = rank + (double)i / LONG;
  if (!status) status = sp_cuda_copy_of(host, LONG, sizeof *host, "exchange", &sent);
  if (!status) status = sp_cuda_allocate(LONG, sizeof *host, "exchange", &received);
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
  SP_CUDA_FREE(sent, received);
  SP_TRY(status);
  *passes = sp_cuda_all_agree(comm, *passes);
  return SP_OK;
}

/* ---- Choice ------------------------------------------------------------------------------------
 */

static sp_status try_cuda_aware(MPI_Comm comm, const char **why) {
  bool passes = false;
  *why = "MPI does not report it";
  if (!sp_cuda_all_agree(comm, mpi_reports_cuda())) return SP_OK;
  *why = "messages between GPUs did not arrive whole";
  SP_TRY(mpi_passes_messages(comm, &passes));
  if (passes) *why = NULL;
  return SP_OK;
}

static sp_status try_nccl(sp_device *device, MPI_Comm comm, const char **why) {
  bool differ = false;
  *why = "ranks share a GPU";
  SP_TRY(sp_cuda_gpus_differ(comm, &differ));
  if (!differ) return SP_OK;
  *why = "this program was built without NCCL";
  return sp_nccl_table ? sp_nccl_table->connect(device, comm, why) : SP_OK;
}

static sp_status try_peer(sp_device_space *space, MPI_Comm comm, const char **why) {
  SP_TRY(sp_cuda_peers_connect(space->device, comm, why));
  if (*why) return SP_OK;
  SP_TRY(
      sp_cuda_border_create(space->device, comm, &space->plan, &space->lists, why, &space->border));
  if (*why) sp_cuda_border_free(&space->border);
  return SP_OK;
}

/* Check the transport `kind` between all ranks: *why = NULL if possible, else the reason. */
static sp_status try_transport(sp_device_space *space, MPI_Comm comm, sp_transport kind,
                               const char **why) {
  *why = NULL;
  switch (kind) {
  case SP_TRANSPORT_PEER:
    return try_peer(space, comm, why);
  case SP_TRANSPORT_CUDA_AWARE:
    return try_cuda_aware(comm, why);
  case SP_TRANSPORT_NCCL:
    return try_nccl(space->device, comm, why);
  default:
    return SP_OK;
  }
}

/* Append "; TRANSPORT: WHY" to the obstacles, if it fits. */
static void note_obstacle(const char *transport, const char *why, size_t room, char *obstacles) {
  const size_t used = strlen(obstacles);
  snprintf(obstacles + used, room - used, "%s%s: %s", used > 0 ? "; " : "", transport, why);
}

static const char *const descriptions[] = {[SP_TRANSPORT_PEER] = "GPUs write to each other",
                                           [SP_TRANSPORT_CUDA_AWARE] = "MPI reads GPU memory",
                                           [SP_TRANSPORT_NCCL] = "NCCL between GPUs",
                                           [SP_TRANSPORT_STAGED] = "through the host"};

static sp_status choose_transport(sp_device_space *space, MPI_Comm comm, sp_transport request) {
  char obstacles[256] = "";
  for (sp_transport kind = SP_TRANSPORT_PEER; kind <= SP_TRANSPORT_STAGED; kind++) {
    const char *why, *name = sp_transport_names[kind];
    if (request != SP_TRANSPORT_AUTO && request != kind) continue;
    SP_TRY(try_transport(space, comm, kind, &why));
    if (why && request == kind)
      return sp_fail(SP_ERR_SYSTEM, "exchange = %s is not possible: %s; use auto", name, why);
    if (why) {
      note_obstacle(name, why, sizeof obstacles, obstacles);
      continue;
    }
    const bool first = !*obstacles;
    space->kind = kind;
    snprintf(space->how, sizeof space->how, "%s: %s%s%s%s", name, descriptions[kind],
             first ? "" : " (", obstacles, first ? "" : ")");
    break;
  }
  return SP_OK;
}

sp_status sp_cuda_space_create(sp_device *device, MPI_Comm comm, sp_exchange *exchange,
                               sp_transport transport, sp_device_space **out, const char **how,
                               bool *resident) {
  sp_device_space *space;
  *out = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof *space, "space", &space)));
  *space = (sp_device_space){.device = device,
                             .exchange = exchange,
                             .plan = sp_exchange_plan_of(exchange),
                             .kind = SP_TRANSPORT_STAGED,
                             .how = "none: one rank",
                             .ranks = sp_comm_size(comm)};
  sp_status status = SP_OK;
  if (space->ranks > 1) {
    status = sp_agree(comm, build_space(space));
    if (!status) status = choose_transport(space, comm, transport);
  }
  if (status) {
    sp_cuda_space_destroy(&space);
    return status;
  }
  *how = space->how;
  *resident = space->ranks == 1 || space->kind == SP_TRANSPORT_PEER;
  *out = space;
  return SP_OK;
}

void sp_cuda_space_destroy(sp_device_space **space) {
  sp_device_space *s = *space;
  if (!s) return;
  sp_cuda_border_free(&s->border);
  SP_CUDA_FREE(s->lists.dofs, s->lists.target, s->lists.source_start, s->lists.sources, s->sent,
               s->received);
  (void)cudaFreeHost(s->host_sent);
  (void)cudaFreeHost(s->host_received);
  free(s);
  *space = NULL;
}

/* ---- Messages ----------------------------------------------------------------------------------
 */

cudaStream_t sp_cuda_border_stream(const sp_device_space *space) {
  const bool beside =
      space->ranks > 1 && space->kind == SP_TRANSPORT_PEER && !space->border.view.few;
  return beside ? space->device->urgent : space->device->stream;
}

static sp_status pack_values(sp_device_space *s, sp_precision precision, const void *vector,
                             cudaStream_t stream) {
  const size_t bytes = (size_t)s->lists.shared * sp_precision_bytes(precision);
  if (s->lists.shared == 0) return SP_OK;
  SP_CUDA(sp_cuda_pack(&s->lists, precision, vector, s->sent, stream));
  if (s->kind == SP_TRANSPORT_NCCL) return sp_nccl_table->begin(s, precision);
  if (s->kind == SP_TRANSPORT_STAGED)
    SP_CUDA(cudaMemcpyAsync(s->host_sent, s->sent, bytes, cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaStreamSynchronize(stream));
  return SP_OK;
}

sp_status sp_cuda_exchange_begin(sp_device_space *s, sp_precision precision,
                                 const sp_cuda_pending *pending, void *vector,
                                 cudaStream_t stream) {
  if (s->ranks == 1) return SP_OK;
  if (s->kind == SP_TRANSPORT_PEER) {
    SP_CUDA(sp_cuda_border_send(&s->border.view, precision, pending, vector, NULL, stream));
    if (!s->border.view.few) /* the neighbours' values are also added on `stream` */
      SP_CUDA(sp_cuda_border_receive(&s->border.view, precision, vector, NULL, stream));
    return SP_OK;
  }
  const sp_status status = pack_values(s, precision, vector, stream);
  if (s->kind == SP_TRANSPORT_STAGED)
    sp_exchange_begin_packed(s->exchange, precision, s->host_sent, s->host_received);
  if (s->kind == SP_TRANSPORT_CUDA_AWARE)
    sp_exchange_begin_packed(s->exchange, precision, s->sent, s->received);
  return status;
}

sp_status sp_cuda_exchange_end(sp_device_space *s, sp_precision precision, void *vector,
                               cudaStream_t stream, bool *joins) {
  *joins = false;
  if (s->ranks == 1) return SP_OK;
  sp_device *device = s->device;
  if (s->kind == SP_TRANSPORT_PEER) {
    if (s->border.view.few)
      SP_CUDA(sp_cuda_border_receive(&s->border.view, precision, vector, NULL, stream));
    *joins = stream != device->stream;
    return *joins ? sp_cuda_join(device) : SP_OK;
  }
  if (s->kind != SP_TRANSPORT_NCCL) sp_exchange_end_packed(s->exchange);
  if (s->lists.shared == 0) return SP_OK;
  if (s->kind == SP_TRANSPORT_NCCL) SP_CUDA(cudaStreamWaitEvent(device->stream, device->join, 0));
  if (s->kind == SP_TRANSPORT_STAGED)
    SP_CUDA(cudaMemcpyAsync(s->received, s->host_received,
                            (size_t)s->lists.shared * sp_precision_bytes(precision),
                            cudaMemcpyHostToDevice, device->stream));
  SP_CUDA(sp_cuda_combine(&s->lists, precision, s->received, vector, device->stream));
  return SP_OK;
}

sp_status sp_cuda_assemble(sp_device_space *space, sp_precision precision, void *vector) {
  bool joins;
  cudaStream_t stream = space->device->stream;
  const sp_status begun = sp_cuda_exchange_begin(space, precision, NULL, vector, stream);
  const sp_status ended = sp_cuda_exchange_end(space, precision, vector, stream, &joins);
  return begun ? begun : ended;
}

sp_status sp_cuda_wait(sp_device *device) {
  if (device->nccl) SP_TRY(sp_nccl_table->wait(device));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return sp_cuda_peers_check(device->peers);
}
