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
// partial sums that no other thread needs.
#include "operators/paper/kernel.h"

// Starting point: I, D and two slices for partial sums are in shared memory; q is read from global
// memory whenever it is needed.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_1(input I, input D, input G, input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_1[M][M], s_2[M][M];
  double r_q[M], r_Aq[M];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  s_D[j][i] = D[j * M + i];
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < M; k++) { // interpolation
    if (node) s_1[j][i] = rolled_sum<Nq>([&](int c) { return s_I[k][c] * q[at<Nq>(c, j, i)]; });
    __syncthreads();
    if (i < Nq) s_2[j][i] = rolled_sum<Nq>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    r_q[k] = rolled_sum<Nq>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    r_Aq[k] = 0;
    __syncthreads();
  }

#pragma unroll 1
  for (int k = 0; k < M; k++) { // the operator at Gauss points
    const int point = at<M>(k, j, i);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[j][i] = r_q[k];
    __syncthreads();
    const double qr = rolled_sum<M>([&](int n) { return s_D[i][n] * s_1[j][n]; });
    const double qs = rolled_sum<M>([&](int n) { return s_D[j][n] * s_1[n][i]; });
    const double qt = rolled_sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[j][i] = G00 * qr + G01 * qs + G02 * qt;
    s_2[j][i] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += rolled_sum<M>([&](int n) { return s_D[n][i] * s_1[j][n]; });
    r_Aq[k] += rolled_sum<M>([&](int n) { return s_D[n][j] * s_2[n][i]; });
#pragma unroll 1
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

#pragma unroll 1
  for (int k = 0; k < M; k++) { // projection
    s_1[j][i] = r_Aq[k];
    __syncthreads();
    if (i < Nq) s_2[j][i] = rolled_sum<M>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) r_Aq[k] = rolled_sum<M>([&](int n) { return s_I[n][j] * s_2[n][i]; });
    __syncthreads();
  }
  if (node) {
#pragma unroll 1
    for (int c = 0; c < Nq; c++)
      aq[at<Nq>(c, j, i)] = rolled_sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  }
}

// All inputs are declared const, and each thread caches its column of q.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_2(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_1[M][M], s_2[M][M];
  double r_column[Nq], r_q[M], r_Aq[M];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  s_D[j][i] = D[j * M + i];
#pragma unroll 1
  for (int c = 0; c < Nq; c++) r_column[c] = node ? q[at<Nq>(c, j, i)] : 0;
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < M; k++) { // interpolation
    if (node) s_1[j][i] = rolled_sum<Nq>([&](int c) { return s_I[k][c] * r_column[c]; });
    __syncthreads();
    if (i < Nq) s_2[j][i] = rolled_sum<Nq>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    r_q[k] = rolled_sum<Nq>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    r_Aq[k] = 0;
    __syncthreads();
  }

#pragma unroll 1
  for (int k = 0; k < M; k++) { // the operator at Gauss points
    const int point = at<M>(k, j, i);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[j][i] = r_q[k];
    __syncthreads();
    const double qr = rolled_sum<M>([&](int n) { return s_D[i][n] * s_1[j][n]; });
    const double qs = rolled_sum<M>([&](int n) { return s_D[j][n] * s_1[n][i]; });
    const double qt = rolled_sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[j][i] = G00 * qr + G01 * qs + G02 * qt;
    s_2[j][i] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += rolled_sum<M>([&](int n) { return s_D[n][i] * s_1[j][n]; });
    r_Aq[k] += rolled_sum<M>([&](int n) { return s_D[n][j] * s_2[n][i]; });
#pragma unroll 1
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

#pragma unroll 1
  for (int k = 0; k < M; k++) { // projection
    s_1[j][i] = r_Aq[k];
    __syncthreads();
    if (i < Nq) s_2[j][i] = rolled_sum<M>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) r_Aq[k] = rolled_sum<M>([&](int n) { return s_I[n][j] * s_2[n][i]; });
    __syncthreads();
  }
  if (node) {
#pragma unroll 1
    for (int c = 0; c < Nq; c++)
      aq[at<Nq>(c, j, i)] = rolled_sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  }
}

