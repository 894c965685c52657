// BP3.0, stiffness and mass with Gauss quadrature, with 3D thread blocks: kernels 1 to 9 (paper,
// Section "Optimizing Benchmark Problem 3.0"; Algorithm 4). Compiled once per order, SP_ORDER <= 8.
//
// M is the paper's glNq, D its glD. Thread (i, j, k) owns that Gauss point and, if i, j, k < Nq,
// that node. A global workspace [3][elements][M][M][M] holds partial results: v_0, v_1, v_2. The
// paper does not mention const in this ladder, so no inputs are declared const.
//
// The differentiation begins as in BP3.5 (3D) kernel 1: one direction after the other, with one
// array of partial sums.
#define BLOCK SP_ORDER + 2, SP_ORDER + 2, SP_ORDER + 2
#include "operators/paper/kernel.h"

static_assert((SP_ORDER + 2) * (SP_ORDER + 2) * (SP_ORDER + 2) <= 1024, "threads of a block");

#define LAUNCH_BOUNDS __launch_bounds__((N + 2) * (N + 2) * (N + 2))

// The three parts of kernels 1 to 6, with partial results in global memory; v_* are the element's.
template <int N, bool unrolled, class Matrix>
__device__ __forceinline__ void interpolate(const Matrix &s_I, const double *q, double *v_0,
                                            double *v_1, double *v_2) {
  constexpr int Nq = N + 1, M = N + 2;
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<M>(k, j, i);
  if (k < Nq && i < Nq)
    v_1[point] = sum<Nq, unrolled>([&](int b) { return s_I[j][b] * q[at<Nq>(k, b, i)]; });
  __syncthreads();
  if (k < Nq)
    v_2[point] = sum<Nq, unrolled>([&](int a) { return s_I[i][a] * v_1[at<M>(k, j, a)]; });
  __syncthreads();
  v_0[point] = sum<Nq, unrolled>([&](int c) { return s_I[k][c] * v_2[at<M>(c, j, i)]; });
}

template <int N, bool unrolled, class Matrix>
__device__ __forceinline__ void project(const Matrix &s_I, double *aq, double *v_0, double *v_1,
                                        double *v_2) {
  constexpr int Nq = N + 1, M = N + 2;
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<M>(k, j, i);
  if (j < Nq) v_1[point] = sum<M, unrolled>([&](int n) { return s_I[n][j] * v_2[at<M>(k, n, i)]; });
  __syncthreads();
  if (j < Nq && i < Nq)
    v_0[point] = sum<M, unrolled>([&](int n) { return s_I[n][i] * v_1[at<M>(k, j, n)]; });
  __syncthreads();
  if (k < Nq && j < Nq && i < Nq)
    aq[at<Nq>(k, j, i)] = sum<M, unrolled>([&](int n) { return s_I[n][k] * v_0[at<M>(n, j, i)]; });
}

// Starting point: Algorithm 4 as three launches. I and D are in shared memory; q and all partial
// results are in global memory.
template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_1_interpolate(input I, input q, double *v_0, double *v_1,
                                                    double *v_2) {
  constexpr int Nq = N + 1, M = N + 2;
  const size_t first = (size_t)blockIdx.x * M * M * M;
  __shared__ double s_I[M][Nq];
  if (threadIdx.z == 0 && threadIdx.x < Nq)
    s_I[threadIdx.y][threadIdx.x] = I[threadIdx.y * Nq + threadIdx.x];
  __syncthreads();
  interpolate<N, false>(s_I, q + (size_t)blockIdx.x * Nq * Nq * Nq, v_0 + first, v_1 + first,
                        v_2 + first);
}

template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_1_differentiate(input D, input G, double lambda, double *v_0,
                                                      double *v_1, double *v_2) {
  constexpr int M = N + 2, Mp = M * M * M;
  __shared__ double s_D[M][M];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<M>(k, j, i);
  advance(7 * Mp, G);
  advance(Mp, v_0, v_1, v_2);
  if (k == 0) s_D[j][i] = D[j * M + i];
  __syncthreads();
  differentiate<M, false, false, false>(
      s_D, G, lambda, [&](int c, int b, int a) { return v_0[at<M>(c, b, a)]; },
      [&](int c, int b, int a) -> double & { return v_1[at<M>(c, b, a)]; }, v_2, point);
}

