// The local operators of one order, SP_ORDER, in double precision, or with SP_FLOAT in single:
// matrices, launches and the choice of kernels. The matrices are in constant memory and indexed at
// compile time, so that they are operands of the multiply-adds and need no loads.

extern "C" {
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/cuda/launch.h"
}

#include <algorithm>
#include <type_traits>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace {

#if SP_FLOAT
using real = float;
#else
using real = double;
#endif
#define SP_TENSOR_CORES (SP_ORDER == 3 && !SP_FLOAT)
#define SP_PATCHES (SP_ORDER <= SP_CUDA_PATCH_MOST_ORDER && !SP_FLOAT)

constexpr int Nq = SP_ORDER + 1, M = Nq + 1, Np = Nq * Nq * Nq;
constexpr int EDGE_NODES = 12 * SP_ORDER - 4, SURFACE_NODES = 6 * SP_ORDER * SP_ORDER + 2;
constexpr int INNER_NODES = Np - SURFACE_NODES;
enum geometry {
  STORED = SP_FACTORS_STORED,
  TRILINEAR = SP_FACTORS_TRILINEAR,
  SCALED = SP_FACTORS_SCALED,
  ROUNDED = SP_FACTORS_ROUNDED,
  AFFINE = SP_FACTORS_AFFINE
};
template <int G> constexpr bool is_trilinear = G == TRILINEAR || G == SCALED || G == AFFINE;

template <int n> constexpr int half = (n + 1) / 2;

// Arrays of sp_cuda_arguments.
__device__ __forceinline__ const real *reals(const void *values) {
  return (const real *)values;
}
__device__ __forceinline__ real *reals(void *values) {
  return (real *)values;
}

// Matrices are split into even and odd parts (mesh/reference.h).
__constant__ real c_d_even[half<Nq> * half<Nq>], c_d_odd[half<Nq> * half<Nq>];
__constant__ real c_gl_d_even[half<M> * half<M>], c_gl_d_odd[half<M> * half<M>];
__constant__ real c_i_even[half<M> * half<Nq>], c_i_odd[half<M> * half<Nq>];
__constant__ real c_gll_nodes[Nq], c_gll_weights[Nq], c_gl_nodes[M], c_gl_weights[M];

// D on n points: GLL if n is the number of nodes, GL otherwise.
template <int n> struct derivative {
  static constexpr int rows = n, columns = n, sign = -1;
  static __device__ __forceinline__ real even(int r, int c) {
    return n == Nq ? c_d_even[r * half<Nq> + c] : c_gl_d_even[r * half<M> + c];
  }
  static __device__ __forceinline__ real odd(int r, int c) {
    return n == Nq ? c_d_odd[r * half<Nq> + c] : c_gl_d_odd[r * half<M> + c];
  }
};
// I from nodes to Gauss points.
struct interpolation {
  static constexpr int rows = M, columns = Nq, sign = 1;
  static __device__ __forceinline__ real even(int r, int c) {
    return c_i_even[r * half<Nq> + c];
  }
  static __device__ __forceinline__ real odd(int r, int c) {
    return c_i_odd[r * half<Nq> + c];
  }
};
// Transposition exchanges the parts of a matrix that changes sign (D).
template <class Matrix> struct transposed {
  static constexpr int rows = Matrix::columns, columns = Matrix::rows, sign = Matrix::sign;
  static __device__ __forceinline__ real even(int r, int c) {
    return sign > 0 ? Matrix::even(c, r) : Matrix::odd(c, r);
  }
  static __device__ __forceinline__ real odd(int r, int c) {
    return sign > 0 ? Matrix::odd(c, r) : Matrix::even(c, r);
  }
};
template <int n> using derivative_transposed = transposed<derivative<n>>;
using projection = transposed<interpolation>;

template <int n> __device__ __forceinline__ real point(int i) {
  return n == Nq ? c_gll_nodes[i] : c_gl_nodes[i];
}
template <int n> __device__ __forceinline__ real weight(int i) {
  return n == Nq ? c_gll_weights[i] : c_gl_weights[i];
}

#include "operators/cuda/sums.cuh"

#include "operators/cuda/queue.cuh"

#include "operators/cuda/nodes.cuh"

#include "operators/cuda/geometry.cuh"

#include "operators/cuda/lines.cuh"

#include "operators/cuda/boxes.cuh"

#if SP_TENSOR_CORES
#include "operators/cuda/tensor.cuh"
#endif

