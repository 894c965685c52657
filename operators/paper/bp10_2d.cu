// BP1.0, the mass matrix, with 2D thread blocks: kernels 1 to 8 (paper, Section "Optimizing
// Benchmark Problem 1.0"; Algorithms 1 to 3). Compiled once per order, SP_ORDER.
//
// M is the paper's glNq. J holds weights times Jacobians at the Gauss points. (Both Algorithm 1 and
// Algorithm 3 multiply by J; once is right.)
//
// Kernels 1 to 6 go through the M slices k of Gauss points. They contract along c first, so that a
// slice depends only on q, then along b and a, and back along a, b and c. Each of the five stages
// of a slice ends with a barrier: with the barrier after the load of I that makes 5 M + 1.
#define BLOCK SP_ORDER + 2, SP_ORDER + 2
#include "operators/paper/kernel.h"

// Starting point: only I is in shared memory, and all loops read and write global memory, with two
// arrays work_1 and work_2 [elements][M][M][M] for values that the threads of a block share.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp10_2d_1(input I, input J, input q,
                                                               double *aq, double *work_1,
                                                               double *work_2) {
  constexpr int Nq = N + 1, M = N + 2;
  __shared__ double s_I[M][Nq];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  advance(Nq * Nq * Nq, q, aq);
  advance(M * M * M, J, work_1, work_2);

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  if (node) {
#pragma unroll 1
    for (int c = 0; c < Nq; c++) aq[at<Nq>(c, j, i)] = 0;
  }
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < M; k++) {
    if (node)
      work_1[at<M>(k, j, i)] =
          sum<Nq, false>([&](int c) { return s_I[k][c] * q[at<Nq>(c, j, i)]; });
    __syncthreads();
    if (i < Nq)
      work_2[at<M>(k, j, i)] =
          sum<Nq, false>([&](int b) { return s_I[j][b] * work_1[at<M>(k, b, i)]; });
    __syncthreads();
    work_1[at<M>(k, j, i)] = J[at<M>(k, j, i)] * sum<Nq, false>([&](int a) {
                               return s_I[i][a] * work_2[at<M>(k, j, a)];
                             });
    __syncthreads();
    if (i < Nq)
      work_2[at<M>(k, j, i)] =
          sum<M, false>([&](int n) { return s_I[n][i] * work_1[at<M>(k, j, n)]; });
    __syncthreads();
    if (node) {
      const double value = sum<M, false>([&](int n) { return s_I[n][j] * work_2[at<M>(k, n, i)]; });
#pragma unroll 1
      for (int c = 0; c < Nq; c++) aq[at<Nq>(c, j, i)] += s_I[k][c] * value;
    }
    __syncthreads();
  }
}

#define KERNEL(number, in, ...)                                                                    \
  template <int N>                                                                                 \
  __global__ __launch_bounds__((N + 2) * (N + 2)) void bp10_2d_##number(in I, in J, in q,          \
                                                                        double *aq) {              \
    __VA_ARGS__(I, J, q, aq);                                                                      \
  }

// Kernels 2 to 6: the two auxiliary arrays are slices in shared memory.
template <int N, bool cached, bool padded, bool unrolled, class Input>
__device__ __forceinline__ void by_slices(Input I, Input J, Input q, double *aq) {
  constexpr int Nq = N + 1, M = N + 2, PAD = padded && (conflicts<Nq> || conflicts<M>);
  constexpr int turns = unrolled ? M : 1;
  __shared__ double s_I[M][Nq + PAD], s_1[M][M + PAD], s_2[M][M + PAD];
  [[maybe_unused]] double r_q[Nq], r_aq[Nq];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  advance(Nq * Nq * Nq, q, aq);
  advance(M * M * M, J);

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  if constexpr (cached) {
#pragma unroll turns
    for (int c = 0; c < Nq; c++) {
      r_q[c] = node ? q[at<Nq>(c, j, i)] : 0;
      r_aq[c] = 0;
    }
  } else if (node) {
#pragma unroll turns
    for (int c = 0; c < Nq; c++) aq[at<Nq>(c, j, i)] = 0;
  }
  const auto value_of_q = [&](int c) {
    if constexpr (cached)
      return r_q[c];
    else
      return q[at<Nq>(c, j, i)];
  };
  __syncthreads();
#pragma unroll turns
  for (int k = 0; k < M; k++) {
    if (node) s_1[j][i] = sum<Nq, unrolled>([&](int c) { return s_I[k][c] * value_of_q(c); });
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<Nq, unrolled>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    s_1[j][i] = J[at<M>(k, j, i)] * sum<Nq, unrolled>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<M, unrolled>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) {
      const double value = sum<M, unrolled>([&](int n) { return s_I[n][j] * s_2[n][i]; });
#pragma unroll turns
      for (int c = 0; c < Nq; c++) {
        if constexpr (cached)
          r_aq[c] += s_I[k][c] * value;
        else
          aq[at<Nq>(c, j, i)] += s_I[k][c] * value;
      }
    }
    __syncthreads();
  }
  if constexpr (cached) {
    if (!node) return;
#pragma unroll turns
    for (int c = 0; c < Nq; c++) aq[at<Nq>(c, j, i)] = r_aq[c];
  }
}

