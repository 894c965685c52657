// The CUDA backend's table of functions. Work is queued on the device's stream; functions that
// return values to the host wait for it.

extern "C" {
#include "operators/cuda/blas.h"
#include "operators/cuda/copies.h"
#include "operators/cuda/matrix.h"
#include "operators/cuda/schwarz.h"
#include "operators/cuda/transfer.h"
}

#include "operators/cuda/local.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

/* Up to this many partial sums of pass 1, every block of pass 2 adds them up, which is faster than
 * one more kernel. */
enum { SP_CUDA_FEW_SUMS = 4096 };

static const char *cuda_describe(const sp_device *device) {
  return device->description;
}

/* From measurements of CG (MEASUREMENTS.md). The mass operator stores only one factor per point. */
static sp_geometry_kind cuda_faster_geometry(sp_operator_kind kind, int order, bool) {
  const bool stored = kind == SP_MASS && (order <= 2 || order == 4 || order == 5);
  return stored ? SP_GEOMETRY_STORED : SP_GEOMETRY_TRILINEAR;
}

/* Callers may have queued work on the default stream, which our streams do not wait for. */
static sp_status cuda_find_memory(sp_device *device, const void *pointer, bool *here) {
  cudaPointerAttributes memory = {};
  SP_CUDA(cudaPointerGetAttributes(&memory, pointer));
  *here = memory.type == cudaMemoryTypeDevice || memory.type == cudaMemoryTypeManaged;
  if (!*here) return SP_OK;
  if (memory.type == cudaMemoryTypeDevice && memory.device != device->id)
    return sp_fail(SP_ERR_INPUT, "an array is in the memory of GPU %d, expected GPU %d or the host",
                   memory.device, device->id);
  SP_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  return SP_OK;
}

static sp_status cuda_vector_create(sp_device *device, sp_precision precision, size_t count,
                                    void *out) {
  /* One more entry, because kernels use pairs of entries. */
  void *memory = nullptr;
  const sp_status status =
      sp_cuda_take(device, count + 1, sp_precision_bytes(precision), "vector", &memory);
  memcpy(out, &memory, sizeof memory);
  return status;
}

static void cuda_vector_destroy(sp_device *device, void *vector) {
  void *memory;
  memcpy(&memory, vector, sizeof memory);
  sp_cuda_give(device, &memory);
  memcpy(vector, &memory, sizeof memory);
}

static sp_status cuda_upload(sp_device *device, sp_precision precision, size_t count,
                             const void *host, void *vector) {
  SP_TRY(sp_cuda_wait(device));
  return sp_cuda_copy_in(count * sp_precision_bytes(precision), host, vector);
}

static sp_status cuda_download(sp_device *device, sp_precision precision, size_t count,
                               const void *vector, void *host) {
  SP_TRY(sp_cuda_wait(device));
  return sp_cuda_copy_out(count * sp_precision_bytes(precision), vector, host);
}

static sp_status cuda_copy(sp_device *device, sp_precision precision, size_t count,
                           const void *from, void *to) {
  SP_CUDA(cudaMemcpyAsync(to, from, count * sp_precision_bytes(precision), cudaMemcpyDeviceToDevice,
                          device->stream));
  return SP_OK;
}

/* ---- Application -------------------------------------------------------------------------------
 */

static sp_status cuda_apply(sp_local_operator *local, bool constrained, const void *x, void *y) {
  const range named("operator");
  const sp_cuda_application application = {nullptr, constrained, x, y, nullptr};
  return sp_cuda_apply_elements(local, &application);
}

static sp_status cuda_apply_step(sp_local_operator *local, const void *x, void *q,
                                 const sp_correction *step) {
  const range named("operator and step");
  const sp_cuda_application application = {nullptr, true, x, q, step};
  return sp_cuda_apply_elements(local, &application);
}

static size_t cuda_e_vector_size(const sp_local_operator *local) {
  return (size_t)local->elements * local->nodes_an_element;
}

static sp_status cuda_apply_unassembled(sp_local_operator *local, const void *x, void *y) {
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, WHOLE);
  arguments.x = x;
  arguments.y = y;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_LOCAL, local->device->stream));
  return SP_OK;
}

static void set_step(sp_local_operator *local, const sp_cg_arrays *vectors,
                     sp_cuda_arguments *arguments) {
  arguments->constrained = true;
  arguments->y = vectors->ap;
  arguments->step.z = vectors->z;
  arguments->step.p = vectors->p;
  arguments->step.next_p = vectors->next_p;
  arguments->step.inverse_diagonal = vectors->inverse_diagonal;
  arguments->step.partial = local->energy + SP_CUDA_SUM_BLOCKS;
  arguments->step.scalars = local->scalars;
}

