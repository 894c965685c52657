extern "C" {
#include "operators/cuda/device.h"
#include "operators/paper/ladders.h"
}

// The paper's kernels read their matrices from global memory, like any other input.
static __device__ sp_reference references[SP_MAX_ORDER + 1];

extern "C" sp_status sp_paper_reference_get(int order, sp_reference **out) {
  void *first = nullptr;
  SP_CUDA(cudaGetSymbolAddress(&first, references));
  *out = static_cast<sp_reference *>(first) + order;
  return SP_OK;
}

extern "C" sp_status sp_paper_prepare(sp_device *device, int order) {
  const sp_reference *host = sp_reference_get(order);
  SP_CUDA(cudaMemcpyToSymbolAsync(references, host, sizeof *host, order * sizeof *host,
                                  cudaMemcpyHostToDevice, device->stream));
  return SP_CUDA_STATUS(cudaStreamSynchronize(device->stream));
}
