#include "mesh/tensor.h"

#include <assert.h>
#include <stdbool.h>

#include "io/clones.h"
#include "mesh/reference.h"

enum { PLANE = SP_MAX_RULE * SP_MAX_RULE };

/* target[f] = or += the sum of four terms factor[k * column] source[k][f]. */
SP_INLINE void add_four(bool add, int fast, const double *factor, int column,
                        const double *restrict source, double *restrict target) {
  const double a = factor[0], b = factor[column], c = factor[2 * column], d = factor[3 * column];
  const double *restrict second = source + fast, *restrict third = second + fast,
                         *restrict fourth = third + fast;
  for (int f = 0; f < fast; f++) {
    const double sum = (a * source[f] + b * second[f]) + (c * third[f] + d * fourth[f]);
    target[f] = add ? target[f] + sum : sum;
  }
}

/* The entries values[m row + l column], m < to, l < from: a matrix, or its transpose. */
typedef struct strided {
  int to, from, row, column;
  const double *values;
} strided;

/* out[slow][m][fast] = sum_l matrix(m, l) in[slow][l][fast]. Four terms per pass, because each pass
 * loads and stores `out`. */
SP_INLINE void contract(int slow, int fast, strided matrix, const double *in, double *out) {
  const int to = matrix.to, from = matrix.from, column = matrix.column, head = from % 4;
  for (int s = 0; s < slow; s++)
    for (int m = 0; m < to; m++) {
      double *restrict target = &out[(s * to + m) * fast];
      const double *factor = &matrix.values[m * matrix.row], *restrict source =
                                                                 &in[s * from * fast];
      const double *restrict second = source + fast, *restrict third = second + fast;
      const double a = factor[0], b = head > 1 ? factor[column] : 0;
      const double c = head > 2 ? factor[2 * column] : 0;
      if (head == 0)
        add_four(false, fast, factor, column, source, target);
      else if (head == 1)
        for (int f = 0; f < fast; f++) target[f] = a * source[f];
      else if (head == 2)
        for (int f = 0; f < fast; f++) target[f] = a * source[f] + b * second[f];
      else
        for (int f = 0; f < fast; f++) target[f] = a * source[f] + b * second[f] + c * third[f];
      for (int l = head ? head : 4; l < from; l += 4)
        add_four(true, fast, &factor[l * column], column, &source[l * fast], target);
    }
}

/* out[c][m] = matrix(m, c). */
SP_INLINE void transpose(strided matrix, double *out) {
  for (int c = 0; c < matrix.from; c++)
    for (int m = 0; m < matrix.to; m++)
      out[c * matrix.to + m] = matrix.values[m * matrix.row + c * matrix.column];
}

/* Compute the result plane by plane, so that intermediate results fit in a plane. The three
 * matrices have the shape of the first one. */
SP_INLINE void apply_matrices(strided r, const double *s, const double *t, const double *in,
                              int stride, double *out) {
  const int to = r.to, from = r.from, row = r.row, column = r.column, plane = from * from;
  assert(to <= SP_MAX_RULE && from <= SP_MAX_RULE);
  double after_t[PLANE], after_s[PLANE], r_transposed[PLANE];
  transpose(r, r_transposed);
  for (int c = 0; c < to; c++) {
    if (stride == 1)
      contract(1, plane, (strided){1, from, row, column, &t[c * row]}, in, after_t);
    else
      for (int f = 0; f < plane; f++) {
        after_t[f] = 0;
        for (int l = 0; l < from; l++)
          after_t[f] += t[c * row + l * column] * in[(l * plane + f) * stride];
      }
    contract(1, from, (strided){to, from, row, column, s}, after_t, after_s);
    contract(1, to, (strided){to, from, from, 1, after_s}, r_transposed, &out[c * to * to]);
  }
}

SP_CLONES void sp_tensor_apply(int rows, int columns, const double *r, const double *s,
                               const double *t, const double *in, double *out) {
  apply_matrices((strided){rows, columns, columns, 1, r}, s, t, in, 1, out);
}

SP_CLONES void sp_tensor_apply_strided(int rows, int columns, const double *const matrices[3],
                                       const double *in, int stride, double *out) {
  apply_matrices((strided){rows, columns, columns, 1, matrices[0]}, matrices[1], matrices[2], in,
                 stride, out);
}

SP_CLONES void sp_tensor_apply_transposed(int rows, int columns, const double *r, const double *s,
                                          const double *t, const double *in, double *out) {
  apply_matrices((strided){columns, rows, 1, columns, r}, s, t, in, 1, out);
}

size_t sp_tensor_gradient_work(int rows, int columns) {
  const size_t n = (size_t)rows, q = (size_t)columns;
  return 2 * q * q * n + 3 * q * n * n;
}

SP_CLONES void sp_tensor_gradient(int rows, int columns, const double *value,
                                  const double *derivative, const double *in, double *work,
                                  double *const u[4]) {
  assert(rows <= SP_MAX_RULE && columns <= SP_MAX_RULE);
  const int n = rows, q = columns;
  const strided values = {n, q, q, 1, value}, slopes = {n, q, q, 1, derivative};
  const strided lines = {q * q, q, q, 1, in};
  double transposed[PLANE];
  /* Letters name the matrices applied in r and s: v for values, d for derivatives. */
  double *v = work, *d = v + q * q * n, *vv = d + q * q * n, *vd = vv + q * n * n,
         *dv = vd + q * n * n;
  transpose(values, transposed);
  contract(1, n, lines, transposed, v);
  transpose(slopes, transposed);
  contract(1, n, lines, transposed, d);
  contract(q, n, values, v, vv);
  contract(q, n, slopes, v, vd);
  contract(q, n, values, d, dv);
  contract(1, n * n, values, vv, u[0]);
  contract(1, n * n, values, dv, u[1]);
  contract(1, n * n, values, vd, u[2]);
  contract(1, n * n, slopes, vv, u[3]);
}
