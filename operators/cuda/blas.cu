extern "C" {
#include "operators/cuda/entries.h"
#include "operators/cuda/exchange.h"
#include "operators/cuda/vectors.h"
}

#include <algorithm>

namespace {

#include "operators/cuda/sums.cuh"

#include "operators/cuda/gather.cuh"

#include "operators/cuda/queue.cuh"

#include "operators/cuda/targets.cuh"

constexpr int THREADS = SP_CUDA_VECTOR_THREADS, BLOCKS = SP_CUDA_VECTOR_BLOCKS;

int blocks_for(size_t n) {
  return std::min(blocks_for(n, THREADS), BLOCKS);
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

// An entry gets the same bits at any position in its vector, because the positions of a shared DOF
// differ between ranks. If a sum of products could be fused in two ways, the code chooses one
// explicitly.

// A group of numbers that are loaded and stored together.
template <class T, int width> struct alignas(width * sizeof(T)) pack { T v[width]; };

template <class T, int width>
__device__ __forceinline__ pack<T, width> load(const void *vector, size_t i) {
  return ((const pack<T, width> *)vector)[i];
}
template <class T, int width>
__device__ __forceinline__ void store(void *vector, size_t i, const pack<T, width> &values) {
  ((pack<T, width> *)vector)[i] = values;
}

template <class T> __global__ void fill(size_t n, T value, T *x) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride) x[i] = value;
}

// y = the sum of w x, where y may be one of x.
template <class T> struct combination {
  int terms;
  T w[SP_TERMS_MOST], *y;
  const T *x[SP_TERMS_MOST];

  template <int width> __device__ __forceinline__ void at(size_t i) const {
    pack<T, width> from[SP_TERMS_MOST], sum;
#pragma unroll
    for (int k = 0; k < SP_TERMS_MOST; k++) // all before the first is used
      if (k < terms) from[k] = load<T, width>(x[k], i);
#pragma unroll
    for (int e = 0; e < width; e++) {
      sum.v[e] = w[0] * from[0].v[e];
#pragma unroll
      for (int k = 1; k < SP_TERMS_MOST; k++)
        if (k < terms) sum.v[e] = fma(w[k], from[k].v[e], sum.v[e]);
    }
    store(y, i, sum);
  }
};

template <class T, int width> __global__ void combine(size_t n, combination<T> c) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
  for (size_t i = first; i < n / width; i += stride) c.template at<width>(i);
  if (first < n % width) c.template at<1>(n / width * width + first);
}

// One step on the entries width * i and following, from the residual t - q.
template <class T, int width>
__device__ __forceinline__ void correct_from(const sp_correction &step, size_t i, pack<T, width> r,
                                             const pack<T, width> &q) {
  using numbers = pack<T, width>;
  const T a = (T)step.a, b = (T)step.b, c = (T)step.c;
  numbers s, d = {}, x = {};
  if (!step.d) {
#pragma unroll
    for (int e = 0; e < width; e++) r.v[e] -= q.v[e];
    store(step.r, i, r);
    return;
  }
  if (step.s) s = load<T, width>(step.s, i);
  if (a != 0) d = load<T, width>(step.d, i);
  if (!step.first) x = load<T, width>(step.x, i);
#pragma unroll
  for (int e = 0; e < width; e++) {
    r.v[e] -= q.v[e];
    d.v[e] = fma(a, d.v[e], b * (step.s ? s.v[e] * r.v[e] : r.v[e]));
    x.v[e] = fma(c, d.v[e], x.v[e]);
  }
  if (step.q) store(step.r, i, r);
  store(step.d, i, d);
  store(step.x, i, x);
}

template <class T, int width>
__device__ __forceinline__ void correct_at(const sp_correction &step, size_t i) {
  pack<T, width> q = {};
  if (step.q) q = load<T, width>(step.q, i);
  correct_from<T, width>(step, i, load<T, width>(step.t, i), q);
}

template <class T, int width> __global__ void correct(size_t n, sp_correction step) {
  follow();
  const size_t stride = (size_t)gridDim.x * THREADS;
  const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
  for (size_t i = first; i < n / width; i += stride) correct_at<T, width>(step, i);
  if (first < n % width) correct_at<T, 1>(step, n / width * width + first);
}

