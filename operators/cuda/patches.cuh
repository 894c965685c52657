// BP3.5 at order 1 by patches (patches.h): part of order.cu. A thread works on one element, whose
// quadrature points are its corners: every derivative is a difference along an edge.

#include <cuda_pipeline.h>

// Shared memory of a block: u, x and y, z of the patch's vertices, whose place the elements'
// results take later, then the patch's lists.
constexpr int RESULTS = SP_CORNERS * SP_CUDA_PATCH + 2; // with a zero for missing ones; even
struct patch_room {
  double2 *ux, *yz;          // [vertices]
  double *results;           // [corner][element]
  unsigned *start, *entries; // [groups + 1], [words]

  static __host__ __device__ __forceinline__ int vertex_doubles(const sp_cuda_patch_arrays &a) {
    return 4 * a.most_vertices > RESULTS ? 4 * a.most_vertices : RESULTS;
  }
  static int bytes(const sp_cuda_patch_arrays &a) {
    return 8 * vertex_doubles(a) + 4 * (a.most_words + a.most_vertices / 32 + 2);
  }

  __device__ __forceinline__ patch_room(const sp_cuda_patch_arrays &a, double *shared)
      : ux((double2 *)shared), yz(ux + a.most_vertices), results(shared),
        entries((unsigned *)(shared + vertex_doubles(a))) {
    start = entries + a.most_words;
  }
};

// Copy what does not change to shared memory, by asynchronous copies.
template <int MODE>
__device__ __forceinline__ void fetch_patch(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                            const patch_room &room) {
  const double *const points = (const double *)a.factors + 3 * (size_t)patch.vertex;
  for (int n = threadIdx.x; n < patch.vertices; n += SP_CUDA_PATCH) {
    __pipeline_memcpy_async(&room.ux[n].y, points + n, sizeof(double));
    __pipeline_memcpy_async(&room.yz[n].x, points + patch.vertices + n, sizeof(double));
    __pipeline_memcpy_async(&room.yz[n].y, points + 2 * patch.vertices + n, sizeof(double));
  }
  if constexpr (MODE != SP_CUDA_LOCAL) {
    for (int n = 4 * threadIdx.x; n < patch.words; n += 4 * SP_CUDA_PATCH)
      __pipeline_memcpy_async(room.entries + n, a.patches.entries + patch.word + n, 16);
    for (int n = threadIdx.x; n <= (patch.vertices + 31) / 32; n += SP_CUDA_PATCH)
      __pipeline_memcpy_async(room.start + n, a.patches.start + patch.group + n, sizeof(unsigned));
  }
}

// Values at the vertices that a thread visits, some at a time, so that their loads are in flight
// together. Missing vertices alias the last one, so loads need no predicate.
template <int MODE> struct patch_values {
  static constexpr int TURNS = 2, STEP = TURNS * SP_CUDA_PATCH;
  int first;
  unsigned code[TURNS];
  double u[TURNS], p[TURNS];

  __device__ __forceinline__ int vertex(int turn) const {
    return first + turn * SP_CUDA_PATCH;
  }

  __device__ __forceinline__ void find(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                       int begin) {
    first = begin + threadIdx.x;
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
      code[t] = __ldg(a.patches.codes + patch.vertex + min(vertex(t), patch.vertices - 1));
      if (vertex(t) >= patch.vertices) code[t] &= ~SP_CUDA_FIRST;
    }
  }

  __device__ __forceinline__ void load(const sp_cuda_arguments &a) {
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
                                      int vertices, double2 *ux) {
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
      if (MODE == SP_CUDA_CG)
        u[t] = new_direction<walk<1>>(a.step, pass.alpha, pass.beta, code[t], u[t], p[t]);
      if (vertex(t) < vertices) ux[vertex(t)].x = u[t];
    }
  }
};

__device__ __forceinline__ void difference(const real to[3], const real from[3], real edge[3]) {
#pragma unroll
  for (int d = 0; d < 3; d++) edge[d] = to[d] - from[d];
}

// sum += a.b, by three multiply-adds.
__device__ __forceinline__ void add_product(const real a[3], const real b[3], real &sum) {
#pragma unroll
  for (int d = 0; d < 3; d++) sum = fma(a[d], b[d], sum);
}

