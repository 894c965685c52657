// What the ladders share: how inputs are declared, indices, the sign of summation, and the launch.
// Everything that a rung may change is in the rung itself. CUDA C++, for the .cu files here.
//
// One block of threads works on one element. `__launch_bounds__` only tells the compiler how many
// threads a block has; without it, threads of large blocks could get more registers than fit.
#ifndef SP_OPERATORS_PAPER_KERNEL_H
#define SP_OPERATORS_PAPER_KERNEL_H

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

// Sum of term(m) over m = 0 .. n - 1. rolled_sum is for the rungs before the one that unrolls its
// loops: today's compiler unrolls unless told not to.
template <int n, class Term> __device__ __forceinline__ double sum(Term term) {
  double result = 0;
#pragma unroll
  for (int m = 0; m < n; m++) result += term(m);
  return result;
}
template <int n, class Term> __device__ __forceinline__ double rolled_sum(Term term) {
  double result = 0;
#pragma unroll 1
  for (int m = 0; m < n; m++) result += term(m);
  return result;
}

// Zero, which the compiler cannot know: grids have one row. With this in its index a value is
// loaded again; without, today's compiler would reuse the value of an earlier load.
__device__ __forceinline__ unsigned again() {
  return blockIdx.y;
}

// After this call values are read from shared memory again. Otherwise today's compiler would hold
// all of a matrix in registers, or spill it, from one contraction to the next.
__device__ __forceinline__ void forget() {
  __syncwarp();
}

// One line of interpolation, write(i, sum over a of I[i][a] line[a]), for which every entry of I is
// read once and used twice: I[i][a] = I[M - 1 - i][Nq - 1 - a]. BP1.0 kernel 8, BP3.0 kernel 9.
template <int Nq, class Matrix, class Write>
__device__ __forceinline__ void interpolate_line(const Matrix &I, const double *line, Write write) {
  constexpr int M = Nq + 1;
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

// The transpose: result[a] = sum over i of I[i][a] line[i].
template <int Nq, class Matrix>
__device__ __forceinline__ void project_line(const Matrix &I, const double *line, double *result) {
  constexpr int M = Nq + 1;
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
}

template <auto kernel, class... Arguments>
sp_status queue(sp_device *device, int elements, dim3 block, Arguments... arguments) {
  if (elements == 0) return SP_OK;
  kernel<<<elements, block, 0, device->stream>>>(arguments...);
  SP_CUDA(cudaGetLastError());
  return SP_OK;
}

// Include one kernel in the resources of a row, which are the largest of all its kernels.
template <auto kernel> sp_status add_resources(dim3 block, sp_paper_resources *out) {
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

// A row of a ladder's table: what the kernel adds, its workspace, its launcher.
#define SP_RUNG(adds, workspace, launch, kernel)                                                   \
  {                                                                                                \
    adds, workspace, {                                                                             \
      launch<kernel<SP_ORDER>>, resources<kernel<SP_ORDER>>                                        \
    }                                                                                              \
  }

#define SP_JOIN_(a, b) a##_##b
#define SP_JOIN(a, b) SP_JOIN_(a, b)

#endif
