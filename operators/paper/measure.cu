extern "C" {
#include "operators/cuda/device.h"
#include "operators/paper/measure.h"
}

#include <cstdlib>

struct sp_stamps {
  int count;
  cudaEvent_t *events;
};

namespace {

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
    SP_TRY(sp_stamps_queue(device, stamps, 0));
    kernel<<<blocks, THREADS, 0, device->stream>>>(out);
    SP_CUDA(cudaGetLastError());
    SP_TRY(sp_stamps_queue(device, stamps, 1));
    SP_TRY(sp_stamps_seconds(stamps, 0, 1, &seconds));
    if (r == 0 || seconds < *best) *best = seconds;
  }
  return SP_OK;
}

// *rate = work per second of a kernel whose threads each do `work`.
template <class Out>
sp_status measure(sp_device *device, void (*kernel)(Out *), double work, double *rate) {
  sp_gpu gpu;
  SP_TRY(sp_gpu_describe(device, &gpu));
  const int blocks = BLOCKS_A_MULTIPROCESSOR * gpu.multiprocessors;
  const size_t threads = static_cast<size_t>(blocks) * THREADS;
  Out *out = nullptr;
  sp_stamps *stamps = nullptr;
  double seconds = 0;
  sp_status status = sp_cuda_allocate(threads, sizeof *out, "results", &out);
  if (!status) status = sp_stamps_create(2, &stamps);
  if (!status) status = run(device, kernel, blocks, out, stamps, &seconds);
  sp_stamps_destroy(&stamps);
  (void)cudaFree(out);
  *rate = status ? 0 : work * static_cast<double>(threads) / seconds;
  return status;
}

sp_status attribute(const sp_device *device, cudaDeviceAttr which, double *value) {
  int number = 0;
  SP_CUDA(cudaDeviceGetAttribute(&number, which, device->id));
  *value = number;
  return SP_OK;
}

} // namespace

extern "C" sp_status sp_gpu_describe(const sp_device *device, sp_gpu *out) {
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

extern "C" sp_status sp_stamps_create(int count, sp_stamps **out) {
  *out = nullptr;
  sp_stamps *stamps = nullptr;
  SP_TRY(sp_allocate(1, sizeof *stamps, "time stamps", &stamps));
  stamps->count = count;
  sp_status status = sp_allocate(static_cast<size_t>(count), sizeof *stamps->events, "time stamps",
                                 &stamps->events);
  for (int n = 0; n < count && !status; n++)
    status = SP_CUDA_STATUS(cudaEventCreate(&stamps->events[n]));
  if (status)
    sp_stamps_destroy(&stamps);
  else
    *out = stamps;
  return status;
}

extern "C" void sp_stamps_destroy(sp_stamps **stamps) {
  if (!*stamps) return;
  for (int n = 0; n < (*stamps)->count && (*stamps)->events; n++)
    if ((*stamps)->events[n]) (void)cudaEventDestroy((*stamps)->events[n]);
  free((*stamps)->events);
  free(*stamps);
  *stamps = nullptr;
}

extern "C" sp_status sp_stamps_queue(sp_device *device, sp_stamps *stamps, int n) {
  return SP_CUDA_STATUS(cudaEventRecord(stamps->events[n], device->stream));
}

extern "C" sp_status sp_stamps_seconds(sp_stamps *stamps, int from, int to, double *seconds) {
  float milliseconds = 0;
  SP_CUDA(cudaEventSynchronize(stamps->events[to]));
  SP_CUDA(cudaEventElapsedTime(&milliseconds, stamps->events[from], stamps->events[to]));
  *seconds = 1e-3 * milliseconds;
  return SP_OK;
}

extern "C" sp_status sp_gpu_pause(sp_device *device, double seconds) {
  pause<<<1, 1, 0, device->stream>>>(static_cast<unsigned long long>(1e9 * seconds));
  return SP_CUDA_STATUS(cudaGetLastError());
}

extern "C" sp_status sp_gpu_measure_shared(sp_device *device, double *bandwidth) {
  const double bytes = static_cast<double>(SHARED_ROUNDS) * SHARED_READS * sizeof(word);
  return measure(device, read_shared, bytes, bandwidth);
}

extern "C" sp_status sp_gpu_measure_fp64(sp_device *device, double *rate) {
  return measure(device, multiply_add, 2.0 * FMA_ROUNDS * CHAINS, rate);
}
