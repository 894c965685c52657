// BP3.5 at orders 1 and 2 by patches (patches.h): part of order.cu. A thread works on whole
// elements.

#include <cuda_pipeline.h>

#if SP_ORDER == 1
#include "operators/cuda/corners.cuh"
#else
#include "operators/cuda/quadratic.cuh"
#endif

constexpr int PATCH = SP_CUDA_PATCH(SP_ORDER), RESULTS = SP_CUDA_PATCH_RESULTS(SP_ORDER);
constexpr int PATCH_NONE = SP_CUDA_PATCH_NONE(SP_ORDER), MAP = 24;

// Threads and blocks per multiprocessor (which bounds the registers), from measurements
// (MEASUREMENTS.md). At order 1 a thread works on two elements, one after the other.
constexpr int PATCH_THREADS = SP_ORDER == 1 ? 256 : 128, PATCH_BLOCKS = SP_ORDER == 1 ? 2 : 3;
constexpr int PER_THREAD = PATCH / PATCH_THREADS;
static_assert(PATCH % PATCH_THREADS == 0 && (SP_ORDER == 1 || PER_THREAD == 1),
              "threads take as many elements each, at order 2 one");

// Shared memory of a block: inputs, results, then the patch's lists. Inputs are at order 1 the
// pairs (u, x) and (y, z) of each node, and at order 2 the elements' maps, and u of each node. If a
// thread has one element, the results replace the inputs.
struct patch_room {
  double2 *ux, *yz;                  // [nodes]
  double *maps, *u;                  // [24][PATCH], [nodes]
  double *results;                   // [element][RESULTS], and a zero for missing ones
  unsigned *entries, *codes, *start; // [words], [nodes], [groups + 1]

  static constexpr int results_size = (PATCH_NONE + 2) / 2 * 2; // doubles
  static __host__ __device__ __forceinline__ int read_size(int nodes) {
    return SP_ORDER == 1 ? 4 * nodes : MAP * PATCH + (nodes + 1) / 2 * 2;
  }
  static __host__ __device__ __forceinline__ int size(int nodes) {
    const int read = read_size(nodes);
    if (PER_THREAD > 1) return read + results_size;
    return read > results_size ? read : results_size;
  }
  // Between E-vectors of order 2 nodes are by element, without lists.
  static size_t element_bytes() {
    return sizeof(double) * size(Np * PATCH);
  }
  static size_t bytes(int nodes, int words) {
    return sizeof(double) * size(nodes) + sizeof(unsigned) * (words + nodes + nodes / 32 + 2);
  }

  __device__ __forceinline__ patch_room(const sp_cuda_patch_arrays &a, double *shared)
      : ux((double2 *)shared), yz(ux + a.most_nodes), maps(shared), u(shared + MAP * PATCH),
        results(shared + (PER_THREAD > 1 ? read_size(a.most_nodes) : 0)),
        entries((unsigned *)(shared + size(a.most_nodes))), codes(entries + a.most_words),
        start(codes + a.most_nodes) {}
};

// Copy constant data to shared memory, by asynchronous copies: first the codes, which only the
// thread that copies them reads.
template <int GEOMETRY, int MODE>
__device__ __forceinline__ void fetch_patch(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                            const patch_room &room) {
  if constexpr (MODE != SP_CUDA_LOCAL)
    for (int n = threadIdx.x; n < patch.nodes; n += PATCH_THREADS)
      __pipeline_memcpy_async(room.codes + n, a.patches.codes + patch.node + n, sizeof(unsigned));
  __pipeline_commit();
  const double *const geometry = (const double *)a.factors;
  if constexpr (SP_ORDER == 1) {
    const double *const points = geometry + 3 * (size_t)patch.node;
    for (int n = threadIdx.x; n < patch.nodes; n += PATCH_THREADS) {
      __pipeline_memcpy_async(&room.ux[n].y, points + n, sizeof(double));
      __pipeline_memcpy_async(&room.yz[n].x, points + patch.nodes + n, sizeof(double));
      __pipeline_memcpy_async(&room.yz[n].y, points + 2 * patch.nodes + n, sizeof(double));
    }
  } else if (threadIdx.x < patch.elements) { // one element per thread
    const double *const map = geometry + MAP * (size_t)patch.element + threadIdx.x;
#pragma unroll
    for (int m = GEOMETRY == SCALED ? 0 : 3; m < MAP; m++) // 0: kappa, 1: lambda / kappa, 2: unused
      __pipeline_memcpy_async(room.maps + m * PATCH + threadIdx.x, map + m * patch.elements,
                              sizeof(double));
  }
  if constexpr (MODE != SP_CUDA_LOCAL) {
    for (int n = 4 * threadIdx.x; n < patch.words; n += 4 * PATCH_THREADS)
      __pipeline_memcpy_async(room.entries + n, a.patches.entries + patch.word + n, 16);
    for (int n = threadIdx.x; n <= (patch.nodes + 31) / 32; n += PATCH_THREADS)
      __pipeline_memcpy_async(room.start + n, a.patches.start + patch.group + n, sizeof(unsigned));
  }
  __pipeline_commit();
}

