// Geometric factors at a point, stored or recomputed: part of order.cu.

__device__ __forceinline__ void cross(const real a[3], const real b[3], real c[3]) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

// Rows p, q, w of the adjugate |J| J^-1, and |J|, from the columns r, s, t of J.
__device__ __forceinline__ real adjugate_of(const real r[3], const real s[3], const real t[3],
                                            real p[3], real q[3], real w[3]) {
  cross(s, t, p);
  cross(t, r, q);
  cross(r, s, w);
  return r[0] * p[0] + r[1] * p[1] + r[2] * p[2];
}

// The trilinear map along a column (r and s fixed): d x / d t does not depend on t; the other
// derivatives are linear in t.
template <int n> struct column_map {
  real r0[3], r1[3], s0[3], s1[3], t[3], weights;

  __device__ __forceinline__ void prepare(const real *c, int i, int j) {
    const real r = point<n>(i), s = point<n>(j);
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

  // The adjugate and |J| at point k of the column.
  __device__ __forceinline__ real adjugate(int k, real p[3], real q[3], real w[3]) const {
    const real z = point<n>(k);
    real r[3], s[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r[d] = r0[d] + z * r1[d];
      s[d] = s0[d] + z * s1[d];
    }
    return adjugate_of(r, s, t, p, q, w);
  }
};

// A map with the element's kappa, which is a factor of `weights`.
template <class Map> struct scaled_map : Map {
  __device__ __forceinline__ void prepare(const real *c, int i, int j) {
    Map::prepare(c, i, j);
    this->weights *= c[0];
  }
};

// A parallelepiped: its factors at a point of weight one, with kappa and lambda
// (operators/factors.h).
template <int n> struct constant_map {
  real factors[SP_FACTORS], weights;

  __device__ __forceinline__ void prepare(const real *c, int i, int j) {
#pragma unroll
    for (int f = 0; f < SP_FACTORS; f++) factors[f] = c[f];
    weights = weight<n>(i) * weight<n>(j);
  }
};

template <class Map, int n, int GEOMETRY>
using map_of = std::conditional_t<GEOMETRY == AFFINE, constant_map<n>,
                                  std::conditional_t<GEOMETRY == SCALED, scaled_map<Map>, Map>>;

// 1 / a up to rounding, if a is far from overflow and underflow: the hardware's 20 bits x and a
// step of third order, x (1 + e + e^2) with e = 1 - a x, without the branches of a correctly
// rounded division.
__device__ __forceinline__ double reciprocal(double a) {
  double x;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(a));
  const double e = fma(-a, x, 1.0);
  return fma(fma(e, e, e), x, x);
}
// In single precision the hardware's result is good to one unit in the last place.
__device__ __forceinline__ float reciprocal(float a) {
  float x;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(a));
  return x;
}

// (ur, us, ut) <- G (ur, us, ut) at point k; returns wJ, both times kappa for a scaled map.
template <int n, class Map>
__device__ __forceinline__ real scale_trilinear(const Map &map, int k, real &ur, real &us,
                                                real &ut) {
  real p[3], q[3], w[3], flux[3];
  const real jacobian = map.adjugate(k, p, q, w), weights = map.weights * weight<n>(k);
  const real scale = weights * reciprocal(jacobian);
#pragma unroll
  for (int d = 0; d < 3; d++) flux[d] = scale * (p[d] * ur + q[d] * us + w[d] * ut);
  ur = p[0] * flux[0] + p[1] * flux[1] + p[2] * flux[2];
  us = q[0] * flux[0] + q[1] * flux[1] + q[2] * flux[2];
  ut = w[0] * flux[0] + w[1] * flux[1] + w[2] * flux[2];
  return weights * jacobian;
}

// The same with stored factors: at(component) returns one of them.
template <class At>
__device__ __forceinline__ real scale_stored(At at, real &ur, real &us, real &ut) {
  const real rr = at(SP_G_RR), rs = at(SP_G_RS), rt = at(SP_G_RT);
  const real ss = at(SP_G_SS), st = at(SP_G_ST), tt = at(SP_G_TT);
  const real r = ur, s = us, t = ut;
  ur = rr * r + rs * s + rt * t;
  us = rs * r + ss * s + st * t;
  ut = rt * r + st * s + tt * t;
  return at(SP_G_WJ);
}

