// BP3.5, stiffness and mass with collocation, with 3D thread blocks: kernels 1 to 6 (paper, Section
// "Optimizing Benchmark Problem 3.5"; Algorithm 6). Compiled once per order, SP_ORDER <= 9.
//
// Thread (i, j, k) owns that node. Gaps and errors of Algorithm 6: the third load is of G20, G21,
// G22 (it says G10, G11, G12), and there is a barrier each time between writing Sqtemp and summing
// from it. G is symmetric, so G10 is stored as G01; kernels 1 and 2 load it twice all the same, as
// the paper does. They load nine values of G and one of GwJ; the paper's "from nine to seven"
// counts GwJ only in the seven.
#define BLOCK SP_ORDER + 1, SP_ORDER + 1, SP_ORDER + 1
#include "operators/paper/kernel.h"

static_assert((SP_ORDER + 1) * (SP_ORDER + 1) * (SP_ORDER + 1) <= 1024, "threads of a block");

#define KERNEL(number, in)                                                                         \
  template <int N>                                                                                 \
  __global__ __launch_bounds__((N + 1) * (N + 1) * (N + 1)) void bp35_3d_##number(                 \
      in D, in G, in q, double *aq, double lambda

// Kernels 1 to 4: only D is in shared memory; q is read from global memory, partial sums go through
// a global array Sqtemp [elements][Np].
template <int N, bool unrolled, bool once, bool in_register, class Input>
__device__ __forceinline__ void with_global_sums(Input D, Input G, Input q, double *aq,
                                                 double lambda, double *Sqtemp) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  advance(Np, q, aq, Sqtemp);
  advance(7 * Np, G);

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const auto value = [&](int c, int b, int a) { return q[at<Nq>(c, b, a)]; };
  const auto partial = [&](int c, int b, int a) -> double & { return Sqtemp[at<Nq>(c, b, a)]; };
  if constexpr (in_register) {
    double r_Aq;
    differentiate<Nq, unrolled, once, false>(s_D, G, lambda, value, partial, &r_Aq);
    aq[node] = r_Aq;
  } else {
    differentiate<Nq, unrolled, once, true>(s_D, G, lambda, value, partial, aq, node);
  }
}

// Starting point, Algorithm 6: the result is added up in global memory.
KERNEL(1, input), double *Sqtemp) {
  with_global_sums<N, false, false, false>(D, G, q, aq, lambda, Sqtemp);
}

// All inputs are declared const, and the loops over n are unrolled. (const tells the compiler that
// a second load of a factor is redundant; again() keeps it.)
KERNEL(2, const_input), double *Sqtemp) {
  with_global_sums<N, true, false, false>(D, G, q, aq, lambda, Sqtemp);
}

// The geometric factors are loaded once, to registers: seven loads.
KERNEL(3, const_input), double *Sqtemp) {
  with_global_sums<N, true, true, false>(D, G, q, aq, lambda, Sqtemp);
}

// The result is added up in a register and written once.
KERNEL(4, const_input), double *Sqtemp) {
  with_global_sums<N, true, true, true>(D, G, q, aq, lambda, Sqtemp);
}

// q is cached in shared memory. Once it is differentiated, its array holds the partial sums, and
// Sqtemp is no longer needed.
KERNEL(5, const_input)) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq], s_q[Nq][Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  advance(Np, q, aq);
  advance(7 * Np, G);

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  s_q[k][j][i] = q[node];
  __syncthreads();
  const auto cube = [&](int c, int b, int a) -> double & { return s_q[c][b][a]; };
  double r_Aq;
  differentiate<Nq, true, true, true>(s_D, G, lambda, cube, cube, &r_Aq);
  aq[node] = r_Aq;
}

// The partial sums have three arrays of their own in shared memory, so that two barriers are
// enough.
KERNEL(6, const_input)) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq], s_q[Nq][Nq][Nq];
  __shared__ double s_r[Nq][Nq][Nq], s_s[Nq][Nq][Nq], s_t[Nq][Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  advance(Np, q, aq);
  advance(7 * Np, G);

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  s_q[k][j][i] = q[node];
  __syncthreads();
  aq[node] = differentiate_at_once<Nq>(s_D, G, lambda, s_q, s_r, s_s, s_t);
}

static size_t workspace(int order, int elements) {
  const size_t Nq = (size_t)order + 1;
  return elements * Nq * Nq * Nq * sizeof(double);
}

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: Algorithm 6", workspace, launch_bp35_with_workspace, bp35_3d_1),
    SP_RUNG("inputs const, loops over n unrolled", workspace, launch_bp35_with_workspace,
            bp35_3d_2),
    SP_RUNG("geometric factors loaded once", workspace, launch_bp35_with_workspace, bp35_3d_3),
    SP_RUNG("result added up in a register", workspace, launch_bp35_with_workspace, bp35_3d_4),
    SP_RUNG("q in shared memory, partial sums in its place", nullptr, launch_bp35, bp35_3d_5),
    SP_RUNG("three arrays for partial sums: two barriers", nullptr, launch_bp35, bp35_3d_6),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp35_3d, SP_ORDER) = {
    SP_BP35, 3, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
