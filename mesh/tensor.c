#include "mesh/tensor.h"

#include <assert.h>

#include "mesh/reference.h"

enum { PLANE = SP_MAX_RULE * SP_MAX_RULE };

/* out[slow][m][fast] = sum_l matrix(m, l) in[slow][l][fast], with matrix(m, l) = matrix[m * row + l
 * * column]: the strides select the matrix or its transpose. Values of `in` are `stride` apart. */
static void contract(int slow, int to, int from, int fast, const double *matrix, int row,
                     int column, const double *in, int stride, double *out) {
  for (int s = 0; s < slow; s++)
    for (int m = 0; m < to; m++) {
      double *restrict target = &out[(s * to + m) * fast];
      for (int f = 0; f < fast; f++) target[f] = 0;
      for (int l = 0; l < from; l++) {
        const double factor = matrix[m * row + l * column];
        const double *restrict source = &in[(s * from + l) * fast * stride];
        for (int f = 0; f < fast; f++) target[f] += factor * source[f * stride];
      }
    }
}

/* One plane of the result at a time, so that intermediate results are no larger than a plane. */
static void apply(int to, int from, int row, int column, const double *r, const double *s,
                  const double *t, const double *in, int stride, double *out) {
  assert(to <= SP_MAX_RULE && from <= SP_MAX_RULE);
  double after_t[PLANE], after_s[PLANE];
  for (int c = 0; c < to; c++) {
    contract(1, 1, from, from * from, &t[c * row], row, column, in, stride, after_t);
    contract(1, to, from, from, s, row, column, after_t, 1, after_s);
    contract(to, to, from, 1, r, row, column, after_s, 1, &out[c * to * to]);
  }
}

void sp_tensor_apply(int rows, int columns, const double *r, const double *s, const double *t,
                     const double *in, double *out) {
  apply(rows, columns, columns, 1, r, s, t, in, 1, out);
}

void sp_tensor_apply_strided(int rows, int columns, const double *r, const double *s,
                             const double *t, const double *in, int stride, double *out) {
  apply(rows, columns, columns, 1, r, s, t, in, stride, out);
}

void sp_tensor_apply_transposed(int rows, int columns, const double *r, const double *s,
                                const double *t, const double *in, double *out) {
  apply(columns, rows, 1, columns, r, s, t, in, 1, out);
}