// Values at the nodes that a thread visits, several at a time, so that their loads are in flight
// together. Missing nodes alias DOF 0, so loads need no predicate.
template <int MODE> struct patch_values {
  static constexpr int TURNS = SP_ORDER == 1        ? 3
                               : MODE == SP_CUDA_CG ? 6
                                                    : 12,
                       STEP = TURNS * PATCH_THREADS;
  int first;
  unsigned code[TURNS];
  double u[TURNS], p[TURNS];

  __device__ __forceinline__ int node(int turn) const {
    return first + turn * PATCH_THREADS;
  }

  __device__ __forceinline__ void load(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                       const patch_room &room, int begin) {
    first = begin + threadIdx.x;
#pragma unroll
    for (int t = 0; t < TURNS; t++) code[t] = node(t) < patch.nodes ? room.codes[node(t)] : 0;
    if (MODE == SP_CUDA_ASSEMBLED) {
#pragma unroll
      for (int t = 0; t < TURNS; t++) {
        const bool zero = a.constrained && code[t] & SP_CUDA_CONSTRAINED;
        u[t] = zero ? 0 : ((const double *)a.x)[code[t] & SP_CUDA_DOF];
      }
    }
    if (MODE == SP_CUDA_CG) {
#pragma unroll
      for (int t = 0; t < TURNS; t++) {
        p[t] = a.step.p[code[t] & SP_CUDA_DOF];
        u[t] = a.step.z[code[t] & SP_CUDA_DOF];
      }
      if (!a.step.inverse_diagonal) return;
#pragma unroll
      for (int t = 0; t < TURNS; t++)
        u[t] = __dmul_rn(__ldg(a.step.inverse_diagonal + (code[t] & SP_CUDA_DOF)), u[t]);
    }
  }

  __device__ __forceinline__ void put(const sp_cuda_arguments &a, const pass_1<MODE> &pass,
                                      int nodes, const patch_room &room) {
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
      if (MODE == SP_CUDA_CG)
        u[t] = new_direction<walk<1>>(a.step, pass.alpha, pass.beta, code[t], u[t], p[t]);
      if (node(t) < nodes) (SP_ORDER == 1 ? room.ux[node(t)].x : room.u[node(t)]) = u[t];
    }
  }
};

// Z^T: sum the elements' results by node, and store the sums to y or to the patch's slots.
__device__ __forceinline__ void add_up_nodes(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                             const patch_room &room) {
  for (int n = threadIdx.x; n < patch.nodes; n += PATCH_THREADS) {
    const unsigned code = room.codes[n];
    const int begin = room.start[n / 32] - patch.word, end = room.start[n / 32 + 1] - patch.word;
    double sum = 0;
    for (int at = begin + n % 32; at < end; at += 32) {
      const unsigned pair = room.entries[at];
      sum += room.results[pair & 0xffff];
      sum += room.results[pair >> 16];
    }
    if (n >= patch.complete)
      ((double *)a.edges)[patch.slot + (n - patch.complete)] = sum;
    else
      ((double *)a.y)[code & SP_CUDA_DOF] = a.constrained && code & SP_CUDA_CONSTRAINED ? 0 : sum;
  }
}

// Between E-vectors.
__device__ __forceinline__ void load_elements(const sp_cuda_arguments &a,
                                              const sp_cuda_patch &patch, double *u) {
  const double *const x = (const double *)a.x + (size_t)patch.element * Np;
  for (int n = threadIdx.x; n < patch.elements * Np; n += PATCH_THREADS) u[n] = load_once(x + n);
}
__device__ __forceinline__ void store_elements(const sp_cuda_arguments &a,
                                               const sp_cuda_patch &patch, const double *results) {
  double *const y = (double *)a.y + (size_t)patch.element * Np;
  for (int n = threadIdx.x; n < patch.elements * Np; n += PATCH_THREADS)
    __stcs(y + n, results[n / Np * RESULTS + n % Np]);
}

// An element's pairs (patches.h).
struct element_nodes {
  static constexpr int WORDS = (Np + 1) / 2;
  unsigned pairs[WORDS];

  // `element` counts from the patch's first one.
  __device__ __forceinline__ void find(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                       int element) {
    const bool on = element < patch.elements;
    const unsigned *const from = a.patches.pairs + (size_t)patch.element * WORDS + element;
#pragma unroll
    for (int w = 0; w < WORDS; w++) pairs[w] = on ? __ldg(from + w * patch.elements) : 0;
  }
  __device__ __forceinline__ int operator[](int q) const {
    return q % 2 ? pairs[q / 2] >> 16 : pairs[q / 2] & 0xffff;
  }
};

