extern "C" {
#include "mesh/reference.h"
#include "operators/cuda/exchange.h"
#include "operators/cuda/gather_lists.h"
#include "operators/cuda/schwarz.h"
#include "operators/space.h"
}

#include <cstdlib>

struct sp_device_schwarz {
  sp_device *device;
  sp_device_space *space; /* borrowed */
  sp_precision precision;
  int n, elements, dofs;
  sp_cuda_gather_lists lists; /* element nodes, and the sum over elements */
  void *basis;                /* [elements][3][n][n] */
  void *values;               /* [elements][3][n] */
  void *weights;              /* [dofs] */
  void *solved;               /* [elements][n^3] */
};

namespace {

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

// A column of an element: u[m] = sum over k of matrix[k][m] v[k], for all m at once, so that rows
// of the matrix are read in sequence.
template <class T, int N>
__device__ __forceinline__ void combine(const T (*matrix)[N], const T v[N], T u[N]) {
#pragma unroll
  for (int m = 0; m < N; m++) u[m] = 0;
#pragma unroll
  for (int k = 0; k < N; k++)
#pragma unroll
    for (int m = 0; m < N; m++) u[m] += matrix[k][m] * v[k];
}

// The same with the transposed matrix.
template <class T, int N>
__device__ __forceinline__ void combine_transposed(const T (*matrix)[N], const T v[N], T u[N]) {
#pragma unroll
  for (int m = 0; m < N; m++) {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < N; k++) sum += matrix[m][k] * v[k];
    u[m] = sum;
  }
}

// Elements per block: blocks of some 64 to 256 threads.
template <int N> constexpr int together = N *N >= 64 ? 1 : (64 + N * N - 1) / (N * N);

// A thread has the columns along t, s and r of its position (i, j) in turn; between directions they
// pass through shared memory, whose planes are padded by a row.
template <class T, int N>
__global__ void __launch_bounds__(together<N> *N *N)
    solve(int elements, const int *nodes, const T *basis, const T *values, const T *weights,
          const T *r, T *solved) {
  constexpr int AREA = N * N, VOLUME = N * N * N, PLANE = N * (N + 1);
  __shared__ T matrices[together<N>][3][N][N], lambdas[together<N>][3][N],
      cubes[together<N>][N * PLANE];
  const int slot = threadIdx.x / AREA, place = threadIdx.x % AREA, a = place % N, b = place / N;
  const int e = blockIdx.x * together<N> + slot;
  const bool active = e < elements;
  T(*x)[N] = matrices[slot][0], (*y)[N] = matrices[slot][1], (*z)[N] = matrices[slot][2];
  T *cube = cubes[slot];
  if (active) {
    for (int i = place; i < 3 * AREA; i += AREA)
      (&matrices[slot][0][0][0])[i] = basis[(size_t)e * 3 * AREA + i];
    for (int i = place; i < 3 * N; i += AREA)
      (&lambdas[slot][0][0])[i] = values[(size_t)e * 3 * N + i];
  }
  follow();
  T v[N] = {}, u[N];
  if (active) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      const int dof = nodes[(size_t)e * VOLUME + k * AREA + place];
      v[k] = weights[dof] * r[dof];
    }
  }
  __syncthreads();
  combine<T, N>(z, v, u); // along t; (a, b) = (i, j)
