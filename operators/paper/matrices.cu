extern "C" {
#include "mesh/reference.h"
#include "operators/cuda/device.h"
#include "operators/paper/ladders.h"
}

namespace {

struct matrices {
  double differentiation[SP_MAX_NQ * SP_MAX_NQ];
  double gl_differentiation[(SP_MAX_NQ + 1) * (SP_MAX_NQ + 1)];
  double interpolation[(SP_MAX_NQ + 1) * SP_MAX_NQ];
};

// The paper's kernels read their matrices from global memory, like any other input.
__device__ matrices all_matrices[SP_MAX_ORDER + 1];

sp_status send(const double *from, size_t bytes, double *to, cudaStream_t stream) {
  SP_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  return SP_OK;
}

} // namespace

extern "C" sp_status sp_paper_matrices_get(int order, sp_paper_matrices *out) {
  void *base = nullptr;
  SP_CUDA(cudaGetSymbolAddress(&base, all_matrices));
  matrices *const m = static_cast<matrices *>(base) + order;
  *out = {m->differentiation, m->gl_differentiation, m->interpolation};
  return SP_OK;
}

extern "C" sp_status sp_paper_prepare(sp_device *device, int order) {
  const sp_reference *reference = sp_reference_get(order);
  sp_paper_matrices to = {};
  SP_TRY(sp_paper_matrices_get(order, &to));
  SP_TRY(send(reference->differentiation, sizeof reference->differentiation, to.differentiation,
              device->stream));
  SP_TRY(send(reference->gl_differentiation, sizeof reference->gl_differentiation,
              to.gl_differentiation, device->stream));
  SP_TRY(send(reference->interpolation, sizeof reference->interpolation, to.interpolation,
              device->stream));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}
