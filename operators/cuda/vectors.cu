extern "C" {
#include "operators/cuda/vectors.h"
}

#include <algorithm>
#include <climits>

namespace {

#include "operators/cuda/sums.cuh"

#include "operators/cuda/gather.cuh"

#include "operators/cuda/queue.cuh"

#include "operators/cuda/targets.cuh"

constexpr int THREADS = SP_CUDA_VECTOR_THREADS, BLOCKS = SP_CUDA_VECTOR_BLOCKS;

__global__ void set_scalars(sp_cuda_scalars *scalars, sp_cuda_scalars values) {
  follow();
  *scalars = values;
}

template <class T> __global__ void clear_faces(int first, int end, int copies, int last, T *y) {
  const int i = blockIdx.x * THREADS + threadIdx.x, stride = gridDim.x * THREADS;
  follow();
  for (int n = first + i; n < end; n += stride) y[n] = 0;
  for (int n = copies + i; n < last; n += stride) y[n] = 0;
}

template <class T>
__global__ void assemble_shared(sp_cuda_assembly a, bool constrained, const T *edges, T *y,
                                const sp_cuda_scalars *scalars) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  target<T> here(a.shared, t);
  follow();
  if (t >= a.shared.count || (scalars && scalars->stop)) return;
  here.load(edges);
  y[a.shared_dofs[t]] = constrained && here.is_constrained() ? 0 : here.sum(a.shared, edges);
}

template <class T>
__global__ void assemble_own(sp_cuda_assembly a, bool constrained, const T *edges, T *y) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  target<T> here(a.own, t);
  follow();
  if (here.is_empty()) return;
  here.load(edges);
  y[a.first_edge + t] = constrained && here.is_constrained() ? 0 : here.sum(a.own, edges);
}

template <class T>
__global__ void add_diagonal(sp_cuda_diagonal diagonal, int first, int last, bool constrained,
                             int first_pending, sp_cuda_targets pending, const T *x, T *y,
                             double *partial, const sp_cuda_scalars *scalars) {
  follow();
  if (scalars && scalars->stop) return;
  const int n = first + blockIdx.x * THREADS + threadIdx.x;
  double energy = 0;
  if (n < last && !(constrained && diagonal.dofs[n] & SP_CUDA_CONSTRAINED)) {
    const int dof = (int)(diagonal.dofs[n] & SP_CUDA_DOF);
    const double product = diagonal.values[n] * x[dof];
    const bool waits = dof >= first_pending && !target<T>(pending, dof - first_pending).is_empty();
    y[dof] = (T)(waits ? product : y[dof] + product);
    energy = x[dof] * product;
  }
  if (!partial) return;
  energy = block_sum(energy);
  if (threadIdx.x == 0) partial[blockIdx.x] = energy;
}

// Every block sums a chunk of the partial sums; the last block adds up these sums, and stores the
// result or sends it to all ranks.
__global__ void finish_pass_1(int count, const double *partial, double *room, sp_cuda_scalars *s,
                              sp_cuda_ranks ranks) {
  follow();
  if (s->stop) return;
  const sum_over_ranks sum(ranks);
  const int chunk = (count + gridDim.x - 1) / gridDim.x, first = blockIdx.x * chunk;
  const int mine = min(chunk, count - first);
  double p_ap = sum_partials(mine, partial + first);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) room[blockIdx.x] = p_ap;
    if (!is_last(&s->arrived[0], gridDim.x)) return;
    p_ap = sum_partials(gridDim.x, room);
  }
  if (ranks.size > 0)
    sum.send(ranks, 0, p_ap, 0);
  else if (threadIdx.x == 0)
    s->p_ap = p_ap;
}

