// BP3.5 at N = 7 on the tensor cores: part of order.cu.
//
// One warp an element. An 8 x 8 slice k = const lies across the warp as the result of an
// mma.m8n8k4 does: lane 4 j + q holds the points i = 2 q and 2 q + 1 of row j. A contraction is
// two mma, over the columns m = 2 q and over m = 2 q + 1: in this order of summation the slice's
// own registers are the operand A, so that the r contractions move no data at all. The s
// contractions need the slice as operand B, rows across lanes, and take it through shared memory.
// The t direction is a register contraction over the eight slices.
//
// Between L-vectors a warp goes through the mesh with the stride of all warps. While it works on
// one element, the values of the next and the codes of the one after travel to shared memory
// (cp.async). Pass 1 of CG is not here: with it the lines are faster.
#if SP_ORDER == 7

constexpr int SLICE = 64;

__device__ __forceinline__ void multiply(double2 &c, double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c.x), "+d"(c.y)
      : "d"(a), "d"(b));
#else
  __trap(); // has_slices() chooses the other kernel
#endif
}

// Copy `bytes` (4, 8 or 16) to shared memory, or zeros; complete after copies_done().
template <int bytes>
__device__ __forceinline__ void copy(void *shared, const void *global, bool zero = false) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(shared)),
               "l"(global), "n"(bytes), "r"(zero ? 0 : bytes)
               : "memory");
#endif
}
__device__ __forceinline__ void copies_done() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

// Where point (row, column) of a slice lies in shared memory. Rows of one parity are neighbours,
// and halves of rows change sides, so that neither 16-byte writes in rows nor 8-byte reads of every
// second row meet in a bank.
__device__ __forceinline__ int swizzle(int row, int column) {
  const int slot = row / 2 ^ (row % 2 ? 5 : 0);
  return slot * 8 + (column ^ (slot & 2) * 2);
}

// The factors of two neighbours in a row; jacobian gets wJ.
__device__ __forceinline__ void scale_stored_pair(const double *factors, double2 &ur, double2 &us,
                                                  double2 &ut, double2 &jacobian) {
  const auto factor = [&](int f) { return __ldcs((const double2 *)(factors + f * Np)); };
  const double2 rr = factor(SP_G_RR), rs = factor(SP_G_RS), rt = factor(SP_G_RT);
  const double2 ss = factor(SP_G_SS), st = factor(SP_G_ST), tt = factor(SP_G_TT);
  const double2 r = ur, s = us, t = ut;
  ur = make_double2(rr.x * r.x + rs.x * s.x + rt.x * t.x, rr.y * r.y + rs.y * s.y + rt.y * t.y);
  us = make_double2(rs.x * r.x + ss.x * s.x + st.x * t.x, rs.y * r.y + ss.y * s.y + st.y * t.y);
  ut = make_double2(rt.x * r.x + st.x * s.x + tt.x * t.x, rt.y * r.y + st.y * s.y + tt.y * t.y);
  jacobian = factor(SP_G_WJ);
}

// What a warp keeps in shared memory.
template <int MODE> struct warp_memory {
  static constexpr int ELEMENTS = MODE == SP_CUDA_LOCAL ? 1 : 3;
  double2 slices[Nq][SLICE / 2];
  double2 values[Nq][32];                  // of the next element
  unsigned codes[ELEMENTS][SURFACE_NODES]; // unused between E-vectors
};

__device__ __forceinline__ void fetch_codes(const sp_cuda_arguments &a, int element, int lane,
                                            unsigned *codes) {
  static_assert(SURFACE_NODES % 4 == 0, "16 bytes at a time");
  if (element >= a.last) return;
  const unsigned *source = a.nodes + (size_t)element * SURFACE_NODES;
  for (int c = 4 * lane; c < SURFACE_NODES; c += 128) copy<16>(codes + c, source + c);
}

__device__ __forceinline__ unsigned slice_code(const unsigned *codes, int element, node n) {
  if (n.sides() > 0) return codes[n.surface_place()];
  return (unsigned)(element * INNER_NODES + n.inner_place()) | SP_CUDA_FIRST;
}

template <int MODE, class Memory>
__device__ __forceinline__ void fetch_values(const sp_cuda_arguments &a, int element, int lane,
                                             const unsigned *codes, Memory &memory) {
  if (element >= a.last) return;
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    if constexpr (MODE == SP_CUDA_LOCAL) {
      copy<16>(&memory.values[k][lane], a.x + (size_t)element * Np + k * SLICE + 2 * lane);
    } else {
#pragma unroll
      for (int c = 0; c < 2; c++) {
        const unsigned code = slice_code(codes, element, {lane % 4 * 2 + c, lane / 4, k, true});
        const unsigned dof = code & SP_CUDA_DOF;
        copy<8>((double *)&memory.values[k][lane] + c, a.x + dof,
                a.constrained && code & SP_CUDA_CONSTRAINED);
      }
    }
  }
}