// All loops are unrolled, so that the columns become registers.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_3(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_1[M][M], s_2[M][M];
  double r_column[Nq], r_q[M], r_Aq[M];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  s_D[j][i] = D[j * M + i];
#pragma unroll
  for (int c = 0; c < Nq; c++) r_column[c] = node ? q[at<Nq>(c, j, i)] : 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < M; k++) { // interpolation
    if (node) s_1[j][i] = sum<Nq>([&](int c) { return s_I[k][c] * r_column[c]; });
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<Nq>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    r_q[k] = sum<Nq>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    r_Aq[k] = 0;
    __syncthreads();
  }

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points
    const int point = at<M>(k, j, i);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[j][i] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_D[i][n] * s_1[j][n]; });
    const double qs = sum<M>([&](int n) { return s_D[j][n] * s_1[n][i]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[j][i] = G00 * qr + G01 * qs + G02 * qt;
    s_2[j][i] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][i] * s_1[j][n]; });
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][j] * s_2[n][i]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

#pragma unroll
  for (int k = 0; k < M; k++) { // projection
    s_1[j][i] = r_Aq[k];
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<M>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) r_Aq[k] = sum<M>([&](int n) { return s_I[n][j] * s_2[n][i]; });
    __syncthreads();
  }
  if (node) {
#pragma unroll
    for (int c = 0; c < Nq; c++)
      aq[at<Nq>(c, j, i)] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  }
}

// Rows of 8 or 16 doubles in shared memory are padded by one, against bank conflicts: those of D
// and the slices if M is 8 or 16, those of I if Nq is.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_4(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_1[M][M + PAD], s_2[M][M + PAD];
  double r_column[Nq], r_q[M], r_Aq[M];
  const int i = threadIdx.x, j = threadIdx.y;
  const bool node = i < Nq && j < Nq;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (i < Nq) s_I[j][i] = I[j * Nq + i];
  s_D[j][i] = D[j * M + i];
#pragma unroll
  for (int c = 0; c < Nq; c++) r_column[c] = node ? q[at<Nq>(c, j, i)] : 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < M; k++) { // interpolation
    if (node) s_1[j][i] = sum<Nq>([&](int c) { return s_I[k][c] * r_column[c]; });
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<Nq>([&](int b) { return s_I[j][b] * s_1[b][i]; });
    __syncthreads();
    r_q[k] = sum<Nq>([&](int a) { return s_I[i][a] * s_2[j][a]; });
    r_Aq[k] = 0;
    __syncthreads();
  }

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points
    const int point = at<M>(k, j, i);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[j][i] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_D[i][n] * s_1[j][n]; });
    const double qs = sum<M>([&](int n) { return s_D[j][n] * s_1[n][i]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[j][i] = G00 * qr + G01 * qs + G02 * qt;
    s_2[j][i] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][i] * s_1[j][n]; });
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][j] * s_2[n][i]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

#pragma unroll
  for (int k = 0; k < M; k++) { // projection
    s_1[j][i] = r_Aq[k];
    __syncthreads();
    if (i < Nq) s_2[j][i] = sum<M>([&](int n) { return s_I[n][i] * s_1[j][n]; });
    __syncthreads();
    if (node) r_Aq[k] = sum<M>([&](int n) { return s_I[n][j] * s_2[n][i]; });
    __syncthreads();
  }
  if (node) {
#pragma unroll
    for (int c = 0; c < Nq; c++)
      aq[at<Nq>(c, j, i)] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  }
}

// Interpolation and projection by whole lines, as in BP1.0 kernel 7: a cube s_q replaces two
// slices; each line is contracted in a thread's registers and written back. First come the columns
// of q, along c, then lines along b and a. Then no thread holds a column of Gauss points, so the
// operator reads the cube.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_5(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_q[M][M][M + PAD];
  __shared__ double s_1[M][M + PAD], s_2[M][M + PAD];
  double line[Nq], fine[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along c at b = y, a = x; along b at k = y, a = x; along a at k = y, j = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) line[c] = q[at<Nq>(c, y, x)];
