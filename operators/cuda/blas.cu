extern "C" {
#include "operators/cuda/blas.h"
#include "operators/cuda/exchange.h"
#include "operators/cuda/vectors.h"
}

namespace {

#include "operators/cuda/sums.cuh"

#include "operators/cuda/queue.cuh"

constexpr int THREADS = SP_CUDA_VECTOR_THREADS, BLOCKS = SP_CUDA_VECTOR_BLOCKS;

int blocks_for(size_t n) {
  const size_t blocks = (n + THREADS - 1) / THREADS;
  return blocks < BLOCKS ? (int)blocks : BLOCKS;
}

template <class T> __global__ void axpby(size_t n, T a, const T *x, T b, T *y) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
    y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

template <class T> __global__ void multiply(size_t n, const T *x, const T *y, T *z) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
    z[i] = x[i] * y[i];
}

template <class FROM, class TO>
__global__ void convert(size_t n, double scale, const FROM *x, TO *y) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
    y[i] = (TO)(scale * (double)x[i]);
}

template <class T>
__global__ void correct(size_t n, T a, T b, const T *s, const T *t, T c, bool first, T *d, T *x) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) {
    const T part = b * (s ? s[i] * t[i] : t[i]), direction = a == 0 ? part : a * d[i] + part;
    d[i] = direction;
    x[i] = first ? c * direction : x[i] + c * direction;
  }
}

// Every block sums its part; the last block adds up these sums. The order is fixed.
template <class T>
__global__ void dot(size_t n, const T *x, const T *y, double *partial, unsigned *arrived) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  double sum = 0;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
    sum += (double)x[i] * (double)y[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  if (!is_last(arrived, gridDim.x)) return;
  sum = sum_partials(gridDim.x, partial);
  if (threadIdx.x == 0) partial[0] = sum;
}

template <class T>
cudaError_t queue_axpby(size_t n, double a, const void *x, double b, void *y, cudaStream_t stream) {
  return queue(axpby<T>, blocks_for(n), THREADS, 0, stream, n, (T)a, (const T *)x, (T)b, (T *)y);
}

template <class T>
cudaError_t queue_multiply(size_t n, const void *x, const void *y, void *z, cudaStream_t stream) {
  return queue(multiply<T>, blocks_for(n), THREADS, 0, stream, n, (const T *)x, (const T *)y,
               (T *)z);
}

template <class FROM, class TO>
cudaError_t queue_convert(size_t n, double scale, const void *x, void *y, cudaStream_t stream) {
  return queue(convert<FROM, TO>, blocks_for(n), THREADS, 0, stream, n, scale, (const FROM *)x,
               (TO *)y);
}

template <class T>
cudaError_t queue_correct(size_t n, double a, double b, const void *s, const void *t, double c,
                          bool first, void *d, void *x, cudaStream_t stream) {
  return queue(correct<T>, blocks_for(n), THREADS, 0, stream, n, (T)a, (T)b, (const T *)s,
               (const T *)t, (T)c, first, (T *)d, (T *)x);
}

template <class T>
cudaError_t queue_dot(size_t n, const void *x, const void *y, sp_device *device) {
  const int blocks = blocks_for(n) > 0 ? blocks_for(n) : 1;
  return queue(dot<T>, blocks, THREADS, 0, device->stream, n, (const T *)x, (const T *)y,
               device->partial, device->arrived);
}

} // namespace

sp_status sp_cuda_blas_prepare(sp_device *device) {
  SP_TRY(sp_cuda_allocate(BLOCKS, sizeof(double), "partial sums", (void **)&device->partial));
  SP_TRY(sp_cuda_allocate(1, sizeof(unsigned), "partial sums", (void **)&device->arrived));
  SP_CUDA(cudaMallocHost(&device->sum, sizeof(double)));
  return SP_OK;
}

sp_status sp_cuda_axpby(sp_device *device, sp_precision precision, size_t count, double a,
                        const void *x, double b, void *y) {
  SP_CUDA((precision == SP_SINGLE ? queue_axpby<float> : queue_axpby<double>)(count, a, x, b, y,
                                                                              device->stream));
  return SP_OK;
}

sp_status sp_cuda_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z) {
  SP_CUDA((precision == SP_SINGLE ? queue_multiply<float>
                                  : queue_multiply<double>)(count, x, y, z, device->stream));
  return SP_OK;
}

sp_status sp_cuda_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to) {
  cudaError_t (*const conversions[SP_PRECISIONS][SP_PRECISIONS])(size_t, double, const void *,
                                                                 void *, cudaStream_t) = {
      {queue_convert<double, double>, queue_convert<double, float>},
      {queue_convert<float, double>, queue_convert<float, float>}};
  SP_CUDA(conversions[from_precision][to_precision](count, scale, from, to, device->stream));
  return SP_OK;
}

sp_status sp_cuda_correct(sp_device *device, sp_precision precision, size_t count, double a,
                          double b, const void *s, const void *t, double c, bool first, void *d,
                          void *x) {
  SP_CUDA((precision == SP_SINGLE ? queue_correct<float> : queue_correct<double>)(count, a, b, s, t,
                                                                                  c, first, d, x,
                                                                                  device->stream));
  return SP_OK;
}

sp_status sp_cuda_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum) {
  SP_CUDA((precision == SP_SINGLE ? queue_dot<float> : queue_dot<double>)(count, x, y, device));
  SP_CUDA(cudaMemcpyAsync(device->sum, device->partial, sizeof(double), cudaMemcpyDeviceToHost,
                          device->stream));
  SP_TRY(sp_cuda_wait(device));
  *sum = *device->sum;
  return SP_OK;
}
