// Local operators by lines: part of order.cu. A thread works on one line of the element in each
// direction. Values cross shared memory between directions; along t a line stays in registers. A
// block works on E elements.

// One line of a contraction, y = matrix x, by its even and odd parts (mesh/reference.h): x_c =
// read(c), write(r, y_r).
template <class Matrix, class Read, class Write>
__device__ __forceinline__ void apply_line(Read read, Write write) {
  constexpr int rows = Matrix::rows, columns = Matrix::columns, pairs = columns / 2;
  real even[half<columns>], odd[half<columns>];
#pragma unroll
  for (int c = 0; c < pairs; c++) {
    const real low = read(c), high = read(columns - 1 - c);
    even[c] = low + high;
    odd[c] = low - high;
  }
  if (columns % 2) even[pairs] = read(pairs);
#pragma unroll
  for (int r = 0; r < half<rows>; r++) {
    const bool middle = 2 * r + 1 == rows; // the middle entry, where one of the two sums is zero
    real p = 0, q = 0;
    if (!middle || Matrix::sign > 0) {
#pragma unroll
      for (int c = 0; c < half<columns>; c++) p += Matrix::even(r, c) * even[c];
    }
    if (!middle || Matrix::sign < 0) {
#pragma unroll
      for (int c = 0; c < pairs; c++) q += Matrix::odd(r, c) * odd[c];
    }
    write(r, p + q);
    if (!middle) write(rows - 1 - r, Matrix::sign > 0 ? p - q : q - p);
  }
}

// Shared memory has 16 banks of 8 bytes for half a warp, or 32 banks of 4 bytes for a warp, which
// works on neighbouring columns or lines. Strides are chosen so that these access different banks,
// or nearly so, in every direction.
constexpr int BANKS = 128 / sizeof(real);
constexpr int stride_of(int least, int bank) {
  return least + ((bank - least) % BANKS + BANKS) % BANKS;
}

// Arrays of stiffness(). If four divides n, every half warp accesses 16 different banks. Otherwise
// rows have no gaps, and lines along r or s have two-way bank conflicts, at n = 7 three-way ones in
// places.
template <int n>
constexpr int plane_stride = n % 4 == 0          ? n *n + n
                             : n == 3            ? stride_of(n *n, 2)
                             : n == 6 || n == 10 ? stride_of(n *n, 9)
                                                 : n *n;
template <int n> constexpr int array_size = n *plane_stride<n>;

// Index of point (k, j, i).
template <int n>
__host__ __device__ __forceinline__ unsigned place_of(unsigned k, unsigned j, unsigned i) {
  constexpr unsigned power = n & -n, plane = plane_stride<n>; // power of two in n
  if (n == 16) return k * plane + j * (n + 1) + i;
  if (power < 4) return k * plane + j * n + i;
  return k * plane + j * n + (i ^ (k * (n * power / 16) + j / (16 / power)) % power);
}

// Numbers per element of E: the next element starts at the bank where the previous one ends.
template <int n> constexpr int stiffness_size = stride_of(3 * array_size<n>, n *n);

// Form of the addresses of stored factors in stiffness() (geometry.cuh). If not pointwise, BP3.5 is
// 7 and 11 % faster at N = 13 and 14, 11 and 20 % between L-vectors; at N = 12 and 15 it is 8 and 4
// % slower.
constexpr bool BP35_POINTWISE = SP_ORDER != 13 && SP_ORDER != 14, BP30_POINTWISE = SP_ORDER <= 12;