#pragma unroll
    for (int k = 0; k < M; k++) s_q[k][y][x] = sum<Nq>([&](int c) { return s_I[k][c] * line[c]; });
  }
  __syncthreads();
  if (x < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
#pragma unroll
    for (int j = 0; j < M; j++) s_q[y][j][x] = sum<Nq>([&](int b) { return s_I[j][b] * line[b]; });
  }
  __syncthreads();
  {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
#pragma unroll
    for (int i = 0; i < M; i++) s_q[y][x][i] = sum<Nq>([&](int a) { return s_I[i][a] * line[a]; });
  }
  __syncthreads();

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const int point = at<M>(k, y, x);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    const double qr = sum<M>([&](int n) { return s_D[x][n] * s_q[k][y][n]; });
    const double qs = sum<M>([&](int n) { return s_D[y][n] * s_q[k][n][x]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * s_q[n][y][x]; });
    s_1[y][x] = G00 * qr + G01 * qs + G02 * qt;
    s_2[y][x] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * s_q[k][y][x];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_2[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  // projection: along c, then a, then b
#pragma unroll
  for (int c = 0; c < Nq; c++) s_q[c][y][x] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
#pragma unroll
    for (int a = 0; a < Nq; a++) s_q[y][x][a] = sum<M>([&](int i) { return s_I[i][a] * fine[i]; });
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
#pragma unroll
    for (int b = 0; b < Nq; b++)
      aq[at<Nq>(y, b, x)] = sum<M>([&](int j) { return s_I[j][b] * fine[j]; });
  }
}

// The operator as in BP3.5 kernel 9: the column of Gauss points in registers, slices in shared
// memory. For that, the lines along c must come last, so q is first loaded to shared memory: values
// are written to and read from it once more, which makes this interpolation less efficient.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_6(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_q[Nq][M][M + PAD];
  __shared__ double s_1[M][M + PAD], s_2[M][M + PAD];
  double line[Nq], fine[M], r_q[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along b at c = y, a = x; along a at c = y, j = x; along c at j = y, i = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
#pragma unroll
    for (int j = 0; j < M; j++) s_q[y][j][x] = sum<Nq>([&](int b) { return s_I[j][b] * line[b]; });
  }
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
#pragma unroll
    for (int i = 0; i < M; i++) s_q[y][x][i] = sum<Nq>([&](int a) { return s_I[i][a] * line[a]; });
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
#pragma unroll
  for (int k = 0; k < M; k++) r_q[k] = sum<Nq>([&](int c) { return s_I[k][c] * line[c]; });

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const int point = at<M>(k, y, x);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[y][x] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_D[x][n] * s_1[y][n]; });
    const double qs = sum<M>([&](int n) { return s_D[y][n] * s_1[n][x]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    __syncthreads();
    s_1[y][x] = G00 * qr + G01 * qs + G02 * qt;
    s_2[y][x] = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_2[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  // projection: along c, then a, then b
#pragma unroll
  for (int c = 0; c < Nq; c++) s_q[c][y][x] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
#pragma unroll
    for (int a = 0; a < Nq; a++) s_q[y][x][a] = sum<M>([&](int i) { return s_I[i][a] * fine[i]; });
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
#pragma unroll
    for (int b = 0; b < Nq; b++)
      aq[at<Nq>(y, b, x)] = sum<M>([&](int j) { return s_I[j][b] * fine[j]; });
  }
}

// One shared array fewer: rqr and rqs use one slice in turn, at the price of two more barriers.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_7(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_q[Nq][M][M + PAD], s_1[M][M + PAD];
  double line[Nq], fine[M], r_q[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along b at c = y, a = x; along a at c = y, j = x; along c at j = y, i = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
#pragma unroll
    for (int j = 0; j < M; j++) s_q[y][j][x] = sum<Nq>([&](int b) { return s_I[j][b] * line[b]; });
  }
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
#pragma unroll
    for (int i = 0; i < M; i++) s_q[y][x][i] = sum<Nq>([&](int a) { return s_I[i][a] * line[a]; });
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
#pragma unroll
  for (int k = 0; k < M; k++) r_q[k] = sum<Nq>([&](int c) { return s_I[k][c] * line[c]; });

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const int point = at<M>(k, y, x);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[y][x] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_D[x][n] * s_1[y][n]; });
    const double qs = sum<M>([&](int n) { return s_D[y][n] * s_1[n][x]; });
    const double qt = sum<M>([&](int n) { return s_D[k][n] * r_q[n]; });
    const double rqr = G00 * qr + G01 * qs + G02 * qt;
    const double rqs = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    s_1[y][x] = rqr;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    __syncthreads();
    s_1[y][x] = rqs;
    __syncthreads();
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_1[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  // projection: along c, then a, then b
#pragma unroll
  for (int c = 0; c < Nq; c++) s_q[c][y][x] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
#pragma unroll
    for (int a = 0; a < Nq; a++) s_q[y][x][a] = sum<M>([&](int i) { return s_I[i][a] * fine[i]; });
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
#pragma unroll
    for (int b = 0; b < Nq; b++)
      aq[at<Nq>(y, b, x)] = sum<M>([&](int j) { return s_I[j][b] * fine[j]; });
  }
}