// (ur, us, ut) <- G (ur, us, ut) with a constant map; returns lambda wJ.
template <int n>
__device__ __forceinline__ real scale_trilinear(const constant_map<n> &map, int k, real &ur,
                                                real &us, real &ut) {
  const real weights = map.weights * weight<n>(k);
  const real jacobian = scale_stored([&](int f) { return map.factors[f]; }, ur, us, ut);
  ur *= weights;
  us *= weights;
  ut *= weights;
  return weights * jacobian;
}

// Factors of an element in global memory, at point (k, j, i). The form of the addresses decides how
// many loads the compiler issues in advance, and when. POINTWISE is better at most orders
// (lines.cuh).
template <int n, bool POINTWISE>
__device__ __forceinline__ real scale_stored(const real *factors, int k, int j, int i, real &ur,
                                             real &us, real &ut) {
  const real *point = factors + (k * n + j) * n + i;
  const auto at = [&](int component) {
    return POINTWISE ? load_once(point + component * (n * n * n))
                     : load_once(factors + (component * n + k) * (n * n) + (j * n + i));
  };
  return scale_stored(at, ur, us, ut);
}

// Rounded factors of an element (operators/factors.h), in global memory.
template <int n> struct rounded {
  static constexpr int points = n * n * n, words = 3 * points + (points + 1) / 2;
  const unsigned *first;

  __device__ __forceinline__ real jacobian(int point) const {
    return upper(load_once((const unsigned short *)(first + 3 * points) + point) << 16);
  }

  // A word as two numbers.
  struct pair {
    real lower, upper;
  };
  __device__ __forceinline__ pair at(int which, int point) const {
    const unsigned word = load_once(first + which * points + point);
    return {upper(word << 16), upper(word & 0xffff0000)};
  }

private:
  static __device__ __forceinline__ real upper(unsigned bits) {
    return __uint_as_float(bits);
  }
};

// G = L L^T. The address of a point has the same form at all orders.
template <int n, bool POINTWISE>
__device__ __forceinline__ real scale_stored(const rounded<n> &factors, int k, int j, int i,
                                             real &ur, real &us, real &ut) {
  const int point = (k * n + j) * n + i;
  const auto [rr, sr] = factors.at(0, point);
  const auto [tr, ss] = factors.at(1, point);
  const auto [ts, tt] = factors.at(2, point);
  const real a = rr * ur + sr * us + tr * ut, b = ss * us + ts * ut, c = tt * ut;
  ur = rr * a;
  us = sr * a + ss * b;
  ut = tr * a + ts * b + tt * c;
  return factors.jacobian(point);
}

// An element's factors in global memory, as stiffness() takes them.
template <int n, int GEOMETRY>
__device__ __forceinline__ auto factors_of(const sp_cuda_arguments &a, int element) {
  if constexpr (GEOMETRY == ROUNDED)
    return rounded<n>{(const unsigned *)a.factors + (size_t)element * rounded<n>::words};
  else
    return reals(a.factors) + (size_t)element * (GEOMETRY == STORED   ? SP_FACTORS * n * n * n
                                                 : GEOMETRY == AFFINE ? SP_CUDA_AFFINE
                                                                      : 24);
}

// Bulk copies from global to shared memory (cp.async.bulk, sm_90), in units of 16 bytes, of stored
// factors in double precision. Threads wait for them at an mbarrier: 8 bytes of shared memory,
// given by their address. One thread initializes the barrier, tells it how many bytes to expect and
// starts the copies. Other threads may wait for it after a later barrier of the block or warp.
//
// A phase of the barrier ends when `threads` threads have arrived and all expected bytes are there.
// Phases count from zero.
__device__ __forceinline__ void make_barrier(unsigned barrier, unsigned threads) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(threads) : "memory");
#endif
}
// Order a thread's earlier accesses to shared memory (initialization of barriers, loads) before
// later copies. Without this fence a copy may overwrite values that the thread is still loading,
// even if the thread has arrived at the barrier that the copy waits for.
__device__ __forceinline__ void before_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
__device__ __forceinline__ void arrive(unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
#endif
}
__device__ __forceinline__ void expect_copies(unsigned barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(barrier), "r"(bytes)
               : "memory");