// Thread (i, j) of an element gets result[k] at the points (i, j, k) of its column:
// result = (D^T G D + lambda wJ) u; with SCALED, kappa and lambda are the element's. With ENERGY,
// the thread's part of u.result is added to energy. U, X, Y are shared arrays of the element, and U
// holds u. All threads of the block call this; `on` marks those with an element. It begins with a
// barrier.
template <int n, int GEOMETRY, bool ENERGY, bool POINTWISE, class Factors>
__device__ __forceinline__ void stiffness(bool on, int i, int j, Factors factors, real lambda,
                                          real *U, real *X, real *Y, real (&result)[n],
                                          double &energy) {
  const auto place = [&](int k) { return place_of<n>(k, j, i); };
  real ut[n];
  __syncthreads();
  // The thread's lines are (k = j, j = i) along r, and (k = j, i = i) along s.
  const auto on_r = [&](int m) { return place_of<n>(j, i, m); };
  const auto on_s = [&](int m) { return place_of<n>(j, m, i); };
  if (on) {
    apply_line<derivative<n>>([&](int m) { return U[place(m)]; },
                              [&](int a, real v) { ut[a] = v; });
    apply_line<derivative<n>>([&](int m) { return U[on_r(m)]; },
                              [&](int a, real v) { X[on_r(a)] = v; });
    apply_line<derivative<n>>([&](int m) { return U[on_s(m)]; },
                              [&](int a, real v) { Y[on_s(a)] = v; });
  }
  __syncthreads();
  if (on) {
    map_of<column_map<n>, n, GEOMETRY> map;
    if constexpr (is_trilinear<GEOMETRY>) map.prepare(factors, i, j);
    if constexpr (GEOMETRY == SCALED) lambda = factors[1];
    if constexpr (GEOMETRY == AFFINE) lambda = 1;
#pragma unroll
    for (int k = 0; k < n; k++) {
      begin_layer(factors, k);
      const real u = U[place(k)], r = X[place(k)], s = Y[place(k)], t = ut[k];
      real flux_r = r, flux_s = s;
      const real jacobian =
          is_trilinear<GEOMETRY>
              ? scale_trilinear<n>(map, k, flux_r, flux_s, ut[k])
              : scale_stored<n, POINTWISE>(factors, k, j, i, flux_r, flux_s, ut[k]);
      end_layer(factors, k);
      const real mass = lambda * jacobian * u;
      X[place(k)] = flux_r;
      Y[place(k)] = flux_s;
      U[place(k)] = mass; // saves registers, which are scarce
      if (ENERGY) energy += r * flux_r + s * flux_s + t * ut[k] + mass * u;
    }
    apply_line<derivative_transposed<n>>([&](int m) { return ut[m]; },
                                         [&](int a, real v) { result[a] = v; });
  }
  __syncthreads();
  if (on) {
    apply_line<derivative_transposed<n>>([&](int m) { return X[on_r(m)]; },
                                         [&](int a, real v) { X[on_r(a)] = v; });
    apply_line<derivative_transposed<n>>([&](int m) { return Y[on_s(m)]; },
                                         [&](int a, real v) { Y[on_s(a)] = v; });
  }
  __syncthreads();
  if (on) {
#pragma unroll
    for (int k = 0; k < n; k++) result[k] += X[place(k)] + Y[place(k)] + U[place(k)];
  }
}

// A block's threads: n * n for each of its E elements, rounded up to whole warps.
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

  __device__ __forceinline__ walk<n * n> nodes() const {
    return {j * n + i, element, 0, 0};
  }
};

template <int E, int n> constexpr int threads = (E * n * n + 31) / 32 * 32;

// Numbers of all elements of a block, rounded up to 16 bytes.
template <int E> constexpr int stiffness_room = (E * stiffness_size<Nq> + 1) / 2 * 2;

// Numbers after them for copies of factors: LAYERS layers in advance, or SLOTS slots of a ring.
template <int E, int LAYERS, int SLOTS> constexpr int copies_room() {
  if constexpr (LAYERS > 0)
    return ahead<Nq, E, LAYERS>::size;
  else if constexpr (SLOTS > 0)
    return ring<Nq, SLOTS>::size;
  else
    return 0;
}

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE, int LAYERS, int SLOTS>
__global__ __launch_bounds__(threads<E, Nq>, MIN_BLOCKS) void bp35(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  constexpr int WORKERS = Nq * Nq;
  const team<Nq, E> t(a);
  const auto nodes = t.nodes();
  const node_codes<MODE, walk<WORKERS>> codes(a, t.on, nodes);
  double energy = 0;
  follow();
  const pass_1<MODE> pass(a.step);
  if (!pass.begins(a.step)) return;
  real *U = shared + t.slot * stiffness_size<Nq>;
  real *X = U + array_size<Nq>, *Y = X + array_size<Nq>;
  const auto factors = [&] {
    const int first = a.first + blockIdx.x * E;
    const real *const from = reals(a.factors) + (size_t)first * (SP_FACTORS * Np);
    real *const room = shared + stiffness_room<E>;
    if constexpr (LAYERS > 0)
      return ahead<Nq, E, LAYERS>(from, min(E, a.last - first), t.slot, room);
    else if constexpr (SLOTS > 0)
      return ring<Nq, SLOTS>(from, room);
    else
      return factors_of<Nq, GEOMETRY>(a, t.element);
  }();
  if constexpr (GEOMETRY == STORED && MIN_BLOCKS == 1)
    if (threadIdx.x == 0) prefetch<SP_FACTORS * Np>(factors);
  real result[Nq];
  const auto offset = [&](int c) -> int {
    return MODE == SP_CUDA_LOCAL ? place_of<Nq>(c, t.j, t.i) : __ldg(d_offsets + nodes.node(c));
  };
  const auto face_code = [&](int c) { return code_of(a, nodes, c); };
  if (t.on) load_nodes(a, nodes, codes, pass, offset, U);
  stiffness<Nq, GEOMETRY, MODE == SP_CUDA_CG, BP35_POINTWISE>(
      t.on, t.i, t.j, factors, (real)a.lambda, U, X, Y, result, energy);
  if (t.on) {
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      if (MODE == SP_CUDA_LOCAL)
        __stcs(reals(a.y) + (size_t)t.element * Np + k * WORKERS + nodes.worker, result[k]);
      else
        X[place_of<Nq>(k, t.j, t.i)] = result[k];
    }
  }
  if (MODE != SP_CUDA_LOCAL) {
    __syncthreads();
    if (t.on) store_nodes<MODE>(a, nodes, face_code, offset, X);
  }
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

