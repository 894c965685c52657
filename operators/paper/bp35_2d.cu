// BP3.5, stiffness and mass with collocation, with 2D thread blocks: kernels 1 to 10 (paper,
// Section "Optimizing Benchmark Problem 3.5"; Algorithm 5). Compiled once per order, SP_ORDER.
//
// Thread (i, j) owns the column of nodes (i, j, k). G holds the seven factors of mesh/geometry.h.
// Gaps and errors of Algorithm 5 are resolved by the mathematics: D is the derivative l_i' (the
// paper's definition lacks the prime); G is w |J| J^-1 J^-T (it writes J^T J); Sqtemp, which it
// does not declare, is a second cube beside s_tmps (if two do not fit, it is in global memory,
// Sqtemp_global [elements][Np]). Sq1 is summed from Sqtemp, Sq2 from s_tmps. Line 17 means Sq_n +=
// D_kn r_tmpt_k for all n, which r_Aq collects.
#define BLOCK SP_ORDER + 1, SP_ORDER + 1
#include "operators/paper/kernel.h"

// True if two cubes and D fit into the 48 KB of static shared memory of a block.
constexpr bool two_cubes_fit(int order) {
  return (2 * (order + 1) + 1) * (order + 1) * (order + 1) * sizeof(double) <= 48 * 1024;
}
template <int N> constexpr bool cubes = two_cubes_fit(N);

// Kernels 1 to 4: D and cubes for partial sums are in shared memory, q is read from global memory
// whenever it is needed, and the result is added up there.
template <int N, bool unrolled, bool together, class Input>
__device__ __forceinline__ void with_cubes(Input D, Input G, Input q, double *aq, double lambda,
                                           double *Sqtemp_global) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq, turns = unrolled ? Nq : 1;
  constexpr bool FITS = cubes<N>;
  __shared__ double s_D[Nq][Nq], s_tmps[Nq][Nq][Nq], s_Sqtemp[FITS ? Np : 1];
  double r_qt[Nq], r_Aq[Nq];
  const int i = threadIdx.x, j = threadIdx.y;
  advance(Np, q, aq);
  advance(7 * Np, G);
  double *const Sqtemp = FITS ? s_Sqtemp : Sqtemp_global + (size_t)blockIdx.x * Np;

  s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const auto sum_qt = [&](int k) {
    return sum<Nq, unrolled>([&](int n) { return s_D[k][n] * q[at<Nq>(n, j, i)]; });
  };
#pragma unroll turns
  for (int k = 0; k < Nq; k++) {
    if (!together) r_qt[k] = sum_qt(k);
    r_Aq[k] = 0;
  }
#pragma unroll turns
  for (int k = 0; k < Nq; k++) {
    const int node = at<Nq>(k, j, i);
    const factors g = load<Np>(G, node);
    const double qr = sum<Nq, unrolled>([&](int n) { return s_D[i][n] * q[at<Nq>(k, j, n)]; });
    const double qs = sum<Nq, unrolled>([&](int n) { return s_D[j][n] * q[at<Nq>(k, n, i)]; });
    if (together) r_qt[k] = sum_qt(k);
    Sqtemp[node] = g.r(qr, qs, r_qt[k]);
    s_tmps[k][j][i] = g.s(qr, qs, r_qt[k]);
    const double tmpt = g.t(qr, qs, r_qt[k]);
    aq[node] = g.wJ * lambda * q[node];
#pragma unroll turns
    for (int n = 0; n < Nq; n++) r_Aq[n] += s_D[k][n] * tmpt;
    if (together) __syncthreads();
  }
  if (!together) __syncthreads();
#pragma unroll turns
  for (int k = 0; k < Nq; k++) {
    const int node = at<Nq>(k, j, i);
    aq[node] += sum<Nq, unrolled>([&](int n) { return Sqtemp[at<Nq>(k, j, n)] * s_D[n][i]; });
    aq[node] += sum<Nq, unrolled>([&](int n) { return s_tmps[k][n][i] * s_D[n][j]; });
    aq[node] += r_Aq[k];
  }
}

