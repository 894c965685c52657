// The CUDA table of functions. Work is queued on the device's stream; what the host reads waits for
// it.

#include "operators/cuda/local.h"

#include <cstdio>
#include <cstring>

/* As many partial sums of pass 1 every block of pass 2 adds up itself: for small problems that is
 * less than what one more kernel takes. */
enum { SP_CUDA_FEW_SUMS = 4096 };

static const char *cuda_describe(const sp_device *device) {
  return device->description;
}

static sp_geometry_kind cuda_faster_geometry(sp_operator_kind kind, int order) {
  (void)kind;
  (void)order;
  return SP_GEOMETRY_TRILINEAR;
}

static sp_status cuda_vector_create(sp_device *device, size_t count, double **out) {
  (void)device;
  /* Kernels work on pairs: room for a whole last one. */
  return sp_cuda_allocate(count + 1, sizeof(double), "vector", (void **)out);
}

static void cuda_vector_destroy(sp_device *device, double **vector) {
  (void)device;
  (void)cudaFree(*vector);
  *vector = nullptr;
}

static sp_status cuda_upload(sp_device *device, size_t count, const double *host, double *vector) {
  SP_CUDA(
      cudaMemcpyAsync(vector, host, count * sizeof *host, cudaMemcpyHostToDevice, device->stream));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

static sp_status cuda_download(sp_device *device, size_t count, const double *vector,
                               double *host) {
  SP_CUDA(
      cudaMemcpyAsync(host, vector, count * sizeof *host, cudaMemcpyDeviceToHost, device->stream));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

static sp_status cuda_copy(sp_device *device, size_t count, const double *from, double *to) {
  SP_CUDA(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, device->stream));
  return SP_OK;
}

static sp_status cuda_finish(sp_device *device) {
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

static size_t cuda_operator_bytes(const sp_local_operator *local) {
  return local->bytes;
}

/* ---- Application -------------------------------------------------------------------------------
 */

static sp_cuda_arguments arguments_of(const sp_local_operator *local, int first, int last) {
  sp_cuda_arguments arguments = {};
  arguments.first = first;
  arguments.last = last;
  arguments.factors = local->factors;
  arguments.nodes = local->nodes;
  arguments.edges = local->edges;
  arguments.lambda = local->lambda;
  return arguments;
}

static sp_cuda_arguments arguments_of_part(const sp_local_operator *local, sp_part part) {
  return part == SP_HALO ? arguments_of(local, 0, local->halo_elements)
                         : arguments_of(local, local->halo_elements, local->elements);
}

static sp_status add_diagonal(sp_local_operator *local, sp_part part, bool constrained,
                              int first_edge, const double *x, double *y, double *partial,
                              const sp_cuda_scalars *scalars, bool joins, cudaStream_t stream) {
  const sp_cuda_diagonal *diagonal = &local->diagonal;
  SP_CUDA(sp_cuda_add_diagonal(diagonal, part == SP_HALO ? 0 : diagonal->shared,
                               part == SP_HALO ? diagonal->shared : diagonal->count, constrained,
                               first_edge, x, y, partial, scalars, joins, stream));
  return SP_OK;
}

static sp_status cuda_apply(sp_local_operator *local, sp_part part, bool constrained,
                            const double *x, double *y) {
  const range named("operator");
  cudaStream_t stream = local->device->stream;
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  arguments.x = x;
  arguments.y = y;
  arguments.constrained = constrained;
  if (part == SP_HALO) SP_CUDA(sp_cuda_clear_faces(&local->assembly, y, stream));
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_ASSEMBLED, stream));
  if (part == SP_HALO)
    SP_CUDA(
        sp_cuda_assemble_shared(&local->assembly, constrained, local->edges, y, nullptr, stream));
  else
    SP_CUDA(sp_cuda_assemble_own(&local->assembly, constrained, local->edges, y, stream));
  return add_diagonal(local, part, constrained, local->dofs, x, y, nullptr, nullptr, false, stream);
}

static size_t cuda_e_vector_size(const sp_local_operator *local) {
  return (size_t)local->elements * local->nodes_an_element;
}

static sp_status cuda_apply_unassembled(sp_local_operator *local, const double *x, double *y) {
  sp_cuda_arguments arguments = arguments_of(local, 0, local->elements);
  arguments.x = x;
  arguments.y = y;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_LOCAL, local->device->stream));
  return SP_OK;
}

static void set_step(sp_local_operator *local, const sp_cg_vectors *vectors,
                     sp_cuda_arguments *arguments) {
  arguments->constrained = true;
  arguments->y = vectors->ap;
  arguments->step.r = vectors->r;
  arguments->step.p = vectors->p;
  arguments->step.next_p = vectors->next_p;
  arguments->step.inverse_diagonal = vectors->inverse_diagonal;
  arguments->step.partial = local->energy + SP_CUDA_SUM_BLOCKS;
  arguments->step.scalars = local->scalars;
}