// The step of pass 2 on the device: every block forms it, with the same bits, and the first block
// stores it. `share` is the thread's share of the partial sums, if finish_pass_1 was not called.
// Returns false if the iterations end here.
__device__ bool begin_pass_2(const sp_cuda_update &u, const sum_over_ranks &sum, double share,
                             double rz, double &alpha) {
  __shared__ double step;
  __shared__ bool useful;
  sp_cuda_scalars *s = u.scalars;
  double p_ap, nothing;
  if (u.pass_1_count > 0)
    p_ap = block_sum(share);
  else if (u.ranks.size > 0)
    sum.receive(u.ranks, 0, p_ap, nothing);
  else
    p_ap = s->p_ap;
  if (threadIdx.x == 0) {
    useful = p_ap > 0 && !isinf(p_ap);
    step = useful ? rz / p_ap : 0;
    if (blockIdx.x == 0) {
      s->alpha = step;
      u.records[s->iterations].p_ap = p_ap;
      u.records[s->iterations].seconds = 1e-9 * (double)(sp_now() - s->started);
    }
  }
  __syncthreads();
  alpha = step;
  return useful;
}

// The last block ends the iterations, because others still read the flag.
__device__ void give_up(const sp_cuda_update &u) {
  if (!is_last(&u.scalars->arrived[1], gridDim.x) || threadIdx.x > 0) return;
  u.scalars->stop = 1;
  u.scalars->iterations++;
  if (u.ranks.size > 0) ++*u.ranks.epoch;
}

// End of pass 2: the last block forms the sums and the scalars that follow from them.
__device__ void finish_pass_2(const sp_cuda_update &u, const sum_over_ranks &sum, double alpha) {
  sp_cuda_scalars *s = u.scalars;
  // Load these early in all blocks, so that the last one does not wait for them.
  const double rz_before = s->rz, target = s->target, energy = s->energy, share = s->share;
  const int iterations = s->iterations, limit = s->limit;
  if (!is_last(&s->arrived[1], gridDim.x)) return;
  double sums[2]; // r.r and r.z
  share_of_partials(gridDim.x, u.partial, sums);
  block_sums(sums);
  if (u.ranks.size > 0) {
    sum.send(u.ranks, 1, sums[0], sums[1]);
    sum.receive(u.ranks, 1, sums[0], sums[1]);
  }
  if (threadIdx.x > 0) return;
  if (u.ranks.size > 0) ++*u.ranks.epoch;
  const double rr = sums[0], rz = sums[1];
  s->beta = rz / rz_before;
  s->rr = rr;
  s->rz = rz;
  if (!u.records) return;
  u.records[iterations].rr = rr;
  u.records[iterations].rz = rz;
  s->iterations = iterations + 1;
  // Rounded like the host's.
  const double step = __dmul_rn(alpha, rz_before), steps = __dadd_rn(energy, step);
  s->energy = steps;
  // Also true if rr is NaN.
  if (!(rr > target) || isinf(rr) || step <= __dmul_rn(share, steps) || iterations + 1 == limit)
    s->stop = 1;
  if (u.ranks.size > 0 && *u.ranks.missing.on_device) s->stop = 1;
}

struct norms {
  double rr, rz;

  __device__ __forceinline__ void add(double residual, const double *d, int i) {
    rr += residual * residual;
    if (d) rz += residual * __ldg(d + i) * residual; // __ldg does not wait for stores
  }
};

// A thread's entries of r and A p from `begin` on, in pairs, FLIGHT of which are loaded together.
struct pairs {
  static constexpr int FLIGHT = 4;
  double2 residual[FLIGHT], product[FLIGHT];

  __device__ __forceinline__ void load(const double *r, const double *ap, int begin, int stride,
                                       int end) {
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) {
      const int i = begin + 2 * f * stride;
      if (i + 1 >= end) break;
      residual[f] = *(const double2 *)(r + i);
      product[f] = *(const double2 *)(ap + i);
    }
  }
};

