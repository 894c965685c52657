// The local operators of one order, SP_ORDER: matrices, launches and the choice of kernels. The
// matrices lie in constant memory and are indexed at compile time, so that they are operands of the
// multiply-adds and nothing loads them.

extern "C" {
#include "mesh/geometry.h"
#include "operators/cuda/device.h"
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

#include "operators/cuda/queue.cu"

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

cudaError_t launch_kernel(kernel chosen, int blocks, int threads, size_t bytes,
                          const sp_cuda_arguments *arguments, cudaStream_t stream) {
  if (blocks == 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (error != cudaSuccess) return error;
  return queue(chosen, blocks, threads, bytes, stream, *arguments);
}

#if SP_ORDER == 7
// Blocks of a kernel that the device holds at a time.
int count_resident(kernel chosen, int threads, size_t bytes) {
  int device = 0, processors = 0, each = 0;
  (void)cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, chosen, threads, bytes);
  return processors * each > 0 ? processors * each : 1;
}
#endif

// Three variants of one kernel by mode; E elements a block.
template <kernel LOCAL, kernel ASSEMBLED, kernel CG, int E, int THREADS, size_t BYTES>
struct family {
  static int blocks(int elements, sp_cuda_mode mode) {
    (void)mode;
    return (elements + E - 1) / E;
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, sp_cuda_mode mode,
                            cudaStream_t stream) {
    const kernel chosen = mode == SP_CUDA_LOCAL       ? LOCAL
                          : mode == SP_CUDA_ASSEMBLED ? ASSEMBLED
                                                      : CG;
    return launch_kernel(chosen, blocks(arguments->last - arguments->first, mode), THREADS, BYTES,
                         arguments, stream);
  }

  static constexpr sp_cuda_kernel entry() {
    return {launch, blocks, BYTES};
  }
};

// Elements a block and blocks a multiprocessor (the bound on registers), by order; measured
// (README.md). Small blocks wait less at their barriers; the registers of a column and its results
// limit how many there are.
struct shape {
  int elements, blocks;
};
constexpr shape bp35_stored[] = {{0, 0},  {16, 12}, {7, 12}, {4, 10}, {5, 5}, {3, 5},
                                 {1, 10}, {1, 8},   {1, 5},  {1, 3},  {1, 3}, {1, 2},
                                 {1, 2},  {1, 1},   {1, 1},  {1, 1}};
constexpr shape bp35_trilinear[] = {{0, 0},  {16, 12}, {7, 12}, {4, 12}, {5, 5}, {3, 5},
                                    {1, 10}, {1, 8},   {1, 5},  {1, 4},  {1, 4}, {1, 3},
                                    {1, 2},  {1, 2},   {1, 2},  {1, 2}};
constexpr shape mass_shape[] = {{0, 0}, {7, 8}, {4, 8}, {5, 4}, {7, 3}, {5, 4}, {1, 16}, {1, 5},
                                {1, 4}, {1, 4}, {1, 4}, {1, 2}, {1, 2}, {1, 2}, {1, 1},  {1, 1}};
constexpr shape bp30_shape[] = {{0, 0}, {7, 8}, {4, 8}, {5, 4}, {3, 4}, {1, 8}, {1, 8}, {1, 5},
                                {1, 4}, {1, 4}, {1, 3}, {1, 2}, {1, 2}, {1, 1}, {1, 1}, {1, 1}};

template <int G> struct bp35_lines {
  static constexpr shape S = (G == TRILINEAR ? bp35_trilinear : bp35_stored)[SP_ORDER];
  static constexpr int E = S.elements, B = S.blocks;
  using type =
      family<bp35<E, B, G, SP_CUDA_LOCAL>, bp35<E, B, G, SP_CUDA_ASSEMBLED>,
             bp35<E, B, G, SP_CUDA_CG>, E, threads<E, Nq>, E * 3 * array_size<Nq> * sizeof(double)>;
};
template <int G> struct mass_lines {
  static constexpr int E = mass_shape[SP_ORDER].elements, B = mass_shape[SP_ORDER].blocks;
  using type =
      family<mass<E, B, G, SP_CUDA_LOCAL>, mass<E, B, G, SP_CUDA_ASSEMBLED>,
             mass<E, B, G, SP_CUDA_CG>, E, threads<E, M>, E * 2 * array_size<M> * sizeof(double)>;
};
template <int G> struct bp30_lines {
  static constexpr int E = bp30_shape[SP_ORDER].elements, B = bp30_shape[SP_ORDER].blocks;
  using type =
      family<bp30<E, B, G, SP_CUDA_LOCAL>, bp30<E, B, G, SP_CUDA_ASSEMBLED>,
             bp30<E, B, G, SP_CUDA_CG>, E, threads<E, M>, E * 3 * array_size<M> * sizeof(double)>;
};

#if SP_ORDER == 7
// The tensor cores' kernel where there are such. Between L-vectors there are as many blocks as the
// device holds at a time, and they go through the mesh.
template <int G> struct bp35_best {
  using lines = typename bp35_lines<G>::type;
  static constexpr int E = 4, THREADS = 32 * E;

  template <int MODE>
  static constexpr kernel slices = bp35_slices<E, MODE == SP_CUDA_LOCAL ? 3 : 2, G, MODE>;
  template <int MODE> static constexpr size_t bytes = E * sizeof(warp_memory<MODE>);

  static int blocks(int elements, sp_cuda_mode mode) {
    const int all = (elements + E - 1) / E;
    if (mode == SP_CUDA_CG || !has_slices()) return lines::blocks(elements, mode);
    if (mode == SP_CUDA_LOCAL) return all;
    static const int resident =
        count_resident(slices<SP_CUDA_ASSEMBLED>, THREADS, bytes<SP_CUDA_ASSEMBLED>);
    return all < resident ? all : resident;
  }

  static cudaError_t launch(const sp_cuda_arguments *a, sp_cuda_mode mode, cudaStream_t stream) {
    if (mode == SP_CUDA_CG || !has_slices()) return lines::launch(a, mode, stream);
    const int count = blocks(a->last - a->first, mode);
    return mode == SP_CUDA_LOCAL ? launch_kernel(slices<SP_CUDA_LOCAL>, count, THREADS,
                                                 bytes<SP_CUDA_LOCAL>, a, stream)
                                 : launch_kernel(slices<SP_CUDA_ASSEMBLED>, count, THREADS,
                                                 bytes<SP_CUDA_ASSEMBLED>, a, stream);
  }

  static_assert(bytes<SP_CUDA_LOCAL> <= 99 << 10, "every GPU with FP64 tensor cores has so much");
  static_assert(bytes<SP_CUDA_ASSEMBLED> <= 99 << 10,
                "every GPU with FP64 tensor cores has so much");

  static constexpr sp_cuda_kernel entry() {
    return {launch, blocks, lines::entry().shared_bytes};
  }
};
#else
template <int G> using bp35_best = typename bp35_lines<G>::type;
#endif

} // namespace

extern "C" const sp_cuda_order JOIN(sp_cuda_order_, SP_ORDER) = {
    prepare,
    {{mass_lines<STORED>::type::entry(), mass_lines<TRILINEAR>::type::entry()},
     {bp35_best<STORED>::entry(), bp35_best<TRILINEAR>::entry()},
     {bp30_lines<STORED>::type::entry(), bp30_lines<TRILINEAR>::type::entry()}}};