static sp_status finish_pass_1(sp_local_operator *local, int blocks, const sp_cuda_peers *peers,
                               sp_cg_record *records) {
  SP_CUDA(sp_cuda_finish_pass_1(blocks, local->energy + SP_CUDA_SUM_BLOCKS, local->energy,
                                local->scalars, peers, records, peers->size > 0,
                                local->device->stream));
  return SP_OK;
}

static int blocks_of_elements(const sp_local_operator *local) {
  return pass_1_blocks(local, local->halo_elements) +
         pass_1_blocks(local, local->elements - local->halo_elements);
}

static sp_status cuda_direction(sp_local_operator *local, sp_part part, double beta,
                                const sp_cg_vectors *vectors) {
  const range named("CG: pass 1");
  cudaStream_t stream = local->device->stream;
  const int halo_blocks = pass_1_blocks(local, local->halo_elements);
  const int blocks = blocks_of_elements(local);
  const int halo_diagonal = sp_cuda_diagonal_blocks(local->diagonal.shared);
  double *const partial = local->energy + SP_CUDA_SUM_BLOCKS;
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  set_step(local, vectors, &arguments);
  if (part == SP_HALO) {
    sp_cuda_scalars scalars = {};
    scalars.beta = beta;
    SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, stream));
    SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
    SP_CUDA(sp_cuda_assemble_shared(&local->assembly, true, local->edges, vectors->ap,
                                    local->scalars, stream));
    return add_diagonal(local, part, true, local->dofs, vectors->next_p, vectors->ap,
                        partial + blocks, local->scalars, false, stream);
  }
  arguments.step.first_block = halo_blocks;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  SP_TRY(add_diagonal(local, part, true, local->assembly.first_edge, vectors->next_p, vectors->ap,
                      partial + blocks + halo_diagonal, local->scalars, false, stream));
  const sp_cuda_peers none = {}; /* the host sums over ranks */
  SP_TRY(finish_pass_1(local, blocks + diagonal_blocks(local), &none, nullptr));
  SP_CUDA(cudaMemcpyAsync(local->sums, &local->scalars->p_ap, sizeof(double),
                          cudaMemcpyDeviceToHost, stream));
  return SP_OK;
}

static sp_cuda_update update_of(sp_local_operator *local, const sp_cg_vectors *vectors) {
  sp_cuda_update update = {};
  update.vectors = *vectors;
  update.assembly = local->assembly;
  update.edges = local->edges;
  update.partial = local->partial;
  update.scalars = local->scalars;
  return update;
}

static sp_status cuda_update(sp_local_operator *local, double alpha, const sp_cg_vectors *vectors) {
  const range named("CG: pass 2");
  sp_cuda_scalars scalars = {};
  scalars.alpha = alpha;
  sp_cuda_update update = update_of(local, vectors);
  update.update_x = true;
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, local->device->stream));
  SP_CUDA(sp_cuda_update_launch(&update, local->device->stream));
  SP_CUDA(cudaMemcpyAsync(local->sums, &local->scalars->rr, 2 * sizeof(double),
                          cudaMemcpyDeviceToHost, local->device->stream));
  return SP_OK;
}

static sp_status cuda_sums(sp_local_operator *local, double sums[2]) {
  SP_CUDA(cudaStreamSynchronize(local->device->stream));
  memcpy(sums, local->sums, 2 * sizeof *sums);
  return SP_OK;
}

static sp_status cuda_pack(sp_local_operator *local, const double *vector, double **sent,
                           double **received) {
  return sp_cuda_exchange_pack(&local->exchange, vector, sent, received);
}

static sp_status cuda_unpack(sp_local_operator *local, double *vector) {
  return sp_cuda_exchange_unpack(&local->exchange, vector);
}

/* ---- Whole iterations on the device -------------------------------------------------------------
 */

static void change_places(double **a, double **b) {
  double *const kept = *a;
  *a = *b;
  *b = kept;
}

/* Pass 1 over one part. Partial sums stand in the order of cuda_direction(): border, inside, and
 * what the diagonal adds to the two. */
static sp_status queue_part(sp_local_operator *local, sp_part part, sp_cg_vectors *vectors,
                            cudaStream_t stream) {
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  const bool nothing_inside = local->halo_elements == local->elements;
  set_step(local, vectors, &arguments);
  arguments.step.x = vectors->x;
  arguments.step.first_block = part == SP_HALO ? 0 : pass_1_blocks(local, local->halo_elements);
  arguments.step.stamps = part == SP_INNER || nothing_inside; /* what starts first */
  arguments.forks = part == SP_HALO;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  return SP_OK;
}