#endif
}
__device__ __forceinline__ void bulk_copy(unsigned barrier, unsigned shared, const double *global,
                                          unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%1], [%2], %3, [%0];"
               :
               : "r"(barrier), "r"(shared), "l"(global), "r"(bytes)
               : "memory");
#endif
}
__device__ __forceinline__ void await(unsigned barrier, unsigned phase) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n\t"
               ".reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
               "@!done bra again;\n\t"
               "}"
               :
               : "r"(barrier), "r"(phase % 2)
               : "memory");
#endif
}

// Stored factors of an element, of which the first LAYERS of n layers are copied to shared memory
// while the block works (sm_90; on older GPUs all stay in global memory). A block has one element,
// or E elements if LAYERS = n.
template <int n, int E, int LAYERS> struct ahead {
  static_assert(E == 1 || LAYERS == n, "factors of several elements are one copy");
  static constexpr int each = SP_FACTORS * n * n * n; // doubles of an element
  static constexpr int copies = LAYERS == n ? 1 : SP_FACTORS;
  static constexpr int length = LAYERS == n ? E * each : LAYERS * n * n;
  // Copies begin and end on a boundary of 16 bytes: one more double at either end.
  static constexpr int stride = (length + 1) / 2 * 2 + 2;
  // Doubles of shared memory; the barrier comes first.
  static constexpr int size = 2 + copies * stride;

  const double *element, *copied;
  unsigned shift, arrived; // the barrier's shared address

  // The block has `elements` elements; factors of the first one are at `first`, and the thread's
  // own element is number `own`. `room` begins on a boundary of 16 bytes. All threads call this.
  __device__ __forceinline__ ahead(const double *first, int elements, int own, double *room)
      : element(first + own * each), copied(room + 2 + own * each),
        shift((size_t)first / sizeof(double) % 2),
        arrived((unsigned)__cvta_generic_to_shared(room)) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x > 0) return;
    const int count = LAYERS == n ? elements * each : length;
    const auto bytes = [&](int c) { return (count + shift_of(c) + 1) / 2 * 16; };
    unsigned total = 0;
#pragma unroll
    for (int c = 0; c < copies; c++) total += bytes(c);
    make_barrier(arrived, 1);
    before_copies();
    expect_copies(arrived, total);
#pragma unroll
    for (int c = 0; c < copies; c++)
      bulk_copy(arrived, arrived + 16 + c * stride * 8, first + c * (n * n * n) - shift_of(c),
                bytes(c));
#endif
  }

  // Number of doubles in copy c before its factors.
  __device__ __forceinline__ unsigned shift_of(int c) const {
    return (shift + c * (n * n * n)) % 2;
  }

  // A component at point `column` of layer k.
  __device__ __forceinline__ double at(int component, int k, int column) const {
#if __CUDA_ARCH__ >= 900
    if (LAYERS == n) return copied[shift + (component * n + k) * (n * n) + column];
    if (k < LAYERS) return copied[component * stride + shift_of(component) + k * (n * n) + column];
#endif
    return load_once(element + (component * n + k) * (n * n) + column);
  }
};