#if SP_ORDER == 1
template <int GEOMETRY, int MODE>
__device__ __forceinline__ void apply_element(const sp_cuda_arguments &a, size_t element,
                                              const patch_room &room, const element_nodes &nodes,
                                              double (&result)[Np], double &energy) {
  double u[8], x[8][3], stiffness = 0.125, lambda = a.lambda;
  if (GEOMETRY == SCALED) {
    stiffness *= __ldg(a.scales + 2 * element);
    lambda = __ldg(a.scales + 2 * element + 1);
  }
#pragma unroll
  for (int c = 0; c < 8; c++) {
    const double2 ux = room.ux[nodes[c]], yz = room.yz[nodes[c]];
    u[c] = MODE == SP_CUDA_LOCAL ? load_once((const double *)a.x + 8 * element + c) : ux.x;
    x[c][0] = ux.y;
    x[c][1] = yz.x;
    x[c][2] = yz.y;
  }
  apply_corners<MODE == SP_CUDA_CG>(u, x, stiffness, stiffness * lambda, result, energy);
}
#else
// A number in shared memory, read again at each use, because there are too few registers.
__device__ __forceinline__ double again(const double *p) {
  return *(const volatile double *)p;
}

template <int GEOMETRY, int MODE>
__device__ __forceinline__ void apply_element(const sp_cuda_arguments &a, size_t,
                                              const patch_room &room, const element_nodes &nodes,
                                              double (&result)[Np], double &energy) {
  const auto map = [&](int m) { return again(room.maps + m * PATCH + threadIdx.x); };
  const double kappa = GEOMETRY == SCALED ? map(0) : 1;
  const double lambda = GEOMETRY == SCALED ? map(1) : a.lambda;
  const auto u = [&](int q) {
    return again(room.u + (MODE == SP_CUDA_LOCAL ? 27 * threadIdx.x + q : nodes[q]));
  };
  double sums[3][3][3];
  apply_quadratic<MODE == SP_CUDA_CG>(u, map, kappa / 108, kappa * lambda / 27, sums, energy);
#pragma unroll
  for (int q = 0; q < 27; q++) result[q] = sums[q / 9][q / 3 % 3][q % 3];
}
#endif

template <int GEOMETRY, int MODE>
__global__ __launch_bounds__(PATCH_THREADS, PATCH_BLOCKS) void bp35_patch(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  const patch_room room(a.patches, shared);
  const sp_cuda_patch patch = a.patches.list[blockIdx.x];
  fetch_patch<GEOMETRY, MODE>(a, patch, room);
  element_nodes nodes[PER_THREAD];
#pragma unroll
  for (int e = 0; e < PER_THREAD; e++) nodes[e].find(a, patch, e * PATCH_THREADS + threadIdx.x);
  __pipeline_wait_prior(1);
  follow();
  const pass_1<MODE> pass(a.step);
  patch_values<MODE> values;
  if (MODE != SP_CUDA_LOCAL) values.load(a, patch, room, 0);
  if (!pass.begins(a.step)) return;
  if (MODE != SP_CUDA_LOCAL) values.put(a, pass, patch.nodes, room);
  for (int begin = values.STEP; MODE != SP_CUDA_LOCAL && begin < patch.nodes;
       begin += values.STEP) {
    values.load(a, patch, room, begin);
    values.put(a, pass, patch.nodes, room);
  }
  if (MODE == SP_CUDA_LOCAL && SP_ORDER > 1) load_elements(a, patch, room.u);
  __pipeline_wait_prior(0);
  __syncthreads();
  double energy = 0;
#pragma unroll
  for (int e = 0; e < PER_THREAD; e++) {
    const int element = e * PATCH_THREADS + threadIdx.x;
    const bool on = element < patch.elements;
    double result[Np];
    if (on)
      apply_element<GEOMETRY, MODE>(a, (size_t)(patch.element + element), room, nodes[e], result,
                                    energy);
    if (PER_THREAD == 1) __syncthreads();
#pragma unroll
    for (int q = 0; q < Np; q++)
      if (on) room.results[element * RESULTS + q] = result[q];
  }
  if (threadIdx.x == 0) room.results[PATCH_NONE] = 0;
  __syncthreads();
  if (MODE == SP_CUDA_LOCAL)
    store_elements(a, patch, room.results);
  else
    add_up_nodes(a, patch, room);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

template <int G, int MODE> struct bp35_patches {
  static constexpr size_t bytes = 0; // size of shared memory, which depends on the patches

  static int blocks(int elements) {
    return blocks_for((size_t)elements, PATCH);
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
    const sp_cuda_patch_arrays &a = arguments->patches;
    const size_t room = SP_ORDER > 1 && MODE == SP_CUDA_LOCAL
                            ? patch_room::element_bytes()
                            : patch_room::bytes(a.most_nodes, a.most_words);
    return start(!arguments->forks, nullptr, bp35_patch<G, MODE>, a.count, PATCH_THREADS, room,
                 stream, *arguments);
  }
};

// The limit; the sum of a block also takes some bytes.
size_t patch_shared_bytes(int nodes, int words) {
  constexpr size_t sums = 256;
  return sums + std::max(patch_room::element_bytes(), patch_room::bytes(nodes, words));
}
