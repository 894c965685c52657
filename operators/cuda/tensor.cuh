// Local operators on FP64 tensor cores at N = 3 (sm_90): part of order.cu.
//
// A warp works on a group of eight elements; its lane 4 e + i holds the nodes (i, j, k) of element
// e. In mma.m16n8k8 the columns of operand A are points (i, j) of a layer k and its rows are
// elements; the result is distributed over lanes like the operand. So contractions along r move
// nothing between lanes, contractions along s and t stay within a lane, and no warp waits for
// another. Shared memory is used on the way from nodes in the order of L-vectors to lanes and back,
// and to save registers.
static_assert(Nq == 4, "a lane has the nodes of an operand's columns");

constexpr int WARPS = 4; // per block
constexpr int GROUP = 8; // elements per warp
constexpr int FACE_NODES = SURFACE_NODES - EDGE_NODES;

// Index of node (k, j, i) of an element in U, the group's nodes in shared memory. 16 lanes that
// read a line each, of four elements, access 16 different banks, and so do 16 lanes that read
// neighbours in the order of L-vectors.
__host__ __device__ constexpr int group_place(int k, int j, int i) {
  return 16 * k + 4 * (j % 2 * 2 + (j / 2 ^ k % 2)) + (i ^ j / 2);
}
constexpr int GROUP_STRIDE = stride_of(Np, Nq); // between elements in U

// Stride of the coefficients of elements' maps in shared memory: every element starts at another
// bank.
constexpr int MAP_STRIDE = 26;

// Doubles per group: U; coefficients of maps; stored factors of BP3.5 in one layer; all stored
// factors of the mass operator, after their barrier and with one more double at either end.
constexpr int GROUP_U = GROUP * GROUP_STRIDE, GROUP_MAPS = GROUP * MAP_STRIDE;
constexpr int GROUP_LAYER = GROUP * SP_FACTORS * Nq * Nq, GROUP_MASS = 4 + GROUP * M * M * M;

constexpr int TILE = 8, TILES = (M * M + TILE - 1) / TILE; // of points in a layer, i + M j

// d_group_places[node in the order of L-vectors] = group_place(node).
__device__ unsigned short d_group_places[Np];

// Operands B of multiply(), by lane: D and D^T along r for two rows j; the interpolation from the
// nodes (i, j) of a layer to the points of a tile, and its transpose to two rows of nodes.
__device__ double d_slope[2][2][32], d_to_points[TILES][Nq][32], d_to_nodes[TILES][2][2][32];

// c += a b. Lane 4 g + q holds rows g (even entries of a; c[0], c[1]) and g + 8 (odd entries of a;
// c[2], c[3]). Of these it holds columns q + 4 h of a (a[2 h], a[2 h + 1]) and columns 2 q, 2 q + 1
// of c. Of b it holds column g in rows q + 4 h (b[h]).
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[4],
                                         const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  __trap(); // older GPUs use lines
#endif
}
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[8],
                                         const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
        "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
  __trap();
#endif
}

// y += D x along r (or D^T x) for the nodes (i, j) of a layer.
__device__ __forceinline__ void along_r(const double (&slope)[2], const double (&x)[Nq],
                                        double (&y)[Nq]) {
  const double a[4] = {x[0], x[2], x[1], x[3]}; // rows j / 2, columns (i, j % 2)
  multiply(y, a, slope);
}

// Asynchronous copies by a thread to shared memory, complete after copies_done(): one double, or
// zero instead of it; 16 bytes.
__device__ __forceinline__ void copy(double *shared, const double *global, bool zero) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global), "r"(zero ? 0 : 8)
               : "memory");
#endif
}
__device__ __forceinline__ void copy(double2 *shared, const double2 *global) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global)
               : "memory");
#endif
}
__device__ __forceinline__ void copies_done() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

// The trilinear map along a row (r and t fixed), like column_map along a column.
struct row_map {
  double r0[3], r1[3], s[3], t0[3], t1[3], weights;