// ---- Interpolation between nodes and Gauss points ----

// Arrays between the directions of interpolate(): one direction writes them, the next one reads
// them.

// Nodes (k, j, i), in rows of odd length.
constexpr int ROW = Nq % 2 ? Nq : Nq + 1, NODES_SIZE = Nq * Nq * ROW;

// After r: point a at nodes (k, j); j is the slowest index, then k, then a.
constexpr int R_STRIDE = stride_of(Nq * M, M == 5 ? 4 : M % 2 && M < BANKS ? 2 : 1);
constexpr int R_SIZE = Nq * R_STRIDE;
__device__ __forceinline__ int after_r(int k, int j, int a) {
  return j * R_STRIDE + k * M + a;
}

template <class Number> constexpr Number larger(Number a, Number b) {
  return a > b ? a : b;
}

// After s: points (b, a) at nodes k; the slowest index is b (BY_POINT) or k, whichever array is
// smaller.
constexpr int S_NODES = stride_of(Nq * M, M), S_PLANE = stride_of(M * M, M);
constexpr bool BY_POINT = M * S_NODES <= Nq * S_PLANE;
constexpr int S_SIZE = BY_POINT ? M * S_NODES : Nq * S_PLANE;
__device__ __forceinline__ int after_s(int k, int b, int a) {
  return BY_POINT ? b * S_NODES + k * M + a : k * S_PLANE + b * M + a;
}

// Numbers per element, and the offsets of its arrays.
constexpr int MASS_X = larger(NODES_SIZE, S_SIZE), MASS_SIZE = stride_of(MASS_X + R_SIZE, M *M);
constexpr int BP30_X = larger(NODES_SIZE, array_size<M>);
constexpr int BP30_Y = BP30_X + larger(R_SIZE, array_size<M>);
constexpr int BP30_SIZE = stride_of(BP30_Y + larger(S_SIZE, array_size<M>), M *M);

// Index of a node in the array that interpolate() starts from.
template <int MODE> __device__ __forceinline__ int row_offset(int node) {
  const int place = MODE == SP_CUDA_LOCAL ? node : __ldg(d_places + node);
  return place / Nq * ROW + place % Nq;
}

// u[k] at the Gauss points (i, j, k) of the thread's column, from the nodes in U. X and Y are
// workspace; Y may be U.
template <class Team>
__device__ __forceinline__ void interpolate(const Team &t, real *U, real *X, real *Y,
                                            real (&u)[M]) {
  const int line = t.j * M + t.i, k = line / Nq, j = line % Nq; // along r; along s at k = t.j
  __syncthreads();
  if (t.on && k < Nq)
    apply_line<interpolation>([&](int m) { return U[line * ROW + m]; },
                              [&](int a, real v) { X[after_r(k, j, a)] = v; });
  __syncthreads();
  if (t.on && t.j < Nq)
    apply_line<interpolation>([&](int m) { return X[after_r(t.j, m, t.i)]; },
                              [&](int b, real v) { Y[after_s(t.j, b, t.i)] = v; });
  __syncthreads();
  if (t.on)
    apply_line<interpolation>([&](int m) { return Y[after_s(m, t.j, t.i)]; },
                              [&](int c, real v) { u[c] = v; });
}

