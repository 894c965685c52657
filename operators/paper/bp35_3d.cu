// BP3.5, stiffness and mass with collocation, with 3D thread blocks: kernels 1 to 6 (paper, Section
// "Optimizing Benchmark Problem 3.5"; Algorithm 6). Compiled once per order, SP_ORDER <= 9.
//
// Thread (i, j, k) owns that node. What Algorithm 6 leaves open or gets wrong: the third load is of
// G20, G21, G22 (it says G10, G11, G12), and there is a barrier each time between writing Sqtemp
// and summing from it. G is symmetric, so G10 is stored as G01; kernels 1 and 2 load it twice all
// the same, as the paper does. They load nine values of G and one of GwJ; the paper's "from nine to
// seven" counts GwJ only in the seven.
#include "operators/paper/kernel.h"

static_assert((SP_ORDER + 1) * (SP_ORDER + 1) * (SP_ORDER + 1) <= 1024, "threads of a block");

// Starting point, Algorithm 6: only D is in shared memory; q is read from global memory, partial
// sums go through a global array Sqtemp [elements][Np], and the result is added up in global
// memory.
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) * (N + 1)) void bp35_3d_1(input D, input G, input q,
                                                                         double *aq, double lambda,
                                                                         double *Sqtemp) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;
  Sqtemp += (size_t)blockIdx.x * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = rolled_sum<Nq>([&](int n) { return s_D[i][n] * q[at<Nq>(k, j, n)]; });
  const double qs = rolled_sum<Nq>([&](int n) { return s_D[j][n] * q[at<Nq>(k, n, i)]; });
  const double qt = rolled_sum<Nq>([&](int n) { return s_D[k][n] * q[at<Nq>(n, j, i)]; });
  aq[node] = GwJ * lambda * q[node];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node];
  Sqtemp[node] = G00 * qr + G01 * qs + G02 * qt;
  __syncthreads();
  aq[node] += rolled_sum<Nq>([&](int n) { return s_D[n][i] * Sqtemp[at<Nq>(k, j, n)]; });
  __syncthreads();
  const double G10 = G[SP_G_RS * Np + node], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node];
  Sqtemp[node] = G10 * qr + G11 * qs + G12 * qt;
  __syncthreads();
  aq[node] += rolled_sum<Nq>([&](int n) { return s_D[n][j] * Sqtemp[at<Nq>(k, n, i)]; });
  __syncthreads();
  const double G20 = G[SP_G_RT * Np + node], G21 = G[SP_G_ST * Np + node];
  const double G22 = G[SP_G_TT * Np + node];
  Sqtemp[node] = G20 * qr + G21 * qs + G22 * qt;
  __syncthreads();
  aq[node] += rolled_sum<Nq>([&](int n) { return s_D[n][k] * Sqtemp[at<Nq>(n, j, i)]; });
}

// All inputs are declared const, and the loops over n are unrolled. (const tells the compiler that
// a second load of a factor is redundant; again() keeps it.)
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) *
                             (N + 1)) void bp35_3d_2(const_input D, const_input G, const_input q,
                                                     double *aq, double lambda, double *Sqtemp) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;
  Sqtemp += (size_t)blockIdx.x * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = sum<Nq>([&](int n) { return s_D[i][n] * q[at<Nq>(k, j, n)]; });
  const double qs = sum<Nq>([&](int n) { return s_D[j][n] * q[at<Nq>(k, n, i)]; });
  const double qt = sum<Nq>([&](int n) { return s_D[k][n] * q[at<Nq>(n, j, i)]; });
  aq[node] = GwJ * lambda * q[node];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node];
  Sqtemp[node] = G00 * qr + G01 * qs + G02 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][i] * Sqtemp[at<Nq>(k, j, n)]; });
  __syncthreads();
  const double G10 = G[SP_G_RS * Np + node + again()], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node];
  Sqtemp[node] = G10 * qr + G11 * qs + G12 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][j] * Sqtemp[at<Nq>(k, n, i)]; });
  __syncthreads();
  const double G20 = G[SP_G_RT * Np + node + again()], G21 = G[SP_G_ST * Np + node + again()];
  const double G22 = G[SP_G_TT * Np + node];
  Sqtemp[node] = G20 * qr + G21 * qs + G22 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][k] * Sqtemp[at<Nq>(n, j, i)]; });
}