template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_1_project(input I, double *aq, double *v_0, double *v_1,
                                                double *v_2) {
  constexpr int Nq = N + 1, M = N + 2;
  const size_t first = (size_t)blockIdx.x * M * M * M;
  __shared__ double s_I[M][Nq];
  if (threadIdx.z == 0 && threadIdx.x < Nq)
    s_I[threadIdx.y][threadIdx.x] = I[threadIdx.y * Nq + threadIdx.x];
  __syncthreads();
  project<N, false>(s_I, aq + (size_t)blockIdx.x * Nq * Nq * Nq, v_0 + first, v_1 + first,
                    v_2 + first);
}

// Kernels 2 to 6.
enum place { GLOBAL, SHARED, REGISTER };
template <int N, bool unrolled, bool once, place values, place result>
__device__ __forceinline__ void with_global_sums(input I, input D, input G, input q, double *aq,
                                                 double lambda, double *v_0, double *v_1,
                                                 double *v_2) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_q[M][M][M];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<M>(k, j, i);
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);
  advance(Mp, v_0, v_1, v_2);

  if (k == 0 && i < Nq) s_I[j][i] = I[j * Nq + i];
  if (k == 0) s_D[j][i] = D[j * M + i];
  __syncthreads();
  interpolate<N, unrolled>(s_I, q, v_0, v_1, v_2);
  if constexpr (values == SHARED) s_q[k][j][i] = v_0[point];
  __syncthreads();
  const auto value = [&](int c, int b, int a) {
    if constexpr (values == SHARED)
      return s_q[c][b][a];
    else
      return v_0[at<M>(c, b, a)];
  };
  const auto partial = [&](int c, int b, int a) -> double & { return v_1[at<M>(c, b, a)]; };
  if constexpr (result == REGISTER) {
    double r_Aq;
    differentiate<M, unrolled, once, false>(s_D, G, lambda, value, partial, &r_Aq);
    v_2[point] = r_Aq;
  } else {
    differentiate<M, unrolled, once, false>(s_D, G, lambda, value, partial, v_2, point);
  }
  __syncthreads();
  project<N, unrolled>(s_I, aq, v_0, v_1, v_2);
}

#define KERNEL_WITH_VECTORS(number, ...)                                                           \
  template <int N>                                                                                 \
  __global__ LAUNCH_BOUNDS void bp30_3d_##number(input I, input D, input G, input q, double *aq,   \
                                                 double lambda, double *v_0, double *v_1,          \
                                                 double *v_2) {                                    \
    __VA_ARGS__(I, D, G, q, aq, lambda, v_0, v_1, v_2);                                            \
  }

// The three launches become one.
KERNEL_WITH_VECTORS(2, with_global_sums<N, false, false, GLOBAL, GLOBAL>)

// All internal loops are unrolled.
KERNEL_WITH_VECTORS(3, with_global_sums<N, true, false, GLOBAL, GLOBAL>)

// The geometric factors are loaded once. (The paper says that this is the difference to kernel 2;
// here the unrolling of kernel 3 stays, as earlier changes do in all ladders.)
KERNEL_WITH_VECTORS(4, with_global_sums<N, true, true, GLOBAL, GLOBAL>)

// For the differentiation, q at the Gauss points is loaded to a shared array; interpolation and
// projection still read global memory.
KERNEL_WITH_VECTORS(5, with_global_sums<N, true, true, SHARED, GLOBAL>)

// The differentiation adds its result up in a register.
KERNEL_WITH_VECTORS(6, with_global_sums<N, true, true, SHARED, REGISTER>)