// Stored factors of a block's only element, copied layer by layer to a ring of SLOTS slots in
// shared memory (sm_90; on older GPUs they stay in global memory). One thread starts the copy of a
// layer as soon as all threads with points have read the layer that was in its slot.
template <int n, int SLOTS> struct ring {
  static_assert(n % 2 == 0, "copies begin and end on a boundary of 16 bytes");
  static constexpr int layer = n * n, slot = SP_FACTORS * layer;
  // Doubles of shared memory, beginning with two barriers per slot: filled, and read.
  static constexpr int size = 2 * SLOTS + SLOTS * slot;

  const double *element, *slots;
  unsigned barriers; // shared address

  // `room` begins on a boundary of 16 bytes. All threads call this.
  __device__ __forceinline__ ring(const double *element, double *room)
      : element(element), slots(room + 2 * SLOTS),
        barriers((unsigned)__cvta_generic_to_shared(room)) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x > 0) return;
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
      make_barrier(filled(k), 1);
      make_barrier(done_with(k), layer);
    }
    before_copies();
#pragma unroll
    for (int k = 0; k < SLOTS; k++) ask(k);
#endif
  }

  __device__ __forceinline__ unsigned filled(int k) const {
    return barriers + 16 * (k % SLOTS);
  }
  __device__ __forceinline__ unsigned done_with(int k) const {
    return filled(k) + 8;
  }

  __device__ __forceinline__ void ask(int k) const {
    constexpr unsigned bytes = layer * sizeof(double);
    const unsigned place = barriers + 8 * (2 * SLOTS + k % SLOTS * slot);
    expect_copies(filled(k), SP_FACTORS * bytes);
#pragma unroll
    for (int c = 0; c < SP_FACTORS; c++)
      bulk_copy(filled(k), place + c * bytes, element + (c * n + k) * layer, bytes);
  }

  // All threads that hold points call begin(k) before and end(k) after they use layer k, in the
  // order of layers.
  __device__ __forceinline__ void begin(int k) const {
#if __CUDA_ARCH__ >= 900
    if (k > 0 && k - 1 + SLOTS < n && threadIdx.x == 0) {
      await(done_with(k - 1), (k - 1) / SLOTS);
      ask(k - 1 + SLOTS);
    }
    await(filled(k), k / SLOTS);
#endif
  }
  __device__ __forceinline__ void end(int k) const {
#if __CUDA_ARCH__ >= 900
    if (k + SLOTS >= n) return;
    before_copies();
    arrive(done_with(k));
#endif
  }

  // A component at point `column` of layer k.
  __device__ __forceinline__ double at(int component, int k, int column) const {
#if __CUDA_ARCH__ >= 900
    return slots[k % SLOTS * slot + component * layer + column];
#else
    return load_once(element + (component * n + k) * layer + column);
#endif
  }
};

// Call these before and after the use of factors in layer k, in the order of layers, and not before
// a barrier of the block that follows the constructor of the factors.
template <class Factors> __device__ __forceinline__ void begin_layer(const Factors &, int) {}
template <class Factors> __device__ __forceinline__ void end_layer(const Factors &, int) {}
template <int n, int E, int LAYERS>
__device__ __forceinline__ void begin_layer(const ahead<n, E, LAYERS> &factors, int k) {
  if (k == 0) await(factors.arrived, 0);
}
template <int n, int SLOTS>
__device__ __forceinline__ void begin_layer(const ring<n, SLOTS> &factors, int k) {
  factors.begin(k);
}
template <int n, int SLOTS>
__device__ __forceinline__ void end_layer(const ring<n, SLOTS> &factors, int k) {
  factors.end(k);
}

// Factors of a ring, or copied ahead.
template <int n, bool POINTWISE, class Factors>
__device__ __forceinline__ real scale_stored(const Factors &factors, int k, int j, int i, real &ur,
                                             real &us, real &ut) {
  return scale_stored([&](int component) { return factors.at(component, k, j * n + i); }, ur, us,
                      ut);
}

// Prefetch the `count` factors of an element to the second-level cache with one instruction, in
// units of 16 bytes. Call it after pass_1::begins(), so that iterations that have ended prefetch
// nothing.
template <int count> __device__ __forceinline__ void prefetch(const real *factors) {
#if __CUDA_ARCH__ >= 900
  constexpr unsigned SIZE = 16, BYTES = count * sizeof(real) / SIZE * SIZE;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((size_t)factors / SIZE * SIZE),
               "r"(BYTES)
               : "memory");
#endif
}
