// BP3.0, stiffness and mass with Gauss quadrature, with 2D thread blocks: kernels 1 to 9 (paper,
// Section "Optimizing Benchmark Problem 3.0"; Algorithm 4). Compiled once per order, SP_ORDER.
//
// M is the paper's glNq, D its glD, the derivative on the Gauss points; G holds the seven factors
// of mesh/geometry.h there. (Algorithm 4 calls Algorithm 1 to interpolate, which also multiplies by
// J: that belongs to BP1.0 only. Its third product has rqr where rqt is meant.) There are three
// parts: interpolation to Gauss points, the operator there, projection to nodes. The paper's best
// kernel, which it once calls "Kernel 10", is its kernel 9.
//
// Kernels 1 to 4 work slice by slice like BP1.0: q along c first, which gives slice k, then along b
// and a; differentiation; back along a, b, and at the end c. A thread's columns r_q and r_Aq are
// partial sums, private to the thread.
#define BLOCK SP_ORDER + 2, SP_ORDER + 2
#include "operators/paper/kernel.h"

#define KERNEL(number, in, ...)                                                                    \
  template <int N>                                                                                 \
  __global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_##number(                           \
      in I, in D, in G, in q, double *aq, double lambda) {                                         \
    __VA_ARGS__(I, D, G, q, aq, lambda);                                                           \
  }

// Kernels 1 to 4: I, D and two slices for partial sums are in shared memory.
template <int N, bool cached, bool unrolled, bool padded, class Input>
__device__ __forceinline__ void by_slices(Input I, Input D, Input G, Input q, double *aq,
                                          double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M, turns = unrolled ? M : 1;
  constexpr int PAD = padded && conflicts<M>, I_PAD = padded && conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_1[M][M + PAD], s_2[M][M + PAD];
  double r_column[Nq], r_q[M], r_Aq[M];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  s_D[j][i] = D[j * M + i];
  if constexpr (cached) {
#pragma unroll turns
    for (int c = 0; c < Nq; c++) r_column[c] = node ? q[at<Nq>(c, j, i)] : 0;
  }
  __syncthreads();
  const auto column = [&](int c) {
    if constexpr (cached)
      return r_column[c];
    else
      return q[at<Nq>(c, j, i)];
  };
#pragma unroll turns
  for (int k = 0; k < M; k++) { // interpolation
    if (node) s_1[j][i] = sum<Nq, unrolled>([&](int c) { return s_I[k][c] * column(c); });
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<Nq, unrolled>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    r_q[k] = sum<Nq, unrolled>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    r_Aq[k] = 0;
    __syncthreads();
  }

#pragma unroll turns
  for (int k = 0; k < M; k++) { // the operator at Gauss points
    const factors g = load<Mp>(G, at<M>(k, j, i));
    s_1[j][i] = r_q[k];
    __syncthreads();
    const double qr = sum<M, unrolled>([&](int n) { return s_D[i][n] * s_1[j][n]; });
    const double qs = sum<M, unrolled>([&](int n) { return s_D[j][n] * s_1[n][i]; });
    const double qt = sum<M, unrolled>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[j][i] = g.r(qr, qs, qt);
    s_2[j][i] = g.s(qr, qs, qt);
    const double rqt = g.t(qr, qs, qt);
    __syncthreads();
    r_Aq[k] += g.wJ * lambda * r_q[k];
    r_Aq[k] += sum<M, unrolled>([&](int n) { return s_D[n][i] * s_1[j][n]; });
    r_Aq[k] += sum<M, unrolled>([&](int n) { return s_D[n][j] * s_2[n][i]; });
#pragma unroll turns
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

#pragma unroll turns
  for (int k = 0; k < M; k++) { // projection
    s_1[j][i] = r_Aq[k];
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<M, unrolled>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) r_Aq[k] = sum<M, unrolled>([&](int n) { return s_I[n][j] * s_2[n][i]; });
    __syncthreads();
  }
  if (node) {
#pragma unroll turns
    for (int c = 0; c < Nq; c++)
      aq[at<Nq>(c, j, i)] = sum<M, unrolled>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  }
}

// Starting point: q is read from global memory whenever it is needed.
KERNEL(1, input, by_slices<N, false, false, false>)

// All inputs are declared const, and each thread caches its column of q.
KERNEL(2, const_input, by_slices<N, true, false, false>)

// All loops are unrolled, so that the columns become registers.
KERNEL(3, const_input, by_slices<N, true, true, false>)

// Rows of 8 or 16 doubles in shared memory are padded by one, against bank conflicts: D and the
// slices if M is 8 or 16, I if Nq is.
KERNEL(4, const_input, by_slices<N, true, true, true>)

// Kernel 5. First come the columns of q, along c, then lines along b and a. Then no thread holds a
// column of Gauss points, so the operator reads the cube s_q.
template <int N>
__device__ __forceinline__ void by_cube(const_input I, const_input D, const_input G, const_input q,
                                        double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_q[M][M][M + PAD];
  __shared__ double s_1[M][M + PAD], s_2[M][M + PAD];
  double line[Nq], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along c at b = y, a = x; along b at k = y, a = x; along a at k = y, j = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) line[c] = q[at<Nq>(c, y, x)];
    interpolate_line<Nq, false>(s_I, line, [&](int k, double v) { s_q[k][y][x] = v; });
  }
  __syncthreads();
  if (x < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
    interpolate_line<Nq, false>(s_I, line, [&](int j, double v) { s_q[y][j][x] = v; });
  }
  __syncthreads();