static sp_status finish_pass_1(sp_local_operator *local, int blocks, bool joins,
                               const sp_cuda_ranks *ranks) {
  SP_CUDA(sp_cuda_finish_pass_1(blocks, local->energy + SP_CUDA_SUM_BLOCKS, local->energy,
                                local->scalars, ranks, joins, local->device->stream));
  return SP_OK;
}

static int blocks_of_elements(const sp_local_operator *local) {
  return pass_1_blocks(local, local->halo_elements) +
         pass_1_blocks(local, local->elements - local->halo_elements);
}

/* ap += D p of CG, with the sums of p.D p. */
static sp_status apply_diagonal(sp_local_operator *local, mesh_part part,
                                const sp_cg_arrays *vectors, bool joins, double *partial,
                                cudaStream_t stream) {
  sp_cuda_diagonal_pass pass = {};
  pass.constrained = true;
  pass.joins = joins;
  pass.x = vectors->next_p;
  pass.y = vectors->ap;
  pass.partial = partial;
  pass.scalars = local->scalars;
  return sp_cuda_apply_diagonal(local, part, part == INNER, pass, stream);
}

/* The two parts of pass 1 if the host sums over ranks. Partial sums are stored in this order: halo
 * elements, inner elements, the diagonal's part in the halo, its inner part. */
static sp_status direction_halo(sp_local_operator *local, double beta, const sp_cg_arrays *vectors,
                                cudaStream_t stream) {
  double *const diagonal_sums = local->energy + SP_CUDA_SUM_BLOCKS + blocks_of_elements(local);
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, HALO);
  sp_cuda_scalars scalars = {};
  scalars.beta = beta;
  set_step(local, vectors, &arguments);
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, local->device->stream));
  arguments.forks = stream != local->device->stream;
  if (arguments.forks) SP_TRY(sp_cuda_fork(local->device));
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  SP_CUDA(sp_cuda_assemble_shared(&local->assembly, SP_DOUBLE, true, local->edges, vectors->ap,
                                  local->scalars, stream));
  return apply_diagonal(local, HALO, vectors, false, diagonal_sums, stream);
}

static sp_status direction_inner(sp_local_operator *local, const sp_cg_arrays *vectors) {
  cudaStream_t stream = local->device->stream;
  double *const diagonal_sums = local->energy + SP_CUDA_SUM_BLOCKS + blocks_of_elements(local) +
                                sp_cuda_diagonal_blocks(local->diagonal.shared);
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, INNER);
  set_step(local, vectors, &arguments);
  arguments.step.first_block = pass_1_blocks(local, local->halo_elements);
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  return apply_diagonal(local, INNER, vectors, false, diagonal_sums, stream);
}

static sp_status finish_direction(sp_local_operator *local, bool joins) {
  const sp_cuda_ranks none = {}; /* the host sums over ranks */
  const int blocks = blocks_of_elements(local) + diagonal_blocks(local);
  SP_TRY(finish_pass_1(local, blocks, joins, &none));
  SP_CUDA(cudaMemcpyAsync(local->sums, &local->scalars->p_ap, sizeof(double),
                          cudaMemcpyDeviceToHost, local->device->stream));
  return SP_OK;
}

static sp_status cuda_direction(sp_local_operator *local, double beta,
                                const sp_cg_arrays *vectors) {
  const range named("CG: pass 1");
  sp_device_space *space = local->space;
  cudaStream_t border = sp_cuda_border_stream(space);
  bool joins;
  sp_status status = direction_halo(local, beta, vectors, border);
  status = sp_first_failure(status,
                            sp_cuda_exchange_begin(space, SP_DOUBLE, nullptr, vectors->ap, border));
  status = sp_first_failure(status, direction_inner(local, vectors));
  status =
      sp_first_failure(status, sp_cuda_exchange_end(space, SP_DOUBLE, vectors->ap, border, &joins));
  return sp_first_failure(status, finish_direction(local, joins));
}

static sp_cuda_update update_of(sp_local_operator *local, const sp_cg_arrays *vectors) {
  sp_cuda_update update = {};
  update.vectors = *vectors;
  update.assembly = local->assembly;
  update.edges = (const double *)local->edges;
  update.partial = local->partial;
  update.scalars = local->scalars;
  return update;
}

static sp_status cuda_update(sp_local_operator *local, double alpha, const sp_cg_arrays *vectors) {
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
  SP_TRY(sp_cuda_wait(local->device));
  memcpy(sums, local->sums, 2 * sizeof *sums);
  return SP_OK;
}