// The geometric factors are loaded once, to registers: seven loads.
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) *
                             (N + 1)) void bp35_3d_3(const_input D, const_input G, const_input q,
                                                     double *aq, double lambda, double *Sqtemp) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;
  Sqtemp += (size_t)blockIdx.x * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node], G22 = G[SP_G_TT * Np + node];
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = sum<Nq>([&](int n) { return s_D[i][n] * q[at<Nq>(k, j, n)]; });
  const double qs = sum<Nq>([&](int n) { return s_D[j][n] * q[at<Nq>(k, n, i)]; });
  const double qt = sum<Nq>([&](int n) { return s_D[k][n] * q[at<Nq>(n, j, i)]; });
  aq[node] = GwJ * lambda * q[node];
  __syncthreads();
  Sqtemp[node] = G00 * qr + G01 * qs + G02 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][i] * Sqtemp[at<Nq>(k, j, n)]; });
  __syncthreads();
  Sqtemp[node] = G01 * qr + G11 * qs + G12 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][j] * Sqtemp[at<Nq>(k, n, i)]; });
  __syncthreads();
  Sqtemp[node] = G02 * qr + G12 * qs + G22 * qt;
  __syncthreads();
  aq[node] += sum<Nq>([&](int n) { return s_D[n][k] * Sqtemp[at<Nq>(n, j, i)]; });
}

// The result is added up in a register and written once.
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) *
                             (N + 1)) void bp35_3d_4(const_input D, const_input G, const_input q,
                                                     double *aq, double lambda, double *Sqtemp) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;
  Sqtemp += (size_t)blockIdx.x * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node], G22 = G[SP_G_TT * Np + node];
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = sum<Nq>([&](int n) { return s_D[i][n] * q[at<Nq>(k, j, n)]; });
  const double qs = sum<Nq>([&](int n) { return s_D[j][n] * q[at<Nq>(k, n, i)]; });
  const double qt = sum<Nq>([&](int n) { return s_D[k][n] * q[at<Nq>(n, j, i)]; });
  double r_Aq = GwJ * lambda * q[node];
  Sqtemp[node] = G00 * qr + G01 * qs + G02 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][i] * Sqtemp[at<Nq>(k, j, n)]; });
  __syncthreads();
  Sqtemp[node] = G01 * qr + G11 * qs + G12 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][j] * Sqtemp[at<Nq>(k, n, i)]; });
  __syncthreads();
  Sqtemp[node] = G02 * qr + G12 * qs + G22 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][k] * Sqtemp[at<Nq>(n, j, i)]; });
  aq[node] = r_Aq;
}

// q is cached in shared memory. Once it is differentiated, its array holds the partial sums, and
// Sqtemp is no longer needed.
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) *
                             (N + 1)) void bp35_3d_5(const_input D, const_input G, const_input q,
                                                     double *aq, double lambda) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq], s_q[Nq][Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  s_q[k][j][i] = q[node];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node], G22 = G[SP_G_TT * Np + node];
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = sum<Nq>([&](int n) { return s_D[i][n] * s_q[k][j][n]; });
  const double qs = sum<Nq>([&](int n) { return s_D[j][n] * s_q[k][n][i]; });
  const double qt = sum<Nq>([&](int n) { return s_D[k][n] * s_q[n][j][i]; });
  double r_Aq = GwJ * lambda * s_q[k][j][i];
  __syncthreads();
  s_q[k][j][i] = G00 * qr + G01 * qs + G02 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][i] * s_q[k][j][n]; });
  __syncthreads();
  s_q[k][j][i] = G01 * qr + G11 * qs + G12 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][j] * s_q[k][n][i]; });
  __syncthreads();
  s_q[k][j][i] = G02 * qr + G12 * qs + G22 * qt;
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][k] * s_q[n][j][i]; });
  aq[node] = r_Aq;
}

