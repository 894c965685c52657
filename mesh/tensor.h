/* Tensor products of one-dimensional matrices applied to one element, for set-up and diagnostics.
 * The operators have their own kernels. */
#pragma once

#include <stddef.h>

/* out[c][b][a] = sum_{k,j,i} t[c][k] s[b][j] r[a][i] in[k][j][i], where r, s, t are
 * [rows][columns], row-major; rows, columns <= SP_MAX_RULE. `out` must not overlap `in`. Local. */
void sp_tensor_apply(int rows, int columns, const double *r, const double *s, const double *t,
                     const double *in, double *out);

/* Apply likewise, with in[k][j][i] at in[((k * columns + j) * columns + i) * stride]: one component
 * of interleaved values. Local. */
void sp_tensor_apply_strided(int rows, int columns, const double *r, const double *s,
                             const double *t, const double *in, int stride, double *out);

/* The transpose: out[k][j][i] = sum_{c,b,a} t[c][k] s[b][j] r[a][i] in[c][b][a]. Local. */
void sp_tensor_apply_transposed(int rows, int columns, const double *r, const double *s,
                                const double *t, const double *in, double *out);

/* Values and gradient together, since they share partial sums: with value and derivative
 * [rows][columns],
 *
 *     u           = apply(value, value, value, in)
 *     gradient[0] = apply(derivative, value, value, in)      and so on, each [rows]^3,
 *
 * in the notation of sp_tensor_apply. `work` has room for sp_tensor_gradient_work doubles; no
 * arrays overlap. Local. */
void sp_tensor_gradient(int rows, int columns, const double *value, const double *derivative,
                        const double *in, double *work, double *u, double *const gradient[3]);
size_t sp_tensor_gradient_work(int rows, int columns);