#define KERNEL_WITH_CUBES(number, in, ...)                                                         \
  template <int N>                                                                                 \
  __global__ __launch_bounds__((N + 1) * (N + 1)) void bp35_2d_##number(                           \
      in D, in G, in q, double *aq, double lambda, double *Sqtemp_global) {                        \
    __VA_ARGS__(D, G, q, aq, lambda, Sqtemp_global);                                               \
  }

// Starting point, Algorithm 5.
KERNEL_WITH_CUBES(1, input, with_cubes<N, false, false>)

// All inputs are declared const.
KERNEL_WITH_CUBES(2, const_input, with_cubes<N, false, false>)

// All loops over k are unrolled, and so are the sums in them: only then are the columns r_qt and
// r_Aq, which are indexed by k, in registers. More instructions can be in flight, at the price of
// more registers. (The paper's figure on unrolling calls kernels 2 and 3 its kernels 1 and 2.)
KERNEL_WITH_CUBES(3, const_input, with_cubes<N, true, false>)

// The loop over k (lines 7 to 17) moves outside the loops over i and j: the threads of a block
// process the slices together, with a barrier after each, and qt is summed when its slice is
// processed.
KERNEL_WITH_CUBES(4, const_input, with_cubes<N, true, true>)

#define KERNEL(number, ...)                                                                        \
  template <int N>                                                                                 \
  __global__ __launch_bounds__((N + 1) * (N + 1)) void bp35_2d_##number(                           \
      const_input D, const_input G, const_input q, double *aq, double lambda) {                    \
    __VA_ARGS__(D, G, q, aq, lambda);                                                              \
  }

// Kernels 5 to 8: two slices for partial sums.
template <int N, bool shared_q, bool in_registers, bool padded>
__device__ __forceinline__ void with_slices(const_input D, const_input G, const_input q, double *aq,
                                            double lambda) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq, PAD = padded && conflicts<Nq>;
  __shared__ double s_D[Nq][Nq + PAD], s_q[Nq][Nq][Nq + PAD];
  __shared__ double s_tmpr[Nq][Nq + PAD], s_tmps[Nq][Nq + PAD];
  double r_Aq[Nq];
  const int i = threadIdx.x, j = threadIdx.y;
  advance(Np, q, aq);
  advance(7 * Np, G);
  const auto value = [&](int c, int b, int a) {
    if constexpr (shared_q)
      return s_q[c][b][a];
    else
      return q[at<Nq>(c, b, a)];
  };

  s_D[j][i] = D[j * Nq + i];
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    if (shared_q) s_q[k][j][i] = q[at<Nq>(k, j, i)];
    r_Aq[k] = 0;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    const int node = at<Nq>(k, j, i);
    const factors g = load<Np>(G, node);
    const double qr = sum<Nq>([&](int n) { return s_D[i][n] * value(k, j, n); });
    const double qs = sum<Nq>([&](int n) { return s_D[j][n] * value(k, n, i); });
    const double qt = sum<Nq>([&](int n) { return s_D[k][n] * value(n, j, i); });
    s_tmpr[j][i] = g.r(qr, qs, qt);
    s_tmps[j][i] = g.s(qr, qs, qt);
    const double tmpt = g.t(qr, qs, qt);
    if constexpr (in_registers)
      r_Aq[k] += g.wJ * lambda * value(k, j, i);
    else
      aq[node] = g.wJ * lambda * value(k, j, i);
#pragma unroll
    for (int n = 0; n < Nq; n++) r_Aq[n] += s_D[k][n] * tmpt;
    __syncthreads();
    double *const result = in_registers ? &r_Aq[k] : &aq[node];
    *result += sum<Nq>([&](int n) { return s_tmpr[j][n] * s_D[n][i]; });
    *result += sum<Nq>([&](int n) { return s_tmps[n][i] * s_D[n][j]; });
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    if constexpr (in_registers)
      aq[at<Nq>(k, j, i)] = r_Aq[k];
    else
      aq[at<Nq>(k, j, i)] += r_Aq[k];
  }
}

// The cubes for partial sums become two slices, s_tmpr and s_tmps, which are no longer needed when
// the next slice begins: far less shared memory, at the price of a second barrier per slice.
KERNEL(5, with_slices<N, false, false, false>)

// q is loaded to shared memory at the beginning.
KERNEL(6, with_slices<N, true, false, false>)

