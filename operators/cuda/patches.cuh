// BP3.5 at order 1 by patches (patches.h): part of order.cu. A thread works on one element, whose
// quadrature points are its corners: every derivative is a difference along an edge.

// Values at the vertices of the patch that a thread visits, some at a time, so that their loads are
// in flight together. Missing vertices alias the last one, so loads need no predicate.
template <int MODE> struct patch_vertices {
  static constexpr int TURNS = 2;
  static constexpr int room = TURNS * SP_CUDA_PATCH;
  int first;
  unsigned code[TURNS];
  real point[TURNS][3], u[TURNS], p[TURNS];

  __device__ __forceinline__ int vertex(int turn) const {
    return first + turn * SP_CUDA_PATCH;
  }

  // What does not change.
  __device__ __forceinline__ void find(const sp_cuda_arguments &a, const sp_cuda_patch &patch,
                                       int begin) {
    first = begin + threadIdx.x;
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
      const int n = min(vertex(t), patch.vertices - 1);
      code[t] = __ldg(a.patches.codes + patch.vertex + n);
      if (vertex(t) >= patch.vertices) code[t] &= ~SP_CUDA_FIRST;
#pragma unroll
      for (int d = 0; d < 3; d++)
        point[t][d] = load_once(reals(a.factors) + 3 * (size_t)patch.vertex +
                                (d * patch.vertices + n));
    }
  }

  __device__ __forceinline__ void load(const sp_cuda_arguments &a) {
    if (MODE == SP_CUDA_ASSEMBLED) {
#pragma unroll
      for (int t = 0; t < TURNS; t++) {
        const bool zero = a.constrained && code[t] & SP_CUDA_CONSTRAINED;
        u[t] = zero ? 0 : reals(a.x)[code[t] & SP_CUDA_DOF];
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

  // Store to shared[4][stride]: u, x, y, z.
  __device__ __forceinline__ void put(const sp_cuda_arguments &a, const pass_1<MODE> &pass,
                                      int stride, real *shared) {
#pragma unroll
    for (int t = 0; t < TURNS; t++) {
      if (MODE == SP_CUDA_CG)
        u[t] = new_direction<walk<1>>(a.step, pass.alpha, pass.beta, code[t], u[t], p[t]);
      if (vertex(t) >= stride) continue;
      if (MODE != SP_CUDA_LOCAL) shared[vertex(t)] = u[t];
#pragma unroll
      for (int d = 0; d < 3; d++) shared[(d + 1) * stride + vertex(t)] = point[t][d];
    }
  }
};

__device__ __forceinline__ void difference(const real to[3], const real from[3], real edge[3]) {
#pragma unroll
  for (int d = 0; d < 3; d++) edge[d] = to[d] - from[d];
}

// result[c] = (A_e u)[c] at the corners of an element, whose points are x[c]. With J = E / 2, where
// the columns of E are edges, and weights of one, at every corner
//
//     w G = adj(E) adj(E)^T / (2 |E|),    w |J| = |E| / 8,    du/dr = (u_1 - u_0) / 2.
//
// The fluxes at both ends of an edge are added up before they go to its corners.
template <bool ENERGY>
__device__ __forceinline__ void apply_corners(const real (&u)[8], const real (&x)[8][3], real kappa,
                                              real lambda, real (&result)[8], double &energy) {
  real edge_t[4][3], ut[4], flux_t[4] = {};
#pragma unroll
  for (int c = 0; c < 4; c++) {
    difference(x[c + 4], x[c], edge_t[c]);
    ut[c] = u[c + 4] - u[c];
  }
#pragma unroll
  for (int k = 0; k < 2; k++) {
    real edge_r[2][3], edge_s[2][3], ur[2], us[2], flux_r[2] = {}, flux_s[2] = {};
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
      const real scale = kappa * reciprocal(volume);
#pragma unroll
      for (int d = 0; d < 3; d++) flux[d] = scale * (p[d] * ur[j] + q[d] * us[i] + w[d] * ut[c]);
      flux_r[j] += p[0] * flux[0] + p[1] * flux[1] + p[2] * flux[2];
      flux_s[i] += q[0] * flux[0] + q[1] * flux[1] + q[2] * flux[2];
      flux_t[c] += w[0] * flux[0] + w[1] * flux[1] + w[2] * flux[2];
      const real mass = kappa * lambda * volume * u[4 * k + c];
      if (ENERGY) energy += mass * u[4 * k + c];
      result[4 * k + c] = mass;
    }
#pragma unroll
    for (int m = 0; m < 2; m++) {
      if (ENERGY) energy += flux_r[m] * ur[m] + flux_s[m] * us[m];
      result[4 * k + 2 * m] -= flux_r[m];
      result[4 * k + 2 * m + 1] += flux_r[m];
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

// The two corners in a word of entries, which may be missing.
__device__ __forceinline__ void add_corners(unsigned word, const real *results, real &sum) {
  const unsigned first = word & SP_CUDA_NO_CORNER, second = word >> 16;
  if (first != SP_CUDA_NO_CORNER) sum += results[first];
  if (second != SP_CUDA_NO_CORNER) sum += results[second];
}

// Z^T: results[corner][element] are added up by vertex, and go to y or to the patch's slots.
__device__ __forceinline__ void store_vertices(const sp_cuda_arguments &a,
                                               const sp_cuda_patch &patch, const real *results) {
  constexpr int FLIGHT = 4; // words in flight: those of a vertex inside a structured mesh
  for (int n = threadIdx.x; n < patch.vertices; n += SP_CUDA_PATCH) {
    const unsigned *group = a.patches.start + patch.group + n / 32;
    const unsigned begin = __ldg(group) + n % 32, end = __ldg(group + 1);
    const unsigned code = __ldg(a.patches.codes + patch.vertex + n);
    real sum = 0;
    for (unsigned at = begin; at < end; at += 32 * FLIGHT) {
      unsigned words[FLIGHT];
#pragma unroll
      for (int f = 0; f < FLIGHT; f++)
        words[f] = at + 32 * f < end ? __ldcs(a.patches.entries + at + 32 * f) : ~0u;
#pragma unroll
      for (int f = 0; f < FLIGHT; f++) add_corners(words[f], results, sum);
    }
    if (n >= patch.complete)
      reals(a.edges)[patch.slot + (n - patch.complete)] = sum;
    else
      reals(a.y)[code & SP_CUDA_DOF] = a.constrained && code & SP_CUDA_CONSTRAINED ? 0 : sum;
  }
}

template <int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(SP_CUDA_PATCH, MIN_BLOCKS) void bp35_patch(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  const sp_cuda_patch patch = a.patches.list[blockIdx.x];
  const bool on = threadIdx.x < patch.elements;
  const size_t element = patch.element + threadIdx.x;
  const int stride = patch.vertices;
  patch_vertices<MODE> vertices;
  vertices.find(a, patch, 0);
  uint4 corners = {};
  if (on) corners = __ldg((const uint4 *)a.patches.corners + element);
  real kappa = 0.125, lambda = (real)a.lambda;
  if (GEOMETRY == SCALED && on) {
    kappa *= __ldg(a.scales + 2 * element);
    lambda = __ldg(a.scales + 2 * element + 1);
  }
  follow();
  const pass_1<MODE> pass(a.step);
  vertices.load(a);
  if (!pass.begins(a.step)) return;
  vertices.put(a, pass, stride, shared);
  for (int begin = vertices.room; begin < patch.vertices; begin += vertices.room) {
    vertices.find(a, patch, begin);
    vertices.load(a);
    vertices.put(a, pass, stride, shared);
  }
  __syncthreads();
  real u[8], x[8][3], result[8];
  double energy = 0;
  if (on) {
    const unsigned pairs[] = {corners.x, corners.y, corners.z, corners.w};
#pragma unroll
    for (int c = 0; c < 8; c++) {
      const int n = c % 2 ? pairs[c / 2] >> 16 : pairs[c / 2] & 0xffff;
      u[c] = MODE == SP_CUDA_LOCAL ? load_once(reals(a.x) + 8 * element + c) : shared[n];
#pragma unroll
      for (int d = 0; d < 3; d++) x[c][d] = shared[(d + 1) * stride + n];
    }
    apply_corners<MODE == SP_CUDA_CG>(u, x, kappa, lambda, result, energy);
  }
  if (MODE == SP_CUDA_LOCAL) {
#pragma unroll
    for (int c = 0; c < 8; c++)
      if (on) __stcs(reals(a.y) + 8 * element + c, result[c]);
    return;
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 8; c++)
    if (on) shared[c * SP_CUDA_PATCH + threadIdx.x] = result[c];
  __syncthreads();
  store_vertices(a, patch, shared);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

// Shared memory per block for patches of at most that many vertices.
constexpr size_t patch_bytes(size_t vertices) {
  return sizeof(real) * (4 * vertices > 8 * SP_CUDA_PATCH ? 4 * vertices : 8 * SP_CUDA_PATCH);
}

template <int G, int MODE> struct bp35_patches {
  static constexpr auto KERNEL = bp35_patch<2, G, MODE>;
  static constexpr size_t bytes = patch_bytes(8 * SP_CUDA_PATCH);

  static int blocks(int elements) {
    return (elements + SP_CUDA_PATCH - 1) / SP_CUDA_PATCH;
  }

  static cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
    const int room = (int)patch_bytes(arguments->patches.most_vertices);
    if (arguments->patches.count == 0) return cudaSuccess;
    const cudaError_t error =
        cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize, room);
    if (error != cudaSuccess) return error;
    return start(!arguments->forks, nullptr, KERNEL, arguments->patches.count, SP_CUDA_PATCH, room,
                 stream, *arguments);
  }
};
