// BP3.5 on one element of order 2, by one thread: part of order.cu, for patches. The nodes and
// quadrature points are at r = -1, 0, 1, so maps and derivatives take additions. Twice the
// derivatives of the three basis polynomials at the nodes are
//
//     -3  4 -1
//     -1  0  1
//      1 -4  3
//
// and the weights are products of 1/3, 4/3 and 1/3.

// a + x b at the node x = -1, 0 or 1.
__device__ __forceinline__ real at_node(int node, real a, real b) {
  return node == 0 ? a - b : node == 1 ? a : a + b;
}

// Twice the derivative at a node, of the values at the three; exactly zero if they are equal.
__device__ __forceinline__ real slope(int node, real a, real b, real c) {
  return node == 1 ? c - a : node == 0 ? fma(3.0, b - a, b - c) : fma(3.0, c - b, a - b);
}

// The transpose: add the flux at a node to the values at the three.
__device__ __forceinline__ void add_slope(int node, real flux, real &a, real &b, real &c) {
  a = node == 0 ? fma(-3.0, flux, a) : node == 1 ? a - flux : a + flux;
  if (node != 1) b = fma(node == 0 ? 4.0 : -4.0, flux, b);
  c = node == 0 ? c - flux : node == 1 ? c + flux : fma(3.0, flux, c);
}

// result = A_e u at the nodes k, j, i of an element with the trilinear map x_d = sum of map(3 m +
// d) times the functions of launch.h. `stiffness` and `mass` are kappa / 108 (with a factor 1/4 for
// the slopes) and kappa lambda / 27.
template <bool ENERGY, class Nodes, class Map>
__device__ __forceinline__ void apply_quadratic(Nodes u, Map map, real stiffness, real mass,
                                                real (&result)[3][3][3], double &energy) {
#pragma unroll
  for (int q = 0; q < 27; q++) result[q / 9][q / 3 % 3][q % 3] = 0;
#pragma unroll
  for (int k = 0; k < 3; k++) {
    // Derivatives of the map along r and s as polynomials in s and r, and the nodes of the plane.
    real r0[3], s0[3], rs[3], plane[3][3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
      r0[d] = at_node(k, map(3 + d), map(18 + d));
      s0[d] = at_node(k, map(6 + d), map(15 + d));
      rs[d] = at_node(k, map(12 + d), map(21 + d));
    }
#pragma unroll
    for (int q = 0; q < 9; q++) plane[q / 3][q % 3] = u(9 * k + q);
#pragma unroll
    for (int j = 0; j < 3; j++) {
      real r[3], t0[3], t1[3]; // along r, and along t as a polynomial in r
#pragma unroll
      for (int d = 0; d < 3; d++) {
        r[d] = at_node(j, r0[d], rs[d]);
        t0[d] = at_node(j, map(9 + d), map(15 + d));
        t1[d] = at_node(j, map(18 + d), map(21 + d));
      }
#pragma unroll
      for (int i = 0; i < 3; i++) {
        const int weight = (i == 1 ? 4 : 1) * (j == 1 ? 4 : 1) * (k == 1 ? 4 : 1);
        const int column = 3 * j + i;
        const real here = plane[j][i];
        const real ur = slope(i, plane[j][0], plane[j][1], plane[j][2]);
        const real us = slope(j, plane[0][i], plane[1][i], plane[2][i]);
        const real ut = slope(k, k == 0 ? here : u(column), k == 1 ? 0 : u(9 + column),
                              k == 2 ? here : u(18 + column));
        real s[3], t[3], p[3], q[3], w[3], flux[3];
#pragma unroll
        for (int d = 0; d < 3; d++) {
          s[d] = at_node(i, s0[d], rs[d]);
          t[d] = at_node(i, t0[d], t1[d]);
        }
        const real volume = adjugate_of(r, s, t, p, q, w);
        const real scale = weight * stiffness * reciprocal(volume);
#pragma unroll
        for (int d = 0; d < 3; d++) flux[d] = scale * (p[d] * ur + q[d] * us + w[d] * ut);
        const real fr = p[0] * flux[0] + p[1] * flux[1] + p[2] * flux[2];
        const real fs = q[0] * flux[0] + q[1] * flux[1] + q[2] * flux[2];
        const real ft = w[0] * flux[0] + w[1] * flux[1] + w[2] * flux[2];
        const real value = weight * mass * volume * here;
        result[k][j][i] += value;
        if (ENERGY) energy += fr * ur + fs * us + ft * ut + value * here;
        add_slope(i, fr, result[k][j][0], result[k][j][1], result[k][j][2]);
        add_slope(j, fs, result[k][0][i], result[k][1][i], result[k][2][i]);
        add_slope(k, ft, result[0][j][i], result[1][j][i], result[2][j][i]);
      }
    }
  }
}