/* ---- Whole iterations on the device -------------------------------------------------------------
 */

static void swap(double **a, double **b) {
  double *const kept = *a;
  *a = *b;
  *b = kept;
}

/* Pass 1 over one part. Partial sums are stored in the same order as by cuda_direction(). */
static sp_status queue_part(sp_local_operator *local, mesh_part part, sp_cg_arrays *vectors,
                            cudaStream_t stream) {
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, part);
  const bool nothing_inside = local->halo_elements == local->elements;
  set_step(local, vectors, &arguments);
  arguments.step.x = vectors->x;
  arguments.step.first_block = part == HALO ? 0 : pass_1_blocks(local, local->halo_elements);
  arguments.step.stamps = part == INNER || nothing_inside; /* true for the part that starts first */
  arguments.forks = part == HALO;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  return SP_OK;
}

static sp_status queue_diagonal(sp_local_operator *local, mesh_part part,
                                const sp_cg_arrays *vectors, cudaStream_t stream) {
  const int before = part == HALO ? 0 : sp_cuda_diagonal_blocks(local->diagonal.shared);
  double *const partial = local->energy + SP_CUDA_SUM_BLOCKS + blocks_of_elements(local) + before;
  return apply_diagonal(local, part, vectors, part == INNER && local->space->ranks > 1, partial,
                        stream);
}

/* Pass 1 on several GPUs: the border and its exchange run concurrently with the inner elements.
 * Both wait for the event `fork`. */
static sp_status queue_parts(sp_local_operator *local, sp_cg_arrays *vectors) {
  cudaStream_t urgent = local->device->urgent;
  SP_CUDA(cudaStreamWaitEvent(urgent, local->device->fork, 0));
  SP_TRY(queue_part(local, INNER, vectors, local->device->stream));
  SP_TRY(queue_part(local, HALO, vectors, urgent));
  SP_CUDA(sp_cuda_assemble_shared(&local->assembly, SP_DOUBLE, true, local->edges, vectors->ap,
                                  local->scalars, urgent));
  SP_TRY(queue_diagonal(local, HALO, vectors, urgent));
  const sp_cuda_border *border = &local->space->border.view;
  SP_CUDA(sp_cuda_border_send(border, SP_DOUBLE, nullptr, vectors->ap, local->scalars, urgent));
  SP_CUDA(sp_cuda_border_receive(border, SP_DOUBLE, vectors->ap, local->scalars, urgent));
  return sp_cuda_join(local->device);
}

static sp_status queue_iteration(sp_local_operator *local, sp_cg_arrays *vectors) {
  cudaStream_t stream = local->device->stream;
  const sp_cuda_ranks ranks = ranks_of(local);
  const bool several = ranks.size > 0;
  const int blocks = blocks_of_elements(local) + diagonal_blocks(local);
  SP_TRY(several ? queue_parts(local, vectors) : queue_part(local, INNER, vectors, stream));
  SP_TRY(queue_diagonal(local, INNER, vectors, stream));
  swap(&vectors->p, &vectors->next_p);
  sp_cuda_update update = update_of(local, vectors);
  update.ranks = ranks;
  update.records = local->records;
  if (several) update.done = local->device->fork;
  if (!several && blocks <= SP_CUDA_FEW_SUMS) {
    update.pass_1 = local->energy + SP_CUDA_SUM_BLOCKS;
    update.pass_1_count = blocks;
  } else {
    SP_TRY(finish_pass_1(local, blocks, several, &ranks));
  }
  SP_CUDA(sp_cuda_update_launch(&update, stream));
  return SP_OK;
}

/* Record the event before the border of the first iteration; later pass 2 records it. */
static sp_status begin_fork(sp_local_operator *local) {
  SP_CUDA(cudaEventRecord(local->device->fork, local->device->stream));
  return SP_OK;
}

