// Common code of the ladders: declaration of inputs, indices, sums, factors, lines, the operator
// with 3D thread blocks, and the launch. Similar rungs are one function with template parameters.
// CUDA C++, for the .cu files here.
//
// One block of threads works on one element. `__launch_bounds__` only tells the compiler how many
// threads a block has; without it, threads of large blocks could get more registers than fit.
#pragma once

#include <type_traits>

extern "C" {
#include "mesh/geometry.h"
#include "operators/cuda/device.h"
#include "operators/paper/ladders.h"
}

// Types of inputs: `input` before the rung that declares inputs const, `const_input` from that rung
// on. const tells the compiler that nothing writes to them.
using input = double *;
using const_input = const double *__restrict__;

// Index of (k, j, i) in a cube with n nodes per direction.
template <int n> __device__ __forceinline__ int at(int k, int j, int i) {
  return (k * n + j) * n + i;
}

// Rows of 8 or 16 doubles put a column of the array into one or two memory banks.
template <int row> constexpr bool conflicts = row == 8 || row == 16;

// Sum of term(m) over m = 0 .. n - 1. Not unrolled in the rungs before the one that unrolls its
// loops: today's compiler unrolls unless told not to.
template <int n, bool unrolled = true, class Term>
__device__ __forceinline__ double sum(Term term) {
  constexpr int turns = unrolled ? n : 1;
  double result = 0;
#pragma unroll turns
  for (int m = 0; m < n; m++) result += term(m);
  return result;
}

// The seven factors of a point, and the components of G grad q.
struct factors {
  double rr, rs, rt, ss, st, tt, wJ;
  __device__ __forceinline__ double r(double qr, double qs, double qt) const {
    return rr * qr + rs * qs + rt * qt;
  }
  __device__ __forceinline__ double s(double qr, double qs, double qt) const {
    return rs * qr + ss * qs + st * qt;
  }
  __device__ __forceinline__ double t(double qr, double qs, double qt) const {
    return rt * qr + st * qs + tt * qt;
  }
};
template <int points, class Input> __device__ __forceinline__ factors load(Input G, int point) {
  return {G[SP_G_RR * points + point], G[SP_G_RS * points + point], G[SP_G_RT * points + point],
          G[SP_G_SS * points + point], G[SP_G_ST * points + point], G[SP_G_TT * points + point],
          G[SP_G_WJ * points + point]};
}

// Zero, but not for the compiler: grids have one row. With this in its index a value is loaded
// again; otherwise today's compiler would reuse an earlier load.
__device__ __forceinline__ unsigned again() {
  return blockIdx.y;
}

// After this call values are read from shared memory again. Otherwise today's compiler would hold
// all of a matrix in registers, or spill it, from one contraction to the next.
__device__ __forceinline__ void forget() {
  __syncwarp();
}

// One line of interpolation, write(i, sum over a of I[i][a] line[a]). If `symmetric`, every entry
// of I is read once and used twice, I[i][a] = I[M - 1 - i][Nq - 1 - a]: BP1.0 kernel 8, BP3.0
// kernel 9.
template <int Nq, bool symmetric, class Matrix, class Write>
__device__ __forceinline__ void interpolate_line(const Matrix &I, const double *line, Write write) {
  constexpr int M = Nq + 1;
  if constexpr (!symmetric) {
#pragma unroll
    for (int i = 0; i < M; i++) write(i, sum<Nq>([&](int a) { return I[i][a] * line[a]; }));
  } else {
#pragma unroll
    for (int i = 0; i < M / 2; i++) {
      double low = 0, high = 0;
#pragma unroll
      for (int a = 0; a < Nq; a++) {
        const double entry = I[i][a];
        low += entry * line[a];
        high += entry * line[Nq - 1 - a];
      }
      write(i, low);
      write(M - 1 - i, high);
    }
    if (M % 2 == 1) { // The middle row is symmetric.
      double middle = 0;
#pragma unroll
      for (int a = 0; a < Nq / 2; a++) {
        const double entry = I[M / 2][a];
        middle += entry * line[a];
        middle += entry * line[Nq - 1 - a];
      }
      write(M / 2, middle);
    }
  }
}

