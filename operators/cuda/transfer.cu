extern "C" {
#include "mesh/reference.h"
#include "operators/cuda/copies.h"
#include "operators/cuda/entries.h"
#include "operators/space.h"
}

#include "operators/cuda/local.h"

#include <cstdlib>

struct sp_device_transfer {
  const sp_local_operator *local; /* of the fine space, borrowed */
  sp_device_space *coarse;        /* borrowed */
  int elements, nf, nc, fine_owned, coarse_dofs;
  int *coarse_nodes;           /* [elements][nc^3], DOFs */
  sp_cuda_targets coarse_sums; /* sp_cuda_gather_create */
  unsigned short *places;      /* [nf^3], sp_cuda_node_order */
  unsigned *codes;             /* between two meshes: [elements][nf^3]; else NULL */
  void *matrix;                /* [nf][nc] */
  void *correction;            /* [fine DOFs]; NULL on one rank, or if copies may differ */
  void *sums;                  /* [elements][nc^3] */
};

namespace {

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

// Nodes per direction, compile-time constants for the default pairs of orders
// (sp_multigrid_choose_orders).
template <int NF, int NC> struct fixed_sizes {
  static constexpr int nf = NF, nc = NC, most_f = NF, most_c = NC;
};
struct any_sizes {
  int nf, nc;
  static constexpr int most_f = SP_MAX_NQ, most_c = SP_MAX_NQ;
};

// A thread works on one line of the element in each direction; blocks have about 128 threads.
__host__ __device__ constexpr int elements_for(int nf) {
  return nf * nf < 128 ? 128 / (nf * nf) : 1;
}

// Two cubes per element in shared memory, in which lines along r begin at different banks.
__host__ __device__ constexpr int row_of(int nf) {
  return nf | 1;
}
__host__ __device__ constexpr int cube_of(int nf) {
  return nf * nf * row_of(nf);
}

// Fine nodes with their codes (launch.h): the operator's, on the surface of its elements, or for
// two meshes, for all nodes. An unconstrained DOF below `end` (owned or local DOFs) is active at
// its first node: only one element reads or writes it, so there are no weights.
struct fine_nodes {
  const unsigned *codes; // [elements][surface nodes]
  const unsigned short *places;
  int surface, end;