// Both D and its transpose are in shared memory, so that neighbouring threads always read
// neighbouring entries.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_8(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_DT[M][M + PAD];
  __shared__ double s_q[Nq][M][M + PAD], s_1[M][M + PAD];
  double line[Nq], fine[M], r_q[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
  s_DT[x][y] = D[y * M + x];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along b at c = y, a = x; along a at c = y, j = x; along c at j = y, i = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
#pragma unroll
    for (int j = 0; j < M; j++) s_q[y][j][x] = sum<Nq>([&](int b) { return s_I[j][b] * line[b]; });
  }
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
#pragma unroll
    for (int i = 0; i < M; i++) s_q[y][x][i] = sum<Nq>([&](int a) { return s_I[i][a] * line[a]; });
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
#pragma unroll
  for (int k = 0; k < M; k++) r_q[k] = sum<Nq>([&](int c) { return s_I[k][c] * line[c]; });

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const int point = at<M>(k, y, x);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[y][x] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_DT[n][x] * s_1[y][n]; });
    const double qs = sum<M>([&](int n) { return s_DT[n][y] * s_1[n][x]; });
    const double qt = sum<M>([&](int n) { return s_DT[n][k] * r_q[n]; });
    const double rqr = G00 * qr + G01 * qs + G02 * qt;
    const double rqs = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    s_1[y][x] = rqr;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    __syncthreads();
    s_1[y][x] = rqs;
    __syncthreads();
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_1[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  // projection: along c, then a, then b
#pragma unroll
  for (int c = 0; c < Nq; c++) s_q[c][y][x] = sum<M>([&](int k) { return s_I[k][c] * r_Aq[k]; });
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
#pragma unroll
    for (int a = 0; a < Nq; a++) s_q[y][x][a] = sum<M>([&](int i) { return s_I[i][a] * fine[i]; });
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
#pragma unroll
    for (int b = 0; b < Nq; b++)
      aq[at<Nq>(y, b, x)] = sum<M>([&](int j) { return s_I[j][b] * fine[j]; });
  }
}

// With the symmetry of I, every entry that is read from shared memory is used in two products, as
// in BP1.0 kernel 8.
template <int N>
__global__ __launch_bounds__((N + 2) * (N + 2)) void bp30_2d_9(const_input I, const_input D,
                                                               const_input G, const_input q,
                                                               double *aq, double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  constexpr int PAD = conflicts<M>, I_PAD = conflicts<Nq>;
  __shared__ double s_I[M][Nq + I_PAD], s_D[M][M + PAD], s_DT[M][M + PAD];
  __shared__ double s_q[Nq][M][M + PAD], s_1[M][M + PAD];
  double line[Nq], fine[M], r_q[M], r_Aq[M];
  const int x = threadIdx.x, y = threadIdx.y;
  q += (size_t)blockIdx.x * Nq * Nq * Nq;
  aq += (size_t)blockIdx.x * Nq * Nq * Nq;
  G += (size_t)blockIdx.x * 7 * Mp;

  if (x < Nq) s_I[y][x] = I[y * Nq + x];
  s_D[y][x] = D[y * M + x];
  s_DT[x][y] = D[y * M + x];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int c = 0; c < Nq; c++) s_q[c][y][x] = q[at<Nq>(c, y, x)];
  }