static sp_status queue_diagonal(sp_local_operator *local, sp_part part,
                                const sp_cg_vectors *vectors, cudaStream_t stream) {
  const int first_edge = part == SP_HALO ? local->dofs : local->assembly.first_edge;
  const int before = part == SP_HALO ? 0 : sp_cuda_diagonal_blocks(local->diagonal.shared);
  double *const partial = local->energy + SP_CUDA_SUM_BLOCKS + blocks_of_elements(local) + before;
  return add_diagonal(local, part, true, first_edge, vectors->next_p, vectors->ap, partial,
                      local->scalars, part == SP_INNER && local->peers.view.size > 0, stream);
}

/* Pass 1 on several GPUs: the border and its exchange beside the elements inside, both behind what
 * recorded the event `fork`. */
static sp_status queue_parts(sp_local_operator *local, sp_cg_vectors *vectors) {
  const sp_cuda_peers *peers = &local->peers.view;
  cudaStream_t urgent = local->device->urgent;
  SP_CUDA(cudaStreamWaitEvent(urgent, local->device->fork, 0));
  SP_TRY(queue_part(local, SP_INNER, vectors, local->device->stream));
  SP_TRY(queue_part(local, SP_HALO, vectors, urgent));
  SP_CUDA(sp_cuda_assemble_shared(&local->assembly, true, local->edges, vectors->ap, local->scalars,
                                  urgent));
  SP_TRY(queue_diagonal(local, SP_HALO, vectors, urgent));
  SP_CUDA(sp_cuda_peers_exchange(peers, vectors->ap, local->scalars, urgent));
  return sp_cuda_join(local->device);
}

static sp_status queue_iteration(sp_local_operator *local, sp_cg_vectors *vectors) {
  cudaStream_t stream = local->device->stream;
  const sp_cuda_peers *peers = &local->peers.view;
  const int blocks = blocks_of_elements(local) + diagonal_blocks(local);
  SP_TRY(peers->size > 0 ? queue_parts(local, vectors)
                         : queue_part(local, SP_INNER, vectors, stream));
  SP_TRY(queue_diagonal(local, SP_INNER, vectors, stream));
  change_places(&vectors->p, &vectors->next_p);
  sp_cuda_update update = update_of(local, vectors);
  update.peers = *peers;
  update.records = local->records;
  if (peers->size > 0) update.done = local->device->fork;
  if (peers->size == 0 && blocks <= SP_CUDA_FEW_SUMS) {
    update.pass_1 = local->energy + SP_CUDA_SUM_BLOCKS;
    update.pass_1_count = blocks;
  } else {
    SP_TRY(finish_pass_1(local, blocks, peers, local->records));
  }
  SP_CUDA(sp_cuda_update_launch(&update, stream));
  return SP_OK;
}

/* What the border of the first iteration begins behind; later ones begin behind a pass 2. */
static sp_status begin_fork(sp_local_operator *local) {
  SP_CUDA(cudaEventRecord(local->device->fork, local->device->stream));
  return SP_OK;
}

/* SP_CUDA_GRAPH is even: the directions are back in their places after a graph. */
static sp_status capture_iterations(sp_local_operator *local, const sp_cg_vectors *vectors) {
  if (local->graph && !memcmp(&local->captured, vectors, sizeof *vectors)) return SP_OK;
  if (local->graph) SP_CUDA(cudaGraphExecDestroy(local->graph));
  local->graph = nullptr;
  cudaGraph_t graph = nullptr;
  sp_cg_vectors turning = *vectors;
  SP_CUDA(cudaStreamBeginCapture(local->device->stream, cudaStreamCaptureModeThreadLocal));
  sp_status status = begin_fork(local);
  for (int i = 0; i < SP_CUDA_GRAPH && !status; i++) status = queue_iteration(local, &turning);
  const cudaError_t ended = cudaStreamEndCapture(local->device->stream, &graph);
  if (status) {
    if (graph) (void)cudaGraphDestroy(graph);
    return status;
  }
  SP_CUDA(ended);
  const cudaError_t made =
      cudaGraphInstantiate(&local->graph, graph, cudaGraphInstantiateFlagUseNodePriority);
  SP_CUDA(cudaGraphDestroy(graph));
  SP_CUDA(made);
  local->captured = *vectors;
  return SP_OK;
}

