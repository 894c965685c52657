// The local operators of one order, SP_ORDER: matrices, launches and the choice of kernels. The
// matrices lie in constant memory and are indexed at compile time, so that they are operands of the
// multiply-adds and nothing loads them.

extern "C" {
#include "mesh/geometry.h"
#include "operators/cuda/launch.h"
}

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace {

constexpr int Nq = SP_ORDER + 1, M = Nq + 1, Np = Nq * Nq * Nq;
constexpr int RIM = 4 * SP_ORDER, INNER_NODES = (Nq - 2) * (Nq - 2) * (Nq - 2);
constexpr int SURFACE_NODES = Np - INNER_NODES;    // sp_cuda_surface_nodes()
constexpr int EDGE_NODES = 2 * RIM + 4 * (Nq - 2); // sp_cuda_edge_nodes()
enum geometry { STORED, TRILINEAR };

__constant__ double c_differentiation[Nq * Nq], c_gl_differentiation[M * M],
    c_interpolation[M * Nq];
__constant__ double c_gll_nodes[Nq], c_gll_weights[Nq], c_gl_nodes[M], c_gl_weights[M];

// D on n points: GLL if n is the number of nodes, GL otherwise.
template <int n> __device__ __forceinline__ double D(int row, int column) {
  return n == Nq ? c_differentiation[row * Nq + column] : c_gl_differentiation[row * M + column];
}
template <int n> __device__ __forceinline__ double point(int i) {
  return n == Nq ? c_gll_nodes[i] : c_gl_nodes[i];
}
template <int n> __device__ __forceinline__ double weight(int i) {
  return n == Nq ? c_gll_weights[i] : c_gl_weights[i];
}
__device__ __forceinline__ double I(int row, int column) {
  return c_interpolation[row * Nq + column];
}

#include "operators/cuda/sums.cu"

#include "operators/cuda/nodes.cu"

#include "operators/cuda/geometry.cu"

#include "operators/cuda/lines.cu"

#include "operators/cuda/slices.cu"

// ---- Launches ----------------------------------------------------------------------------------

cudaError_t prepare(const sp_reference *reference) {
  const struct {
    const void *symbol;
    const double *values;
    size_t count;
  } tables[] = {{c_differentiation, reference->differentiation, Nq * Nq},
                {c_gl_differentiation, reference->gl_differentiation, M * M},
                {c_interpolation, reference->interpolation, M * Nq},
                {c_gll_nodes, reference->gll.nodes, Nq},
                {c_gll_weights, reference->gll.weights, Nq},
                {c_gl_nodes, reference->gl.nodes, M},
                {c_gl_weights, reference->gl.weights, M}};
  for (const auto &table : tables) {
    const cudaError_t error =
        cudaMemcpyToSymbol(table.symbol, table.values, table.count * sizeof(double));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

using kernel = void (*)(sp_cuda_arguments);

// Three variants of one kernel by mode; E elements a block.
template <kernel LOCAL, kernel ASSEMBLED, kernel CG, int E, int THREADS, size_t BYTES>
struct family {
  static kernel choose(sp_cuda_mode mode) {
    return mode == SP_CUDA_LOCAL ? LOCAL : mode == SP_CUDA_ASSEMBLED ? ASSEMBLED : CG;
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, sp_cuda_mode mode,
                            cudaStream_t stream) {
    const int elements = arguments->last - arguments->first;
    if (elements == 0) return cudaSuccess;
    const cudaError_t error =
        cudaFuncSetAttribute(choose(mode), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)BYTES);
    if (error != cudaSuccess) return error;
    choose(mode)<<<(elements + E - 1) / E, THREADS, BYTES, stream>>>(*arguments);
    return cudaGetLastError();
  }

  static constexpr sp_cuda_kernel entry() {
    return {launch, E};
  }
};

// Elements a block: about 256 threads, as far as 160 KB of shared memory for two blocks a
// multiprocessor allow.
constexpr int limit(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}
template <int n, int arrays>
constexpr int elements_per_block =
    limit(limit(256 / (n * n), 1, 256), 1,
          limit(80 * 1024 / (arrays * array_size<n> * (int)sizeof(double)), 1, 256));

// Registers for columns of n values and their results decide how many blocks a multiprocessor
// holds.
template <int block> constexpr int min_blocks = limit(512 / block, 1, 16);

template <int G> struct bp35_lines {
  static constexpr int E = elements_per_block<Nq, 3>, T = threads<E, Nq>, B = min_blocks<T>;
  using type = family<bp35<E, B, G, SP_CUDA_LOCAL>, bp35<E, B, G, SP_CUDA_ASSEMBLED>,
                      bp35<E, B, G, SP_CUDA_CG>, E, T, E * 3 * array_size<Nq> * sizeof(double)>;
};
template <int G> struct mass_lines {
  static constexpr int E = elements_per_block<M, 2>, T = threads<E, M>, B = min_blocks<T>;
  using type = family<mass<E, B, G, SP_CUDA_LOCAL>, mass<E, B, G, SP_CUDA_ASSEMBLED>,
                      mass<E, B, G, SP_CUDA_CG>, E, T, E * 2 * array_size<M> * sizeof(double)>;
};
template <int G> struct bp30_lines {
  static constexpr int E = elements_per_block<M, 3>, T = threads<E, M>, B = min_blocks<T>;
  using type = family<bp30<E, B, G, SP_CUDA_LOCAL>, bp30<E, B, G, SP_CUDA_ASSEMBLED>,
                      bp30<E, B, G, SP_CUDA_CG>, E, T, E * 3 * array_size<M> * sizeof(double)>;
};

#if SP_ORDER == 7
template <int G> struct bp35_slices_ {
  static constexpr int E = 4, B = G == TRILINEAR ? 2 : 3;
  using type = family<bp35_slices<E, B, G, SP_CUDA_LOCAL>, bp35_slices<E, B, G, SP_CUDA_ASSEMBLED>,
                      bp35_slices<E, B, G, SP_CUDA_CG>, E, 32 * E, 0>;
};
template <int G> using bp35_best = typename bp35_slices_<G>::type;
#else
template <int G> using bp35_best = typename bp35_lines<G>::type;
#endif

} // namespace

extern "C" const sp_cuda_order JOIN(sp_cuda_order_, SP_ORDER) = {
    prepare,
    {{mass_lines<STORED>::type::entry(), mass_lines<TRILINEAR>::type::entry()},
     {bp35_best<STORED>::entry(), bp35_best<TRILINEAR>::entry()},
     {bp30_lines<STORED>::type::entry(), bp30_lines<TRILINEAR>::type::entry()}}};