#pragma unroll
  for (int k = 0; k < M; k++) r_Aq[k] = 0;
  __syncthreads();

  // interpolation: along b at c = y, a = x; along a at c = y, j = x; along c at j = y, i = x
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
    interpolate_line<Nq>(s_I, line, [&](int j, double value) { s_q[y][j][x] = value; });
  }
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
    interpolate_line<Nq>(s_I, line, [&](int i, double value) { s_q[y][x][i] = value; });
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < Nq; c++) line[c] = s_q[c][y][x];
  interpolate_line<Nq>(s_I, line, [&](int k, double value) { r_q[k] = value; });

#pragma unroll
  for (int k = 0; k < M; k++) { // the operator at Gauss points (k, y, x)
    const int point = at<M>(k, y, x);
    const double G00 = G[SP_G_RR * Mp + point], G01 = G[SP_G_RS * Mp + point];
    const double G02 = G[SP_G_RT * Mp + point], G11 = G[SP_G_SS * Mp + point];
    const double G12 = G[SP_G_ST * Mp + point], G22 = G[SP_G_TT * Mp + point];
    const double GwJ = G[SP_G_WJ * Mp + point];
    s_1[y][x] = r_q[k];
    __syncthreads();
    const double qr = sum<M>([&](int n) { return s_DT[n][x] * s_1[y][n]; });
    const double qs = sum<M>([&](int n) { return s_DT[n][y] * s_1[n][x]; });
    const double qt = sum<M>([&](int n) { return s_DT[n][k] * r_q[n]; });
    const double rqr = G00 * qr + G01 * qs + G02 * qt;
    const double rqs = G01 * qr + G11 * qs + G12 * qt;
    const double rqt = G02 * qr + G12 * qs + G22 * qt;
    __syncthreads();
    s_1[y][x] = rqr;
    __syncthreads();
    r_Aq[k] += GwJ * lambda * r_q[k];
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][x] * s_1[y][n]; });
    __syncthreads();
    s_1[y][x] = rqs;
    __syncthreads();
    r_Aq[k] += sum<M>([&](int n) { return s_D[n][y] * s_1[n][x]; });
#pragma unroll
    for (int n = 0; n < M; n++) r_Aq[n] += s_D[k][n] * rqt;
    __syncthreads();
  }

  // projection: along c, then a, then b
  project_line<Nq>(s_I, r_Aq, line);
#pragma unroll
  for (int c = 0; c < Nq; c++) s_q[c][y][x] = line[c];
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
    project_line<Nq>(s_I, fine, line);
#pragma unroll
    for (int a = 0; a < Nq; a++) s_q[y][x][a] = line[a];
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
    project_line<Nq>(s_I, fine, line);
#pragma unroll
    for (int b = 0; b < Nq; b++) aq[at<Nq>(y, b, x)] = line[b];
  }
}

static const dim3 block(SP_ORDER + 2, SP_ORDER + 2);

template <auto kernel> static sp_status resources(sp_paper_resources *out) {
  *out = {};
  return add_resources<kernel>(block, out);
}

template <auto kernel> static sp_status launch(sp_device *device, const sp_paper_arguments *a) {
  sp_paper_matrices matrices;
  SP_TRY(sp_paper_matrices_get(SP_ORDER, &matrices));
  return queue<kernel>(device, a->elements, block, matrices.interpolation,
                       matrices.gl_differentiation, const_cast<double *>(a->factors),
                       const_cast<double *>(a->q), a->aq, a->lambda);
}

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: matrices and two slices in shared memory", nullptr, launch, bp30_2d_1),
    SP_RUNG("inputs const, column of q cached", nullptr, launch, bp30_2d_2),
    SP_RUNG("all loops unrolled", nullptr, launch, bp30_2d_3),
    SP_RUNG("padding against bank conflicts", nullptr, launch, bp30_2d_4),
    SP_RUNG("interpolation by whole lines, as BP1.0 kernel 7", nullptr, launch, bp30_2d_5),
    SP_RUNG("q in shared memory, differentiation as BP3.5 kernel 9", nullptr, launch, bp30_2d_6),
    SP_RUNG("one shared array less", nullptr, launch, bp30_2d_7),
    SP_RUNG("both D and its transpose in shared memory", nullptr, launch, bp30_2d_8),
    SP_RUNG("entries of I read once, used twice", nullptr, launch, bp30_2d_9),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp30_2d, SP_ORDER) = {
    SP_BP30, 2, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