// A step with the result of an application, before the edge nodes are summed: `product` is step.q,
// or step.t if there is no q. Afterwards it is zero where the next application needs zeros.
// `words`: shared DOFs wait for values of other ranks that travel as words.
template <class T, int width, bool words> struct completed_step {
  const sp_cuda_assembly &a;
  const sp_correction &step;
  T *product;

  template <int n> __device__ __forceinline__ void on(size_t i, const pack<T, n> &value) const {
    if (step.q)
      correct_from<T, n>(step, i, load<T, n>(step.t, i), value);
    else
      correct_from<T, n>(step, i, value, {});
  }

  // Bits of the shared ones among n DOFs from `dof` on.
  __device__ __forceinline__ unsigned waiting(size_t dof, unsigned n) const {
    if (!words || dof + n <= (size_t)a.first_face) return 0;
    return __ldg(a.waits + dof / 32) >> dof % 32 & ((1u << n) - 1);
  }

  // From first_edge on, product is zero except for values from the exchange, the diagonal or a
  // patch.
  __device__ __forceinline__ void edge(int t, const T *edges, const target<T> &there) const {
    const size_t i = (size_t)(a.first_edge + t);
    if (waiting(i, 1)) return;
    const T own = product[i];
    pack<T, 1> value = {own};
    if (there.is_constrained())
      value.v[0] = 0;
    else if (!there.is_empty())
      value.v[0] = own + there.sum(a.own, edges);
    on<1>(i, value);
    if (own != 0) product[i] = 0;
  }

  // Interiors, faces and copies.
  template <int n> __device__ __forceinline__ void at(size_t i) const {
    const unsigned shared = waiting(i * n, n);
    if constexpr (n > 1)
      for (int e = 0; e < n && shared; e++) at<1>(i * n + e);
    if (shared) return;
    on<n>(i, load<T, n>(product, i));
    if ((i + 1) * n > (size_t)a.first_face) store<T, n>(product, i, {});
  }

  // Shared DOFs.
  __device__ __forceinline__ void shared(const sp_cuda_border &border, int first,
                                         int stride) const {
    const received_words<T> received(border, first);
    for (int t = first; t < border.lists.targets; t += stride) {
      const size_t i = (size_t)border.lists.target[t];
      on<1>(i, {sum_of_ranks(border.lists, t, product[i], received)});
      product[i] = 0;
    }
  }
};

template <class T, int width, bool words>
__global__ void complete(sp_cuda_assembly a, const T *edges, T *product, sp_correction step,
                         sp_cuda_border border) {
  const int first = blockIdx.x * THREADS + threadIdx.x, stride = gridDim.x * THREADS;
  const completed_step<T, width, words> completed = {a, step, product};
  target<T> first_target(a.own, first);
  follow();
  first_target.load(edges);
  if (first < a.own.count) completed.edge(first, edges, first_target);
  for (int t = first + stride; t < a.own.count; t += stride) {
    target<T> there(a.own, t);
    there.load(edges);
    completed.edge(t, edges, there);
  }
  for (int i = first; i < a.first_edge / width; i += stride) completed.template at<width>(i);
  if (first < a.first_edge % width) completed.template at<1>(a.first_edge / width * width + first);
  for (int i = a.owned + first; i < a.local; i += stride) completed.template at<1>(i);
  if (words) completed.shared(border, first, stride); // last: values need time to arrive
}

// Every block sums its part; the last block sums these in a fixed order.
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
cudaError_t queue_combine(size_t n, int terms, const double *weights, const void *const *x, void *y,
                          cudaStream_t stream) {
  constexpr int width = 16 / sizeof(T);
  combination<T> c = {};
  bool aligned = (size_t)y % 16 == 0;
  c.terms = terms;
  c.y = (T *)y;
  for (int k = 0; k < terms; k++) {
    c.w[k] = (T)weights[k];
    c.x[k] = (const T *)x[k];
    aligned = aligned && (size_t)x[k] % 16 == 0;
  }
  return queue(aligned ? combine<T, width> : combine<T, 1>, blocks_for(n), THREADS, 0, stream, n,
               c);
}

