// Launches of kernels one after another in a stream: included by the .cu files with kernels.
// With programmatic dependent launch (sm_90) the blocks of a kernel start while the last blocks of
// the previous kernel still run, and wait in follow().

// Every kernel that is launched by queue() calls this before it reads or writes anything that may
// change. Afterwards the results of previous kernels are visible.
static __device__ __forceinline__ void follow() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Programmatic launch needs kernels that are compiled for sm_90, because older code does not wait
// in follow(), and CUDA 12.3 for stream capture.
static bool can_be_early() {
  return CUDART_VERSION >= 12030 && sp_cuda_architecture() >= 90;
}

// Blocks for n threads or elements, `each` of them per block.
static int blocks_for(size_t n, int each) {
  return (int)((n + (size_t)each - 1) / (size_t)each);
}

// act(0.0), or act(0.0f) in single precision.
template <class Act> static auto with_precision(sp_precision precision, Act act) {
  return precision == SP_SINGLE ? act(0.0f) : act(0.0);
}

// Launch kernel(values) with `blocks` blocks of `threads` threads and `bytes` bytes of dynamic
// shared memory; nothing if there are no blocks. `early`: use programmatic dependent launch; the
// kernel must follow exactly one kernel, in its own stream. If `event` is not NULL, it is recorded
// after the kernel; a kernel of another stream that waits for it may also use programmatic launch.
template <class... Parameters, class... Values>
static cudaError_t start(bool early, cudaEvent_t event, void (*kernel)(Parameters...), int blocks,
                         int threads, size_t bytes, cudaStream_t stream, const Values &...values) {
  if (blocks == 0) return cudaSuccess;
  if (bytes > 0) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
  }
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
