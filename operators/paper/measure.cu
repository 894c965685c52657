extern "C" {
#include "operators/cuda/device.h"
#include "operators/paper/measure.h"
}

#include <cstdlib>

struct sp_stamps {
  cudaEvent_t start, end;
};

namespace {

sp_status attribute(const sp_device *device, cudaDeviceAttr which, double *value) {
  int number = 0;
  SP_CUDA(cudaDeviceGetAttribute(&number, which, device->id));
  *value = number;
  return SP_OK;
}

sp_status describe_gpu(const sp_device *device, sp_gpu_facts *out) {
  double multiprocessors = 0, clock = 0, cache = 0, memory_clock = 0, bus = 0;
  SP_TRY(attribute(device, cudaDevAttrMultiProcessorCount, &multiprocessors));
  SP_TRY(attribute(device, cudaDevAttrClockRate, &clock)); // in kHz, like the memory's
  SP_TRY(attribute(device, cudaDevAttrL2CacheSize, &cache));
  SP_TRY(attribute(device, cudaDevAttrMemoryClockRate, &memory_clock));
  SP_TRY(attribute(device, cudaDevAttrGlobalMemoryBusWidth, &bus)); // bits
  SP_CUDA(cudaDriverGetVersion(&out->driver));
  SP_CUDA(cudaRuntimeGetVersion(&out->runtime));
  out->multiprocessors = static_cast<int>(multiprocessors);
  out->clock = 1e3 * clock;
  out->cache_bytes = cache;
  out->memory_bandwidth = 2 * 1e3 * memory_clock * bus / 8;
  out->shared_bandwidth = multiprocessors * 32 * 4 * out->clock;
  return SP_OK;
}

// ---- Time stamps ----

void destroy_stamps(sp_stamps **stamps) {
  if (!*stamps) return;
  if ((*stamps)->start) (void)cudaEventDestroy((*stamps)->start);
  if ((*stamps)->end) (void)cudaEventDestroy((*stamps)->end);
  free(*stamps);
  *stamps = nullptr;
}

sp_status create_stamps(sp_stamps **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "time stamps", out));
  sp_status status = SP_CUDA_STATUS(cudaEventCreate(&(*out)->start));
  if (!status) status = SP_CUDA_STATUS(cudaEventCreate(&(*out)->end));
  if (status) destroy_stamps(out);
  return status;
}

sp_status queue_start(sp_device *device, sp_stamps *stamps) {
  return SP_CUDA_STATUS(cudaEventRecord(stamps->start, device->stream));
}

sp_status queue_end(sp_device *device, sp_stamps *stamps) {
  return SP_CUDA_STATUS(cudaEventRecord(stamps->end, device->stream));
}

sp_status read_seconds(const sp_stamps *stamps, double *seconds) {
  float milliseconds = 0;
  SP_CUDA(cudaEventSynchronize(stamps->end));
  SP_CUDA(cudaEventElapsedTime(&milliseconds, stamps->start, stamps->end));
  *seconds = 1e-3 * milliseconds;
  return SP_OK;
}

// ---- Kernels ----

enum { THREADS = 1024, BLOCKS_A_MULTIPROCESSOR = 2, RUNS = 5 };