template <int WARPS, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(32 * WARPS, MIN_BLOCKS) void bp35_slices(sp_cuda_arguments a) {
  extern __shared__ double2 shared2[];
  follow();
  const int warp = threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  const int stride = gridDim.x * WARPS;
  auto &memory = ((warp_memory<MODE> *)shared2)[warp];
  double *slices = (double *)memory.slices;
  int element = a.first + blockIdx.x * WARPS + warp;
  constexpr int ELEMENTS = warp_memory<MODE>::ELEMENTS;
  unsigned *codes = memory.codes[0], *next_codes = memory.codes[1 % ELEMENTS];
  unsigned *later_codes = memory.codes[2 % ELEMENTS];
  if constexpr (MODE != SP_CUDA_LOCAL) {
    fetch_codes(a, element, lane, codes);
    copies_done();
  }
  fetch_values<MODE>(a, element, lane, codes, memory);
  if constexpr (MODE != SP_CUDA_LOCAL) fetch_codes(a, element + stride, lane, next_codes);

  for (; element < a.last; element += stride) {
    // Opaque, so that what follows from it is computed again in each round: kept, it would take the
    // registers that the factors need.
    if (GEOMETRY == STORED) asm volatile("" : "+r"(lane));
    const int j = lane / 4, i = lane % 4 * 2;
    const int written = swizzle(j, i);                       // (j, i), (j, i + 1)
    const int even = swizzle(i, j), odd = swizzle(i + 1, j); // (i, j) and (i + 1, j)
    const double d_even = c_differentiation[j * Nq + i], d_odd = c_differentiation[j * Nq + i + 1];
    const double t_even = c_differentiation[i * Nq + j],
                 t_odd = c_differentiation[(i + 1) * Nq + j];
    double u[2 * Nq];
    copies_done();
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      const double2 value = memory.values[k][lane];
      u[2 * k] = value.x;
      u[2 * k + 1] = value.y;
    }
#pragma unroll
    for (int k = 0; k < Nq; k++)
      *(double2 *)(slices + k * SLICE + written) = make_double2(u[2 * k], u[2 * k + 1]);
    if constexpr (MODE != SP_CUDA_LOCAL) {
      fetch_values<MODE>(a, element + stride, lane, next_codes, memory);
      fetch_codes(a, element + 2 * stride, lane, later_codes);
    }
    __syncwarp();
    column_map<Nq> map[2];
    const double *factors = a.factors + (size_t)element * (GEOMETRY == TRILINEAR ? 24 : 7 * Np);
    if (GEOMETRY == TRILINEAR) {
      map[0].prepare(factors, i, j);
      map[1].prepare(factors, i + 1, j);
    } else {
      factors += j * Nq + i;
    }
    double2 result[Nq];
#pragma unroll
    for (int k = 0; k < Nq; k++) result[k] = make_double2(0, 0);
    double row_even = slices[even], row_odd = slices[odd];
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      double2 ur = make_double2(0, 0), us = ur, ut = ur;
      multiply(ur, u[2 * k], d_even);
      multiply(us, d_even, row_even);
      multiply(ur, u[2 * k + 1], d_odd);
      multiply(us, d_odd, row_odd);
      if (k + 1 < Nq) {
        row_even = slices[(k + 1) * SLICE + even];
        row_odd = slices[(k + 1) * SLICE + odd];
      }
#pragma unroll
      for (int m = 0; m < Nq; m++) {
        ut.x += D<Nq>(k, m) * u[2 * m];
        ut.y += D<Nq>(k, m) * u[2 * m + 1];
      }
      double2 jacobian;
      if (GEOMETRY == TRILINEAR) {
        jacobian.x = scale_trilinear<Nq>(map[0], k, ur.x, us.x, ut.x);
        jacobian.y = scale_trilinear<Nq>(map[1], k, ur.y, us.y, ut.y);
      } else {
        scale_stored_pair(factors + k * SLICE, ur, us, ut, jacobian);
      }
      __syncwarp(); // all lanes have read slice k
      *(double2 *)(slices + k * SLICE + written) = us;
      result[k].x += a.lambda * jacobian.x * u[2 * k];
      result[k].y += a.lambda * jacobian.y * u[2 * k + 1];
      multiply(result[k], ur.x, t_even);
      multiply(result[k], ur.y, t_odd);
#pragma unroll
      for (int m = 0; m < Nq; m++) {
        result[m].x += D<Nq>(k, m) * ut.x;
        result[m].y += D<Nq>(k, m) * ut.y;
      }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      multiply(result[k], t_even, slices[k * SLICE + even]);
      multiply(result[k], t_odd, slices[k * SLICE + odd]);
    }
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      if (MODE == SP_CUDA_LOCAL) {
        __stcs((double2 *)(a.y + (size_t)element * Np + k * SLICE + 2 * lane), result[k]);
        continue;
      }
      const node n[2] = {{i, j, k, true}, {i + 1, j, k, true}};
      store<MODE>(a, element, n[0], slice_code(codes, element, n[0]), result[k].x);
      store<MODE>(a, element, n[1], slice_code(codes, element, n[1]), result[k].y);
    }
    if (MODE == SP_CUDA_LOCAL) break; // many blocks do better here: nothing is looked up
    __syncwarp();
    unsigned *const done = codes;
    codes = next_codes;
    next_codes = later_codes;
    later_codes = done;
  }
}

// FP64 mma came with sm_80.
bool has_slices() {
  return sp_cuda_architecture() >= 80;
}

#endif