bool is_aligned(const sp_correction &step, size_t bytes) {
  const void *const vectors[] = {step.s, step.t, step.q, step.r, step.d, step.x};
  for (const void *vector : vectors)
    if ((size_t)vector % bytes != 0) return false;
  return true;
}

template <class T, bool words>
cudaError_t queue_complete(const sp_cuda_assembly &a, const void *edges, void *product,
                           const sp_correction &step, const sp_cuda_border &border, bool joins,
                           cudaStream_t stream) {
  constexpr int width = 16 / sizeof(T);
  const int most = std::max({a.own.count, a.first_edge / width, a.local - a.owned});
  const bool aligned = is_aligned(step, 16) && (size_t)product % 16 == 0;
  return start(!joins, nullptr, aligned ? complete<T, width, words> : complete<T, 1, words>,
               std::max(1, blocks_for((size_t)most)), THREADS, 0, stream, a, (const T *)edges,
               (T *)product, step, border);
}

} // namespace

sp_status sp_cuda_blas_prepare(sp_device *device) {
  SP_TRY(sp_cuda_allocate(BLOCKS, sizeof(double), "partial sums", &device->partial));
  SP_TRY(sp_cuda_allocate(1, sizeof(unsigned), "partial sums", &device->arrived));
  return SP_CUDA_STATUS(cudaMallocHost(&device->sum, sizeof(double)));
}

sp_status sp_cuda_fill(sp_device *device, sp_precision precision, size_t count, double value,
                       void *vector) {
  const cudaError_t error = with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(fill<T>, blocks_for(count), THREADS, 0, device->stream, count, (T)value,
                 (T *)vector);
  });
  return sp_cuda_status(error, "fill", __FILE__, __LINE__);
}

sp_status sp_cuda_combine_vectors(sp_device *device, sp_precision precision, size_t count,
                                  int terms, const double *weights, const void *const *x, void *y) {
  return SP_CUDA_STATUS(with_precision(precision, [&](auto real) {
    return queue_combine<decltype(real)>(count, terms, weights, x, y, device->stream);
  }));
}

sp_status sp_cuda_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z) {
  const cudaError_t error = with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(multiply<T>, blocks_for(count), THREADS, 0, device->stream, count, (const T *)x,
                 (const T *)y, (T *)z);
  });
  return sp_cuda_status(error, "multiply", __FILE__, __LINE__);
}

sp_status sp_cuda_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to) {
  const cudaError_t error = with_precision(from_precision, [&](auto real) {
    return with_precision(to_precision, [&](auto other) {
      using FROM = decltype(real);
      using TO = decltype(other);
      return queue(convert<FROM, TO>, blocks_for(count), THREADS, 0, device->stream, count, scale,
                   (const FROM *)from, (TO *)to);
    });
  });
  return sp_cuda_status(error, "convert", __FILE__, __LINE__);
}

sp_status sp_cuda_correct(sp_device *device, sp_precision precision, size_t count,
                          const sp_correction *step) {
  const cudaError_t error = with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(is_aligned(*step, 16) ? correct<T, 16 / sizeof(T)> : correct<T, 1>,
                 blocks_for(count), THREADS, 0, device->stream, count, *step);
  });
  return sp_cuda_status(error, "correct", __FILE__, __LINE__);
}

cudaError_t sp_cuda_complete(const sp_cuda_assembly *assembly, sp_precision precision,
                             const void *edges, const sp_correction *step,
                             const sp_cuda_border *border, bool joins, cudaStream_t stream) {
  void *const product = const_cast<void *>(step->q ? step->q : step->t);
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return (border ? queue_complete<T, true>
                   : queue_complete<T, false>)(*assembly, edges, product, *step,
                                               border ? *border : sp_cuda_border{}, joins, stream);
  });
}

sp_status sp_cuda_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum) {
  const cudaError_t error = with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(dot<T>, std::max(1, blocks_for(count)), THREADS, 0, device->stream, count,
                 (const T *)x, (const T *)y, device->partial, device->arrived);
  });
  SP_TRY(sp_cuda_status(error, "dot", __FILE__, __LINE__));
  SP_CUDA(cudaMemcpyAsync(device->sum, device->partial, sizeof(double), cudaMemcpyDeviceToHost,
                          device->stream));
  SP_TRY(sp_cuda_wait(device));
  *sum = *device->sum;
  return SP_OK;
}