// Everything that is needed again is cached, now also the result: its column is added up in
// registers and written to global memory once, at the end.
KERNEL(7, with_slices<N, true, true, false>)

// For N = 7 and 15 the rows of the shared arrays are padded by one, against bank conflicts.
KERNEL(8, with_slices<N, true, true, true>)

// Kernels 9 and 10: columns of q in registers; the current slice, which other threads need, is in
// shared memory.
template <int N, bool own_slice>
__device__ __forceinline__ void with_columns(const_input D, const_input G, const_input q,
                                             double *aq, double lambda) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq, PAD = conflicts<Nq>;
  __shared__ double s_D[Nq][Nq + PAD], s_own[Nq][Nq + PAD];
  __shared__ double s_tmpr[Nq][Nq + PAD], s_tmps[Nq][Nq + PAD];
  auto &s_q = own_slice ? s_own : s_tmpr;
  double r_q[Nq], r_Aq[Nq];
  const int i = threadIdx.x, j = threadIdx.y;
  advance(Np, q, aq);
  advance(7 * Np, G);

  s_D[j][i] = D[j * Nq + i];
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    r_q[k] = q[at<Nq>(k, j, i)];
    r_Aq[k] = 0;
  }
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    const factors g = load<Np>(G, at<Nq>(k, j, i));
    s_q[j][i] = r_q[k];
    __syncthreads();
    const double qr = sum<Nq>([&](int n) { return s_D[i][n] * s_q[j][n]; });
    const double qs = sum<Nq>([&](int n) { return s_D[j][n] * s_q[n][i]; });
    const double qt = sum<Nq>([&](int n) { return s_D[k][n] * r_q[n]; });
    if (!own_slice) __syncthreads();
    s_tmpr[j][i] = g.r(qr, qs, qt);
    s_tmps[j][i] = g.s(qr, qs, qt);
    const double tmpt = g.t(qr, qs, qt);
    r_Aq[k] += g.wJ * lambda * r_q[k];
#pragma unroll
    for (int n = 0; n < Nq; n++) r_Aq[n] += s_D[k][n] * tmpt;
    __syncthreads();
    r_Aq[k] += sum<Nq>([&](int n) { return s_tmpr[j][n] * s_D[n][i]; });
    r_Aq[k] += sum<Nq>([&](int n) { return s_tmps[n][i] * s_D[n][j]; });
    if (!own_slice) __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < Nq; k++) aq[at<Nq>(k, j, i)] = r_Aq[k];
}

// Each thread loads its column of q to registers instead of shared memory. The current slice is
// passed on in one of the two slices for partial sums: two more barriers per slice.
KERNEL(9, with_columns<N, false>)

// A third slice, so that q does not wait for the partial sums: two barriers per slice, and the
// least traffic to global memory.
KERNEL(10, with_columns<N, true>)

static size_t workspace(int order, int elements) {
  const size_t Nq = (size_t)order + 1;
  return two_cubes_fit(order) ? 0 : elements * Nq * Nq * Nq * sizeof(double);
}

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: Algorithm 5", workspace, launch_bp35_with_workspace, bp35_2d_1),
    SP_RUNG("inputs const", workspace, launch_bp35_with_workspace, bp35_2d_2),
    SP_RUNG("loops with k unrolled", workspace, launch_bp35_with_workspace, bp35_2d_3),
    SP_RUNG("loop over k outermost", workspace, launch_bp35_with_workspace, bp35_2d_4),
    SP_RUNG("two slices instead of cubes for partial sums", nullptr, launch_bp35, bp35_2d_5),
    SP_RUNG("q in shared memory", nullptr, launch_bp35, bp35_2d_6),
    SP_RUNG("result added up in registers, written once", nullptr, launch_bp35, bp35_2d_7),
    SP_RUNG("padding against bank conflicts", nullptr, launch_bp35, bp35_2d_8),
    SP_RUNG("q in registers instead of shared memory", nullptr, launch_bp35, bp35_2d_9),
    SP_RUNG("three slices: q beside the partial sums", nullptr, launch_bp35, bp35_2d_10),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp35_2d, SP_ORDER) = {
    SP_BP35, 2, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
