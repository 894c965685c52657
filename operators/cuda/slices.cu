// BP3.5 at N = 7 on the tensor cores: part of order.cu.
//
// One warp an element. An 8 x 8 slice k = const lies across the warp as the result of an
// mma.m8n8k4 does: lane 4 j + q holds the points i = 2 q and 2 q + 1 of row j. A contraction is
// two mma, over the columns m = 2 q and over m = 2 q + 1: in this order of summation the slice's
// own registers are the operand A, so that the r contractions move no data at all. The s
// contractions need the slice as operand B, rows across lanes, and take it through shared memory.
// The t direction is a register contraction over the eight slices.
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

// Where point (row, column) of a slice lies in shared memory. Rows of one parity are neighbours,
// and halves of rows change sides, so that neither 16-byte writes in rows nor 8-byte reads of every
// second row meet in a bank.
__device__ __forceinline__ int swizzle(int row, int column) {
  const int slot = row / 2 ^ (row % 2 ? 5 : 0);
  return slot * 8 + (column ^ (slot & 2) * 2);
}

__device__ __forceinline__ void load_rows(const double *x, double (&u)[2 * Nq]) {
#pragma unroll
  for (int k = 0; k < Nq; k++) {
    const double2 pair = __ldcs((const double2 *)(x + k * SLICE));
    u[2 * k] = pair.x;
    u[2 * k + 1] = pair.y;
  }
}

template <int WARPS, int MIN_BLOCKS, int GEOMETRY, int MODE>
__global__ __launch_bounds__(32 * WARPS, MIN_BLOCKS) void bp35_slices(sp_cuda_arguments a) {
  __shared__ double2 shared[WARPS][2][Nq * SLICE / 2];
  double alpha = 0, beta = 0, energy = 0;
  if (MODE == SP_CUDA_CG && !begin_pass(a.step, alpha, beta)) return;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, j = lane / 4, q = lane % 4, i = 2 * q;
  double *U = (double *)shared[warp][0], *W = (double *)shared[warp][1];
  const int written = swizzle(j, i);                       // (j, i), (j, i + 1)
  const int even = swizzle(i, j), odd = swizzle(i + 1, j); // (i, j) and (i + 1, j)
  const double d_even = c_differentiation[j * Nq + i], d_odd = c_differentiation[j * Nq + i + 1];
  const double t_even = c_differentiation[i * Nq + j], t_odd = c_differentiation[(i + 1) * Nq + j];
  const int element = a.first + blockIdx.x * WARPS + warp;
  if (element < a.last) {
    const auto at = [&](int c) { return node{i + c % 2, j, c / 2, true}; };
    double u[2 * Nq];
    if (MODE == SP_CUDA_LOCAL)
      load_rows(a.x + (size_t)element * Np + j * Nq + i, u);
    else
      load<MODE>(a, element, alpha, beta, at, u);
#pragma unroll
    for (int k = 0; k < Nq; k++)
      *(double2 *)(U + k * SLICE + written) = make_double2(u[2 * k], u[2 * k + 1]);
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
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      double2 ur = make_double2(0, 0), us = ur, ut = ur;
      multiply(ur, u[2 * k], d_even);
      multiply(us, d_even, U[k * SLICE + even]);
      multiply(ur, u[2 * k + 1], d_odd);
      multiply(us, d_odd, U[k * SLICE + odd]);
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
      *(double2 *)(W + k * SLICE + written) = us;
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
      multiply(result[k], t_even, W[k * SLICE + even]);
      multiply(result[k], t_odd, W[k * SLICE + odd]);
    }
#pragma unroll
    for (int k = 0; k < Nq; k++) {
      if (MODE == SP_CUDA_CG) energy += u[2 * k] * result[k].x + u[2 * k + 1] * result[k].y;
      if (MODE == SP_CUDA_LOCAL) {
        __stcs((double2 *)(a.y + (size_t)element * Np + at(2 * k).place()), result[k]);
      } else {
        store<MODE>(a, element, at(2 * k), result[k].x);
        store<MODE>(a, element, at(2 * k + 1), result[k].y);
      }
    }
  }
  if (MODE == SP_CUDA_CG) store_partial(a.step, energy);
}

// FP64 mma came with sm_80.
bool has_slices() {
  static int major = -1;
  if (major < 0) {
    int device = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  return major >= 8;
}

#endif