// The transpose: columns u at Gauss points to nodes in U.
template <class Team>
__device__ __forceinline__ void project(const Team &t, const real (&u)[M], real *U, real *X,
                                        real *Y) {
  const int line = t.j * M + t.i, k = line / Nq, j = line % Nq;
  __syncthreads();
  if (t.on)
    apply_line<projection>([&](int c) { return u[c]; },
                           [&](int m, real v) { Y[after_s(m, t.j, t.i)] = v; });
  __syncthreads();
  if (t.on && t.j < Nq)
    apply_line<projection>([&](int b) { return Y[after_s(t.j, b, t.i)]; },
                           [&](int m, real v) { X[after_r(t.j, m, t.i)] = v; });
  __syncthreads();
  if (t.on && k < Nq)
    apply_line<projection>([&](int a) { return X[after_r(k, j, a)]; },
                           [&](int m, real v) { U[line * ROW + m] = v; });
  __syncthreads();
}

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void mass(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  constexpr int WORKERS = M * M;
  const team<M, E> t(a);
  const auto nodes = t.nodes();
  const node_codes<MODE, walk<WORKERS>> codes(a, t.on, nodes);
  double energy = 0;
  follow();
  const pass_1<MODE> pass(a.step);
  if (!pass.begins(a.step)) return;
  real *Y = shared + t.slot * MASS_SIZE, *X = Y + MASS_X;
  const real *factors =
      reals(a.factors) + (size_t)t.element * (GEOMETRY == TRILINEAR ? 24 : M * M * M);
  real u[M], stored[M]; // wJ on the column, loaded before the first barrier
#pragma unroll
  for (int k = 0; k < M; k++)
    if (GEOMETRY == STORED && t.on) stored[k] = load_once(factors + k * WORKERS + nodes.worker);
  const auto offset = [&](int c) { return row_offset<MODE>(nodes.node(c)); };
  const auto face_code = [&](int c) { return code_of(a, nodes, c); };
  if (t.on) load_nodes(a, nodes, codes, pass, offset, Y);
  interpolate(t, Y, X, Y, u);
  if (t.on) {
    column_map<M> map;
    if (GEOMETRY == TRILINEAR) map.prepare(factors, t.i, t.j);
#pragma unroll
    for (int k = 0; k < M; k++) {
      real p[3], q[3], w[3];
      const real jacobian =
          GEOMETRY == TRILINEAR ? map.weights * weight<M>(k) * map.adjugate(k, p, q, w) : stored[k];
      const real value = jacobian * u[k];
      if (MODE == SP_CUDA_CG) energy += value * u[k];
      u[k] = value;
    }
  }
  project(t, u, Y, X, Y);
  if (t.on) store_nodes<MODE>(a, nodes, face_code, offset, Y);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

template <int E, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(threads<E, M>, MIN_BLOCKS) void bp30(sp_cuda_arguments a) {
  extern __shared__ real shared[];
  constexpr int WORKERS = M * M;
  const team<M, E> t(a);
  const auto nodes = t.nodes();
  const node_codes<MODE, walk<WORKERS>> codes(a, t.on, nodes);
  double energy = 0;
  follow();
  const pass_1<MODE> pass(a.step);
  if (!pass.begins(a.step)) return;
  real *U = shared + t.slot * BP30_SIZE, *X = U + BP30_X, *Y = U + BP30_Y;
  const auto factors = factors_of<M, GEOMETRY>(a, t.element);
  if constexpr (GEOMETRY == STORED && MIN_BLOCKS == 1)
    if (threadIdx.x == 0) prefetch<SP_FACTORS * M * M * M>(factors);
  real u[M], result[M];
  const auto offset = [&](int c) { return row_offset<MODE>(nodes.node(c)); };
  const auto face_code = [&](int c) { return code_of(a, nodes, c); };
  if (t.on) load_nodes(a, nodes, codes, pass, offset, U);
  interpolate(t, U, X, Y, u);
  if (t.on) {
#pragma unroll
    for (int k = 0; k < M; k++) U[place_of<M>(k, t.j, t.i)] = u[k];
  }
  stiffness<M, GEOMETRY, MODE == SP_CUDA_CG, BP30_POINTWISE>(
      t.on, t.i, t.j, factors, (real)a.lambda, U, X, Y, result, energy);
  project(t, result, U, X, Y);
  if (t.on) store_nodes<MODE>(a, nodes, face_code, offset, U);
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}