  __device__ __forceinline__ void prepare(const double *c, int i, int k) {
    const double r = point<Nq>(i), t = point<Nq>(k);
    weights = weight<Nq>(i) * weight<Nq>(k);
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r0[d] = c[3 + d] + t * c[18 + d];
      r1[d] = c[12 + d] + t * c[21 + d];
      t0[d] = c[9 + d] + r * c[18 + d];
      t1[d] = c[15 + d] + r * c[21 + d];
      s[d] = c[6 + d] + r * c[12 + d] + t * t1[d];
    }
  }

  // The adjugate and |J| at point j of the row.
  __device__ __forceinline__ double adjugate(int j, double p[3], double q[3], double w[3]) const {
    const double z = point<Nq>(j);
    double r[3], t[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r[d] = r0[d] + z * r1[d];
      t[d] = t0[d] + z * t1[d];
    }
    return adjugate_of(r, s, t, p, q, w);
  }
};

// A warp with its group and its part of shared memory: U, and ROOM more doubles. The codes of nodes
// inside faces follow after the parts of all warps.
template <int MODE, int ROOM, bool REMEMBERS> struct group {
  using visit = walk<16, GROUP / 2, REMEMBERS>; // half a warp visits an element's nodes
  using codes = node_codes<MODE, visit>;
  using values = node_values<MODE, visit>; // for pass 1 of CG
  static constexpr int SIZE = GROUP_U + ROOM;
  static constexpr size_t bytes = SIZE * sizeof(double) + GROUP * FACE_NODES * sizeof(unsigned);

  int lane, first;
  bool on; // true if the lane's element is not missing
  double *U, *room;
  unsigned *faces;

  __device__ __forceinline__ group(const sp_cuda_arguments &a, double *shared) {
    const int warp = threadIdx.x / 32;
    lane = threadIdx.x % 32;
    first = a.first + (blockIdx.x * WARPS + warp) * GROUP;
    on = first + lane / 4 < a.last;
    U = shared + warp * SIZE;
    room = U + GROUP_U;
    faces = (unsigned *)(shared + WARPS * SIZE) + (warp * GROUP + lane / 16) * FACE_NODES;
  }

  __device__ __forceinline__ visit nodes(const sp_cuda_arguments &a) const {
    return {lane % 16, first + lane / 16, 2, a.last};
  }

  // The number of the group's element e. Missing elements alias the last one, so loads need no
  // predicate.
  __device__ __forceinline__ size_t element(const sp_cuda_arguments &a, int e) const {
    return (size_t)min(first + e, a.last - 1);
  }

  // Node (k, j, i) of the lane's element.
  __device__ __forceinline__ double &node(int k, int j) const {
    return U[lane / 4 * GROUP_STRIDE + group_place(k, j, lane % 4)];
  }

  // The node of turn c: its index in U; its code, if it is inside a face.
  __device__ __forceinline__ int offset(const visit &w, int c) const {
    const int node = w.node(c);
    const int place = MODE == SP_CUDA_LOCAL
                          ? group_place(node / (Nq * Nq), node / Nq % Nq, node % Nq)
                          : __ldg(d_group_places + node);
    return (w.place(c) - first) * GROUP_STRIDE + place;
  }
  __device__ __forceinline__ unsigned &face_code(const visit &w, int c) const {
    return faces[c / visit::each * w.stride * FACE_NODES + w.node(c) - EDGE_NODES];
  }

  // Bring the values at the group's nodes to U, by asynchronous copies if the values stay
  // unchanged.
  __device__ __forceinline__ void load(const sp_cuda_arguments &a, const visit &w,
                                       const codes &known, const pass_1<MODE> &pass,
                                       values &asked) const {
    if (MODE == SP_CUDA_CG)
      asked.put(
          a, w, known, pass, [&](int c) { return offset(w, c); }, U);
#pragma unroll
    for (int c = 0; c < visit::turns; c++) {
      if (MODE == SP_CUDA_LOCAL) {
        copy(U + offset(w, c), reals(a.x) + (size_t)w.element(c) * Np + w.node(c), false);
        continue;
      }
      const unsigned code = known.code[c];
      if (MODE == SP_CUDA_ASSEMBLED)
        copy(U + offset(w, c), reals(a.x) + dof_of<visit>(code),
             a.constrained && code & SP_CUDA_CONSTRAINED);
      if (w.in_face(c)) face_code(w, c) = code;
    }
    copies_done();
  }

  // Z^T: add the nodes in U to y.
  __device__ __forceinline__ void store(const sp_cuda_arguments &a, const visit &w) const {
    __syncwarp();
    store_nodes<MODE>(
        a, w, [&](int c) { return face_code(w, c); }, [&](int c) { return offset(w, c); }, U);
  }

  // Start to copy the `count` numbers of the elements' maps. map() points to the lane's element.
  template <int count> __device__ __forceinline__ void ask_maps(const sp_cuda_arguments &a) const {
    constexpr int pairs = count / 2;
#pragma unroll
    for (int c = lane; c < pairs * GROUP; c += 32)
      copy((double2 *)(room + c / pairs * MAP_STRIDE) + c % pairs,
           (const double2 *)(reals(a.factors) + element(a, c / pairs) * count) + c % pairs);
  }
  __device__ __forceinline__ const double *map() const {
    return room + lane / 4 * MAP_STRIDE;
  }

  // lambda / kappa of a scaled map. It is volatile, so it is read again at each point and needs no
  // register.
  __device__ __forceinline__ double ratio() const {
    return *(const volatile double *)(map() + 1);
  }

  // Start to copy the stored factors of BP3.5 in layer k. factor() returns the lane's factor at row
  // j. Pairs of neighbours in a row are shifted by two from element to element, so that lanes
  // access different banks.
  __device__ __forceinline__ void ask_layer(const sp_cuda_arguments &a, int k) const {
#pragma unroll
    for (int c = lane; c < GROUP_LAYER / 2; c += 32) {
      const int pair = c % 8, e = c / 8 % GROUP, component = c / (8 * GROUP);
      copy((double2 *)room + c / 8 * 8 + (pair + 2 * e) % 8,
           (const double2 *)(reals(a.factors) + element(a, e) * (SP_FACTORS * Np) + component * Np +
                             k * (Nq * Nq)) +
               pair);
    }
  }
  __device__ __forceinline__ double factor(int component, int j) const {
    const int i = lane % 4, e = lane / 4, pair = (2 * j + i / 2 + 2 * e) % 8;
    return room[(component * GROUP + e) * (Nq * Nq) + 2 * pair + i % 2];
  }
};

