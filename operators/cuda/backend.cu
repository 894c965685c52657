// The CUDA backend's table of functions. Work is queued on the device's stream; functions that
// return values to the host wait for it.

extern "C" {
#include "operators/cuda/copies.h"
#include "operators/cuda/entries.h"
}

#include "operators/cuda/local.h"

#include <cstdlib>
#include <cstring>
#include <utility>

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
  return SP_CUDA_STATUS(cudaStreamSynchronize(cudaStreamLegacy));
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
  return SP_CUDA_STATUS(cudaMemcpyAsync(to, from, count * sp_precision_bytes(precision),
                                        cudaMemcpyDeviceToDevice, device->stream));
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
  return SP_CUDA_STATUS(local->kernel->launch(&arguments, SP_CUDA_LOCAL, local->device->stream));
}

/* ---- Passes of conjugate gradients --------------------------------------------------------------
 */

/* Pass 1 over the elements of `part`; with `x` also the previous iteration's update of x. Partial
 * sums are stored in this order: halo elements, inner elements, the diagonal's part in the halo,
 * its inner part. */
static sp_status queue_elements(sp_local_operator *local, mesh_part part,
                                const sp_cg_arrays *vectors, double *x, cudaStream_t stream) {
  const bool nothing_inside = local->halo_elements == local->elements;
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, part);
  arguments.constrained = true;
  arguments.forks = stream != local->device->stream;
  arguments.y = vectors->ap;
  arguments.step.z = vectors->z;
  arguments.step.p = vectors->p;
  arguments.step.next_p = vectors->next_p;
  arguments.step.x = x;
  arguments.step.inverse_diagonal = vectors->inverse_diagonal;
  arguments.step.partial = local->energy + SP_CUDA_SUM_BLOCKS;
  arguments.step.first_block = part == HALO ? 0 : local->kernel->blocks(local->halo_elements);
  arguments.step.scalars = local->scalars;
  arguments.step.stamps = part == INNER || nothing_inside; /* true for the part that starts first */
  return SP_CUDA_STATUS(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
}

static int blocks_of_elements(const sp_local_operator *local) {
  return local->kernel->blocks(local->halo_elements) +
         local->kernel->blocks(local->elements - local->halo_elements);
}

/* ap += D p, with the sums of p.D p. */
static sp_status queue_diagonal(sp_local_operator *local, mesh_part part,
                                const sp_cg_arrays *vectors, bool joins, cudaStream_t stream) {
  const int before = part == HALO ? 0 : sp_cuda_diagonal_blocks(local->diagonal.shared);
  sp_cuda_diagonal_pass pass = {};
  pass.constrained = true;
  pass.joins = joins;
  pass.x = vectors->next_p;
  pass.y = vectors->ap;
  pass.partial = local->energy + SP_CUDA_SUM_BLOCKS + blocks_of_elements(local) + before;
  pass.scalars = local->scalars;
  return sp_cuda_apply_diagonal(local, part, part == INNER, pass, stream);
}

/* Halo elements, up to this rank's sums at shared DOFs. */
static sp_status queue_halo(sp_local_operator *local, const sp_cg_arrays *vectors, double *x,
                            cudaStream_t stream) {
  SP_TRY(queue_elements(local, HALO, vectors, x, stream));
  SP_CUDA(sp_cuda_assemble_shared(&local->assembly, SP_DOUBLE, true, local->edges, vectors->ap,
                                  local->scalars, stream));
  return queue_diagonal(local, HALO, vectors, false, stream);
}

static sp_status finish_pass_1(sp_local_operator *local, bool joins, const sp_cuda_ranks *ranks) {
  const int count = blocks_of_elements(local) + diagonal_blocks(local);
  return SP_CUDA_STATUS(sp_cuda_finish_pass_1(count, local->energy + SP_CUDA_SUM_BLOCKS,
                                              local->energy, local->scalars, ranks, joins,
                                              local->device->stream));
}

/* Pass 1 if the host sums over ranks. */
static sp_status begin_direction(sp_local_operator *local, double beta, const sp_cg_arrays *vectors,
                                 cudaStream_t stream) {
  sp_cuda_scalars scalars = {};
  scalars.beta = beta;
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, local->device->stream));
  if (stream != local->device->stream) SP_TRY(sp_cuda_fork(local->device));
  return queue_halo(local, vectors, nullptr, stream);
}

static sp_status direction_inner(sp_local_operator *local, const sp_cg_arrays *vectors) {
  SP_TRY(queue_elements(local, INNER, vectors, nullptr, local->device->stream));
  return queue_diagonal(local, INNER, vectors, false, local->device->stream);
}

static sp_status finish_direction(sp_local_operator *local, bool joins) {
  const sp_cuda_ranks none = {}; /* the host sums over ranks */
  SP_TRY(finish_pass_1(local, joins, &none));
  return SP_CUDA_STATUS(cudaMemcpyAsync(local->sums, &local->scalars->p_ap, sizeof(double),
                                        cudaMemcpyDeviceToHost, local->device->stream));
}