// result[c] = (A_e u)[c] at the corners of an element, whose points are x[c]. With J = E / 2, where
// the columns of E are edges, and weights of one, at every corner
//
//     w G = adj(E) adj(E)^T / (2 |E|),    w |J| = |E| / 8,    du/dr = (u_1 - u_0) / 2.
//
// The fluxes at both ends of an edge are added up before they go to its corners. `stiffness` and
// `mass` are what is constant: kappa / 8, and kappa lambda / 8. FP64 arithmetic takes more than
// half of the time, so it is written to need few instructions.
template <bool ENERGY>
__device__ __forceinline__ void apply_corners(const real (&u)[8], const real (&x)[8][3],
                                              real stiffness, real mass, real (&result)[8],
                                              double &energy) {
  real edge_t[4][3], ut[4], flux_t[4] = {};
#pragma unroll
  for (int c = 0; c < 4; c++) {
    difference(x[c + 4], x[c], edge_t[c]);
    ut[c] = u[c + 4] - u[c];
  }
#pragma unroll
  for (int k = 0; k < 2; k++) {
    real edge_r[2][3], edge_s[2][3], ur[2], us[2], flux_r[2] = {}, flux_s[2] = {}, masses[4];
#pragma unroll
    for (int m = 0; m < 2; m++) {
      const int r = 4 * k + 2 * m, s = 4 * k + m; // edges along r at j = m, along s at i = m
      difference(x[r + 1], x[r], edge_r[m]);
      difference(x[s + 2], x[s], edge_s[m]);
      ur[m] = u[r + 1] - u[r];
      us[m] = u[s + 2] - u[s];
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int i = c % 2, j = c / 2;
      real p[3], q[3], w[3], flux[3];
      const real volume = adjugate_of(edge_r[j], edge_s[i], edge_t[c], p, q, w);
      const real scale = stiffness * reciprocal(volume);
#pragma unroll
      for (int d = 0; d < 3; d++) flux[d] = scale * (p[d] * ur[j] + q[d] * us[i] + w[d] * ut[c]);
      add_product(p, flux, flux_r[j]);
      add_product(q, flux, flux_s[i]);
      add_product(w, flux, flux_t[c]);
      masses[c] = mass * volume;
      if (ENERGY) energy += masses[c] * u[4 * k + c] * u[4 * k + c];
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {
      if (ENERGY) energy += flux_r[m] * ur[m] + flux_s[m] * us[m];
      const int r = 2 * m;
      result[4 * k + r] = masses[r] * u[4 * k + r] - flux_r[m];
      result[4 * k + r + 1] = masses[r + 1] * u[4 * k + r + 1] + flux_r[m];
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {
      result[4 * k + m] -= flux_s[m];
      result[4 * k + m + 2] += flux_s[m];
    }
  }
#pragma unroll
  for (int c = 0; c < 4; c++) {
    if (ENERGY) energy += flux_t[c] * ut[c];
    result[c] -= flux_t[c];
    result[c + 4] += flux_t[c];
  }
}

// Z^T: the elements' results are added up by vertex, and go to y or to the patch's slots.
__device__ __forceinline__ void store_vertices(const sp_cuda_arguments &a,
                                               const sp_cuda_patch &patch, const patch_room &room) {
  for (int n = threadIdx.x; n < patch.vertices; n += SP_CUDA_PATCH) {
    const unsigned code = __ldg(a.patches.codes + patch.vertex + n);
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

constexpr int PATCH_BLOCKS = 512 / SP_CUDA_PATCH; // per multiprocessor: 128 registers per thread

template <int GEOMETRY, int MODE>
__global__ __launch_bounds__(SP_CUDA_PATCH, PATCH_BLOCKS) void bp35_patch(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  const patch_room room(a.patches, shared);
  const sp_cuda_patch patch = a.patches.list[blockIdx.x];
  const bool on = threadIdx.x < patch.elements;
  const size_t element = patch.element + threadIdx.x;
  fetch_patch<MODE>(a, patch, room);
  patch_values<MODE> values;
  if (MODE != SP_CUDA_LOCAL) values.find(a, patch, 0);
  uint4 corners = {};
  if (on) corners = __ldg((const uint4 *)a.patches.corners + element);
  double stiffness = 0.125, lambda = a.lambda;
  if (GEOMETRY == SCALED && on) {
    stiffness *= __ldg(a.scales + 2 * element);
    lambda = __ldg(a.scales + 2 * element + 1);
  }
  follow();
  const pass_1<MODE> pass(a.step);
  if (MODE != SP_CUDA_LOCAL) values.load(a);
  if (!pass.begins(a.step)) return;
  if (MODE != SP_CUDA_LOCAL) values.put(a, pass, patch.vertices, room.ux);
  for (int begin = values.STEP; MODE != SP_CUDA_LOCAL && begin < patch.vertices;
       begin += values.STEP) {
    values.find(a, patch, begin);
    values.load(a);
    values.put(a, pass, patch.vertices, room.ux);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  double u[8], x[8][3], result[8], energy = 0;
  if (on) {
    const unsigned pairs[] = {corners.x, corners.y, corners.z, corners.w};
#pragma unroll
    for (int c = 0; c < 8; c++) {
      const int n = c % 2 ? pairs[c / 2] >> 16 : pairs[c / 2] & 0xffff;
      const double2 ux = room.ux[n], yz = room.yz[n];
      u[c] = MODE == SP_CUDA_LOCAL ? load_once((const double *)a.x + 8 * element + c) : ux.x;
      x[c][0] = ux.y;
      x[c][1] = yz.x;
      x[c][2] = yz.y;
    }
    apply_corners<MODE == SP_CUDA_CG>(u, x, stiffness, stiffness * lambda, result, energy);
  }
  if (MODE == SP_CUDA_LOCAL) {
#pragma unroll
    for (int c = 0; c < 8; c++)
      if (on) __stcs((double *)a.y + 8 * element + c, result[c]);
    return;
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 8; c++)
    if (on) room.results[c * SP_CUDA_PATCH + threadIdx.x] = result[c];
  if (threadIdx.x == 0) room.results[SP_CUDA_NO_CORNER] = 0;
  __syncthreads();
  store_vertices(a, patch, room);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

template <int G, int MODE> struct bp35_patches {
  static constexpr auto KERNEL = bp35_patch<G, MODE>;
  static constexpr size_t bytes = 0; // of shared memory: it depends on the patches

  static int blocks(int elements) {
    return (elements + SP_CUDA_PATCH - 1) / SP_CUDA_PATCH;
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
    const int room = patch_room::bytes(arguments->patches);
    if (arguments->patches.count == 0) return cudaSuccess;
    const cudaError_t error =
        cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, room);
    if (error != cudaSuccess) return error;
    return start(!arguments->forks, nullptr, KERNEL, arguments->patches.count, SP_CUDA_PATCH, room,
                 stream, *arguments);
  }
};