// The bound on registers lets all BLOCKS blocks run on an H200 at the same time.
__global__ __launch_bounds__(THREADS, 4) void update(sp_cuda_update u) {
  const sp_cuda_assembly &a = u.assembly;
  const double *__restrict__ d = u.vectors.inverse_diagonal, *__restrict__ p = u.vectors.p;
  double *__restrict__ x = u.update_x ? u.vectors.x : nullptr, *__restrict__ r = u.vectors.r;
  double *__restrict__ ap = u.vectors.ap;
  const int first = blockIdx.x * THREADS + threadIdx.x, stride = gridDim.x * THREADS;
  target<double> first_target(a.own, first);
  follow();
  const sum_over_ranks sum(u.ranks);
  // Load before the step is known: in a small problem both take equally long.
  const int stop = u.scalars->stop;
  const double rz = u.scalars->rz;
  pairs under_way;
  under_way.load(r, ap, 2 * first, stride, a.first_edge);
  first_target.load(u.edges);
  const double share = share_of_partials(u.pass_1_count, u.pass_1);
  if (stop) return;
  double alpha = u.scalars->alpha;
  if (u.records && !begin_pass_2(u, sum, share, rz, alpha)) {
    give_up(u);
    return;
  }
  norms sums = {0, 0};
  const auto single = [&](int i, double product) {
    const double residual = fma(-alpha, product, r[i]);
    r[i] = residual;
    if (x) x[i] = fma(alpha, p[i], x[i]);
    if (i < a.owned) sums.add(residual, d, i);
  };
  // From first_edge on, ap is zero except for values from the exchange, the diagonal or a patch.
  // With a step of zero only the sums are used, and the edge nodes may hold anything.
  const auto edge = [&](int t, const target<double> &there) {
    const int i = a.first_edge + t;
    const bool none = alpha == 0 || there.is_constrained();
    single(i, none ? 0 : ap[i] + there.sum(a.own, u.edges));
  };
  if (first < a.own.count) edge(first, first_target);
  for (int t = first + stride; t < a.own.count; t += stride) {
    target<double> there(a.own, t);
    there.load(u.edges);
    edge(t, there);
  }
  // Up to first_edge.
  for (int begin = 2 * first; begin + 1 < a.first_edge; begin += 2 * pairs::FLIGHT * stride) {
    if (begin > 2 * first) under_way.load(r, ap, begin, stride, a.first_edge);
#pragma unroll
    for (int f = 0; f < pairs::FLIGHT; f++) {
      const int i = begin + 2 * f * stride;
      if (i + 1 >= a.first_edge) break;
      double2 residual = under_way.residual[f];
      residual.x = fma(-alpha, under_way.product[f].x, residual.x);
      residual.y = fma(-alpha, under_way.product[f].y, residual.y);
      *(double2 *)(r + i) = residual;
      if (i + 1 >= a.first_face) *(double2 *)(ap + i) = make_double2(0, 0);
      if (x) {
        const double2 direction = *(const double2 *)(p + i);
        double2 solution = *(const double2 *)(x + i);
        solution.x = fma(alpha, direction.x, solution.x);
        solution.y = fma(alpha, direction.y, solution.y);
        *(double2 *)(x + i) = solution;
      }
      sums.add(residual.x, d, i);
      sums.add(residual.y, d, i + 1);
    }
  }
  if (a.first_edge % 2 && first == 0) {
    single(a.first_edge - 1, ap[a.first_edge - 1]);
    ap[a.first_edge - 1] = 0;
  }
  for (int i = a.owned + first; i < a.local; i += stride) {
    single(i, ap[i]);
    ap[i] = 0;
  }
  double both[] = {sums.rr, d ? sums.rz : sums.rr};
  block_sums(both);
  if (threadIdx.x == 0) {
    u.partial[2 * blockIdx.x] = both[0];
    u.partial[2 * blockIdx.x + 1] = both[1];
  }
  finish_pass_2(u, sum, alpha);
}

__global__ void last_step(int n, const double *even_p, const double *odd_p, double *x,
                          const sp_cuda_scalars *scalars) {
  follow();
  const double alpha = scalars->alpha, *p = scalars->iterations % 2 ? odd_p : even_p;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    x[i] = __dadd_rn(x[i], __dmul_rn(alpha, p[i])); // rounded as in pass 1
}

template <class T> __global__ void pack(sp_cuda_lists lists, const T *vector, T *sent) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (i < lists.shared) sent[i] = vector[lists.dofs[i]];
}

template <class T> __global__ void combine(sp_cuda_lists lists, const T *received, T *vector) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (t >= lists.targets) return;
  T &value = vector[lists.target[t]];
  value = sum_of_ranks(lists, t, value, [&](int s) { return __ldcg(received + s); });
}

int blocks_for(int n) {
  return blocks_for((size_t)n, THREADS);
}

