extern "C" {
#include "mesh/reference.h"
#include "operators/cuda/exchange.h"
#include "operators/cuda/gather_lists.h"
#include "operators/cuda/transfer.h"
#include "operators/space.h"
}

#include <cstdlib>

struct sp_device_transfer {
  sp_device *device;
  sp_device_space *fine, *coarse; /* borrowed */
  sp_precision precision;
  int nf, nc, elements, fine_dofs, coarse_dofs;
  sp_cuda_gather_lists coarse_lists; /* coarse nodes, and the sum of restriction */
  int *fine_nodes;                   /* [elements][nf^3], codes */
  void *matrix;                      /* [nf][nc] */
  void *correction;                  /* [fine_dofs]; NULL on one rank */
  void *sums;                        /* [elements][nc^3] */
};

namespace {

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

// Nodes per direction, known to the compiler for orders that follow each other by default
// (sp_multigrid_choose_orders).
template <int NF, int NC> struct fixed_sizes { static constexpr int nf = NF, nc = NC; };
struct any_sizes {
  int nf, nc;
};

// Threads per element, about one for four nodes, and elements per block.
__host__ __device__ constexpr int threads_for(int nf) {
  return nf <= 2 ? 8 : nf == 3 ? 16 : nf <= 5 ? 32 : nf <= 7 ? 64 : nf <= 8 ? 128 : 256;
}
__host__ __device__ constexpr int elements_for(int nf) {
  return threads_for(nf) < 128 ? 128 / threads_for(nf) : 1;
}

// Lines along one direction, as in operators/host/interpolate.c, by the threads of an element.
template <class T>
__device__ __forceinline__ void apply(int to, int from, int inner, int outer, const T *matrix,
                                      bool transposed, const T *in, T *out, int thread,
                                      int threads) {
  const int row = transposed ? 1 : from, column = transposed ? to : 1;
  for (int n = thread; n < outer * to * inner; n += threads) {
    const int i = n % inner, r = n / inner % to, o = n / (inner * to);
    const T *line = in + o * from * inner + i;
    T sum = 0;
#pragma unroll
    for (int c = 0; c < from; c++) sum += matrix[r * row + c * column] * line[c * inner];
    out[n] = sum;
  }
  __syncthreads();
}

// An element of a block, with its part of shared memory: two cubes; the matrix is everyone's.
template <class T> struct part {
  int element, thread, threads;
  bool on;
  T *matrix, *u, *v;

  __device__ __forceinline__ part(int nf, int nc, int elements, const T *from) {
    extern __shared__ char memory[];
    threads = threads_for(nf);
    thread = threadIdx.x % threads;
    const int slot = threadIdx.x / threads, cube = nf * nf * nf;
    element = blockIdx.x * elements_for(nf) + slot;
    on = element < elements;
    matrix = (T *)memory;
    u = matrix + nf * nc + 2 * slot * cube;
    v = u + cube;
    for (int n = threadIdx.x; n < nf * nc; n += blockDim.x) matrix[n] = from[n];
  }
};

// A fine node is active in one of the elements that share it, on the rank that owns its DOF, unless
// it is constrained: its code is the DOF there, and NOT_ACTIVE in the others; for a copy of another
// rank's DOF it is COPY - DOF in one of them.
enum { NOT_ACTIVE = -1, COPY = -2 };

// fine += P coarse at active nodes; or, if the result is then summed over ranks, fine = P coarse,
// and zero at copies.
template <class T, class Sizes>
__global__ void prolong(Sizes sizes, int elements, const T *matrix, const int *coarse_nodes,
                        const int *fine_nodes, bool add, const T *coarse, T *fine) {
  const int nf = sizes.nf, nc = sizes.nc, fine_count = nf * nf * nf, coarse_count = nc * nc * nc;
  const part<T> p(nf, nc, elements, matrix);
  follow();
  for (int n = p.thread; n < coarse_count && p.on; n += p.threads)
    p.u[n] = coarse[coarse_nodes[(size_t)p.element * coarse_count + n]];
  __syncthreads();
  apply(nf, nc, 1, nc * nc, p.matrix, false, p.u, p.v, p.thread, p.threads);
  apply(nf, nc, nf, nc, p.matrix, false, p.v, p.u, p.thread, p.threads);
  apply(nf, nc, nf * nf, 1, p.matrix, false, p.u, p.v, p.thread, p.threads);
  for (int n = p.thread; n < fine_count && p.on; n += p.threads) {
    const int code = fine_nodes[(size_t)p.element * fine_count + n];
    if (code >= 0)
      fine[code] = add ? fine[code] + p.v[n] : p.v[n];
    else if (code <= COPY && !add)
      fine[COPY - code] = 0;
  }
}

template <class T, class Sizes>
__global__ void restrict_elements(Sizes sizes, int elements, const T *matrix, const int *fine_nodes,
                                  const T *fine, T *sums) {
  const int nf = sizes.nf, nc = sizes.nc, fine_count = nf * nf * nf, coarse_count = nc * nc * nc;
  const part<T> p(nf, nc, elements, matrix);
  follow();
  for (int n = p.thread; n < fine_count && p.on; n += p.threads) {
    const int code = fine_nodes[(size_t)p.element * fine_count + n];
    p.u[n] = code >= 0 ? fine[code] : 0;
  }
  __syncthreads();
  apply(nc, nf, nf * nf, 1, p.matrix, true, p.u, p.v, p.thread, p.threads);
  apply(nc, nf, nf, nc, p.matrix, true, p.v, p.u, p.thread, p.threads);
  apply(nc, nf, 1, nc * nc, p.matrix, true, p.u, p.v, p.thread, p.threads);
  for (int n = p.thread; n < coarse_count && p.on; n += p.threads)
    sums[(size_t)p.element * coarse_count + n] = p.v[n];
}

template <class T> __global__ void gather(sp_cuda_gather_lists lists, const T *sums, T *y) {
  const int d = blockIdx.x * THREADS + threadIdx.x;
  const int first = d < lists.dofs ? lists.start[d] : 0;
  const int last = d < lists.dofs ? lists.start[d + 1] : 0;
  follow();
  if (d >= lists.dofs) return;
  T sum = 0;
  for (int n = first; n < last; n++) sum += sums[lists.entries[n]];
  y[d] = sum;
}

template <class T> __global__ void add(int n, const T *x, T *y) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (i < n) y[i] += x[i];
}