// The partial sums have three arrays of their own in shared memory, so that two barriers are
// enough.
template <int N>
__global__ __launch_bounds__((N + 1) * (N + 1) *
                             (N + 1)) void bp35_3d_6(const_input D, const_input G, const_input q,
                                                     double *aq, double lambda) {
  constexpr int Nq = N + 1, Np = Nq * Nq * Nq;
  __shared__ double s_D[Nq][Nq], s_q[Nq][Nq][Nq];
  __shared__ double s_r[Nq][Nq][Nq], s_s[Nq][Nq][Nq], s_t[Nq][Nq][Nq];
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z, node = at<Nq>(k, j, i);
  q += (size_t)blockIdx.x * Np;
  aq += (size_t)blockIdx.x * Np;
  G += (size_t)blockIdx.x * 7 * Np;

  if (k == 0) s_D[j][i] = D[j * Nq + i];
  s_q[k][j][i] = q[node];
  __syncthreads();
  const double G00 = G[SP_G_RR * Np + node], G01 = G[SP_G_RS * Np + node];
  const double G02 = G[SP_G_RT * Np + node], G11 = G[SP_G_SS * Np + node];
  const double G12 = G[SP_G_ST * Np + node], G22 = G[SP_G_TT * Np + node];
  const double GwJ = G[SP_G_WJ * Np + node];
  const double qr = sum<Nq>([&](int n) { return s_D[i][n] * s_q[k][j][n]; });
  const double qs = sum<Nq>([&](int n) { return s_D[j][n] * s_q[k][n][i]; });
  const double qt = sum<Nq>([&](int n) { return s_D[k][n] * s_q[n][j][i]; });
  s_r[k][j][i] = G00 * qr + G01 * qs + G02 * qt;
  s_s[k][j][i] = G01 * qr + G11 * qs + G12 * qt;
  s_t[k][j][i] = G02 * qr + G12 * qs + G22 * qt;
  double r_Aq = GwJ * lambda * s_q[k][j][i];
  __syncthreads();
  r_Aq += sum<Nq>([&](int n) { return s_D[n][i] * s_r[k][j][n]; });
  r_Aq += sum<Nq>([&](int n) { return s_D[n][j] * s_s[k][n][i]; });
  r_Aq += sum<Nq>([&](int n) { return s_D[n][k] * s_t[n][j][i]; });
  aq[node] = r_Aq;
}

static const dim3 block(SP_ORDER + 1, SP_ORDER + 1, SP_ORDER + 1);

template <auto kernel> static sp_status resources(sp_paper_resources *out) {
  *out = {};
  return add_resources<kernel>(block, out);
}

template <auto kernel> static sp_status launch(sp_device *device, const sp_paper_arguments *a) {
  sp_paper_matrices matrices;
  SP_TRY(sp_paper_matrices_get(SP_ORDER, &matrices));
  return queue<kernel>(device, a->elements, block, matrices.differentiation,
                       const_cast<double *>(a->factors), const_cast<double *>(a->q), a->aq,
                       a->lambda);
}

// Kernels 1 to 4, with Sqtemp in the workspace.
template <auto kernel>
static sp_status launch_global(sp_device *device, const sp_paper_arguments *a) {
  sp_paper_matrices matrices;
  SP_TRY(sp_paper_matrices_get(SP_ORDER, &matrices));
  return queue<kernel>(device, a->elements, block, matrices.differentiation,
                       const_cast<double *>(a->factors), const_cast<double *>(a->q), a->aq,
                       a->lambda, a->workspace);
}

static size_t workspace(int order, int elements) {
  const size_t Nq = (size_t)order + 1;
  return elements * Nq * Nq * Nq * sizeof(double);
}

static const sp_paper_rung rungs[] = {
    SP_RUNG("reference: Algorithm 6", workspace, launch_global, bp35_3d_1),
    SP_RUNG("inputs const, loops over n unrolled", workspace, launch_global, bp35_3d_2),
    SP_RUNG("geometric factors loaded once", workspace, launch_global, bp35_3d_3),
    SP_RUNG("result added up in a register", workspace, launch_global, bp35_3d_4),
    SP_RUNG("q in shared memory, partial sums in its place", nullptr, launch, bp35_3d_5),
    SP_RUNG("three arrays for partial sums: two barriers", nullptr, launch, bp35_3d_6),
};

extern "C" const sp_paper_ladder SP_JOIN(sp_paper_bp35_3d, SP_ORDER) = {
    SP_BP35, 3, SP_ORDER, sizeof rungs / sizeof rungs[0], rungs};