#if SP_PATCHES
#include "operators/cuda/patches.cuh"
#endif

// ---- Launches ----------------------------------------------------------------------------------

// table = values, rounded to its precision.
template <int count> cudaError_t send(const double *values, real (&table)[count]) {
  real rounded[count];
  for (int i = 0; i < count; i++) rounded[i] = (real)values[i];
  return cudaMemcpyToSymbol(table, rounded, sizeof rounded);
}

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
  cudaError_t error = cudaMemcpyToSymbol(d_places, places, sizeof places);
  if (!error) error = cudaMemcpyToSymbol(d_offsets, offsets, sizeof offsets);
  if (!error) error = send(d.even, c_d_even);
  if (!error) error = send(d.odd, c_d_odd);
  if (!error) error = send(gl_d.even, c_gl_d_even);
  if (!error) error = send(gl_d.odd, c_gl_d_odd);
  if (!error) error = send(to_gl.even, c_i_even);
  if (!error) error = send(to_gl.odd, c_i_odd);
  if (!error) error = send(reference->gll.nodes, c_gll_nodes);
  if (!error) error = send(reference->gll.weights, c_gll_weights);
  if (!error) error = send(reference->gl.nodes, c_gl_nodes);
  if (!error) error = send(reference->gl.weights, c_gl_weights);
  if (error) return error;
#if SP_TENSOR_CORES
  return prepare_groups(reference);
#else
  return cudaSuccess;
#endif
}

using kernel = void (*)(sp_cuda_arguments);

// One kernel, with E elements per block.
template <kernel KERNEL, int E, int THREADS, size_t BYTES> struct variant {
  static constexpr size_t bytes = BYTES; // of shared memory per block

  static int blocks(int elements) {
    return blocks_for((size_t)elements, E);
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
    return start(!arguments->forks, nullptr, KERNEL, blocks(arguments->last - arguments->first),
                 THREADS, BYTES, stream, *arguments);
  }
};

// One kernel from sm_90 on, another one for older GPUs.
template <class SINCE, class BEFORE> struct since_90 {
  static constexpr size_t bytes = larger(SINCE::bytes, BEFORE::bytes);

  static int blocks(int elements) {
    return sp_cuda_architecture() >= 90 ? SINCE::blocks(elements) : BEFORE::blocks(elements);
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
    return sp_cuda_architecture() >= 90 ? SINCE::launch(arguments, stream)
                                        : BEFORE::launch(arguments, stream);
  }
};

// Elements per block and blocks per multiprocessor (which bounds the registers), by order, from
// measurements (MEASUREMENTS.md). Small blocks wait less at barriers; the registers of a column and
// its results limit the number of blocks. If only one block fits, it prefetches all its stored
// factors at once.
struct shape {
  int elements, blocks;
};
#if SP_FLOAT
constexpr shape bp35_stored[] = {{0, 0}, {16, 18}, {7, 18}, {4, 18}, {5, 7}, {3, 9},
                                 {3, 7}, {1, 18},  {1, 9},  {1, 7},  {1, 7}, {1, 7},
                                 {1, 5}, {1, 4},   {1, 3},  {1, 2}};
constexpr shape bp35_trilinear[] = {{0, 0}, {16, 18}, {7, 18}, {4, 18}, {5, 9}, {3, 9},
                                    {3, 7}, {1, 18},  {1, 12}, {1, 9},  {1, 9}, {1, 7},
                                    {1, 6}, {1, 4},   {1, 3},  {1, 2}};
constexpr const shape *bp35_affine = bp35_trilinear;
constexpr shape mass_stored[] = {{0, 0}, {7, 16}, {4, 16}, {5, 8}, {7, 4}, {5, 4}, {2, 8}, {1, 8},
                                 {1, 8}, {1, 6},  {1, 5},  {1, 5}, {1, 4}, {1, 3}, {1, 3}, {1, 2}};
constexpr const shape *mass_trilinear = mass_stored;
constexpr shape bp30_shape[] = {{0, 0}, {7, 10}, {4, 10}, {5, 5}, {3, 5}, {3, 4}, {1, 10}, {1, 7},
                                {1, 5}, {1, 5},  {1, 4},  {1, 3}, {1, 3}, {1, 2}, {1, 2},  {1, 1}};
#else
constexpr shape bp35_stored[] = {{0, 0},  {16, 12}, {7, 12}, {4, 12}, {5, 6}, {3, 5},
                                 {1, 10}, {1, 8},   {1, 5},  {1, 4},  {1, 4}, {1, 3},
                                 {1, 2},  {1, 2},   {1, 2},  {1, 1}};
