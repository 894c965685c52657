// A local operator, or additive Schwarz, between L-vectors with the sum over ranks.

#include "operators/cuda/local.h"

sp_cuda_arguments sp_cuda_arguments_of(const sp_local_operator *local, mesh_part part) {
  sp_cuda_arguments arguments = {};
  arguments.first = part == INNER ? local->halo_elements : 0;
  arguments.last = part == HALO ? local->halo_elements : local->elements;
  arguments.factors = local->factors;
  arguments.scales = local->scales;
  arguments.patches = local->patches;
  if (part == INNER) arguments.patches.list += local->halo_patches;
  if (part == INNER) arguments.patches.count -= local->halo_patches;
  if (part == HALO) arguments.patches.count = local->halo_patches;
  arguments.nodes = local->nodes;
  arguments.edges = local->edges;
  arguments.lambda = local->lambda;
  return arguments;
}

sp_status sp_cuda_apply_diagonal(sp_local_operator *local, mesh_part part, bool pending,
                                 sp_cuda_diagonal_pass pass, cudaStream_t stream) {
  const sp_cuda_diagonal *diagonal = &local->diagonal;
  pass.first = part == HALO ? 0 : diagonal->shared;
  pass.last = part == HALO ? diagonal->shared : diagonal->count;
  pass.pending = pending ? &local->assembly : nullptr;
  return SP_CUDA_STATUS(sp_cuda_add_diagonal(diagonal, local->precision, &pass, stream));
}

static sp_status launch_part(sp_local_operator *local, const sp_cuda_application *a, mesh_part part,
                             bool forks, cudaStream_t stream) {
  sp_cuda_arguments arguments = sp_cuda_arguments_of(local, part);
  arguments.x = a->x;
  arguments.y = a->y;
  arguments.constrained = a->constrained;
  arguments.forks = forks;
  return SP_CUDA_STATUS(a->boxes ? local->order->boxes(&arguments, a->boxes, stream)
                                 : local->kernel->launch(&arguments, SP_CUDA_ASSEMBLED, stream));
}

/* Only A has the setup's diagonal. */
static sp_status apply_diagonal(sp_local_operator *local, const sp_cuda_application *a,
                                mesh_part part, bool pending, bool joins, cudaStream_t stream) {
  if (a->boxes) return SP_OK;
  sp_cuda_diagonal_pass pass = {};
  pass.constrained = a->constrained;
  pass.x = a->x;
  pass.y = a->y;
  pass.joins = joins;
  return sp_cuda_apply_diagonal(local, part, pending, pass, stream);
}

/* Apply the elements of `part`, HALO or WHOLE, up to this rank's sums at shared DOFs, on `stream`.
 * If `together`, the sending kernel forms the sums. */
static sp_status apply_halo(sp_local_operator *local, const sp_cuda_application *a, mesh_part part,
                            bool together, cudaStream_t stream) {
  const bool forks = stream != local->device->stream;
  if (!a->step)
    SP_CUDA(sp_cuda_clear_faces(&local->assembly, local->precision, a->y, local->device->stream));
  if (forks) SP_TRY(sp_cuda_fork(local->device));
  SP_TRY(launch_part(local, a, part, forks, stream));
  if (together) return SP_OK;
  SP_CUDA(sp_cuda_assemble_shared(&local->assembly, local->precision, a->constrained, local->edges,
                                  a->y, nullptr, stream));
  return apply_diagonal(local, a, HALO, false, false, stream);
}

static sp_status finish_apply(sp_local_operator *local, const sp_cuda_application *a, bool joins) {
  cudaStream_t stream = local->device->stream;
  SP_CUDA(sp_cuda_assemble_own(&local->assembly, local->precision, a->constrained, local->edges,
                               a->y, joins, stream));
  return apply_diagonal(local, a, INNER, false, false, stream);
}

static sp_status finish_with_step(sp_local_operator *local, const sp_cuda_application *a,
                                  bool joins) {
  cudaStream_t stream = local->device->stream;
  const sp_cuda_border *border = &local->space->border.view;
  const bool first = a->boxes || local->diagonal.count == local->diagonal.shared;
  const bool receives = border->few && border->neighbours > 0; /* else no DOF is shared or marked */
  SP_TRY(apply_diagonal(local, a, INNER, true, joins, stream));
  return SP_CUDA_STATUS(sp_cuda_complete(&local->assembly, local->precision, local->edges, a->step,
                                         receives ? border : nullptr, joins && first, stream));
}

sp_status sp_cuda_apply_elements(sp_local_operator *local, const sp_cuda_application *a) {
  sp_device_space *space = local->space;
  cudaStream_t border = sp_cuda_border_stream(space);
  const bool few = space->border.view.few;
  const bool together = few && (a->boxes || local->diagonal.shared == 0);
  const sp_cuda_pending pending = {&local->assembly, local->edges, a->constrained};
  bool joins = false;
  sp_status status = apply_halo(local, a, few ? WHOLE : HALO, together, border);
  status =
      sp_first_failure(status, sp_cuda_exchange_begin(space, local->precision,
                                                      together ? &pending : nullptr, a->y, border));
  if (!few)
    status = sp_first_failure(status, launch_part(local, a, INNER, false, local->device->stream));
  if (!few || !a->step) /* otherwise the step's kernel receives */
    status = sp_first_failure(status,
                              sp_cuda_exchange_end(space, local->precision, a->y, border, &joins));
  return sp_first_failure(status, (a->step ? finish_with_step : finish_apply)(local, a, joins));
}