// Partial results are in shared memory and registers, except between interpolation, first
// differentiation, second differentiation and projection: three vectors go through global memory.
template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_7(input I, input D, input G, input q, double *aq,
                                        double lambda, double *v_0, double *v_1, double *v_2) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_q[M][M][M];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<M>(k, j, i);
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);
  advance(Mp, v_0, v_1, v_2);

  if (k == 0 && i < Nq) s_I[j][i] = I[j * Nq + i];
  if (k == 0) s_D[j][i] = D[j * M + i];
  __syncthreads();
  if (k < Nq && i < Nq)
    s_q[k][j][i] = sum<Nq>([&](int b) { return s_I[j][b] * q[at<Nq>(k, b, i)]; });
  __syncthreads();
  double value = k < Nq ? sum<Nq>([&](int a) { return s_I[i][a] * s_q[k][j][a]; }) : 0;
  __syncthreads();
  if (k < Nq) s_q[k][j][i] = value;
  __syncthreads();
  value = sum<Nq>([&](int c) { return s_I[k][c] * s_q[c][j][i]; });
  v_0[point] = value;
  __syncthreads();
  s_q[k][j][i] = v_0[point];
  __syncthreads();

  double r_Aq;
  differentiate<M, true, true, false>(
      s_D, G, lambda, [&](int c, int b, int a) { return s_q[c][b][a]; },
      [&](int c, int b, int a) -> double & { return v_1[at<M>(c, b, a)]; }, &r_Aq);
  v_2[point] = r_Aq;
  __syncthreads();

  if (j < Nq) s_q[k][j][i] = sum<M>([&](int n) { return s_I[n][j] * v_2[at<M>(k, n, i)]; });
  __syncthreads();
  if (j < Nq && i < Nq) value = sum<M>([&](int n) { return s_I[n][i] * s_q[k][j][n]; });
  __syncthreads();
  if (j < Nq && i < Nq) s_q[k][j][i] = value;
  __syncthreads();
  if (k < Nq && j < Nq && i < Nq)
    aq[at<Nq>(k, j, i)] = sum<M>([&](int n) { return s_I[n][k] * s_q[n][j][i]; });
}

// No partial result is in global memory any more: the cube in shared memory holds each of them in
// turn, with barriers before and after.
template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_8(input I, input D, input G, input q, double *aq,
                                        double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_q[M][M][M];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);

  if (k == 0 && i < Nq) s_I[j][i] = I[j * Nq + i];
  if (k == 0) s_D[j][i] = D[j * M + i];
  __syncthreads();
  if (k < Nq && i < Nq)
    s_q[k][j][i] = sum<Nq>([&](int b) { return s_I[j][b] * q[at<Nq>(k, b, i)]; });
  __syncthreads();
  double value = k < Nq ? sum<Nq>([&](int a) { return s_I[i][a] * s_q[k][j][a]; }) : 0;
  __syncthreads();
  if (k < Nq) s_q[k][j][i] = value;
  __syncthreads();
  value = sum<Nq>([&](int c) { return s_I[k][c] * s_q[c][j][i]; });
  __syncthreads();
  s_q[k][j][i] = value;
  __syncthreads();

  double r_Aq;
  const auto cube = [&](int c, int b, int a) -> double & { return s_q[c][b][a]; };
  differentiate<M, true, true, true>(s_D, G, lambda, cube, cube, &r_Aq);
  __syncthreads();
  s_q[k][j][i] = r_Aq;
  __syncthreads();

  if (j < Nq) value = sum<M>([&](int n) { return s_I[n][j] * s_q[k][n][i]; });
  __syncthreads();
  if (j < Nq) s_q[k][j][i] = value;
  __syncthreads();
  if (j < Nq && i < Nq) value = sum<M>([&](int n) { return s_I[n][i] * s_q[k][j][n]; });
  __syncthreads();
  if (j < Nq && i < Nq) s_q[k][j][i] = value;
  __syncthreads();
  if (k < Nq && j < Nq && i < Nq)
    aq[at<Nq>(k, j, i)] = sum<M>([&](int n) { return s_I[n][k] * s_q[n][j][i]; });
}

