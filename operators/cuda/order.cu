// The local operators of one order, SP_ORDER. One thread works on one line of the element: its
// values cross shared memory once for each contraction, the third direction and the geometric
// factors stay in registers. The matrices lie in constant memory and are indexed at compile time,
// so that they are operands of the multiply-adds and nothing loads them.

extern "C" {
#include "mesh/geometry.h"
#include "operators/cuda/launch.h"
}

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace {

constexpr int Nq = SP_ORDER + 1, M = Nq + 1, Np = Nq * Nq * Nq;
enum geometry { STORED, TRILINEAR };

__constant__ double c_differentiation[Nq * Nq], c_gl_differentiation[M * M],
    c_interpolation[M * Nq];
__constant__ double c_gll_nodes[Nq], c_gll_weights[Nq], c_gl_nodes[M], c_gl_weights[M];

// D on n points: GLL if n is the number of nodes, GL otherwise.
template <int n> __device__ __forceinline__ double D(int row, int column) {
  return n == Nq ? c_differentiation[row * Nq + column] : c_gl_differentiation[row * M + column];
}
template <int n> __device__ __forceinline__ double node(int i) {
  return n == Nq ? c_gll_nodes[i] : c_gl_nodes[i];
}
template <int n> __device__ __forceinline__ double weight(int i) {
  return n == Nq ? c_gll_weights[i] : c_gl_weights[i];
}
__device__ __forceinline__ double I(int row, int column) {
  return c_interpolation[row * Nq + column];
}

// One line of a contraction: write(r, sum over c of matrix(r, c) read(c)).
template <int rows, int columns, class Matrix, class Read, class Write>
__device__ __forceinline__ void apply_line(Matrix matrix, Read read, Write write) {
  double line[columns];
#pragma unroll
  for (int c = 0; c < columns; c++) line[c] = read(c);
#pragma unroll
  for (int r = 0; r < rows; r++) {
    double value = 0;
#pragma unroll
    for (int c = 0; c < columns; c++) value += matrix(r, c) * line[c];
    write(r, value);
  }
}

// Rows of shared arrays have odd length, so that lines across them meet different banks.
template <int n> constexpr int pitch = n % 2 ? n : n + 1;
template <int n> constexpr int array_size = n *n *pitch<n>;

// ---- Z and Z^T ----------------------------------------------------------------------------------

template <bool ASSEMBLED>
__device__ __forceinline__ double load(const sp_cuda_arguments &a, size_t entry) {
  if (!ASSEMBLED) return a.x[entry];
  const int dof = a.nodes[entry];
  if (dof >= 0) return a.x[dof];
  return a.constrained ? 0 : a.x[~dof];
}

__device__ __forceinline__ bool is_interior(int i, int j, int k) {
  return i > 0 && i < Nq - 1 && j > 0 && j < Nq - 1 && k > 0 && k < Nq - 1;
}

template <bool ASSEMBLED>
__device__ __forceinline__ void store(const sp_cuda_arguments &a, size_t entry, bool interior,
                                      double value) {
  if (!ASSEMBLED)
    a.y[entry] = value;
  else if (interior)
    a.y[a.nodes[entry]] = value;
  else
    a.surface[entry] = value;
}

// Sum over the block in a fixed order; thread 0 stores it.
__device__ __forceinline__ void store_energy(double *energy, double value) {
  __shared__ double warps[32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < (blockDim.x + 31) / 32 ? warps[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x == 0) energy[blockIdx.x] = value;
  }
}

// ---- Geometry
// ------------------------------------------------------------------------------------

// The trilinear map along a column (r and s fixed): d x / d t does not depend on t, the others are
// linear in t.
template <int n> struct column_map {
  double r0[3], r1[3], s0[3], s1[3], t[3], weights;

  __device__ __forceinline__ void prepare(const double *c, int i, int j) {
    const double r = node<n>(i), s = node<n>(j);
    weights = weight<n>(i) * weight<n>(j);
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r0[d] = c[3 + d] + s * c[12 + d];
      r1[d] = c[18 + d] + s * c[21 + d];
      s0[d] = c[6 + d] + r * c[12 + d];
      s1[d] = c[15 + d] + r * c[21 + d];
      t[d] = c[9 + d] + s * c[15 + d] + r * (c[18 + d] + s * c[21 + d]);
    }
  }

  // Rows of the adjugate |J| J^-1 at point k of the column, and |J|.
  __device__ __forceinline__ double adjugate(int k, double p[3], double q[3], double w[3]) const {
    const double z = node<n>(k);
    double r[3], s[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r[d] = r0[d] + z * r1[d];
      s[d] = s0[d] + z * s1[d];
    }
    cross(s, t, p);
    cross(t, r, q);
    cross(r, s, w);
    return r[0] * p[0] + r[1] * p[1] + r[2] * p[2];
  }

  static __device__ __forceinline__ void cross(const double a[3], const double b[3], double c[3]) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
  }
};