static sp_status cuda_iterate(sp_local_operator *local, sp_cg_vectors *vectors,
                              const sp_cg_state *state, int count, sp_cg_record *records,
                              int *done) {
  const range named("CG: iterations");
  cudaStream_t stream = local->device->stream;
  sp_cuda_scalars scalars = {};
  scalars.beta = state->beta;
  scalars.rz = state->rz;
  scalars.target = state->target;
  if (count > SP_CUDA_BATCH) count = SP_CUDA_BATCH;
  scalars.limit = count;
  SP_TRY(capture_iterations(local, vectors));
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, stream));
  for (int i = 0; i < count; i += SP_CUDA_GRAPH) SP_CUDA(cudaGraphLaunch(local->graph, stream));
  SP_CUDA(sp_cuda_last_step(local->dofs, vectors->p, vectors->next_p, vectors->x, local->scalars,
                            stream));
  SP_CUDA(
      cudaMemcpyAsync(&scalars, local->scalars, sizeof scalars, cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaMemcpyAsync(records, local->records, (size_t)count * sizeof *records,
                          cudaMemcpyDeviceToHost, stream));
  int missing = 0;
  if (local->peers.view.size > 0)
    SP_CUDA(cudaMemcpyAsync(&missing, local->peers.view.missing, sizeof missing,
                            cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaStreamSynchronize(stream));
  if (missing)
    return sp_fail(SP_ERR_ELSEWHERE, "rank %d did not answer rank %d for %.0f s", missing - 1,
                   local->peers.view.rank, SP_CUDA_PATIENCE * 1e-9);
  *done = scalars.iterations;
  if (*done % 2) change_places(&vectors->p, &vectors->next_p);
  return SP_OK;
}

/* The ways between ranks in the order in which `auto` tries them. */
static const struct {
  sp_transport kind;
  const char *description;
} ways[] = {{SP_TRANSPORT_PEER, "GPUs write to each other"},
            {SP_TRANSPORT_CUDA_AWARE, "MPI reads GPU memory"},
            {SP_TRANSPORT_NCCL, "NCCL between GPUs"},
            {SP_TRANSPORT_STAGED, "through the host"}};

static sp_status try_way(sp_local_operator *local, MPI_Comm comm, sp_transport kind,
                         const char **why) {
  *why = nullptr;
  if (kind == SP_TRANSPORT_STAGED) return SP_OK;
  if (kind != SP_TRANSPORT_PEER) return sp_cuda_exchange_choose(&local->exchange, comm, kind, why);
  SP_TRY(sp_cuda_peers_create(comm, &local->exchange, why, &local->peers));
  if (*why) sp_cuda_peers_free(&local->peers);
  return SP_OK;
}

/* Add "; WAY: WHY" to the obstacles, as far as they fit. */
static void note_obstacle(const char *way, const char *why, size_t room, char *obstacles) {
  const size_t used = strlen(obstacles);
  snprintf(obstacles + used, room - used, "%s%s: %s", used > 0 ? "; " : "", way, why);
}

static sp_status cuda_connect(sp_local_operator *local, MPI_Comm comm, const sp_exchange_plan *plan,
                              bool *iterates, const char **how) {
  const range named("exchange: set-up");
  const bool chooses = local->wish == SP_TRANSPORT_AUTO;
  char obstacles[256] = "";
  int size;
  MPI_Comm_size(comm, &size);
  *iterates = size == 1;
  *how = "none: one rank";
  if (size == 1) return SP_OK;
  *how = local->how;
  SP_TRY(sp_cuda_exchange_create(local->device, comm, plan, &local->exchange));
  for (const auto &way : ways) {
    const char *why, *name = sp_transport_name(way.kind);
    if (!chooses && local->wish != way.kind) continue;
    SP_TRY(try_way(local, comm, way.kind, &why));
    if (why && !chooses)
      return sp_fail(SP_ERR_SYSTEM, "exchange = %s is not possible: %s; use auto", name, why);
    if (why) {
      note_obstacle(name, why, sizeof obstacles, obstacles);
      continue;
    }
    const bool first = !*obstacles;
    snprintf(local->how, sizeof local->how, "%s: %s%s%s%s", name, way.description,
             first ? "" : " (", obstacles, first ? "" : ")");
    *iterates = way.kind == SP_TRANSPORT_PEER;
    break;
  }
  return SP_OK;
}

static const sp_backend table = {
    .name = "cuda",
    .open = sp_cuda_open,
    .close = sp_cuda_close,
    .describe = cuda_describe,
    .faster_geometry = cuda_faster_geometry,
    .two_directions = true,
    .vector_create = cuda_vector_create,
    .vector_destroy = cuda_vector_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .finish = cuda_finish,
    .operator_create = sp_cuda_operator_create,
    .operator_destroy = sp_cuda_operator_destroy,
    .operator_bytes = cuda_operator_bytes,
    .apply = cuda_apply,
    .e_vector_size = cuda_e_vector_size,
    .apply_unassembled = cuda_apply_unassembled,
    .direction = cuda_direction,
    .update = cuda_update,
    .sums = cuda_sums,
    .pack = cuda_pack,
    .unpack = cuda_unpack,
    .connect = cuda_connect,
    .iterate = cuda_iterate,
};

extern "C" const sp_backend *const sp_backend_cuda = &table;
