// Local operators by lines: part of order.cu. One thread works on one line of the element: its
// values cross shared memory once for each contraction, the third direction and the geometric
// factors stay in registers. A block works on E elements.

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

// A block's threads: n * n for each of its E elements, filled up to whole warps.
template <int n, int E> struct team {
  int slot, i, j, element;
  bool on;

  __device__ __forceinline__ team(const sp_cuda_arguments &a) {
    const int thread = threadIdx.x;
    slot = thread / (n * n);
    i = thread % n;
    j = thread / n % n;
    element = a.first + blockIdx.x * E + slot;
    on = slot < E && element < a.last;
    if (!on) slot = 0;
  }
};

template <int E, int n> constexpr int threads = (E * n * n + 31) / 32 * 32;

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(threads<E, Nq>, MIN_BLOCKS) void bp35(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  double alpha = 0, beta = 0, energy = 0;
  follow();
  if (MODE == SP_CUDA_CG && !begin_pass(a.step, alpha, beta)) return;
  const team<Nq, E> t(a);
  double *U = shared + t.slot * 3 * array_size<Nq>, *X = U + array_size<Nq>;
  double *Y = X + array_size<Nq>;
  const double *factors = a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : 7 * Np);
  double u[Nq], result[Nq];
  if (t.on)
    load<MODE>(
        a, t.element, alpha, beta,
        [&](int k) {
          return node{t.i, t.j, k, true};
        },
        u);
  stiffness<Nq, GEOMETRY>(t.on, t.i, t.j, factors, a.lambda, u, result, U, X, Y);
  if (t.on) {
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      if (MODE == SP_CUDA_CG) energy += u[k] * result[k];
      store<MODE>(a, t.element, node{t.i, t.j, k, true}, result[k]);
    }
  }
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

// ---- Interpolation between nodes and Gauss points
// ------------------------------------------------

__device__ __forceinline__ node node_of(int place) {
  return {place % Nq, place / Nq % Nq, place / (Nq * Nq), place < Np};
}

// Nodes of the element to U, coalesced: entry p of U lies at row p / Nq, column p % Nq.
template <int MODE, class Team>
__device__ __forceinline__ void load_nodes(const sp_cuda_arguments &a, const Team &t, double alpha,
                                           double beta, double *U) {
  if (!t.on) return;
  constexpr int count = (Np + M * M - 1) / (M * M);
  const auto at = [&](int c) { return node_of(c * M * M + t.j * M + t.i); };
  double u[count];
  load<MODE>(a, t.element, alpha, beta, at, u);
#pragma unroll
  for (int c = 0; c < count; c++)
    if (at(c).there) U[(at(c).k * Nq + at(c).j) * pitch<M> + at(c).i] = u[c];
}

template <int MODE, class Team>
__device__ __forceinline__ void store_nodes(const sp_cuda_arguments &a, const Team &t,
                                            const double *U) {
  if (!t.on) return;
  for (int p = t.j * M + t.i; p < Np; p += M * M)
    store<MODE>(a, t.element, node_of(p), U[p / Nq * pitch<M> + p % Nq]);
}

// u[k] at the Gauss points (i, j, k) of the thread's column, from the nodes in U. Arrays hold
// [k][j][i] with rows of pitch M; X gets r lines, Y gets s lines.
template <class Team>
__device__ __forceinline__ void interpolate(const Team &t, double *U, double *X, double *Y,
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
template <class Team>
__device__ __forceinline__ void project(const Team &t, const double (&u)[M], double *U, double *X,
                                        double *Y) {
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

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void mass(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  double alpha = 0, beta = 0, energy = 0;
  follow();
  if (MODE == SP_CUDA_CG && !begin_pass(a.step, alpha, beta)) return;
  const team<M, E> t(a);
  double *X = shared + t.slot * 2 * array_size<M>, *Y = X + array_size<M>;
  const double *factors = a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : M * M * M);
  double u[M];
  load_nodes<MODE>(a, t, alpha, beta, Y);
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
        jacobian = load_once(factors + (k * M + t.j) * M + t.i);
      const double value = jacobian * u[k];
      if (MODE == SP_CUDA_CG) energy += value * u[k];
      u[k] = value;
    }
  }
  project(t, u, Y, X, Y);
  store_nodes<MODE>(a, t, Y);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void bp30(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  double alpha = 0, beta = 0, energy = 0;
  follow();
  if (MODE == SP_CUDA_CG && !begin_pass(a.step, alpha, beta)) return;
  const team<M, E> t(a);
  double *U = shared + t.slot * 3 * array_size<M>, *X = U + array_size<M>, *Y = X + array_size<M>;
  const double *factors =
      a.factors + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : 7 * M * M * M);
  double u[M], result[M];
  load_nodes<MODE>(a, t, alpha, beta, U);
  interpolate(t, U, X, Y, u);
  stiffness<M, GEOMETRY>(t.on, t.i, t.j, factors, a.lambda, u, result, U, X, Y);
  if (MODE == SP_CUDA_CG && t.on) {
#pragma unroll
    for (int k = 0; k < M; k++) energy += u[k] * result[k];
  }
  project(t, result, U, X, Y);
  store_nodes<MODE>(a, t, U);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}