int blocks_for(int n) {
  return (n + THREADS - 1) / THREADS;
}

// Call launch(sizes) with the sizes of a transfer.
template <class Launch> cudaError_t with_sizes(const sp_device_transfer *t, Launch launch) {
  switch (16 * t->nf + t->nc) {
#define CASE(FINE, COARSE)                                                                         \
  case 16 * (FINE + 1) + COARSE + 1:                                                               \
    return launch(fixed_sizes<FINE + 1, COARSE + 1>())
    CASE(2, 1);
    CASE(3, 2);
    CASE(4, 2);
    CASE(5, 3);
    CASE(6, 3);
    CASE(7, 4);
    CASE(8, 4);
    CASE(9, 6);
    CASE(10, 7);
    CASE(11, 7);
    CASE(12, 8);
    CASE(13, 9);
    CASE(14, 9);
    CASE(15, 11);
#undef CASE
  default:
    return launch(any_sizes{t->nf, t->nc});
  }
}

template <class T> size_t shared_bytes(const sp_device_transfer *t) {
  const int cube = t->nf * t->nf * t->nf;
  return (size_t)(2 * elements_for(t->nf) * cube + t->nf * t->nc) * sizeof(T);
}

// Launch a kernel over elements.
template <class T, class... Parameters, class... Values>
cudaError_t queue_elements(const sp_device_transfer *t, void (*kernel)(Parameters...),
                           const Values &...values) {
  const int together = elements_for(t->nf), bytes = (int)shared_bytes<T>(t);
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  return queue(kernel, (t->elements + together - 1) / together, together * threads_for(t->nf),
               (size_t)bytes, t->device->stream, values...);
}

template <class T>
cudaError_t queue_prolong(sp_device_transfer *t, bool add, const void *coarse, void *fine) {
  return with_sizes(t, [&](auto sizes) {
    return queue_elements<T>(t, prolong<T, decltype(sizes)>, sizes, t->elements,
                             (const T *)t->matrix, t->coarse_lists.nodes, t->fine_nodes, add,
                             (const T *)coarse, (T *)fine);
  });
}

template <class T>
cudaError_t queue_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  const cudaError_t error = with_sizes(t, [&](auto sizes) {
    return queue_elements<T>(t, restrict_elements<T, decltype(sizes)>, sizes, t->elements,
                             (const T *)t->matrix, t->fine_nodes, (const T *)fine, (T *)t->sums);
  });
  if (error != cudaSuccess) return error;
  return queue(gather<T>, blocks_for(t->coarse_dofs), THREADS, 0, t->device->stream,
               t->coarse_lists, (const T *)t->sums, (T *)coarse);
}

template <class T> cudaError_t queue_add(sp_device_transfer *t, void *fine) {
  return queue(add<T>, blocks_for(t->fine_dofs), THREADS, 0, t->device->stream, t->fine_dofs,
               (const T *)t->correction, (T *)fine);
}

/* A copy of doubles on the device in another precision. */
sp_status send_rounded(sp_precision precision, size_t count, const double *values, void **out) {
  if (precision == SP_DOUBLE)
    return sp_cuda_copy_of(values, count, sizeof *values, "transfer", out);
  float *rounded = nullptr;
  SP_TRY(sp_allocate(count, sizeof *rounded, "transfer", &rounded));
  for (size_t i = 0; i < count; i++) rounded[i] = (float)values[i];
  const sp_status status = sp_cuda_copy_of(rounded, count, sizeof *rounded, "transfer", out);
  free(rounded);
  return status;
}