template <int MODE, int GEOMETRY>
using bp35_team = group<MODE, GEOMETRY == STORED ? GROUP_LAYER : GROUP_MAPS, false>;

template <int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(32 * WARPS, MIN_BLOCKS) void bp35_group(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  using team = bp35_team<MODE, GEOMETRY>;
  const team g(a, shared);
  const auto nodes = g.nodes(a);
  const typename team::codes codes(a, true, nodes);
  if (GEOMETRY == STORED)
    g.ask_layer(a, 0);
  else
    g.template ask_maps<GEOMETRY == AFFINE ? SP_CUDA_AFFINE : 24>(a);
  double energy = 0;
  follow();
  const pass_1<MODE> pass(a.step);
  typename team::values values;
  // Load before the stop flag arrives: in a small problem that takes as long as loading nodes.
  if (MODE == SP_CUDA_CG) values.ask(a, nodes, codes);
  if (!pass.begins(a.step)) return copies_done();
  g.load(a, nodes, codes, pass, values);
  const double slope[2] = {__ldg(&d_slope[0][0][g.lane]), __ldg(&d_slope[0][1][g.lane])};
  const double transposed[2] = {__ldg(&d_slope[1][0][g.lane]), __ldg(&d_slope[1][1][g.lane])};
  double t[Nq][Nq]; // [k][j]
#pragma unroll
  for (int j = 0; j < Nq; j++)
    apply_line<derivative<Nq>>([&](int m) { return g.node(m, j); },
                               [&](int k, double v) { t[k][j] = v; });
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    // The barrier also prevents the compiler from loading values of later layers into registers.
    if (GEOMETRY == STORED && k > 0)
      copies_done();
    else
      __syncwarp();
    double u[Nq], r[Nq] = {}, s[Nq];
#pragma unroll
    for (int j = 0; j < Nq; j++) u[j] = g.node(k, j);
    along_r(slope, u, r);
    apply_line<derivative<Nq>>([&](int m) { return u[m]; }, [&](int j, double v) { s[j] = v; });
    map_of<row_map, Nq, GEOMETRY> map;
    if (GEOMETRY != STORED) map.prepare(g.map(), g.lane % 4, k);
#pragma unroll
    for (int j = 0; j < Nq; j++) {
      const double ur = r[j], us = s[j], ut = t[k][j];
      const double jacobian =
          GEOMETRY == STORED ? scale_stored([&](int component) { return g.factor(component, j); },
                                            r[j], s[j], t[k][j])
                             : scale_trilinear<Nq>(map, j, r[j], s[j], t[k][j]);
      const double lambda = GEOMETRY == SCALED ? g.ratio() : GEOMETRY == AFFINE ? 1 : a.lambda;
      const double mass = lambda * jacobian * u[j];
      if (MODE == SP_CUDA_CG) energy += ur * r[j] + us * s[j] + ut * t[k][j] + mass * u[j];
      u[j] = mass;
    }
    if (GEOMETRY == STORED && k + 1 < Nq) {
      __syncwarp();
      g.ask_layer(a, k + 1);
    }
    along_r(transposed, r, u);
    apply_line<derivative_transposed<Nq>>([&](int m) { return s[m]; },
                                          [&](int j, double v) { g.node(k, j) = u[j] + v; });
  }