static sp_status capture_iterations(sp_local_operator *local, const sp_cg_arrays *vectors) {
  if (local->graph && !memcmp(&local->captured, vectors, sizeof *vectors)) return SP_OK;
  if (local->graph) SP_CUDA(cudaGraphExecDestroy(local->graph));
  local->graph = nullptr;
  cudaGraph_t graph = nullptr;
  sp_cg_arrays turning = *vectors;
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

static sp_status cuda_iterate(sp_local_operator *local, sp_cg_arrays *vectors,
                              const sp_cg_state *state, int count, sp_cg_record *records,
                              int *done) {
  const range named("CG: iterations");
  cudaStream_t stream = local->device->stream;
  sp_cuda_scalars scalars = {};
  scalars.beta = state->beta;
  scalars.rz = state->rz;
  scalars.target = state->target;
  scalars.energy = state->energy;
  scalars.share = state->share;
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
  SP_TRY(sp_cuda_wait(local->device));
  *done = scalars.iterations;
  if (*done % 2) swap(&vectors->p, &vectors->next_p);
  return SP_OK;
}

/* ---- Recorded work ------------------------------------------------------------------------------
 */

struct sp_recording {
  sp_device *device;
  cudaGraphExec_t graph;
};

static sp_status cuda_record(sp_device *device) {
  SP_CUDA(cudaStreamBeginCapture(device->stream, cudaStreamCaptureModeThreadLocal));
  return SP_OK;
}

static sp_status cuda_end_recording(sp_device *device, sp_status status, sp_recording **out) {
  cudaGraph_t graph = nullptr;
  *out = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(device->stream, &graph);
  if (!status && ended != cudaSuccess)
    status = sp_cuda_failed(ended, "cudaStreamEndCapture", __FILE__, __LINE__);
  sp_recording *recording = nullptr;
  if (!status) status = sp_allocate(1, sizeof *recording, "recorded work", &recording);
  if (!status) {
    recording->device = device;
    const cudaError_t made =
        cudaGraphInstantiate(&recording->graph, graph, cudaGraphInstantiateFlagUseNodePriority);
    if (made != cudaSuccess)
      status = sp_cuda_failed(made, "cudaGraphInstantiate", __FILE__, __LINE__);
  }
  if (graph) (void)cudaGraphDestroy(graph);
  if (status)
    free(recording);
  else
    *out = recording;
  return status;
}

static sp_status cuda_replay(sp_recording *recording) {
  SP_CUDA(cudaGraphLaunch(recording->graph, recording->device->stream));
  return SP_OK;
}

static void cuda_recording_destroy(sp_recording **recording) {
  if (*recording) (void)cudaGraphExecDestroy((*recording)->graph);
  free(*recording);
  *recording = nullptr;
}

static sp_status cuda_open(MPI_Comm comm, sp_device **out) {
  SP_TRY(sp_cuda_open(comm, out));
  return sp_cuda_blas_prepare(*out);
}

static void cuda_close(sp_device **device) {
  if (!*device) return;
  sp_cuda_nccl_close(&(*device)->nccl);
  sp_cuda_peers_close(&(*device)->peers);
  sp_cuda_copies_close();
  sp_cuda_close(device);
}

static const sp_backend table = {
    .name = "cuda",
    .on_host = false,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .finish = sp_cuda_wait,
    .find_memory = cuda_find_memory,
    .faster_geometry = cuda_faster_geometry,
    .vector_create = cuda_vector_create,
    .vector_destroy = cuda_vector_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .convert = sp_cuda_convert,
    .fill = sp_cuda_fill,
    .combine = sp_cuda_combine_vectors,
    .multiply = sp_cuda_multiply,
    .dot = sp_cuda_dot,
    .correct = sp_cuda_correct,
    .space_create = sp_cuda_space_create,
    .space_destroy = sp_cuda_space_destroy,
    .assemble = sp_cuda_assemble,
    .single_operators = true,
    .rounded_factors = true,
    .operator_create = sp_cuda_operator_create,
    .operator_destroy = sp_cuda_operator_destroy,
    .read_factors = NULL,
    .apply = cuda_apply,
    .e_vector_size = cuda_e_vector_size,
    .apply_unassembled = cuda_apply_unassembled,
    .weighted_transfer = false,
    .transfer_create = sp_cuda_transfer_create,
    .transfer_destroy = sp_cuda_transfer_destroy,
    .prolong = sp_cuda_prolong,
    .restrict_residual = sp_cuda_restrict,
    .schwarz_create = sp_cuda_schwarz_create,
    .schwarz_destroy = sp_cuda_schwarz_destroy,
    .schwarz_apply = sp_cuda_schwarz_apply,
    .apply_step = cuda_apply_step,
    .schwarz_step = sp_cuda_schwarz_step,
    .matrix_create = sp_cuda_matrix_create,
    .inverse_create = sp_cuda_inverse_create,
    .matrix_destroy = sp_cuda_matrix_destroy,
    .matrix_apply = sp_cuda_matrix_apply,
    .record = cuda_record,
    .end_recording = cuda_end_recording,
    .replay = cuda_replay,
    .recording_destroy = cuda_recording_destroy,
    .two_directions = true,
    .direction = cuda_direction,
    .update = cuda_update,
    .sums = cuda_sums,
    .sweep = NULL, /* replaced by whole iterations without the host */
    .iterate = cuda_iterate,
};

extern "C" const sp_backend *const sp_backend_cuda = &table;