  __device__ __forceinline__ unsigned code(int element, int count, int n) const {
    if (n < surface) return __ldg(codes + (size_t)element * surface + n);
    return (unsigned)(element * (count - surface) + n - surface) | SP_CUDA_FIRST;
  }
  __device__ __forceinline__ bool is_active(unsigned code) const {
    return (code & SP_CUDA_FIRST) && !(code & SP_CUDA_CONSTRAINED) &&
           (int)(code & SP_CUDA_DOF) < end;
  }
};

// y = matrix x along a line, matrix[nf][nc] in shared memory; or with its transpose.
template <bool transposed, class T, class Sizes, class Read, class Write>
__device__ __forceinline__ void along(const Sizes &sizes, const T *matrix, Read read, Write write) {
  constexpr int most = transposed ? Sizes::most_f : Sizes::most_c;
  const int nf = sizes.nf, nc = sizes.nc, from = transposed ? nf : nc, to = transposed ? nc : nf;
  T x[most];
#pragma unroll
  for (int c = 0; c < from; c++) x[c] = read(c);
#pragma unroll
  for (int r = 0; r < to; r++) {
    T sum = 0;
#pragma unroll
    for (int c = 0; c < from; c++) sum += matrix[transposed ? c * nc + r : r * nc + c] * x[c];
    write(r, sum);
  }
}

// An element of a block, with its part of shared memory; all elements share the matrix.
template <class T> struct part {
  int element, worker, workers;
  bool on;
  T *matrix, *u, *v;

  __device__ __forceinline__ part(int nf, int nc, int elements, const T *from) {
    extern __shared__ char memory[];
    workers = nf * nf;
    worker = threadIdx.x % workers;
    const int slot = threadIdx.x / workers;
    element = blockIdx.x * elements_for(nf) + slot;
    on = element < elements;
    matrix = (T *)memory;
    u = matrix + nf * nc + 2 * slot * cube_of(nf);
    v = u + cube_of(nf);
    for (int n = threadIdx.x; n < nf * nc; n += blockDim.x) matrix[n] = from[n];
  }
};

// The index in a cube of node n of an element, in the order of codes.
__device__ __forceinline__ int index_of(const fine_nodes &nodes, int nf, int n) {
  const int place = __ldg(nodes.places + n);
  return place / nf * row_of(nf) + place % nf;
}

// fine += P coarse at active nodes. If the result is then summed over ranks, fine = P coarse, and
// zero at copies.
template <class T, class Sizes>
__global__ void prolong(Sizes sizes, int elements, const T *matrix, const int *coarse_nodes,
                        fine_nodes nodes, bool add, const T *coarse, T *fine) {
  const int nf = sizes.nf, nc = sizes.nc, row = row_of(nf), count = nf * nf * nf;
  const part<T> p(nf, nc, elements, matrix);
  T *const u = p.u, *const v = p.v;
  const int *const from = coarse_nodes + (size_t)p.element * nc * nc * nc;
  follow();
  __syncthreads();
  const bool first = p.on && p.worker < nc * nc, second = p.on && p.worker < nc * nf;
  if (first)
    along<false>(
        sizes, p.matrix, [&](int k) { return coarse[__ldg(from + k * nc * nc + p.worker)]; },
        [&](int k, T value) { u[k * nc * nc + p.worker] = value; });
  __syncthreads();
  const int i = p.worker % nc, k = p.worker / nc;
  if (second)
    along<false>(
        sizes, p.matrix, [&](int j) { return u[(k * nc + j) * nc + i]; },
        [&](int j, T value) { v[(k * nf + j) * nc + i] = value; });
  __syncthreads();
  if (p.on)
    along<false>(
        sizes, p.matrix, [&](int c) { return v[p.worker * nc + c]; },
        [&](int c, T value) { u[p.worker * row + c] = value; });
  __syncthreads();
  for (int n = p.worker; n < count && p.on; n += p.workers) {
    const unsigned code = nodes.code(p.element, count, n);
    T *const target = fine + (code & SP_CUDA_DOF);
    const T value = u[index_of(nodes, nf, n)];
    if (nodes.is_active(code))
      *target = add ? *target + value : value;
    else if (!add && (code & SP_CUDA_FIRST))
      *target = 0;
  }
}

template <class T, class Sizes>
__global__ void restrict_elements(Sizes sizes, int elements, const T *matrix, fine_nodes nodes,
                                  const T *fine, T *sums) {
  const int nf = sizes.nf, nc = sizes.nc, row = row_of(nf), count = nf * nf * nf;
  const part<T> p(nf, nc, elements, matrix);
  T *const u = p.u, *const v = p.v, *const to = sums + (size_t)p.element * nc * nc * nc;
  follow();
  for (int n = p.worker; n < count && p.on; n += p.workers) {
    const unsigned code = nodes.code(p.element, count, n);
    u[index_of(nodes, nf, n)] = nodes.is_active(code) ? fine[code & SP_CUDA_DOF] : 0;
  }
  __syncthreads();
  if (p.on)
    along<true>(
        sizes, p.matrix, [&](int c) { return u[p.worker * row + c]; },
        [&](int c, T value) { v[p.worker * nc + c] = value; });
  __syncthreads();
  const int i = p.worker % nc, k = p.worker / nc;
  if (p.on && p.worker < nc * nf)
    along<true>(
        sizes, p.matrix, [&](int j) { return v[(k * nf + j) * nc + i]; },
        [&](int j, T value) { u[(k * nc + j) * nc + i] = value; });
  __syncthreads();
  if (p.on && p.worker < nc * nc)
    along<true>(
        sizes, p.matrix, [&](int c) { return u[c * nc * nc + p.worker]; },
        [&](int c, T value) { to[c * nc * nc + p.worker] = value; });
}

template <class T> __global__ void gather(sp_cuda_targets dofs, const T *sums, T *y) {
  const int d = blockIdx.x * THREADS + threadIdx.x;
  const int first = d < dofs.count ? dofs.start[d] : 0;
  const int last = d < dofs.count ? dofs.start[d + 1] : 0;
  follow();
  if (d >= dofs.count) return;
  T sum = 0;
  for (int n = first; n < last; n++) sum += sums[(int)dofs.entries[n]];
  y[d] = sum;
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

// Launch a kernel over elements.
template <class T, class... Parameters, class... Values>
cudaError_t queue_elements(const sp_device_transfer *t, void (*kernel)(Parameters...),
                           const Values &...values) {
  const int together = elements_for(t->nf);
  const int numbers = 2 * together * cube_of(t->nf) + t->nf * t->nc;
  return queue(kernel, blocks_for((size_t)t->elements, together), together * t->nf * t->nf,
               (size_t)numbers * sizeof(T), t->local->device->stream, values...);
}

fine_nodes nodes_of(const sp_device_transfer *t, int end) {
  if (t->codes) return {t->codes, t->places, t->nf * t->nf * t->nf, end};
  return {t->local->nodes, t->places, sp_cuda_surface_nodes(t->nf - 1), end};
}

template <class T>
cudaError_t queue_prolong(const sp_device_transfer *t, bool add, const void *coarse, void *fine) {
  return with_sizes(t, [&](auto sizes) {
    return queue_elements<T>(
        t, prolong<T, decltype(sizes)>, sizes, t->elements, (const T *)t->matrix, t->coarse_nodes,
        nodes_of(t, add ? t->local->dofs : t->fine_owned), add, (const T *)coarse, (T *)fine);
  });
}

template <class T>
cudaError_t queue_restrict(const sp_device_transfer *t, const void *fine, void *coarse) {
  const cudaError_t error = with_sizes(t, [&](auto sizes) {
    return queue_elements<T>(t, restrict_elements<T, decltype(sizes)>, sizes, t->elements,
                             (const T *)t->matrix, nodes_of(t, t->fine_owned), (const T *)fine,
                             (T *)t->sums);
  });
  if (error != cudaSuccess) return error;
  return queue(gather<T>, blocks_for((size_t)t->coarse_dofs, THREADS), THREADS, 0,
               t->local->device->stream, t->coarse_sums, (const T *)t->sums, (T *)coarse);
}

sp_status build(const sp_transfer_setup *setup, sp_device_transfer *t) {
  double matrix[SP_MAX_NQ * SP_MAX_NQ];
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  const sp_local_operator *local = t->local;
  const size_t elements = (size_t)t->elements, coarse = elements * (size_t)(t->nc * t->nc * t->nc);
  const int fine = t->nf * t->nf * t->nf;
  const size_t bytes = sp_precision_bytes(local->precision);
  sp_interpolation_matrix(t->nc, sp_reference_get(t->nc - 1)->gll.nodes, t->nf,
                          sp_reference_get(t->nf - 1)->gll.nodes, matrix);
  SP_TRY(sp_cuda_copy_rounded(local->precision, (size_t)t->nf, (size_t)t->nc, matrix, nullptr,
                              "transfer", &t->matrix));
  sp_cuda_node_order(t->nf - 1, places);
  SP_TRY(sp_cuda_copy_of(places, (size_t)fine, sizeof *places, "transfer", &t->places));
  if (setup->nodes)
    SP_TRY(sp_cuda_codes_create(t->nf - 1, elements, fine, setup->nodes, local->dofs,
                                setup->fine_constrained, &t->codes));
  SP_TRY(sp_cuda_gather_create(setup->coarse, setup->coarse_constrained, &t->coarse_sums));
  SP_TRY(sp_cuda_copy_of(setup->coarse->numbering->nodes, coarse, sizeof(int), "element nodes",
                         &t->coarse_nodes));
  if (local->space->ranks > 1 && setup->exact_copies)
    SP_TRY(sp_cuda_allocate((size_t)local->dofs, bytes, "transfer", &t->correction));
  return sp_cuda_allocate(coarse, bytes, "transfer", &t->sums);
}

} // namespace

sp_status sp_cuda_transfer_create(sp_device *, const sp_transfer_setup *setup,
                                  sp_device_transfer **out) {
  sp_device_transfer *t;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *t, "transfer", &t));
  t->local = setup->local;
  t->coarse = setup->coarse->on_device;
  t->elements = setup->coarse->mesh->hexes->count;
  t->nf = setup->nodes ? 3 : setup->fine->numbering->order + 1;
  t->nc = setup->coarse->numbering->order + 1;
  t->fine_owned = setup->fine->numbering->owned;
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
  SP_CUDA_FREE(t->coarse_nodes, t->coarse_sums.start, t->coarse_sums.entries, t->places, t->codes,
               t->matrix, t->correction, t->sums);
  free(t);
  *transfer = nullptr;
}

sp_status sp_cuda_prolong(sp_device_transfer *t, const void *coarse, void *fine) {
  const sp_precision precision = t->local->precision;
  const bool alone = !t->correction;
  SP_CUDA(with_precision(precision, [&](auto real) {
    return queue_prolong<decltype(real)>(t, alone, coarse, alone ? fine : t->correction);
  }));
  if (alone) return SP_OK;
  SP_TRY(sp_cuda_assemble(t->local->space, precision, t->correction));
  const double weights[] = {1, 1};
  const void *const terms[] = {fine, t->correction};
  return sp_cuda_combine_vectors(t->local->device, precision, (size_t)t->local->dofs, 2, weights,
                                 terms, fine);
}

sp_status sp_cuda_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  SP_CUDA(with_precision(t->local->precision, [&](auto real) {
    return queue_restrict<decltype(real)>(t, fine, coarse);
  }));
  return sp_cuda_assemble(t->coarse, t->local->precision, coarse);
}