// (ur, us, ut) <- G (ur, us, ut) at point k; returns wJ.
template <int n>
__device__ __forceinline__ double scale_trilinear(const column_map<n> &map, int k, double &ur,
                                                  double &us, double &ut) {
  double p[3], q[3], w[3], flux[3];
  const double jacobian = map.adjugate(k, p, q, w), weights = map.weights * weight<n>(k);
  const double scale = weights * __drcp_rn(jacobian);
#pragma unroll
  for (int d = 0; d < 3; d++) flux[d] = scale * (p[d] * ur + q[d] * us + w[d] * ut);
  ur = p[0] * flux[0] + p[1] * flux[1] + p[2] * flux[2];
  us = q[0] * flux[0] + q[1] * flux[1] + q[2] * flux[2];
  ut = w[0] * flux[0] + w[1] * flux[1] + w[2] * flux[2];
  return weights * jacobian;
}

template <int n>
__device__ __forceinline__ double scale_stored(const double *factors, double &ur, double &us,
                                               double &ut) {
  constexpr int points = n * n * n;
  const double rr = factors[SP_G_RR * points], rs = factors[SP_G_RS * points];
  const double rt = factors[SP_G_RT * points], ss = factors[SP_G_SS * points];
  const double st = factors[SP_G_ST * points], tt = factors[SP_G_TT * points];
  const double r = ur, s = us, t = ut;
  ur = rr * r + rs * s + rt * t;
  us = rs * r + ss * s + st * t;
  ut = rt * r + st * s + tt * t;
  return factors[SP_G_WJ * points];
}

// ---- Stiffness on n^3 collocation points
// ---------------------------------------------------------