// The transpose: write(a, sum over i of I[i][a] line[i]).
template <int Nq, bool symmetric, class Matrix, class Write>
__device__ __forceinline__ void project_line(const Matrix &I, const double *line, Write write) {
  constexpr int M = Nq + 1;
  if constexpr (!symmetric) {
#pragma unroll
    for (int a = 0; a < Nq; a++) write(a, sum<M>([&](int i) { return I[i][a] * line[i]; }));
  } else {
    double result[Nq];
#pragma unroll
    for (int a = 0; a < Nq; a++) result[a] = 0;
#pragma unroll
    for (int i = 0; i < M / 2; i++) {
#pragma unroll
      for (int a = 0; a < Nq; a++) {
        const double entry = I[i][a];
        result[a] += entry * line[i];
        result[Nq - 1 - a] += entry * line[M - 1 - i];
      }
    }
    if (M % 2 == 1) {
#pragma unroll
      for (int a = 0; a < Nq / 2; a++) {
        const double entry = I[M / 2][a];
        result[a] += entry * line[M / 2];
        result[Nq - 1 - a] += entry * line[M / 2];
      }
    }
#pragma unroll
    for (int a = 0; a < Nq; a++) write(a, result[a]);
  }
}

// By whole lines in shared memory: interpolation along b at c = y, a = x, then along a at c = y,
// j = x, which leaves the lines along c at j = y, i = x; and back, to aq. A thread loads a line to
// registers, contracts it and writes the result back in place: no other thread uses this line
// before the next barrier.
template <int Nq, bool symmetric, class Matrix, class Cube>
__device__ __forceinline__ void interpolate_lines(const Matrix &s_I, Cube &s_q, int y, int x) {
  double line[Nq];
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int b = 0; b < Nq; b++) line[b] = s_q[y][b][x];
    interpolate_line<Nq, symmetric>(s_I, line, [&](int j, double v) { s_q[y][j][x] = v; });
  }
  __syncthreads();
  if (y < Nq) {
#pragma unroll
    for (int a = 0; a < Nq; a++) line[a] = s_q[y][x][a];
    interpolate_line<Nq, symmetric>(s_I, line, [&](int i, double v) { s_q[y][x][i] = v; });
  }
  __syncthreads();
}
template <int Nq, bool symmetric, class Matrix, class Cube>
__device__ __forceinline__ void project_lines(const Matrix &s_I, Cube &s_q, double *aq, int y,
                                              int x) {
  constexpr int M = Nq + 1;
  double fine[M];
  if (y < Nq) {
#pragma unroll
    for (int i = 0; i < M; i++) fine[i] = s_q[y][x][i];
    project_line<Nq, symmetric>(s_I, fine, [&](int a, double v) { s_q[y][x][a] = v; });
  }
  __syncthreads();
  if (x < Nq && y < Nq) {
#pragma unroll
    for (int j = 0; j < M; j++) fine[j] = s_q[y][j][x];
    project_line<Nq, symmetric>(s_I, fine, [&](int b, double v) { aq[at<Nq>(y, b, x)] = v; });
  }
}

// The operator at point (k, j, i) with 3D thread blocks, one direction after the other (Algorithm
// 6): q(k, j, i) are values, partial(k, j, i) is a place for partial sums; `wait`: with a barrier
// before its first use. Unless the factors are loaded once, three are loaded again, as G10, G20,
// G21.
template <int n, bool unrolled, bool once, bool wait, class Matrix, class Input, class Values,
          class Places>
__device__ __forceinline__ void differentiate(const Matrix &s_D, Input G, double lambda, Values q,
                                              Places partial, double *result, int at_result = 0) {
  constexpr int points = n * n * n;
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, point = at<n>(k, j, i);
  const auto anew = [&](int factor) {
    constexpr bool is_const = std::is_same_v<Input, const double *>;
    return is_const ? G[factor * points + point + again()] : G[factor * points + point];
  };
  factors g;
  if (once)
    g = load<points>(G, point);
  else
    g.wJ = G[SP_G_WJ * points + point];
  const double qr = sum<n, unrolled>([&](int m) { return s_D[i][m] * q(k, j, m); });
  const double qs = sum<n, unrolled>([&](int m) { return s_D[j][m] * q(k, m, i); });
  const double qt = sum<n, unrolled>([&](int m) { return s_D[k][m] * q(m, j, i); });
  result[at_result] = g.wJ * lambda * q(k, j, i);
  if (wait) __syncthreads();
  if (!once) {
    g.rr = G[SP_G_RR * points + point];
    g.rs = G[SP_G_RS * points + point];
    g.rt = G[SP_G_RT * points + point];
  }
  partial(k, j, i) = g.r(qr, qs, qt);
  __syncthreads();
  result[at_result] += sum<n, unrolled>([&](int m) { return s_D[m][i] * partial(k, j, m); });
  __syncthreads();
  if (!once) {
    g.rs = anew(SP_G_RS);
    g.ss = G[SP_G_SS * points + point];
    g.st = G[SP_G_ST * points + point];
  }
  partial(k, j, i) = g.s(qr, qs, qt);
  __syncthreads();
  result[at_result] += sum<n, unrolled>([&](int m) { return s_D[m][j] * partial(k, m, i); });
  __syncthreads();
  if (!once) {
    g.rt = anew(SP_G_RT);
    g.st = anew(SP_G_ST);
    g.tt = G[SP_G_TT * points + point];
  }
  partial(k, j, i) = g.t(qr, qs, qt);
  __syncthreads();
  result[at_result] += sum<n, unrolled>([&](int m) { return s_D[m][k] * partial(m, j, i); });
}

