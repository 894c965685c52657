// Kernels one after another in a stream: part of order.cu, vectors.cu and peers.cu. Where the GPU
// can (programmatic dependent launch, sm_90), the blocks of a kernel take their places while the
// last ones of the kernel before still run, and wait there.

// In every kernel that is launched by queue(), before it reads or writes anything that may change:
// what kernels before have done is visible after it.
static __device__ __forceinline__ void follow() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// This needs kernels that were compiled to wait, whatever the device could do, and stream capture
// knows it since CUDA 12.3.
static bool can_be_early() {
  return CUDART_VERSION >= 12030 && sp_cuda_architecture() >= 90;
}

// kernel(values) by blocks of so many threads and bytes of dynamic shared memory; without blocks
// there is nothing to do. `early`: as above, behind the one kernel that stands before in its
// stream. `event`, unless NULL, is recorded behind it: a kernel of another stream that waits for it
// may be early, too.
template <class... Parameters, class... Values>
static cudaError_t start(bool early, cudaEvent_t event, void (*kernel)(Parameters...), int blocks,
                         int threads, size_t bytes, cudaStream_t stream, const Values &...values) {
  if (blocks == 0) return cudaSuccess;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks);
  config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = attributes;
  if (early && can_be_early()) {
    cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
  }
  if (event && can_be_early()) {
    cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
    attribute->id = cudaLaunchAttributeProgrammaticEvent;
    attribute->val.programmaticEvent.event = event;
  }
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(values)...);
  if (error != cudaSuccess || !event || can_be_early()) return error;
  return cudaEventRecord(event, stream);
}

template <class... Parameters, class... Values>
static cudaError_t queue(void (*kernel)(Parameters...), int blocks, int threads, size_t bytes,
                         cudaStream_t stream, const Values &...values) {
  return start(true, nullptr, kernel, blocks, threads, bytes, stream, values...);
}