// Thread (i, j) of an element owns the column u[k] of points (i, j, k) and gets result[k] there:
// result = (D^T G D + lambda wJ) u. U, X, Y are shared arrays of the element; all threads of the
// block call this, `on` marks those with an element. Begins with a barrier after the first writes.
template <int n, int GEOMETRY>
__device__ __forceinline__ void stiffness(bool on, int i, int j, const double *factors,
                                          double lambda, const double (&u)[n], double (&result)[n],
                                          double *U, double *X, double *Y) {
  constexpr int R = pitch<n>;
  if (on) {
#pragma unroll
    for (int k = 0; k < n; k++) U[(k * n + j) * R + i] = u[k];
  }
  __syncthreads();
  // The thread's lines are row (k = j, j = i) along r, and (k = j, i = i) along s.
  const auto d = [](int a, int m) { return D<n>(a, m); };
  const auto d_transposed = [](int a, int m) { return D<n>(m, a); };
  const int r_line = (j * n + i) * R, s_line = j * n * R + i;
  if (on) {
    apply_line<n, n>(
        d, [&](int m) { return U[r_line + m]; }, [&](int a, double v) { X[r_line + a] = v; });
    apply_line<n, n>(
        d, [&](int m) { return U[s_line + m * R]; },
        [&](int a, double v) { Y[s_line + a * R] = v; });
  }
  __syncthreads();
  if (on) {
    column_map<n> map;
    if (GEOMETRY == TRILINEAR) map.prepare(factors, i, j);
#pragma unroll
    for (int k = 0; k < n; k++) result[k] = 0;
#pragma unroll
    for (int k = 0; k < n; k++) {
      const int place = (k * n + j) * R + i;
      double ur = X[place], us = Y[place], ut = 0;
#pragma unroll
      for (int m = 0; m < n; m++) ut += D<n>(k, m) * u[m];
      const double jacobian = GEOMETRY == TRILINEAR
                                  ? scale_trilinear<n>(map, k, ur, us, ut)
                                  : scale_stored<n>(factors + (k * n + j) * n + i, ur, us, ut);
      X[place] = ur;
      Y[place] = us;
      result[k] += lambda * jacobian * u[k];
#pragma unroll
      for (int m = 0; m < n; m++) result[m] += D<n>(k, m) * ut;
    }
  }
  __syncthreads();
  if (on) {
    apply_line<n, n>(
        d_transposed, [&](int m) { return X[r_line + m]; },
        [&](int a, double v) { X[r_line + a] = v; });
    apply_line<n, n>(
        d_transposed, [&](int m) { return Y[s_line + m * R]; },
        [&](int a, double v) { Y[s_line + a * R] = v; });
  }
  __syncthreads();
  if (on) {
#pragma unroll
    for (int k = 0; k < n; k++) {
      const int place = (k * n + j) * R + i;
      result[k] += X[place] + Y[place];
    }
  }
}

// A block's threads: n * n for each of its elements, filled up to whole warps.
template <int n> struct team {
  int slot, i, j, element;
  bool on;

  template <int E> static __device__ __forceinline__ team make(const sp_cuda_arguments &a) {
    team t;
    const int thread = threadIdx.x;
    t.slot = thread / (n * n);
    t.i = thread % n;
    t.j = thread / n % n;
    t.element = a.first + blockIdx.x * E + t.slot;
    t.on = t.slot < E && t.element < a.last;
    if (!t.on) t.slot = 0;
    return t;
  }
};

template <int E, int n> constexpr int threads = (E * n * n + 31) / 32 * 32;

template <int E, int MIN_BLOCKS, int GEOMETRY, bool ASSEMBLED>
__global__ __launch_bounds__(threads<E, Nq>, MIN_BLOCKS) void bp35(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  const auto t = team<Nq>::template make<E>(a);
  double *U = shared + t.slot * 3 * array_size<Nq>, *X = U + array_size<Nq>;
  double *Y = X + array_size<Nq>;
  const size_t base = (size_t)t.element * Np + t.j * Nq + t.i;
  const double *factors = a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : 7 * Np);
  double u[Nq], result[Nq], energy = 0;
  if (t.on) {
#pragma unroll
    for (int k = 0; k < Nq; k++) u[k] = load<ASSEMBLED>(a, base + k * Nq * Nq);
  }
  stiffness<Nq, GEOMETRY>(t.on, t.i, t.j, factors, a.lambda, u, result, U, X, Y);
  if (t.on) {
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      energy += u[k] * result[k];
      store<ASSEMBLED>(a, base + k * Nq * Nq, is_interior(t.i, t.j, k), result[k]);
    }
  }
  if (a.energy) store_energy(a.energy, energy);
}

// ---- Interpolation between nodes and Gauss points
// ------------------------------------------------

// Nodes of the element to U, coalesced: entry p of U lies at row p / Nq, column p % Nq.
template <bool ASSEMBLED>
__device__ __forceinline__ void load_nodes(const sp_cuda_arguments &a, const team<M> &t,
                                           double *U) {
  if (!t.on) return;
  for (int p = t.j * M + t.i; p < Np; p += M * M)
    U[p / Nq * pitch<M> + p % Nq] = load<ASSEMBLED>(a, (size_t)t.element * Np + p);
}