static sp_status cuda_direction(sp_local_operator *local, double beta,
                                const sp_cg_arrays *vectors) {
  const range named("CG: pass 1");
  sp_device_space *space = local->space;
  cudaStream_t border = sp_cuda_border_stream(space);
  bool joins;
  sp_status status = begin_direction(local, beta, vectors, border);
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
  return SP_CUDA_STATUS(cudaMemcpyAsync(local->sums, &local->scalars->rr, 2 * sizeof(double),
                                        cudaMemcpyDeviceToHost, local->device->stream));
}

static sp_status cuda_sums(sp_local_operator *local, double sums[2]) {
  SP_TRY(sp_cuda_wait(local->device));
  memcpy(sums, local->sums, 2 * sizeof *sums);
  return SP_OK;
}

/* ---- Recorded work ------------------------------------------------------------------------------
 */

struct sp_recording {
  sp_device *device;
  cudaGraphExec_t graph;
};

static sp_status cuda_record(sp_device *device) {
  return SP_CUDA_STATUS(cudaStreamBeginCapture(device->stream, cudaStreamCaptureModeThreadLocal));
}

/* End a recording that `status` made; *out = the work as an executable graph. */
static sp_status end_capture(sp_device *device, sp_status status, cudaGraphExec_t *out) {
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(device->stream, &graph);
  if (!status) status = sp_cuda_status(ended, "cudaStreamEndCapture", __FILE__, __LINE__);
  if (!status)
    status =
        SP_CUDA_STATUS(cudaGraphInstantiate(out, graph, cudaGraphInstantiateFlagUseNodePriority));
  if (graph) (void)cudaGraphDestroy(graph);
  return status;
}

static void cuda_recording_destroy(sp_recording **recording) {
  if (*recording) (void)cudaGraphExecDestroy((*recording)->graph);
  free(*recording);
  *recording = nullptr;
}

static sp_status cuda_end_recording(sp_device *device, sp_status status, sp_recording **out) {
  cudaGraphExec_t graph = nullptr;
  *out = nullptr;
  SP_TRY(end_capture(device, status, &graph));
  const sp_status allocated = sp_allocate(1, sizeof **out, "recorded work", out);
  if (allocated)
    (void)cudaGraphExecDestroy(graph);
  else
    **out = {device, graph};
  return allocated;
}

static sp_status cuda_replay(sp_recording *recording) {
  return SP_CUDA_STATUS(cudaGraphLaunch(recording->graph, recording->device->stream));
}

/* ---- Whole iterations on the device -------------------------------------------------------------
 */

/* Pass 1 on several GPUs: the border and its exchange run concurrently with the inner elements.
 * Both wait for the event `fork`. */
static sp_status queue_parts(sp_local_operator *local, const sp_cg_arrays *vectors) {
  cudaStream_t urgent = local->device->urgent;
  SP_CUDA(cudaStreamWaitEvent(urgent, local->device->fork, 0));
  SP_TRY(queue_elements(local, INNER, vectors, vectors->x, local->device->stream));
  SP_TRY(queue_halo(local, vectors, vectors->x, urgent));
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
  SP_TRY(several ? queue_parts(local, vectors)
                 : queue_elements(local, INNER, vectors, vectors->x, stream));
  SP_TRY(queue_diagonal(local, INNER, vectors, several, stream));
  std::swap(vectors->p, vectors->next_p);
  sp_cuda_update update = update_of(local, vectors);
  update.ranks = ranks;
  update.records = local->records;
  if (several) update.done = local->device->fork;
  if (!several && blocks <= SP_CUDA_FEW_SUMS) {
    update.pass_1 = local->energy + SP_CUDA_SUM_BLOCKS;
    update.pass_1_count = blocks;
  } else {
    SP_TRY(finish_pass_1(local, several, &ranks));
  }
  return SP_CUDA_STATUS(sp_cuda_update_launch(&update, stream));
}

static sp_status capture_iterations(sp_local_operator *local, const sp_cg_arrays *vectors) {
  if (local->graph && !memcmp(&local->captured, vectors, sizeof *vectors)) return SP_OK;
  if (local->graph) SP_CUDA(cudaGraphExecDestroy(local->graph));
  local->graph = nullptr;
  sp_cg_arrays turning = *vectors;
  SP_TRY(cuda_record(local->device));
  /* The border of the first iteration waits for this event; later pass 2 records it. */
  sp_status status = SP_CUDA_STATUS(cudaEventRecord(local->device->fork, local->device->stream));
  for (int i = 0; i < SP_CUDA_GRAPH && !status; i++) status = queue_iteration(local, &turning);
  SP_TRY(end_capture(local->device, status, &local->graph));
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
  if (*done % 2) std::swap(vectors->p, vectors->next_p);
  return SP_OK;
}

static sp_status cuda_open(MPI_Comm comm, sp_device **out) {
  SP_TRY(sp_cuda_open(comm, out));
  return sp_cuda_blas_prepare(*out);
}

static void cuda_close(sp_device **device) {
  if (!*device) return;
  if ((*device)->nccl) sp_nccl_table->close(&(*device)->nccl);
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
    .vector_create = sp_cuda_vector_create,
    .vector_destroy = sp_cuda_vector_destroy,
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
    .sweep_order = 0,
    .sweep = NULL, /* replaced by whole iterations without the host */
    .iterate = cuda_iterate,
};

extern "C" const sp_backend *const sp_backend_cuda = &table;