/* Codes of fine nodes; weights are zero where a DOF is constrained. */
sp_status send_fine_nodes(const sp_space *fine, const double *weights, size_t nodes, int **out) {
  int *codes = nullptr;
  bool *seen = nullptr;
  sp_status status = sp_allocate(nodes, sizeof *codes, "element nodes", &codes);
  if (!status) status = sp_allocate(sp_space_dofs(fine), sizeof *seen, "element nodes", &seen);
  for (size_t n = 0; n < nodes && !status; n++) {
    const sp_lid dof = fine->numbering->nodes[n];
    codes[n] = seen[dof] || weights[dof] == 0 ? NOT_ACTIVE
               : dof < fine->numbering->owned ? (int)dof
                                              : COPY - (int)dof;
    seen[dof] = true;
  }
  if (!status) status = sp_cuda_copy_of(codes, nodes, sizeof *codes, "element nodes", (void **)out);
  free(codes);
  free(seen);
  return status;
}

sp_status build(const sp_transfer_setup *setup, sp_device_transfer *t) {
  double matrix[SP_MAX_NQ * SP_MAX_NQ];
  const size_t elements = (size_t)t->elements, fine = (size_t)(t->nf * t->nf * t->nf);
  const size_t coarse = (size_t)(t->nc * t->nc * t->nc), bytes = sp_precision_bytes(t->precision);
  sp_interpolation_matrix(t->nc, sp_reference_get(t->nc - 1)->gll.nodes, t->nf,
                          sp_reference_get(t->nf - 1)->gll.nodes, matrix);
  SP_TRY(send_rounded(t->precision, (size_t)(t->nf * t->nc), matrix, &t->matrix));
  SP_TRY(send_fine_nodes(setup->fine, setup->weights, elements * fine, &t->fine_nodes));
  SP_TRY(sp_cuda_gather_lists_create(setup->coarse, setup->coarse_constrained, &t->coarse_lists));
  if (t->fine->ranks > 1)
    SP_TRY(sp_cuda_allocate((size_t)t->fine_dofs, bytes, "transfer", &t->correction));
  return sp_cuda_allocate(elements * coarse, bytes, "transfer", &t->sums);
}

} // namespace

sp_status sp_cuda_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out) {
  sp_device_transfer *t;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *t, "transfer", &t));
  t->device = device;
  t->fine = setup->fine->on_device;
  t->coarse = setup->coarse->on_device;
  t->precision = setup->precision;
  t->nf = setup->fine->numbering->order + 1;
  t->nc = setup->coarse->numbering->order + 1;
  t->elements = setup->fine->mesh->hexes->count;
  t->fine_dofs = setup->fine->numbering->local;
  t->coarse_dofs = setup->coarse->numbering->local;
  const sp_status status = build(setup, t);
  if (status)
    sp_cuda_transfer_destroy(&t);
  else
    *out = t;
  return status;
}

void sp_cuda_transfer_destroy(sp_device_transfer **transfer) {
  sp_device_transfer *t = *transfer;
  if (!t) return;
  sp_cuda_gather_lists_free(&t->coarse_lists);
  (void)cudaFree(t->fine_nodes);
  (void)cudaFree(t->matrix);
  (void)cudaFree(t->correction);
  (void)cudaFree(t->sums);
  free(t);
  *transfer = nullptr;
}

sp_bytes sp_cuda_transfer_predicted_bytes(const sp_transfer_facts *facts) {
  const double nf = facts->fine_order + 1, nc = facts->coarse_order + 1;
  const double real = (double)sp_precision_bytes(facts->precision);
  const double coarse_nodes = facts->coarse->elements * nc * nc * nc;
  const double lists = sp_cuda_gather_lists_predicted_bytes(coarse_nodes, facts->coarse->dofs);
  const double fine =
      facts->fine->elements * nf * nf * nf * sizeof(*sp_device_transfer::fine_nodes);
  /* The matrix, the correction, and sums. */
  return {sizeof(sp_device_transfer),
          lists + fine + real * (nf * nc + facts->fine->dofs + coarse_nodes)};
}

sp_status sp_cuda_prolong(sp_device_transfer *t, const void *coarse, void *fine) {
  const bool single = t->precision == SP_SINGLE, alone = !t->correction;
  SP_CUDA((single ? queue_prolong<float> : queue_prolong<double>)(t, alone, coarse,
                                                                  alone ? fine : t->correction));
  if (alone) return SP_OK;
  SP_TRY(sp_cuda_assemble(t->fine, t->precision, t->correction));
  SP_CUDA((single ? queue_add<float> : queue_add<double>)(t, fine));
  return SP_OK;
}

sp_status sp_cuda_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  const bool single = t->precision == SP_SINGLE;
  SP_CUDA((single ? queue_restrict<float> : queue_restrict<double>)(t, fine, coarse));
  return sp_cuda_assemble(t->coarse, t->precision, coarse);
}