constexpr shape bp35_trilinear[] = {{0, 0}, {16, 12}, {7, 12}, {4, 12}, {5, 6}, {3, 6},
                                    {3, 4}, {1, 10},  {1, 6},  {1, 5},  {1, 5}, {1, 4},
                                    {1, 3}, {1, 2},   {1, 2},  {1, 2}};
constexpr shape bp35_affine[] = {{0, 0}, {16, 12}, {7, 12}, {4, 12}, {5, 7}, {3, 7},
                                 {3, 5}, {1, 10},  {1, 6},  {1, 6},  {1, 5}, {1, 4},
                                 {1, 3}, {1, 2},   {1, 2},  {1, 2}};
constexpr shape mass_stored[] = {{0, 0}, {7, 8}, {4, 8}, {5, 8}, {3, 10}, {5, 5}, {2, 8}, {1, 8},
                                 {1, 4}, {1, 4}, {1, 4}, {1, 3}, {1, 2},  {1, 2}, {1, 2}, {1, 2}};
constexpr shape mass_trilinear[] = {{0, 0}, {7, 8}, {4, 8}, {5, 8}, {7, 4}, {5, 5}, {2, 8}, {1, 8},
                                    {1, 4}, {1, 4}, {1, 4}, {1, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2}};
constexpr shape bp30_shape[] = {{0, 0}, {7, 8}, {4, 8}, {5, 6}, {3, 5}, {3, 4}, {1, 8}, {1, 5},
                                {1, 4}, {1, 4}, {1, 3}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 1}};
#endif

// In double precision between E-vectors: layers of an element's stored factors copied to shared
// memory in advance, and slots of the ring for all layers. Between L-vectors both cost more than
// they gain (MEASUREMENTS.md), except for the ring in CG at N = 13. lines.cuh chooses how addresses
// of factors are written.
constexpr int bp35_ahead[] = {0, 0, 3, 0, 5, 0, 7, 3, 9, 5, 0, 3, 0, 0, 0, 0};

template <int G>
constexpr shape bp35_shape = (G == AFFINE       ? bp35_affine
                              : is_trilinear<G> ? bp35_trilinear
                                                : bp35_stored)[SP_ORDER];
template <int G>
constexpr shape mass_shape = (is_trilinear<G> ? mass_trilinear : mass_stored)[SP_ORDER];
template <int G, int MODE>
constexpr int layers_ahead = (!SP_FLOAT && G == STORED && MODE == SP_CUDA_LOCAL)
                                 ? bp35_ahead[SP_ORDER]
                                 : 0;
template <int G, int MODE>
constexpr int ring_slots = (SP_FLOAT || G != STORED || SP_ORDER != 13) ? 0
                           : MODE == SP_CUDA_LOCAL                     ? 4
                           : MODE == SP_CUDA_CG                        ? 3
                                                                       : 0;

template <int G, int MODE, int E = bp35_shape<G>.elements, int LAYERS = layers_ahead<G, MODE>,
          int SLOTS = ring_slots<G, MODE>>
using bp35_lines = variant<bp35<E, bp35_shape<G>.blocks, G, MODE, LAYERS, SLOTS>, E, threads<E, Nq>,
                           sizeof(real) * (stiffness_room<E> + copies_room<E, LAYERS, SLOTS>())>;
template <int G, int MODE, int E = mass_shape<G>.elements>
using mass_lines =
    variant<mass<E, mass_shape<G>.blocks, G, MODE>, E, threads<E, M>, E * MASS_SIZE * sizeof(real)>;
template <int G, int MODE, int E = bp30_shape[SP_ORDER].elements>
using bp30_lines = variant<bp30<E, bp30_shape[SP_ORDER].blocks, G, MODE>, E, threads<E, M>,
                           E * BP30_SIZE * sizeof(real)>;

#if SP_TENSOR_CORES
// On tensor cores; BLOCKS is blocks per multiprocessor. Pass 1 of CG with the mass operator and
// stored factors is faster by lines.
template <kernel KERNEL, class TEAM>
using group_variant = variant<KERNEL, WARPS * GROUP, WARPS * 32, WARPS * TEAM::bytes>;

template <int G, int MODE, int BLOCKS = G == STORED ? 3 : 4>
using bp35_fastest =
    since_90<group_variant<bp35_group<BLOCKS, G, MODE>, bp35_team<MODE, G>>, bp35_lines<G, MODE>>;