__global__ void pause(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

// Use integers, because on many GPUs arithmetic with doubles would be slower than shared memory.
using word = unsigned long long;
enum { SHARED_WORDS = 2048, SHARED_ROUNDS = 1024, SHARED_READS = 16 };

// Neighbouring lanes read neighbouring words. The index changes from round to round, so that no
// value can be reused from an earlier round.
__global__ void __launch_bounds__(THREADS, BLOCKS_A_MULTIPROCESSOR) read_shared(word *out) {
  __shared__ word words[SHARED_WORDS];
  for (unsigned i = threadIdx.x; i < SHARED_WORDS; i += THREADS) words[i] = i * 0x9e3779b9u;
  __syncthreads();
  word sum[4] = {};
  unsigned place = threadIdx.x;
  for (int round = 0; round < SHARED_ROUNDS; round++) {
    place = (place + 32) % (SHARED_WORDS / 2);
#pragma unroll
    for (int r = 0; r < SHARED_READS; r++)
      sum[r % 4] ^= words[place + r * (SHARED_WORDS / 2 / SHARED_READS)];
  }
  out[blockIdx.x * THREADS + threadIdx.x] = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

enum { CHAINS = 8, FMA_ROUNDS = 1024 };

// Chains of dependent multiply-adds, enough of them to hide each other's latency.
__global__ void __launch_bounds__(THREADS, BLOCKS_A_MULTIPROCESSOR) multiply_add(double *out) {
  double value[CHAINS];
  for (int c = 0; c < CHAINS; c++) value[c] = threadIdx.x + c;
  const double a = 1 - 1e-9 * threadIdx.x, b = 1e-9 * blockIdx.x;
#pragma unroll 8
  for (int round = 0; round < FMA_ROUNDS; round++)
#pragma unroll
    for (int c = 0; c < CHAINS; c++) value[c] = fma(value[c], a, b);
  double sum = 0;
  for (int c = 0; c < CHAINS; c++) sum += value[c];
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

template <class Out>
sp_status run(sp_device *device, void (*kernel)(Out *), int blocks, Out *out, sp_stamps *stamps,
              double *best) {
  for (int r = 0; r < RUNS; r++) {
    double seconds = 0;
    SP_TRY(queue_start(device, stamps));
    kernel<<<blocks, THREADS, 0, device->stream>>>(out);
    SP_CUDA(cudaGetLastError());
    SP_TRY(queue_end(device, stamps));
    SP_TRY(read_seconds(stamps, &seconds));
    if (r == 0 || seconds < *best) *best = seconds;
  }
  return SP_OK;
}

// *rate = work per second of a kernel whose threads each do `work`.
template <class Out>
sp_status measure(sp_device *device, void (*kernel)(Out *), double work, double *rate) {
  sp_gpu_facts gpu;
  SP_TRY(describe_gpu(device, &gpu));
  const int blocks = BLOCKS_A_MULTIPROCESSOR * gpu.multiprocessors;
  const size_t threads = static_cast<size_t>(blocks) * THREADS;
  Out *out = nullptr;
  sp_stamps *stamps = nullptr;
  double seconds = 0;
  sp_status status = sp_cuda_allocate(threads, sizeof *out, "results", &out);
  if (!status) status = create_stamps(&stamps);
  if (!status) status = run(device, kernel, blocks, out, stamps, &seconds);
  destroy_stamps(&stamps);
  (void)cudaFree(out);
  *rate = status ? 0 : work * static_cast<double>(threads) / seconds;
  return status;
}

sp_status queue_pause(sp_device *device, double seconds) {
  pause<<<1, 1, 0, device->stream>>>(static_cast<unsigned long long>(1e9 * seconds));
  return SP_CUDA_STATUS(cudaGetLastError());
}

sp_status measure_shared(sp_device *device, double *bandwidth) {
  const double bytes = static_cast<double>(SHARED_ROUNDS) * SHARED_READS * sizeof(word);
  return measure(device, read_shared, bytes, bandwidth);
}

sp_status measure_fp64(sp_device *device, double *rate) {
  return measure(device, multiply_add, 2.0 * FMA_ROUNDS * CHAINS, rate);
}

const sp_gpu_tools tools = {.describe = describe_gpu,
                            .stamps_create = create_stamps,
                            .stamps_destroy = destroy_stamps,
                            .start = queue_start,
                            .end = queue_end,
                            .seconds = read_seconds,
                            .pause = queue_pause,
                            .measure_shared = measure_shared,
                            .measure_fp64 = measure_fp64};

} // namespace

extern "C" const sp_gpu_tools *const sp_gpu_tools_cuda = &tools;
