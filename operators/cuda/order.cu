// The local operators of one order, SP_ORDER: matrices, launches and the choice of kernels. The
// matrices lie in constant memory and are indexed at compile time, so that they are operands of the
// multiply-adds and nothing loads them.

extern "C" {
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/cuda/device.h"
#include "operators/cuda/launch.h"
}

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace {

constexpr int Nq = SP_ORDER + 1, M = Nq + 1, Np = Nq * Nq * Nq;
constexpr int EDGE_NODES = 12 * SP_ORDER - 4, SURFACE_NODES = 6 * SP_ORDER * SP_ORDER + 2;
constexpr int INNER_NODES = Np - SURFACE_NODES;
enum geometry { STORED, TRILINEAR };

template <int n> constexpr int half = (n + 1) / 2;

// Matrices are split into even and odd parts (mesh/reference.h).
__constant__ double c_d_even[half<Nq> * half<Nq>], c_d_odd[half<Nq> * half<Nq>];
__constant__ double c_gl_d_even[half<M> * half<M>], c_gl_d_odd[half<M> * half<M>];
__constant__ double c_i_even[half<M> * half<Nq>], c_i_odd[half<M> * half<Nq>];
__constant__ double c_gll_nodes[Nq], c_gll_weights[Nq], c_gl_nodes[M], c_gl_weights[M];

// D on n points: GLL if n is the number of nodes, GL otherwise.
template <int n> struct derivative {
  static constexpr int rows = n, columns = n, sign = -1;
  static __device__ __forceinline__ double even(int r, int c) {
    return n == Nq ? c_d_even[r * half<Nq> + c] : c_gl_d_even[r * half<M> + c];
  }
  static __device__ __forceinline__ double odd(int r, int c) {
    return n == Nq ? c_d_odd[r * half<Nq> + c] : c_gl_d_odd[r * half<M> + c];
  }
};
template <int n> struct derivative_transposed {
  static constexpr int rows = n, columns = n, sign = -1;
  static __device__ __forceinline__ double even(int r, int c) {
    return derivative<n>::odd(c, r);
  }
  static __device__ __forceinline__ double odd(int r, int c) {
    return derivative<n>::even(c, r);
  }
};
// I from nodes to Gauss points, and its transpose.
struct interpolation {
  static constexpr int rows = M, columns = Nq, sign = 1;
  static __device__ __forceinline__ double even(int r, int c) {
    return c_i_even[r * half<Nq> + c];
  }
  static __device__ __forceinline__ double odd(int r, int c) {
    return c_i_odd[r * half<Nq> + c];
  }
};
struct projection {
  static constexpr int rows = Nq, columns = M, sign = 1;
  static __device__ __forceinline__ double even(int r, int c) {
    return interpolation::even(c, r);
  }
  static __device__ __forceinline__ double odd(int r, int c) {
    return interpolation::odd(c, r);
  }
};
template <int n> __device__ __forceinline__ double point(int i) {
  return n == Nq ? c_gll_nodes[i] : c_gl_nodes[i];
}
template <int n> __device__ __forceinline__ double weight(int i) {
  return n == Nq ? c_gll_weights[i] : c_gl_weights[i];
}

#include "operators/cuda/sums.cu"

#include "operators/cuda/queue.cu"

#include "operators/cuda/nodes.cu"

#include "operators/cuda/geometry.cu"

#include "operators/cuda/lines.cu"

// ---- Launches ----------------------------------------------------------------------------------

cudaError_t prepare(const sp_reference *reference) {
  sp_even_odd d, gl_d, to_gl;
  sp_even_odd_split(Nq, Nq, reference->differentiation, &d);
  sp_even_odd_split(M, M, reference->gl_differentiation, &gl_d);
  sp_even_odd_split(M, Nq, reference->interpolation, &to_gl);
  unsigned short places[Np], offsets[Np];
  sp_cuda_node_order(SP_ORDER, places);
  for (int q = 0; q < Np; q++) {
    const unsigned i = places[q] % Nq, j = places[q] / Nq % Nq, k = places[q] / (Nq * Nq);
    offsets[q] = (unsigned short)place_of<Nq>(k, j, i);
  }
  const struct {
    const void *symbol, *values;
    size_t bytes;
  } tables[] = {{d_places, places, sizeof d_places},
                {d_offsets, offsets, sizeof d_offsets},
                {c_d_even, d.even, sizeof c_d_even},
                {c_d_odd, d.odd, sizeof c_d_odd},
                {c_gl_d_even, gl_d.even, sizeof c_gl_d_even},
                {c_gl_d_odd, gl_d.odd, sizeof c_gl_d_odd},
                {c_i_even, to_gl.even, sizeof c_i_even},
                {c_i_odd, to_gl.odd, sizeof c_i_odd},
                {c_gll_nodes, reference->gll.nodes, sizeof c_gll_nodes},
                {c_gll_weights, reference->gll.weights, sizeof c_gll_weights},
                {c_gl_nodes, reference->gl.nodes, sizeof c_gl_nodes},
                {c_gl_weights, reference->gl.weights, sizeof c_gl_weights}};
  for (const auto &table : tables) {
    const cudaError_t error = cudaMemcpyToSymbol(table.symbol, table.values, table.bytes);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

using kernel = void (*)(sp_cuda_arguments);

cudaError_t launch_kernel(kernel chosen, int blocks, int threads, size_t bytes,
                          const sp_cuda_arguments *arguments, cudaStream_t stream) {
  if (blocks == 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (error != cudaSuccess) return error;
  return start(!arguments->forks, chosen, blocks, threads, bytes, stream, *arguments);
}

// Three variants of one kernel by mode; E elements a block. LOCAL may need MORE shared memory.
template <kernel LOCAL, kernel ASSEMBLED, kernel CG, int E, int THREADS, size_t BYTES,
          size_t MORE = 0>
struct family {
  static int blocks(int elements) {
    return (elements + E - 1) / E;
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, sp_cuda_mode mode,
                            cudaStream_t stream) {
    const kernel chosen = mode == SP_CUDA_LOCAL       ? LOCAL
                          : mode == SP_CUDA_ASSEMBLED ? ASSEMBLED
                                                      : CG;
    return launch_kernel(chosen, blocks(arguments->last - arguments->first), THREADS,
                         BYTES + (mode == SP_CUDA_LOCAL ? MORE : 0), arguments, stream);
  }

  static constexpr sp_cuda_kernel entry() {
    return {launch, blocks, BYTES + MORE};
  }
};

// Elements a block and blocks a multiprocessor (the bound on registers), by order; measured
// (README.md). Small blocks wait less at their barriers; the registers of a column and its results
// limit how many there are. A block that is alone (1) asks for all its stored factors at once.
struct shape {
  int elements, blocks;
};
constexpr shape bp35_stored[] = {{0, 0},  {16, 12}, {7, 12}, {4, 12}, {5, 6}, {3, 5},
                                 {1, 10}, {1, 8},   {1, 5},  {1, 4},  {1, 4}, {1, 3},
                                 {1, 2},  {1, 2},   {1, 2},  {1, 1}};
constexpr shape bp35_trilinear[] = {{0, 0}, {16, 12}, {7, 12}, {4, 12}, {5, 6}, {3, 6},
                                    {3, 4}, {1, 10},  {1, 6},  {1, 5},  {1, 5}, {1, 4},
                                    {1, 3}, {1, 2},   {1, 2},  {1, 2}};
constexpr shape mass_shape[] = {{0, 0}, {7, 8}, {4, 8}, {5, 8}, {7, 4}, {5, 5}, {2, 8}, {1, 8},
                                {1, 4}, {1, 4}, {1, 4}, {1, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2}};
constexpr shape bp30_shape[] = {{0, 0}, {7, 8}, {4, 8}, {5, 6}, {3, 5}, {3, 4}, {1, 8}, {1, 5},
                                {1, 4}, {1, 4}, {1, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 1}};

// Layers of an element's stored factors that go ahead to shared memory between E-vectors. Between
// L-vectors this costs more than it gains (README.md). How addresses of factors are written is
// chosen in lines.cu.
constexpr int bp35_ahead[] = {0, 0, 3, 0, 5, 0, 7, 3, 9, 5, 0, 3, 0, 0, 0, 0};

template <int G> struct bp35_lines {
  static constexpr shape S = (G == TRILINEAR ? bp35_trilinear : bp35_stored)[SP_ORDER];
  static constexpr int E = S.elements, B = S.blocks;
  static constexpr int LAYERS = G == STORED ? bp35_ahead[SP_ORDER] : 0;
  using type = family<bp35<E, B, G, SP_CUDA_LOCAL, LAYERS>, bp35<E, B, G, SP_CUDA_ASSEMBLED, 0>,
                      bp35<E, B, G, SP_CUDA_CG, 0>, E, threads<E, Nq>,
                      stiffness_room<E> * sizeof(double), ahead_size<E, LAYERS> * sizeof(double)>;
};
template <int G> struct mass_lines {
  static constexpr int E = mass_shape[SP_ORDER].elements, B = mass_shape[SP_ORDER].blocks;
  using type = family<mass<E, B, G, SP_CUDA_LOCAL>, mass<E, B, G, SP_CUDA_ASSEMBLED>,
                      mass<E, B, G, SP_CUDA_CG>, E, threads<E, M>, E * MASS_SIZE * sizeof(double)>;
};
template <int G> struct bp30_lines {
  static constexpr int E = bp30_shape[SP_ORDER].elements, B = bp30_shape[SP_ORDER].blocks;
  using type = family<bp30<E, B, G, SP_CUDA_LOCAL>, bp30<E, B, G, SP_CUDA_ASSEMBLED>,
                      bp30<E, B, G, SP_CUDA_CG>, E, threads<E, M>, E * BP30_SIZE * sizeof(double)>;
};

} // namespace

extern "C" const sp_cuda_order JOIN(sp_cuda_order_, SP_ORDER) = {
    prepare,
    {{mass_lines<STORED>::type::entry(), mass_lines<TRILINEAR>::type::entry()},
     {bp35_lines<STORED>::type::entry(), bp35_lines<TRILINEAR>::type::entry()},
     {bp30_lines<STORED>::type::entry(), bp30_lines<TRILINEAR>::type::entry()}}};