#pragma unroll
  for (int k = 0; k < N; k++) cube[k * PLANE + b * (N + 1) + a] = u[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = cube[b * PLANE + k * (N + 1) + a];
  combine<T, N>(y, v, u); // along s; (a, b) = (i, k)
#pragma unroll
  for (int k = 0; k < N; k++) cube[b * PLANE + k * (N + 1) + a] = u[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = cube[b * PLANE + a * (N + 1) + k];
  combine<T, N>(x, v, u); // along r; (a, b) = (j, k)
  const T rest = lambdas[slot][1][a] + lambdas[slot][2][b];
#pragma unroll
  for (int k = 0; k < N; k++) u[k] /= active ? lambdas[slot][0][k] + rest : (T)1;
  combine_transposed<T, N>(x, u, v);
#pragma unroll
  for (int k = 0; k < N; k++) cube[b * PLANE + a * (N + 1) + k] = v[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = cube[b * PLANE + k * (N + 1) + a];
  combine_transposed<T, N>(y, v, u);
#pragma unroll
  for (int k = 0; k < N; k++) cube[b * PLANE + k * (N + 1) + a] = u[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = cube[k * PLANE + b * (N + 1) + a];
  combine_transposed<T, N>(z, v, u);
  if (!active) return;
#pragma unroll
  for (int k = 0; k < N; k++) solved[(size_t)e * VOLUME + k * AREA + place] = u[k];
}

template <class T>
__global__ void gather(sp_cuda_gather_lists lists, const T *solved, const T *weights, T *z) {
  const int d = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (d >= lists.dofs) return;
  T sum = 0;
  for (int n = lists.start[d]; n < lists.start[d + 1]; n++) sum += solved[lists.entries[n]];
  z[d] = weights[d] * sum;
}

template <class T, int N> cudaError_t queue_solve(sp_device_schwarz *s, const void *r) {
  constexpr int TOGETHER = together<N>;
  return queue(solve<T, N>, (s->elements + TOGETHER - 1) / TOGETHER, TOGETHER * N * N, 0,
               s->device->stream, s->elements, s->lists.nodes, (const T *)s->basis,
               (const T *)s->values, (const T *)s->weights, (const T *)r, (T *)s->solved);
}

template <class T> cudaError_t queue_order(sp_device_schwarz *s, const void *r) {
  switch (s->n) {
#define CASE(N)                                                                                    \
  case N:                                                                                          \
    return queue_solve<T, N>(s, r)
    CASE(3);
    CASE(4);
    CASE(5);
    CASE(6);
    CASE(7);
    CASE(8);
    CASE(9);
    CASE(10);
    CASE(11);
    CASE(12);
    CASE(13);
    CASE(14);
    CASE(15);
    CASE(16);
#undef CASE
  default:
    return cudaErrorInvalidValue;
  }
}

template <class T> cudaError_t queue_apply(sp_device_schwarz *s, const void *r, void *z) {
  const cudaError_t error = queue_order<T>(s, r);
  if (error != cudaSuccess) return error;
  return queue(gather<T>, (s->dofs + THREADS - 1) / THREADS, THREADS, 0, s->device->stream,
               s->lists, (const T *)s->solved, (const T *)s->weights, (T *)z);
}

/* A copy on the device, rounded if need be. */
template <class T> sp_status send(size_t count, const double *values, void **out) {
  T *rounded = nullptr;
  SP_TRY(sp_allocate(count, sizeof *rounded, "Schwarz", &rounded));
  for (size_t i = 0; i < count; i++) rounded[i] = (T)values[i];
  const sp_status status = sp_cuda_copy_of(rounded, count, sizeof *rounded, "Schwarz", out);
  free(rounded);
  return status;
}

template <class T> sp_status build(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const size_t elements = (size_t)s->elements, n = (size_t)s->n;
  SP_TRY(send<T>(elements * 3 * n * n, setup->basis, &s->basis));
  SP_TRY(send<T>(elements * 3 * n, setup->values, &s->values));
  SP_TRY(send<T>((size_t)s->dofs, setup->weights, &s->weights));
  SP_TRY(sp_cuda_gather_lists_create(setup->space, nullptr, &s->lists));
  return sp_cuda_allocate(elements * n * n * n, sizeof(T), "Schwarz", &s->solved);
}

} // namespace

sp_status sp_cuda_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out) {
  sp_device_schwarz *s;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  s->device = device;
  s->space = setup->space->on_device;
  s->precision = setup->precision;
  s->n = setup->space->numbering->order + 1;
  s->elements = setup->space->mesh->hexes->count;
  s->dofs = setup->space->numbering->local;
  const sp_status status = (s->precision == SP_SINGLE ? build<float> : build<double>)(setup, s);
  if (status)
    sp_cuda_schwarz_destroy(&s);
  else
    *out = s;
  return status;
}

void sp_cuda_schwarz_destroy(sp_device_schwarz **schwarz) {
  sp_device_schwarz *s = *schwarz;
  if (!s) return;
  sp_cuda_gather_lists_free(&s->lists);
  (void)cudaFree(s->basis);
  (void)cudaFree(s->values);
  (void)cudaFree(s->weights);
  (void)cudaFree(s->solved);
  free(s);
  *schwarz = nullptr;
}

sp_bytes sp_cuda_schwarz_predicted_bytes(sp_precision precision, int order, const sp_sizes *sizes) {
  const double n = order + 1, nodes = sizes->elements * n * n * n;
  const double numbers = sizes->elements * 3 * n * (n + 1) + sizes->dofs + nodes;
  return {sizeof(sp_device_schwarz), (double)sp_precision_bytes(precision) * numbers +
                                         sp_cuda_gather_lists_predicted_bytes(nodes, sizes->dofs)};
}

sp_status sp_cuda_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  SP_CUDA((s->precision == SP_SINGLE ? queue_apply<float> : queue_apply<double>)(s, r, z));
  return sp_cuda_assemble(s->space, s->precision, z);
}
