extern "C" {
#include "operators/cuda/vectors.h"
}

namespace {

constexpr int THREADS = SP_CUDA_VECTOR_THREADS, BLOCKS = SP_CUDA_VECTOR_BLOCKS, SUM_THREADS = 1024;

__device__ unsigned long long now() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// The sum over a block, valid in thread 0; a fixed tree.
__device__ double block_sum(double value) {
  __shared__ double warps[32];
  __syncthreads();
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
  if (threadIdx.x < 32)
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  return value;
}

__device__ double sum_partials(int count, const double *partial) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += SUM_THREADS) sum += partial[i];
  return block_sum(sum);
}

__global__ void direction(int n, const double *r, const double *d, double *p,
                          sp_cuda_scalars *scalars) {
  if (scalars->stop) return;
  const double beta = scalars->beta;
  if (blockIdx.x == 0 && threadIdx.x == 0) scalars->started = now();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    p[i] = (d ? d[i] * r[i] : r[i]) + beta * p[i];
}

__global__ void assemble(int first, int last, const int *targets, const unsigned *start,
                         const unsigned *entries, bool constrained, const double *surface,
                         double *y, const sp_cuda_scalars *scalars) {
  const int t = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= last || scalars->stop) return;
  const int target = targets[t];
  double sum = 0;
  if (target >= 0 || !constrained)
    for (unsigned e = start[t]; e < start[t + 1]; e++) sum += surface[entries[e]];
  y[target >= 0 ? target : ~target] = sum;
}

__global__ void finish_direction(int count, const double *partial, sp_cuda_scalars *s,
                                 sp_cg_record *records) {
  if (s->stop) return;
  const double p_ap = sum_partials(count, partial);
  if (threadIdx.x > 0) return;
  s->p_ap = p_ap;
  s->alpha = s->rz / p_ap;
  if (!records) return;
  records[s->iterations].p_ap = p_ap;
  records[s->iterations].seconds = 1e-9 * (double)(now() - s->started);
  if (!(p_ap > 0) || isinf(p_ap)) {
    s->stop = 1;
    s->iterations++;
  }
}

__global__ void update(int owned, int n, const double *p, const double *ap, const double *d,
                       double *x, double *r, double *partial, const sp_cuda_scalars *scalars) {
  if (scalars->stop) return;
  const double alpha = scalars->alpha;
  double rr = 0, rz = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    x[i] += alpha * p[i];
    const double residual = r[i] - alpha * ap[i];
    r[i] = residual;
    if (i < owned) {
      rr += residual * residual;
      if (d) rz += residual * d[i] * residual;
    }
  }
  rr = block_sum(rr);
  rz = block_sum(rz);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = rr;
    partial[BLOCKS + blockIdx.x] = d ? rz : rr;
  }
}

__global__ void finish_update(const double *partial, sp_cuda_scalars *s, sp_cg_record *records) {
  if (s->stop) return;
  const double rr = sum_partials(BLOCKS, partial), rz = sum_partials(BLOCKS, partial + BLOCKS);
  if (threadIdx.x > 0) return;
  s->beta = rz / s->rz;
  s->rr = rr;
  s->rz = rz;
  if (!records) return;
  records[s->iterations].rr = rr;
  records[s->iterations].rz = rz;
  s->iterations++;
  /* Also if it is not a number. */
  if (!(rr > s->target) || isinf(rr) || s->iterations == s->limit) s->stop = 1;
}

__global__ void pack(int n, const int *list, const double *vector, double *packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) packed[i] = vector[list[i]];
}

__global__ void unpack(int n, const int *list, const double *packed, double *vector) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) vector[list[i]] = packed[i];
}

int blocks_for(int n) {
  return (n + THREADS - 1) / THREADS;
}

} // namespace

cudaError_t sp_cuda_direction(int n, const sp_cg_vectors *v, sp_cuda_scalars *scalars,
                              cudaStream_t stream) {
  direction<<<BLOCKS, THREADS, 0, stream>>>(n, v->r, v->inverse_diagonal, v->p, scalars);
  return cudaGetLastError();
}

cudaError_t sp_cuda_assemble(const sp_cuda_assembly *a, int first, int last, bool constrained,
                             const double *surface, double *y, const sp_cuda_scalars *scalars,
                             cudaStream_t stream) {
  if (first == last) return cudaSuccess;
  assemble<<<blocks_for(last - first), THREADS, 0, stream>>>(
      first, last, a->targets, a->start, a->entries, constrained, surface, y, scalars);
  return cudaGetLastError();
}

cudaError_t sp_cuda_finish_direction(int count, const double *partial, sp_cuda_scalars *scalars,
                                     sp_cg_record *records, cudaStream_t stream) {
  finish_direction<<<1, SUM_THREADS, 0, stream>>>(count, partial, scalars, records);
  return cudaGetLastError();
}

cudaError_t sp_cuda_update(int owned, int n, const sp_cg_vectors *v, double *partial,
                           const sp_cuda_scalars *scalars, cudaStream_t stream) {
  update<<<BLOCKS, THREADS, 0, stream>>>(owned, n, v->p, v->ap, v->inverse_diagonal, v->x, v->r,
                                         partial, scalars);
  return cudaGetLastError();
}

cudaError_t sp_cuda_finish_update(const double *partial, sp_cuda_scalars *scalars,
                                  sp_cg_record *records, cudaStream_t stream) {
  finish_update<<<1, SUM_THREADS, 0, stream>>>(partial, scalars, records);
  return cudaGetLastError();
}

cudaError_t sp_cuda_pack(int n, const int *list, const double *vector, double *packed,
                         cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  pack<<<blocks_for(n), THREADS, 0, stream>>>(n, list, vector, packed);
  return cudaGetLastError();
}

cudaError_t sp_cuda_unpack(int n, const int *list, const double *packed, double *vector,
                           cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  unpack<<<blocks_for(n), THREADS, 0, stream>>>(n, list, packed, vector);
  return cudaGetLastError();
}