// Three more cubes in shared memory, so that a result need not wait until the previous one has been
// read: every pass except the last ends with a single barrier.
template <int N>
__global__ LAUNCH_BOUNDS void bp30_3d_9(input I, input D, input G, input q, double *aq,
                                        double lambda) {
  constexpr int Nq = N + 1, M = N + 2, Mp = M * M * M;
  __shared__ double s_I[M][Nq], s_D[M][M], s_q[M][M][M];
  __shared__ double s_r[M][M][M], s_s[M][M][M], s_t[M][M][M];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  advance(Nq * Nq * Nq, q, aq);
  advance(7 * Mp, G);

  if (k == 0 && i < Nq) s_I[j][i] = I[j * Nq + i];
  if (k == 0) s_D[j][i] = D[j * M + i];
  __syncthreads();
  if (k < Nq && i < Nq)
    s_r[k][j][i] = sum<Nq>([&](int b) { return s_I[j][b] * q[at<Nq>(k, b, i)]; });
  __syncthreads();
  if (k < Nq) s_s[k][j][i] = sum<Nq>([&](int a) { return s_I[i][a] * s_r[k][j][a]; });
  __syncthreads();
  s_q[k][j][i] = sum<Nq>([&](int c) { return s_I[k][c] * s_s[c][j][i]; });
  __syncthreads();

  s_q[k][j][i] = differentiate_at_once<M>(s_D, G, lambda, s_q, s_r, s_s, s_t);
  __syncthreads();

  if (j < Nq) s_r[k][j][i] = sum<M>([&](int n) { return s_I[n][j] * s_q[k][n][i]; });
  __syncthreads();
  if (j < Nq && i < Nq) s_s[k][j][i] = sum<M>([&](int n) { return s_I[n][i] * s_r[k][j][n]; });
  __syncthreads();
  if (k < Nq && j < Nq && i < Nq)
    aq[at<Nq>(k, j, i)] = sum<M>([&](int n) { return s_I[n][k] * s_s[n][j][i]; });
}

static sp_status resources_1(sp_paper_resources *out) {
  *out = {};
  SP_TRY(add_resources<bp30_3d_1_interpolate<SP_ORDER>>(out));
  SP_TRY(add_resources<bp30_3d_1_differentiate<SP_ORDER>>(out));
  return add_resources<bp30_3d_1_project<SP_ORDER>>(out);
}

static size_t vector_size(const sp_paper_arguments *a) {
  return (size_t)a->elements * (SP_ORDER + 2) * (SP_ORDER + 2) * (SP_ORDER + 2);
}

static sp_status launch_1(sp_device *device, const sp_paper_arguments *a) {
  double *const v_0 = a->workspace, *const v_1 = v_0 + vector_size(a);
  double *const v_2 = v_1 + vector_size(a);
  inputs in;
  SP_TRY(find_inputs(a, &in));
  double *const I = in.matrices->interpolation, *const D = in.matrices->gl_differentiation;
  SP_TRY(queue<bp30_3d_1_interpolate<SP_ORDER>>(device, a->elements, I, in.q, v_0, v_1, v_2));
  SP_TRY(queue<bp30_3d_1_differentiate<SP_ORDER>>(device, a->elements, D, in.factors, a->lambda,
                                                  v_0, v_1, v_2));
  return queue<bp30_3d_1_project<SP_ORDER>>(device, a->elements, I, a->aq, v_0, v_1, v_2);
}

// Kernels 2 to 7, with partial results in the workspace.
template <auto kernel>
static sp_status launch_global(sp_device *device, const sp_paper_arguments *a) {
  double *const v_0 = a->workspace, *const v_1 = v_0 + vector_size(a);
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->interpolation,
                       in.matrices->gl_differentiation, in.factors, in.q, a->aq, a->lambda, v_0,
                       v_1, v_1 + vector_size(a));
}

static size_t workspace(int order, int elements) {
  const size_t M = (size_t)order + 2;
  return 3 * elements * M * M * M * sizeof(double);
}

static const sp_paper_rung rungs[] = {
    {"reference: Algorithm 4, three launches", workspace, {launch_1, resources_1}},
    SP_RUNG("one launch", workspace, launch_global, bp30_3d_2),
    SP_RUNG("all loops unrolled", workspace, launch_global, bp30_3d_3),
    SP_RUNG("geometric factors loaded once", workspace, launch_global, bp30_3d_4),
    SP_RUNG("differentiation: q in shared memory", workspace, launch_global, bp30_3d_5),
    SP_RUNG("differentiation: result in a register", workspace, launch_global, bp30_3d_6),
    SP_RUNG("partial results shared but between the parts", workspace, launch_global, bp30_3d_7),
    SP_RUNG("no partial result in global memory", nullptr, launch_bp30, bp30_3d_8),
    SP_RUNG("three more shared arrays", nullptr, launch_bp30, bp30_3d_9),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp30_3d, SP_ORDER) = {
    SP_BP30, 3, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
