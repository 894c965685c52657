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
  int nf, nc, elements, fine_dofs, fine_owned, coarse_dofs;
  sp_cuda_gather_lists coarse_lists; /* coarse nodes, and the sum of restriction */
  int *fine_nodes;                   /* [elements][nf^3] */
  void *matrix;                      /* [nf][nc] */
  void *weights;                     /* [fine_dofs] */
  void *correction;                  /* [fine_dofs] */
  void *sums;                        /* [elements][nc^3] */
};

namespace {

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

// Lines along one direction, as in operators/host/interpolate.c, by the threads of a block.
template <class T>
__device__ void apply(int to, int from, int inner, int outer, const T *matrix, bool transposed,
                      const T *in, T *out) {
  const int row = transposed ? 1 : from, column = transposed ? to : 1;
  for (int n = threadIdx.x; n < outer * to * inner; n += blockDim.x) {
    const int i = n % inner, r = n / inner % to, o = n / (inner * to);
    const T *line = in + o * from * inner + i;
    T sum = 0;
    for (int c = 0; c < from; c++) sum += matrix[r * row + c * column] * line[c * inner];
    out[n] = sum;
  }
  __syncthreads();
}

// One block per element. Elements that share a node have values there that differ by rounding: only
// the first of them writes its value, and only on the rank that owns the DOF.
template <class T>
__global__ void prolong(int nf, int nc, const T *matrix, const int *coarse_nodes,
                        const int *fine_nodes, const T *weights, int owned, const T *coarse,
                        T *fine) {
  extern __shared__ char memory[];
  const int fine_count = nf * nf * nf, coarse_count = nc * nc * nc, e = blockIdx.x;
  T *u = (T *)memory, *v = u + fine_count, *m = v + fine_count;
  for (int n = threadIdx.x; n < nf * nc; n += blockDim.x) m[n] = matrix[n];
  follow();
  for (int n = threadIdx.x; n < coarse_count; n += blockDim.x)
    u[n] = coarse[coarse_nodes[(size_t)e * coarse_count + n]];
  __syncthreads();
  apply(nf, nc, 1, nc * nc, m, false, u, v);
  apply(nf, nc, nf, nc, m, false, v, u);
  apply(nf, nc, nf * nf, 1, m, false, u, v);
  for (int n = threadIdx.x; n < fine_count; n += blockDim.x) {
    const int code = fine_nodes[(size_t)e * fine_count + n];
    if (code < 0) continue; // another element writes it
    fine[code] = weights[code] > 0 && code < owned ? v[n] : (T)0;
  }
}

template <class T>
__global__ void restrict_elements(int nf, int nc, const T *matrix, const int *fine_nodes,
                                  const T *weights, const T *fine, T *sums) {
  extern __shared__ char memory[];
  const int fine_count = nf * nf * nf, coarse_count = nc * nc * nc, e = blockIdx.x;
  T *u = (T *)memory, *v = u + fine_count, *m = v + fine_count;
  for (int n = threadIdx.x; n < nf * nc; n += blockDim.x) m[n] = matrix[n];
  follow();
  for (int n = threadIdx.x; n < fine_count; n += blockDim.x) {
    const int code = fine_nodes[(size_t)e * fine_count + n], dof = code < 0 ? ~code : code;
    u[n] = weights[dof] * fine[dof];
  }
  __syncthreads();
  apply(nc, nf, nf * nf, 1, m, true, u, v);
  apply(nc, nf, nf, nc, m, true, v, u);
  apply(nc, nf, 1, nc * nc, m, true, u, v);
  for (int n = threadIdx.x; n < coarse_count; n += blockDim.x)
    sums[(size_t)e * coarse_count + n] = v[n];
}

template <class T> __global__ void gather(sp_cuda_gather_lists lists, const T *sums, T *y) {
  const int d = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (d >= lists.dofs) return;
  T sum = 0;
  for (int n = lists.start[d]; n < lists.start[d + 1]; n++) sum += sums[lists.entries[n]];
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

int threads_for(int nf) {
  const int warps = (nf * nf * nf + 127) / 128; // a thread has about four nodes
  return 32 * (warps < 1 ? 1 : warps > 8 ? 8 : warps);
}

template <class T> size_t shared_bytes(const sp_device_transfer *t) {
  return (size_t)(2 * t->nf * t->nf * t->nf + t->nf * t->nc) * sizeof(T);
}

template <class T> cudaError_t queue_prolong(sp_device_transfer *t, const void *coarse) {
  const cudaError_t error = cudaFuncSetAttribute(
      prolong<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes<T>(t));
  if (error != cudaSuccess) return error;
  return queue(prolong<T>, t->elements, threads_for(t->nf), shared_bytes<T>(t), t->device->stream,
               t->nf, t->nc, (const T *)t->matrix, t->coarse_lists.nodes, t->fine_nodes,
               (const T *)t->weights, t->fine_owned, (const T *)coarse, (T *)t->correction);
}

template <class T>
cudaError_t queue_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  cudaError_t error = cudaFuncSetAttribute(
      restrict_elements<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes<T>(t));
  if (error == cudaSuccess)
    error = queue(restrict_elements<T>, t->elements, threads_for(t->nf), shared_bytes<T>(t),
                  t->device->stream, t->nf, t->nc, (const T *)t->matrix, t->fine_nodes,
                  (const T *)t->weights, (const T *)fine, (T *)t->sums);
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

/* The DOF of every fine node: d at the first node of a DOF, ~d at the others. */
sp_status send_fine_nodes(const sp_space *fine, size_t nodes, int **out) {
  int *codes = nullptr;
  bool *seen = nullptr;
  sp_status status = sp_allocate(nodes, sizeof *codes, "element nodes", &codes);
  if (!status) status = sp_allocate(sp_space_dofs(fine), sizeof *seen, "element nodes", &seen);
  for (size_t n = 0; n < nodes && !status; n++) {
    const sp_lid dof = fine->numbering->nodes[n];
    codes[n] = seen[dof] ? ~dof : dof;
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
  SP_TRY(send_rounded(t->precision, (size_t)t->fine_dofs, setup->weights, &t->weights));
  SP_TRY(send_fine_nodes(setup->fine, elements * fine, &t->fine_nodes));
  SP_TRY(sp_cuda_gather_lists_create(setup->coarse, setup->coarse_constrained, &t->coarse_lists));
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
  sp_cuda_gather_lists_free(&t->coarse_lists);
  (void)cudaFree(t->fine_nodes);
  (void)cudaFree(t->matrix);
  (void)cudaFree(t->weights);
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
  /* The matrix, weights and correction, and sums. */
  return {sizeof(sp_device_transfer),
          lists + fine + real * (nf * nc + 2 * facts->fine->dofs + coarse_nodes)};
}

sp_status sp_cuda_prolong(sp_device_transfer *t, const void *coarse, void *fine) {
  const bool single = t->precision == SP_SINGLE;
  SP_CUDA((single ? queue_prolong<float> : queue_prolong<double>)(t, coarse));
  SP_TRY(sp_cuda_assemble(t->fine, t->precision, t->correction));
  SP_CUDA((single ? queue_add<float> : queue_add<double>)(t, fine));
  return SP_OK;
}

sp_status sp_cuda_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  const bool single = t->precision == SP_SINGLE;
  SP_CUDA((single ? queue_restrict<float> : queue_restrict<double>)(t, fine, coarse));
  return sp_cuda_assemble(t->coarse, t->precision, coarse);
}