template <bool ASSEMBLED>
__device__ __forceinline__ void store_nodes(const sp_cuda_arguments &a, const team<M> &t,
                                            const double *U) {
  if (!t.on) return;
  for (int p = t.j * M + t.i; p < Np; p += M * M)
    store<ASSEMBLED>(a, (size_t)t.element * Np + p, is_interior(p % Nq, p / Nq % Nq, p / (Nq * Nq)),
                     U[p / Nq * pitch<M> + p % Nq]);
}

// u[k] at the Gauss points (i, j, k) of the thread's column, from the nodes in U. Arrays hold
// [k][j][i] with rows of pitch M; X gets r lines, Y gets s lines.
__device__ __forceinline__ void interpolate(const team<M> &t, double *U, double *X, double *Y,
                                            double (&u)[M]) {
  constexpr int R = pitch<M>;
  const auto interpolation = [](int a, int m) { return I(a, m); };
  const int line = t.j * M + t.i; // along r, at row `line` = k Nq + j; along s, at k = t.j and t.i
  __syncthreads();
  if (t.on && line < Nq * Nq)
    apply_line<M, Nq>(
        interpolation, [&](int m) { return U[line * R + m]; },
        [&](int a, double v) { X[line * R + a] = v; });
  __syncthreads();
  if (t.on && t.j < Nq)
    apply_line<M, Nq>(
        interpolation, [&](int m) { return X[(t.j * Nq + m) * R + t.i]; },
        [&](int b, double v) { Y[(t.j * M + b) * R + t.i] = v; });
  __syncthreads();
  if (t.on)
    apply_line<M, Nq>(
        interpolation, [&](int m) { return Y[(m * M + t.j) * R + t.i]; },
        [&](int c, double v) { u[c] = v; });
}

// The transpose: columns u at Gauss points to nodes in U.
__device__ __forceinline__ void project(const team<M> &t, const double (&u)[M], double *U,
                                        double *X, double *Y) {
  constexpr int R = pitch<M>;
  const auto projection = [](int m, int a) { return I(a, m); };
  const int line = t.j * M + t.i;
  __syncthreads();
  if (t.on)
    apply_line<Nq, M>(
        projection, [&](int c) { return u[c]; },
        [&](int m, double v) { Y[(m * M + t.j) * R + t.i] = v; });
  __syncthreads();
  if (t.on && t.j < Nq)
    apply_line<Nq, M>(
        projection, [&](int b) { return Y[(t.j * M + b) * R + t.i]; },
        [&](int m, double v) { X[(t.j * Nq + m) * R + t.i] = v; });
  __syncthreads();
  if (t.on && line < Nq * Nq)
    apply_line<Nq, M>(
        projection, [&](int a) { return X[line * R + a]; },
        [&](int m, double v) { U[line * R + m] = v; });
  __syncthreads();
}

template <int E, int MIN_BLOCKS, int GEOMETRY, bool ASSEMBLED>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void mass(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  const auto t = team<M>::template make<E>(a);
  double *X = shared + t.slot * 2 * array_size<M>, *Y = X + array_size<M>;
  const double *factors = a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : M * M * M);
  double u[M], energy = 0;
  load_nodes<ASSEMBLED>(a, t, Y);
  interpolate(t, Y, X, Y, u);
  if (t.on) {
    column_map<M> map;
    if (GEOMETRY == TRILINEAR) map.prepare(factors, t.i, t.j);
#pragma unroll
    for (int k = 0; k < M; k++) {
      double jacobian, p[3], q[3], w[3];
      if (GEOMETRY == TRILINEAR)
        jacobian = map.weights * weight<M>(k) * map.adjugate(k, p, q, w);
      else
        jacobian = factors[(k * M + t.j) * M + t.i];
      const double value = jacobian * u[k];
      energy += value * u[k];
      u[k] = value;
    }
  }
  project(t, u, Y, X, Y);
  store_nodes<ASSEMBLED>(a, t, Y);
  if (a.energy) store_energy(a.energy, energy);
}