#pragma unroll
  for (int j = 0; j < Nq; j++)
    apply_line<derivative_transposed<Nq>>([&](int m) { return t[m][j]; },
                                          [&](int k, double v) { g.node(k, j) += v; });
  g.store(a, nodes);
  if (MODE == SP_CUDA_CG) store_partial(a.step, g.on ? energy : 0);
}

template <int MODE, int GEOMETRY>
using mass_team = group<MODE, GEOMETRY == TRILINEAR ? GROUP_MAPS : GROUP_MASS,
                        GEOMETRY == STORED || MODE == SP_CUDA_CG>;

// Interpolation along r and s in one product, one tile of a layer's points after another; along t
// within lanes.
template <int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(32 * WARPS, MIN_BLOCKS) void mass_group(sp_cuda_arguments a) {
  extern __shared__ double shared[];
  using team = mass_team<MODE, GEOMETRY>;
  const team g(a, shared);
  const auto nodes = g.nodes(a);
  const typename team::codes codes(a, true, nodes);
  static_assert(GEOMETRY == TRILINEAR || MODE != SP_CUDA_CG,
                "the copy may outlive a block that ends");
  constexpr int EACH = M * M * M;
  const size_t from = (size_t)g.first * EACH;
  const unsigned arrived = (unsigned)__cvta_generic_to_shared(g.room);
  const bool any = g.first < a.last;
  if (GEOMETRY == TRILINEAR) {
    g.template ask_maps<24>(a);
  } else if (any && g.lane == 0) { // copies begin and end on a boundary of 16 bytes
    const unsigned bytes = (from % 2 + min(GROUP, a.last - g.first) * EACH + 1) / 2 * 16;
    make_barrier(arrived, 1);
    before_copies();
    expect_copies(arrived, bytes);
    bulk_copy(arrived, arrived + 16, reals(a.factors) + from - from % 2, bytes);
  }
  const double *factors = g.room + 2 + from % 2 + g.lane / 4 * EACH;
  double energy = 0;
  follow();
  const pass_1<MODE> pass(a.step);
  typename team::values values;
  // Load before the stop flag arrives: in a small problem that takes as long as loading nodes.
  if (MODE == SP_CUDA_CG) values.ask(a, nodes, codes);
  if (!pass.begins(a.step)) return copies_done();
  g.load(a, nodes, codes, pass, values);
  if (GEOMETRY == STORED && any) await(arrived, 0);
  double u[Nq][Nq], y[2][2][4] = {}; // u[k][j]; y[k / 2][j / 2][2 (k % 2) + j % 2]
#pragma unroll
  for (int k = 0; k < Nq; k++) {
#pragma unroll
    for (int j = 0; j < Nq; j++) u[k][j] = g.node(k, j);
  }
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    double b[Nq], x[2][4] = {}; // x[k / 2][2 (k % 2) + h]: at point 2 i + h of the tile
#pragma unroll
    for (int j = 0; j < Nq; j++) b[j] = __ldg(&d_to_points[tile][j][g.lane]);
#pragma unroll
    for (int k = 0; k < 2; k++) {
      double rows[2 * Nq];
#pragma unroll
      for (int j = 0; j < Nq; j++) {
        rows[2 * j] = u[2 * k][j];
        rows[2 * j + 1] = u[2 * k + 1][j];
      }
      multiply(x[k], rows, b);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (TILE * tile + h >= M * M) continue; // x is zero there
      const int p = min(TILE * tile + 2 * (g.lane % 4) + h, M * M - 1);
      double column[M];
      apply_line<interpolation>([&](int m) { return x[m / 2][m % 2 * 2 + h]; },
                                [&](int c, double v) { column[c] = v; });
      column_map<M> map;
      if (GEOMETRY == TRILINEAR) {
        __syncwarp(); // to save registers, as in bp35_group()
        map.prepare(g.map(), p % M, p / M);
      }
#pragma unroll
      for (int c = 0; c < M; c++) {
        double v[3][3];
        const double jacobian = GEOMETRY == TRILINEAR
                                    ? map.weights * weight<M>(c) * map.adjugate(c, v[0], v[1], v[2])
                                    : factors[c * (M * M) + p];
        const double value = jacobian * column[c];
        if (MODE == SP_CUDA_CG) energy += value * column[c];
        column[c] = value;
      }
      apply_line<projection>([&](int c) { return column[c]; },
                             [&](int m, double v) { x[m / 2][m % 2 * 2 + h] = v; });
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const double back[2] = {__ldg(&d_to_nodes[tile][j][0][g.lane]),
                              __ldg(&d_to_nodes[tile][j][1][g.lane])};
#pragma unroll
      for (int k = 0; k < 2; k++) {
        const double rows[4] = {x[k][0], x[k][2], x[k][1], x[k][3]};
        multiply(y[k][j], rows, back);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < Nq; k++) {
#pragma unroll
    for (int j = 0; j < Nq; j++) g.node(k, j) = y[k / 2][j / 2][k % 2 * 2 + j % 2];
  }
  g.store(a, nodes);
  if (MODE == SP_CUDA_CG) store_partial(a.step, g.on ? energy : 0);
}

// Fill the tables above.
cudaError_t prepare_groups(const sp_reference *reference) {
  const double *d = reference->differentiation, *to = reference->interpolation;
  double slope[2][2][32], to_points[TILES][Nq][32], to_nodes[TILES][2][2][32];
  const auto interpolate = [&](int p, int j, int i) {
    return p < M * M ? to[p % M * Nq + i] * to[p / M * Nq + j] : 0;
  };
  for (int lane = 0; lane < 32; lane++) {
    const int g = lane / 4, q = lane % 4;
    for (int h = 0; h < 2; h++) {
      slope[0][h][lane] = g % 2 == h ? d[g / 2 * Nq + q] : 0;
      slope[1][h][lane] = g % 2 == h ? d[q * Nq + g / 2] : 0;
    }
    for (int tile = 0; tile < TILES; tile++) {
      for (int j = 0; j < Nq; j++) to_points[tile][j][lane] = interpolate(TILE * tile + g, j, q);
      for (int rows = 0; rows < 2; rows++) {
        for (int h = 0; h < 2; h++)
          to_nodes[tile][rows][h][lane] =
              interpolate(TILE * tile + 2 * q + h, 2 * rows + g % 2, g / 2);
      }
    }
  }
  unsigned short places[Np];
  sp_cuda_node_order(SP_ORDER, places);
  for (unsigned short &place : places)
    place = (unsigned short)group_place(place / (Nq * Nq), place / Nq % Nq, place % Nq);
  cudaError_t error = cudaMemcpyToSymbol(d_group_places, places, sizeof places);
  if (!error) error = cudaMemcpyToSymbol(d_slope, slope, sizeof slope);
  if (!error) error = cudaMemcpyToSymbol(d_to_points, to_points, sizeof to_points);
  return error ? error : cudaMemcpyToSymbol(d_to_nodes, to_nodes, sizeof to_nodes);
}
