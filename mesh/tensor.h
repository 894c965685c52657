/* Tensor products of one-dimensional matrices applied to one element, for set-up and diagnostics.
 * The operators have their own kernels. */
#pragma once

#include <stddef.h>

/* out[c][b][a] = sum_{k,j,i} t[c][k] s[b][j] r[a][i] in[k][j][i], where r, s, t are
 * [rows][columns], row-major; rows, columns <= SP_MAX_RULE. `out` must not overlap `in`. Local. */
void sp_tensor_apply(int rows, int columns, const double *r, const double *s, const double *t,
                     const double *in, double *out);

/* Apply {r, s, t} likewise, with in[k][j][i] at in[((k * columns + j) * columns + i) * stride]: one
 * component of interleaved values. Local. */
void sp_tensor_apply_strided(int rows, int columns, const double *const matrices[3],
                             const double *in, int stride, double *out);

/* The transpose: out[k][j][i] = sum_{c,b,a} t[c][k] s[b][j] r[a][i] in[c][b][a]. Local. */
void sp_tensor_apply_transposed(int rows, int columns, const double *r, const double *s,
                                const double *t, const double *in, double *out);

/* Values and gradient together, since they share partial sums: with value and derivative
 * [rows][columns],
 *
 *     u[0] = apply(value, value, value, in)
 *     u[1] = apply(derivative, value, value, in)      and so on, each [rows]^3,
 *
 * in the notation of sp_tensor_apply. `work` has room for sp_tensor_gradient_work doubles; no
 * arrays overlap. Local. */
void sp_tensor_gradient(int rows, int columns, const double *value, const double *derivative,
                        const double *in, double *work, double *const u[4]);
size_t sp_tensor_gradient_work(int rows, int columns);

/* Return d u / d r_a at point p of a grid: u[n^3], derivative[n][n] of a line. Local. */
static inline double sp_tensor_slope(int n, const double *derivative, const double *u, size_t p,
                                     int a) {
  const size_t stride = a == 0 ? 1 : a == 1 ? (size_t)n : (size_t)(n * n), size = (size_t)n;
  const size_t i = p / stride % size;
  double slope = 0;
  for (size_t m = 0; m < size; m++)
    slope += derivative[i * size + m] * u[p + m * stride - i * stride];
  return slope;
}