template <int E, int MIN_BLOCKS, int GEOMETRY, bool ASSEMBLED>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void bp30(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  const auto t = team<M>::template make<E>(a);
  double *U = shared + t.slot * 3 * array_size<M>, *X = U + array_size<M>, *Y = X + array_size<M>;
  const double *factors =
      a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : 7 * M * M * M);
  double u[M], result[M], energy = 0;
  load_nodes<ASSEMBLED>(a, t, U);
  interpolate(t, U, X, Y, u);
  stiffness<M, GEOMETRY>(t.on, t.i, t.j, factors, a.lambda, u, result, U, X, Y);
  if (t.on) {
#pragma unroll
    for (int k = 0; k < M; k++) energy += u[k] * result[k];
  }
  project(t, result, U, X, Y);
  store_nodes<ASSEMBLED>(a, t, U);
  if (a.energy) store_energy(a.energy, energy);
}

// ---- Launches
// ------------------------------------------------------------------------------------

// Elements a block: about 256 threads, as far as 160 KB of shared memory for two blocks a
// multiprocessor allow.
constexpr int limit(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}
template <int n, int arrays>
constexpr int elements_per_block =
    limit(limit(256 / (n * n), 1, 256), 1,
          limit(80 * 1024 / (arrays * array_size<n> * (int)sizeof(double)), 1, 256));

constexpr int bp35_elements = elements_per_block<Nq, 3>, mass_elements = elements_per_block<M, 2>;
constexpr int bp30_elements = elements_per_block<M, 3>;

// Registers for columns of n values and their results decide how many blocks a multiprocessor
// holds.
template <int block> constexpr int min_blocks = limit(512 / block, 1, 16);

using kernel = void (*)(sp_cuda_arguments);

// Two variants of one kernel: between L-vectors, and between E-vectors.
template <kernel ASSEMBLED, kernel UNASSEMBLED, int E, int n, int arrays>
cudaError_t launch(const sp_cuda_arguments *arguments, cudaStream_t stream) {
  constexpr size_t bytes = (size_t)E * arrays * array_size<n> * sizeof(double);
  const kernel chosen = arguments->nodes ? ASSEMBLED : UNASSEMBLED;
  const int elements = arguments->last - arguments->first;
  if (elements == 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (error != cudaSuccess) return error;
  chosen<<<(elements + E - 1) / E, threads<E, n>, bytes, stream>>>(*arguments);
  return cudaGetLastError();
}

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

template <int G, bool A>
constexpr kernel bp35_kernel = bp35<bp35_elements, min_blocks<threads<bp35_elements, Nq>>, G, A>;
template <int G, bool A>
constexpr kernel mass_kernel = mass<mass_elements, min_blocks<threads<mass_elements, M>>, G, A>;
template <int G, bool A>
constexpr kernel bp30_kernel = bp30<bp30_elements, min_blocks<threads<bp30_elements, M>>, G, A>;

template <int G>
constexpr sp_cuda_launch *bp35_launch =
    launch<bp35_kernel<G, true>, bp35_kernel<G, false>, bp35_elements, Nq, 3>;
template <int G>
constexpr sp_cuda_launch *mass_launch =
    launch<mass_kernel<G, true>, mass_kernel<G, false>, mass_elements, M, 2>;
template <int G>
constexpr sp_cuda_launch *bp30_launch =
    launch<bp30_kernel<G, true>, bp30_kernel<G, false>, bp30_elements, M, 3>;

} // namespace

extern "C" const sp_cuda_order JOIN(sp_cuda_order_,
                                    SP_ORDER) = {prepare,
                                                 {{mass_launch<STORED>, mass_launch<TRILINEAR>},
                                                  {bp35_launch<STORED>, bp35_launch<TRILINEAR>},
                                                  {bp30_launch<STORED>, bp30_launch<TRILINEAR>}},
                                                 {{mass_elements, mass_elements},
                                                  {bp35_elements, bp35_elements},
                                                  {bp30_elements, bp30_elements}}};
