// BP3.5 on one element of order 1, by one thread: part of order.cu, for patches. The quadrature
// points are the corners, and every derivative is a difference along an edge.

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
// `mass` are kappa / 8 and kappa lambda / 8. FP64 arithmetic takes more than half of the time, so
// the code minimizes instructions.
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