// Number of blocks for a loop over pairs.
int pair_blocks(int n) {
  return std::min(blocks_for((n + 1) / 2), BLOCKS);
}

// Kernels that join streams or sum over ranks run on every rank, even without elements: they have
// at least one block.

} // namespace

cudaError_t sp_cuda_set_scalars(sp_cuda_scalars *scalars, const sp_cuda_scalars *values,
                                cudaStream_t stream) {
  return queue(set_scalars, 1, 1, 0, stream, scalars, *values);
}

cudaError_t sp_cuda_clear_faces(const sp_cuda_assembly *a, sp_precision precision, void *y,
                                cudaStream_t stream) {
  if (a->first_face == a->first_edge && a->owned == a->local) return cudaSuccess; /* with patches */
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(clear_faces<T>, BLOCKS, THREADS, 0, stream, a->first_face, a->first_edge, a->owned,
                 a->local, (T *)y);
  });
}

cudaError_t sp_cuda_assemble_shared(const sp_cuda_assembly *a, sp_precision precision,
                                    bool constrained, const void *edges, void *y,
                                    const sp_cuda_scalars *scalars, cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(assemble_shared<T>, blocks_for(a->shared.count), THREADS, 0, stream, *a,
                 constrained, (const T *)edges, (T *)y, scalars);
  });
}

cudaError_t sp_cuda_assemble_own(const sp_cuda_assembly *a, sp_precision precision,
                                 bool constrained, const void *edges, void *y, bool joins,
                                 cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return start(!joins, nullptr, assemble_own<T>, std::max(1, blocks_for(a->own.count)), THREADS,
                 0, stream, *a, constrained, (const T *)edges, (T *)y);
  });
}

int sp_cuda_diagonal_blocks(int count) {
  return blocks_for(count);
}

cudaError_t sp_cuda_add_diagonal(const sp_cuda_diagonal *diagonal, sp_precision precision,
                                 const sp_cuda_diagonal_pass *d, cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return start(!d->joins, nullptr, add_diagonal<T>, blocks_for(d->last - d->first), THREADS, 0,
                 stream, *diagonal, d->first, d->last, d->constrained,
                 d->pending ? d->pending->first_edge : INT_MAX,
                 d->pending ? d->pending->own : sp_cuda_targets{}, (const T *)d->x, (T *)d->y,
                 d->partial, d->scalars);
  });
}

cudaError_t sp_cuda_finish_pass_1(int count, const double *partial, double *room,
                                  sp_cuda_scalars *scalars, const sp_cuda_ranks *ranks, bool joins,
                                  cudaStream_t stream) {
  constexpr int SUM_THREADS = 512, CHUNK = 4 * SUM_THREADS, MOST = SP_CUDA_SUM_BLOCKS;
  const int blocks = std::clamp(blocks_for((size_t)count, CHUNK), 1, MOST);
  return start(!joins, nullptr, finish_pass_1, blocks, SUM_THREADS, 0, stream, count, partial, room,
               scalars, *ranks);
}

cudaError_t sp_cuda_update_launch(const sp_cuda_update *u, cudaStream_t stream) {
  return start(true, u->done, update, std::max(1, pair_blocks(u->assembly.local)), THREADS, 0,
               stream, *u);
}

cudaError_t sp_cuda_last_step(int n, const double *even_p, const double *odd_p, double *x,
                              const sp_cuda_scalars *scalars, cudaStream_t stream) {
  return queue(last_step, pair_blocks(n), THREADS, 0, stream, n, even_p, odd_p, x, scalars);
}

cudaError_t sp_cuda_pack(const sp_cuda_lists *lists, sp_precision precision, const void *vector,
                         void *sent, cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(pack<T>, blocks_for(lists->shared), THREADS, 0, stream, *lists, (const T *)vector,
                 (T *)sent);
  });
}

cudaError_t sp_cuda_combine(const sp_cuda_lists *lists, sp_precision precision,
                            const void *received, void *vector, cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    return queue(combine<T>, blocks_for(lists->targets), THREADS, 0, stream, *lists,
                 (const T *)received, (T *)vector);
  });
}