#pragma unroll
  for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
  interpolate_line<Nq, false>(s_I, line, [&](int i, double v) { s_q[y][x][i] = v; });
  __syncthreads();

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const factors g = load<Mp>(G, at<M>(k, y, x));
    const double qr = sum<M>([&](int n) { return s_D[x][n] * s_q[k][y][n]; });
    const double qs = sum<M>([&](int n) { return s_D[y][n] * s_q[k][n][x]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * s_q[n][y][x]; });
    s_1[y][x] = g.r(qr, qs, qt);
    s_2[y][x] = g.s(qr, qs, qt);
    const double rqt = g.t(qr, qs, qt);
    __syncthreads();
    r_Aq[k] += g.wJ * lambda * s_q[k][y][x];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_2[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  project_line<Nq, false>(s_I, r_Aq, [&](int c, double v) { s_q[c][y][x] = v; });
  __syncthreads();
  project_lines<Nq, false>(s_I, s_q, aq, y, x);
}

// Interpolation and projection by whole lines, as in BP1.0 kernel 7: a cube replaces two slices;
// each line is contracted in a thread's registers and written back.
KERNEL(5, const_input, by_cube<N>)

// Kernels 6 to 9.
template <int N, bool one_slice, bool transposed, bool symmetric>
__device__ __forceinline__ void by_lines(const_input I, const_input D, const_input G, const_input q,
                                         double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_DT[M][M + PAD];
  __shared__ double s_q[Nq][M][M + PAD], s_1[M][M + PAD], s_2[M][M + PAD];
  auto &s_s = one_slice ? s_1 : s_2;
  double line[Nq], r_q[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
  if (transposed) s_DT[x][y] = D[y * M + x];
  const auto derivative = [&](int m, int n) { return transposed ? s_DT[n][m] : s_D[m][n]; };
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  interpolate_lines<Nq, symmetric>(s_I, s_q, y, x);
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
  interpolate_line<Nq, symmetric>(s_I, line, [&](int k, double v) { r_q[k] = v; });

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const factors g = load<Mp>(G, at<M>(k, y, x));
    s_1[y][x] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return derivative(x, n) * s_1[y][n]; });
    const double qs = sum<M>([&](int n) { return derivative(y, n) * s_1[n][x]; });
    const double qt = sum<M>([&](int n) { return derivative(k, n) * r_q[n]; });
    const double rqr = g.r(qr, qs, qt), rqs = g.s(qr, qs, qt), rqt = g.t(qr, qs, qt);
    __syncthreads();
    s_1[y][x] = rqr;
    if (!one_slice) s_s[y][x] = rqs;
    __syncthreads();
    r_Aq[k] += g.wJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    if (one_slice) {
      __syncthreads();
      s_s[y][x] = rqs;
      __syncthreads();
    }
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_s[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  project_line<Nq, symmetric>(s_I, r_Aq, [&](int c, double v) { s_q[c][y][x] = v; });
  __syncthreads();
  project_lines<Nq, symmetric>(s_I, s_q, aq, y, x);
}

// The operator as in BP3.5 kernel 9: the column of Gauss points in registers, slices in shared
// memory. For that, the lines along c must come last, so q is first loaded to shared memory: values
// are written to and read from it once more, which makes this interpolation less efficient.
KERNEL(6, const_input, by_lines<N, false, false, false>)

// One shared array fewer: rqr and rqs use one slice in turn, at the price of two more barriers.
KERNEL(7, const_input, by_lines<N, true, false, false>)

// Both D and its transpose are in shared memory, so that neighbouring threads always read
// neighbouring entries.
KERNEL(8, const_input, by_lines<N, true, true, false>)

// With the symmetry of I, every entry that is read from shared memory is used in two products, as
// in BP1.0 kernel 8.
KERNEL(9, const_input, by_lines<N, true, true, true>)

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: matrices and two slices in shared memory", nullptr, launch_bp30, bp30_2d_1),
    SP_RUNG("inputs const, column of q cached", nullptr, launch_bp30, bp30_2d_2),
    SP_RUNG("all loops unrolled", nullptr, launch_bp30, bp30_2d_3),
    SP_RUNG("padding against bank conflicts", nullptr, launch_bp30, bp30_2d_4),
    SP_RUNG("interpolation by whole lines, as BP1.0 kernel 7", nullptr, launch_bp30, bp30_2d_5),
    SP_RUNG("q in shared memory, differentiation as BP3.5 kernel 9", nullptr, launch_bp30,
            bp30_2d_6),
    SP_RUNG("one shared array less", nullptr, launch_bp30, bp30_2d_7),
    SP_RUNG("both D and its transpose in shared memory", nullptr, launch_bp30, bp30_2d_8),
    SP_RUNG("entries of I read once, used twice", nullptr, launch_bp30, bp30_2d_9),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp30_2d, SP_ORDER) = {
    SP_BP30, 2, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