// The same with an array for the partial sums of each direction, and a single barrier.
template <int n, class Matrix, class Input, class Cube>
__device__ __forceinline__ double differentiate_at_once(const Matrix &s_D, Input G, double lambda,
                                                        Cube &s_q, Cube &s_r, Cube &s_s,
                                                        Cube &s_t) {
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  const factors g = load<n * n * n>(G, at<n>(k, j, i));
  const double qr = sum<n>([&](int m) { return s_D[i][m] * s_q[k][j][m]; });
  const double qs = sum<n>([&](int m) { return s_D[j][m] * s_q[k][m][i]; });
  const double qt = sum<n>([&](int m) { return s_D[k][m] * s_q[m][j][i]; });
  s_r[k][j][i] = g.r(qr, qs, qt);
  s_s[k][j][i] = g.s(qr, qs, qt);
  s_t[k][j][i] = g.t(qr, qs, qt);
  double result = g.wJ * lambda * s_q[k][j][i];
  __syncthreads();
  result += sum<n>([&](int m) { return s_D[m][i] * s_r[k][j][m]; });
  result += sum<n>([&](int m) { return s_D[m][j] * s_s[k][m][i]; });
  result += sum<n>([&](int m) { return s_D[m][k] * s_t[m][j][i]; });
  return result;
}

// Advance pointers from the first element's data to the block's element, of the given sizes in
// doubles.
template <class... Pointers>
__device__ __forceinline__ void advance(size_t doubles, Pointers &...pointers) {
  ((pointers += blockIdx.x * doubles), ...);
}

// The threads of a block of the ladder.
static const dim3 block(BLOCK);

template <auto kernel, class... Arguments>
sp_status queue(sp_device *device, int elements, Arguments... arguments) {
  if (elements == 0) return SP_OK;
  kernel<<<elements, block, 0, device->stream>>>(arguments...);
  return SP_CUDA_STATUS(cudaGetLastError());
}

// Include one kernel in the resources of a row, which are the largest of all its kernels.
template <auto kernel> sp_status add_resources(sp_paper_resources *out) {
  cudaFuncAttributes attributes;
  SP_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  const auto raise = [](int &value, size_t other) {
    if (static_cast<int>(other) > value) value = static_cast<int>(other);
  };
  raise(out->registers, attributes.numRegs);
  raise(out->shared_bytes, attributes.sharedSizeBytes);
  raise(out->local_bytes, attributes.localSizeBytes);
  raise(out->threads, block.x * block.y * block.z);
  return SP_OK;
}

template <auto kernel> static sp_status resources(sp_paper_resources *out) {
  *out = {};
  return add_resources<kernel>(out);
}

// Inputs of a launch, which are not const in a kernel's first rungs.
struct inputs {
  sp_reference *matrices;
  double *factors, *q;
};

static sp_status find_inputs(const sp_paper_arguments *a, inputs *in) {
  in->factors = const_cast<double *>(a->factors);
  in->q = const_cast<double *>(a->q);
  return sp_paper_reference_get(SP_ORDER, &in->matrices);
}

template <auto kernel>
static sp_status launch_bp35(sp_device *device, const sp_paper_arguments *a) {
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->differentiation, in.factors, in.q, a->aq,
                       a->lambda);
}

template <auto kernel>
static sp_status launch_bp35_with_workspace(sp_device *device, const sp_paper_arguments *a) {
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->differentiation, in.factors, in.q, a->aq,
                       a->lambda, a->workspace);
}

template <auto kernel>
static sp_status launch_bp30(sp_device *device, const sp_paper_arguments *a) {
  inputs in;
  SP_TRY(find_inputs(a, &in));
  return queue<kernel>(device, a->elements, in.matrices->interpolation,
                       in.matrices->gl_differentiation, in.factors, in.q, a->aq, a->lambda);
}

// A row of a ladder's table: what the kernel adds, its workspace, its launcher.
#define SP_RUNG(adds, workspace, launch, kernel)                                                   \
  {                                                                                                \
    adds, workspace, {                                                                             \
      launch<kernel<SP_ORDER>>, resources<kernel<SP_ORDER>>                                        \
    }                                                                                              \
  }

#define SP_JOIN_(a, b) a##_##b
#define SP_JOIN(a, b) SP_JOIN_(a, b)