template <int G, int MODE> struct mass_choice {
  using type =
      since_90<group_variant<mass_group<3, G, MODE>, mass_team<MODE, G>>, mass_lines<G, MODE>>;
};
template <> struct mass_choice<STORED, SP_CUDA_CG> { using type = mass_lines<STORED, SP_CUDA_CG>; };
template <int G, int MODE> using mass_fastest = typename mass_choice<G, MODE>::type;
#else
template <int G, int MODE> using bp35_fastest = bp35_lines<G, MODE>;
template <int G, int MODE> using mass_fastest = mass_lines<G, MODE>;
#endif
template <int G, int MODE> using bp30_fastest = bp30_lines<G, MODE>;

// The modes of a local operator; single precision has no pass of CG.
template <template <int, int> class OPERATOR, int G>
cudaError_t launch_mode(const sp_cuda_arguments *arguments, sp_cuda_mode mode,
                        cudaStream_t stream) {
  if (mode == SP_CUDA_LOCAL) return OPERATOR<G, SP_CUDA_LOCAL>::launch(arguments, stream);
  if (mode == SP_CUDA_ASSEMBLED) return OPERATOR<G, SP_CUDA_ASSEMBLED>::launch(arguments, stream);
  if constexpr (SP_FLOAT)
    return cudaErrorNotSupported;
  else
    return OPERATOR<G, SP_CUDA_CG>::launch(arguments, stream);
}

template <template <int, int> class OPERATOR, int G> constexpr sp_cuda_kernel entry() {
  using assembled = OPERATOR<G, SP_CUDA_ASSEMBLED>;
  constexpr size_t bytes = larger(OPERATOR<G, SP_CUDA_LOCAL>::bytes, assembled::bytes);
  if constexpr (SP_FLOAT) {
    return {launch_mode<OPERATOR, G>, assembled::blocks, bytes};
  } else {
    using cg = OPERATOR<G, SP_CUDA_CG>;
    return {launch_mode<OPERATOR, G>, cg::blocks, larger(bytes, cg::bytes)};
  }
}

template <sp_cuda_box_pass PASS>
cudaError_t launch_pass(const sp_cuda_arguments *arguments, const sp_cuda_boxes *boxes,
                        cudaStream_t stream) {
  const int blocks = blocks_for((size_t)(arguments->last - arguments->first), BOX_ELEMENTS);
  return start(!arguments->forks, nullptr, solve_boxes<PASS>, blocks, BOX_THREADS,
               BOX_ELEMENTS * BOX_SIZE * sizeof(real), stream, *arguments, *boxes);
}

cudaError_t launch_boxes(const sp_cuda_arguments *arguments, const sp_cuda_boxes *boxes,
                         cudaStream_t stream) {
  return (boxes->pass == SP_CUDA_SOLVE    ? launch_pass<SP_CUDA_SOLVE>
          : boxes->pass == SP_CUDA_REDUCE ? launch_pass<SP_CUDA_REDUCE>
                                          : launch_pass<SP_CUDA_EXPAND>)(arguments, boxes, stream);
}

} // namespace

#if SP_FLOAT
#define SP_TABLE JOIN(sp_cuda_order_single_, SP_ORDER)
#define SP_ROUNDED(OPERATOR) entry<OPERATOR, ROUNDED>()
#else
#define SP_TABLE JOIN(sp_cuda_order_, SP_ORDER)
#define SP_ROUNDED(OPERATOR)                                                                       \
  {}
#endif
#if SP_PATCHES
#define SP_PATCHED                                                                                 \
  {{}, entry<bp35_patches, TRILINEAR>(), entry<bp35_patches, SCALED>()}, patch_shared_bytes
#else
#define SP_PATCHED {}, nullptr
#endif
extern "C" const sp_cuda_order SP_TABLE = {
    prepare,
    {{entry<mass_fastest, STORED>(), entry<mass_fastest, TRILINEAR>()},
     {entry<bp35_fastest, STORED>(), entry<bp35_fastest, TRILINEAR>(),
      entry<bp35_fastest, SCALED>(), SP_ROUNDED(bp35_fastest), entry<bp35_fastest, AFFINE>()},
     {entry<bp30_fastest, STORED>(), entry<bp30_fastest, TRILINEAR>(),
      entry<bp30_fastest, SCALED>(), SP_ROUNDED(bp30_fastest)}},
    SP_PATCHED,
    launch_boxes};
