#include "solver/bench/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "io/hash.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"

/* A matrix [rows][columns], or its transpose. */
typedef struct matrix {
  const double *entries;
  int rows, columns;
  bool transposed;
} matrix;

/* Apply a matrix along direction d (0: fastest) of in[n[2]][n[1]][n[0]]; n[d] becomes the number of
 * rows of the matrix (columns if transposed). With `add`, out += instead of out =. */
static void along(int d, const matrix *m, int n[3], const double *in, double *out, bool add) {
  const int to = m->transposed ? m->columns : m->rows, from = n[d];
  const int stride = d == 0 ? 1 : d == 1 ? n[0] : n[0] * n[1];
  const int outer = n[0] * n[1] * n[2] / (stride * from);
  for (int o = 0; o < outer; o++)
    for (int s = 0; s < stride; s++)
      for (int t = 0; t < to; t++) {
        double sum = 0;
        for (int f = 0; f < from; f++) {
          const int entry = m->transposed ? f * m->columns + t : t * m->columns + f;
          sum += m->entries[entry] * in[(o * from + f) * stride + s];
        }
        double *result = &out[(o * to + t) * stride + s];
        *result = add ? *result + sum : sum;
      }
  n[d] = to;
}

/* Apply it along all three directions; `work` holds two arrays of `size` doubles. */
static void along_all(const matrix *m, int from, const double *in, double *out, double *work,
                      size_t size) {
  int n[3] = {from, from, from};
  along(0, m, n, in, work, false);
  along(1, m, n, work, work + size, false);
  along(2, m, n, work + size, out, false);
}

/* result = (D^T G D + lambda wJ) u on n^3 points; `work` holds six arrays of n^3 doubles. */
static void screened_poisson(int n, const double *derivative, const double *factors, double lambda,
                             const double *u, double *result, double *work) {
  static const int component[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  const size_t points = sp_grid_points(n);
  const matrix D = {derivative, n, n, false}, D_transposed = {derivative, n, n, true};
  double *gradient = work, *flux = work + 3 * points;
  int size[3] = {n, n, n};
  for (int d = 0; d < 3; d++) along(d, &D, size, u, &gradient[(size_t)d * points], false);
  for (size_t p = 0; p < points; p++) {
    for (size_t a = 0; a < 3; a++) {
      flux[a * points + p] = 0;
      for (size_t b = 0; b < 3; b++)
        flux[a * points + p] +=
            factors[(size_t)component[a][b] * points + p] * gradient[b * points + p];
    }
    result[p] = lambda * factors[SP_G_WJ * points + p] * u[p];
  }
  for (int d = 0; d < 3; d++)
    along(d, &D_transposed, size, &flux[(size_t)d * points], result, true);
}

sp_status sp_bench_reference(sp_operator_kind kind, int order, double lambda, const sp_hexes *hexes,
                             sp_lid element, const double *x, double *y) {
  const sp_reference *reference = sp_reference_get(order);
  const sp_operator_row *row = &sp_operator_rows[kind];
  const sp_rule *rule = sp_operator_rule(kind, order);
  const int nq = order + 1, n = rule->n;
  const size_t points = sp_grid_points(n);
  const matrix I = {reference->interpolation, n, nq, false};
  const matrix I_transposed = {reference->interpolation, n, nq, true};
  SP_OWNED double *factors = NULL;
  SP_TRY(sp_allocate((SP_FACTORS + 8) * points, sizeof *factors, "a reference", &factors));
  double *interpolated = factors + SP_FACTORS * points;
  double *weighted = interpolated + points, *work = weighted + points;
  /* Work at the quadrature points; for collocated operators these are the nodes. */
  const double *u = row->collocated ? x : interpolated;
  double *result = row->collocated ? y : weighted;
  SP_TRY(sp_geometry_factors(hexes, element, rule, factors));
  if (!row->collocated) along_all(&I, nq, x, interpolated, work, points);
  if (row->has_stiffness) {
    const double *D = row->collocated ? reference->differentiation : reference->gl_differentiation;
    screened_poisson(n, D, factors, lambda, u, result, work);
  }
  for (size_t p = 0; p < points && !row->has_stiffness; p++)
    result[p] = factors[SP_G_WJ * points + p] * u[p];
  if (!row->collocated) along_all(&I_transposed, n, weighted, y, work, points);
  return SP_OK;
}

double sp_bench_difference(size_t count, const double *result, const double *expected) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(result[i])) return INFINITY;
    difference = fmax(difference, fabs(result[i] - expected[i]));
    largest = fmax(largest, fabs(expected[i]));
  }
  return difference > 0 ? difference / largest : 0;
}

double sp_bench_epsilon(sp_precision precision) {
  return precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
}

double sp_bench_tolerance(int order, sp_precision precision) {
  return (16 * (order + 2) + 30) * sp_bench_epsilon(precision);
}

double sp_bench_random(sp_gid number) {
  return (double)(sp_hash((uint64_t)number) >> 11) * 0x1p-52 - 1;
}

sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all) {
  sp_vector first = sp_vector_part(all, 0, size);
  sp_status status = sp_vector_write(values, &first);
  for (size_t done = size; done < all->count && !status; done += size) {
    sp_vector next = sp_vector_part(all, done, all->count - done < size ? all->count - done : size);
    status = sp_vector_copy(&first, &next);
  }
  return status ? status : all->platform->backend->finish(all->platform->device);
}