// The two auxiliary arrays become slices in shared memory, which removes most of the traffic to
// global memory; q is still read from global memory whenever it is needed.
KERNEL(2, input, by_slices<N, false, false, false>)

// Each thread copies its column of q to an array of its own at the beginning. The column of the
// result gets one too, which the paper does not mention: without it the sums would still be read
// from and written to global memory once per slice, as in kernels 1 and 2. (Arrays that are indexed
// in loops become registers only if the loops are unrolled, from kernel 6 on.)
KERNEL(3, input, by_slices<N, true, false, false>)

// All inputs are declared const, so that loads may go through the read-only cache and be moved
// ahead of stores.
KERNEL(4, const_input, by_slices<N, true, false, false>)

// If Nq or M is 8 or 16, rows of the shared arrays get one more double, so that neighbouring rows
// start in different banks.
KERNEL(5, const_input, by_slices<N, true, true, false>)

// All loops are unrolled, also the one over slices: the scheduler can choose among independent
// instructions, and the columns become registers.
KERNEL(6, const_input, by_slices<N, true, true, true>)

// Kernels 7 and 8. The lines along c come in the middle and are interpolated, scaled and projected
// within one thread.
template <int N, bool symmetric>
__device__ __forceinline__ void by_lines(const_input I, const_input J, const_input q, double *aq) {
  constexpr int Nq = N + 1, M = N + 2, PAD = conflicts<Nq> || conflicts<M>;
  __shared__ double s_I[M][Nq + PAD], s_q[Nq][M][M + PAD];
  double line[Nq], fine[M];
  const int x = threadIdx.x, y = threadIdx.y;
  advance(Nq * Nq * Nq, q, aq);
  advance(M * M * M, J);

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
  __syncthreads();
  interpolate_lines<Nq, symmetric>(s_I, s_q, y, x);
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
  interpolate_line<Nq, symmetric>(s_I, line,
                                  [&](int k, double v) { fine[k] = J[at<M>(k, y, x)] * v; });
  forget();
  project_line<Nq, symmetric>(s_I, fine, [&](int c, double v) { s_q[c][y][x] = v; });
  __syncthreads();
  project_lines<Nq, symmetric>(s_I, s_q, aq, y, x);
}

// All of q^e is loaded to shared memory instead of slice by slice. A thread loads a whole line to
// registers, contracts it and writes the result back in place: no other thread uses this line
// before the next barrier. That leaves five barriers.
KERNEL(7, const_input, by_lines<N, false>)

// With the symmetry of I, every entry that is read from shared memory is used in two products: half
// as many reads of I.
KERNEL(8, const_input, by_lines<N, true>)

// Only kernel 1 has a workspace.
template <auto kernel> static sp_status launch_1(sp_device *device, const sp_paper_arguments *a) {
  constexpr size_t points = (SP_ORDER + 2) * (SP_ORDER + 2) * (SP_ORDER + 2);
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->interpolation, in.factors, in.q, a->aq,
                       a->workspace, a->workspace + a->elements * points);
}

template <auto kernel> static sp_status launch(sp_device *device, const sp_paper_arguments *a) {
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->interpolation, in.factors, in.q, a->aq);
}

static size_t workspace(int order, int elements) {
  const size_t M = (size_t)order + 2;
  return 2 * elements * M * M * M * sizeof(double);
}

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: only I in shared memory, all else in global", workspace, launch_1,
            bp10_2d_1),
    SP_RUNG("slices for partial results in shared memory", nullptr, launch, bp10_2d_2),
    SP_RUNG("columns of q and of the result cached by their thread", nullptr, launch, bp10_2d_3),
    SP_RUNG("inputs const", nullptr, launch, bp10_2d_4),
    SP_RUNG("padding against bank conflicts", nullptr, launch, bp10_2d_5),
    SP_RUNG("all loops unrolled", nullptr, launch, bp10_2d_6),
    SP_RUNG("whole q in shared memory, lines in registers: five barriers", nullptr, launch,
            bp10_2d_7),
    SP_RUNG("entries of I read once, used twice", nullptr, launch, bp10_2d_8),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp10_2d, SP_ORDER) = {
    SP_MASS, 2, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
