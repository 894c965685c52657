/* See kernels.h. Compiled once for each instruction set with SP_HOST_KERNELS naming the table.
 * Every kernel is one inlined function of constants (order, problem, geometry), so that loops over
 * the points of a line have compile-time lengths and unroll completely. */
#include "operators/host/kernels.h"

#include <stddef.h>

typedef double vec __attribute__((vector_size(SP_LANES * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 32")

INLINE vec splat(double value) {
  return (vec){value, value, value, value, value, value, value, value};
}

/* One line: out[r] (+)= matrix in, through its even and odd parts. `sign` is that of the symmetry.
 */
INLINE void apply_line(int rows, int columns, int sign, const sp_even_odd *matrix, const vec *in,
                       int in_stride, vec *out, int out_stride, bool add) {
  const int half_rows = (rows + 1) / 2, half_columns = (columns + 1) / 2, pairs = columns / 2;
  vec even[SP_MAX_HALF], odd[SP_MAX_HALF];
  UNROLL for (int c = 0; c < pairs; c++) {
    const vec low = in[c * in_stride], high = in[(columns - 1 - c) * in_stride];
    even[c] = low + high;
    odd[c] = low - high;
  }
  if (columns % 2) even[pairs] = in[pairs * in_stride];
  UNROLL for (int r = 0; r < half_rows; r++) {
    vec p = splat(0), q = splat(0);
    UNROLL for (int c = 0; c < half_columns; c++) p += matrix->even[r * half_columns + c] * even[c];
    UNROLL for (int c = 0; c < pairs; c++) q += matrix->odd[r * half_columns + c] * odd[c];
    vec *low = &out[r * out_stride], *high = &out[(rows - 1 - r) * out_stride];
    const vec first = p + q, second = sign > 0 ? p - q : q - p;
    if (add) {
      *low += first;
      if (r != rows - 1 - r) *high += second;
    } else {
      *low = first;
      if (r != rows - 1 - r) *high = second;
    }
  }
}

/* Lines along direction d (0 r, 1 s, 2 t) of an array whose extents are n[0], n[1], n[2]; the
 * result has `rows` in that direction. */
INLINE void apply_direction(int d, int rows, const int n[3], int sign, const sp_even_odd *matrix,
                            const vec *in, vec *out, bool add) {
  const int inner = d == 0 ? 1 : d == 1 ? n[0] : n[0] * n[1];
  const int outer = d == 2 ? 1 : d == 1 ? n[2] : n[1] * n[2];
  for (int o = 0; o < outer; o++)
    for (int i = 0; i < inner; i++)
      apply_line(rows, n[d], sign, matrix, &in[o * n[d] * inner + i], inner,
                 &out[o * rows * inner + i], inner, add);
}

/* The trilinear map's derivatives, prepared for a row of points (s and t fixed): d x / d r does not
 * depend on r, the others are linear in r. */
typedef struct row_map {
  vec r[3], s0[3], s1[3], t0[3], t1[3];
} row_map;

INLINE void prepare_row(const double *coefficients, double s, double t, row_map *row) {
  const vec *c = (const vec *)coefficients;
  UNROLL for (int d = 0; d < 3; d++) {
    row->r[d] = c[3 + d] + s * c[12 + d] + t * c[18 + d] + (s * t) * c[21 + d];
    row->s0[d] = c[6 + d] + t * c[15 + d];
    row->s1[d] = c[12 + d] + t * c[21 + d];
    row->t0[d] = c[9 + d] + s * c[15 + d];
    row->t1[d] = c[18 + d] + s * c[21 + d];
  }
}

INLINE void cross(const vec a[3], const vec b[3], vec out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The adjugate |J| J^-1 (rows) and |J| at point r of a row. */
INLINE vec row_adjugate(const row_map *row, double r, vec adj[3][3]) {
  vec ds[3], dt[3];
  UNROLL for (int d = 0; d < 3; d++) {
    ds[d] = row->s0[d] + r * row->s1[d];
    dt[d] = row->t0[d] + r * row->t1[d];
  }
  cross(ds, dt, adj[0]);
  cross(dt, row->r, adj[1]);
  cross(row->r, ds, adj[2]);
  return row->r[0] * adj[0][0] + row->r[1] * adj[0][1] + row->r[2] * adj[0][2];
}

/* (gr, gs, gt) <- G (gr, gs, gt) at a point; returns wJ. */
INLINE vec scale_stored(const vec *factors, vec *gr, vec *gs, vec *gt) {
  const vec r = *gr, s = *gs, t = *gt;
  *gr = factors[SP_G_RR] * r + factors[SP_G_RS] * s + factors[SP_G_RT] * t;
  *gs = factors[SP_G_RS] * r + factors[SP_G_SS] * s + factors[SP_G_ST] * t;
  *gt = factors[SP_G_RT] * r + factors[SP_G_ST] * s + factors[SP_G_TT] * t;
  return factors[SP_G_WJ];
}

INLINE vec scale_trilinear(const row_map *row, double r, double weight, vec *gr, vec *gs, vec *gt) {
  vec adj[3][3], flux[3];
  const vec jacobian = row_adjugate(row, r, adj), scale = weight / jacobian;
  UNROLL for (int d = 0; d < 3; d++) flux[d] =
      scale * (adj[0][d] * *gr + adj[1][d] * *gs + adj[2][d] * *gt);
  *gr = adj[0][0] * flux[0] + adj[0][1] * flux[1] + adj[0][2] * flux[2];
  *gs = adj[1][0] * flux[0] + adj[1][1] * flux[1] + adj[1][2] * flux[2];
  *gt = adj[2][0] * flux[0] + adj[2][1] * flux[1] + adj[2][2] * flux[2];
  return weight * jacobian;
}

/* out = (D^T G D + lambda wJ) u on n^3 collocation points; ft is an array like u, slices two of
 * n^2. */
INLINE void stiffness(int n, int trilinear, const sp_host_tables *tables, const double *factors,
                      double lambda, const vec *u, vec *out, vec *ft, vec *slices) {
  const int cube[3] = {n, n, n}, square[3] = {n, n, 1}, area = n * n;
  vec *fr = slices, *fs = slices + area;
  apply_direction(2, n, cube, -1, &tables->differentiate, u, ft, false);
  for (int k = 0; k < n; k++) {
    const vec *slice = &u[k * area];
    vec *target = &out[k * area], *slice_ft = &ft[k * area];
    apply_direction(0, n, square, -1, &tables->differentiate, slice, fr, false);
    apply_direction(1, n, square, -1, &tables->differentiate, slice, fs, false);
    for (int j = 0; j < n; j++) {
      row_map row;
      if (trilinear) prepare_row(factors, tables->nodes[j], tables->nodes[k], &row);
      const double weight = tables->weights[j] * tables->weights[k];
      for (int i = 0; i < n; i++) {
        const int p = j * n + i;
        vec jacobian;
        if (trilinear)
          jacobian = scale_trilinear(&row, tables->nodes[i], weight * tables->weights[i], &fr[p],
                                     &fs[p], &slice_ft[p]);
        else
          jacobian = scale_stored((const vec *)factors + (ptrdiff_t)(k * area + p) * SP_FACTORS,
                                  &fr[p], &fs[p], &slice_ft[p]);
        target[p] = lambda * jacobian * slice[p];
      }
    }
    apply_direction(0, n, square, -1, &tables->differentiate_t, fr, target, true);
    apply_direction(1, n, square, -1, &tables->differentiate_t, fs, target, true);
  }
  apply_direction(2, n, cube, -1, &tables->differentiate_t, ft, out, true);
}

/* Interpolation in r and s: [nq][nq][nq] -> [nq][m][m]; `half` is [nq][nq][m]. */
INLINE void interpolate_rs(int nq, const sp_host_tables *tables, const vec *u, vec *half,
                           vec *out) {
  const int m = nq + 1, first[3] = {nq, nq, nq}, second[3] = {m, nq, nq};
  apply_direction(0, m, first, 1, &tables->interpolate, u, half, false);
  apply_direction(1, m, second, 1, &tables->interpolate, half, out, false);
}

/* Its transpose: [nq][m][m] -> [nq][nq][nq]. */
INLINE void project_rs(int nq, const sp_host_tables *tables, const vec *in, vec *half, vec *out) {
  const int m = nq + 1, first[3] = {m, m, nq}, second[3] = {m, nq, nq};
  apply_direction(1, nq, first, 1, &tables->interpolate_t, in, half, false);
  apply_direction(0, nq, second, 1, &tables->interpolate_t, half, out, false);
}

/* BP1.0. Columns along t are interpolated, multiplied by wJ and projected without leaving registers
 * or the first cache. */
INLINE void mass(int nq, int trilinear, const sp_host_tables *tables, const double *factors,
                 const vec *u, vec *out, vec *work) {
  const int m = nq + 1, area = m * m;
  vec *half = work, *plane = work + nq * nq * m;
  interpolate_rs(nq, tables, u, half, plane);
  for (int j = 0; j < m; j++)
    for (int i = 0; i < m; i++) {
      vec column[SP_MAX_M];
      vec *base = &plane[j * m + i];
      apply_line(m, nq, 1, &tables->interpolate, base, area, column, 1, false);
      for (int k = 0; k < m; k++) {
        if (trilinear) {
          row_map row;
          vec adj[3][3];
          prepare_row(factors, tables->nodes[j], tables->nodes[k], &row);
          const double weight = tables->weights[i] * tables->weights[j] * tables->weights[k];
          column[k] *= weight * row_adjugate(&row, tables->nodes[i], adj);
        } else {
          column[k] *= ((const vec *)factors)[k * area + j * m + i];
        }
      }
      apply_line(nq, m, 1, &tables->interpolate_t, column, 1, base, area, false);
    }
  project_rs(nq, tables, plane, half, out);
}

/* BP3.0: interpolate, differentiate on the Gauss points, project. */
INLINE void bp30(int nq, int trilinear, const sp_host_tables *tables, const double *factors,
                 double lambda, const vec *u, vec *out, vec *work) {
  const int m = nq + 1, volume = m * m * m, planes[3] = {m, m, nq}, cube[3] = {m, m, m};
  vec *fine = work, *result = work + volume, *ft = work + 2 * volume, *slices = work + 3 * volume;
  interpolate_rs(nq, tables, u, ft, result);
  apply_direction(2, m, planes, 1, &tables->interpolate, result, fine, false);
  stiffness(m, trilinear, tables, factors, lambda, fine, result, ft, slices);
  apply_direction(2, nq, cube, 1, &tables->interpolate_t, result, fine, false);
  project_rs(nq, tables, fine, ft, out);
}

/* Z for one block. The general branch serves blocks at the boundary and the last, partly filled
 * ones. */
INLINE void gather(int points, const sp_lid *dofs, bool plain, bool constrained, const double *x,
                   vec *u) {
  if (plain) {
    for (int p = 0; p < points; p++) {
      const sp_lid *d = &dofs[p * SP_LANES];
      u[p] = (vec){x[d[0]], x[d[1]], x[d[2]], x[d[3]], x[d[4]], x[d[5]], x[d[6]], x[d[7]]};
    }
    return;
  }
  double *scalars = (double *)u;
  for (int i = 0; i < points * SP_LANES; i++) {
    const sp_lid d = dofs[i];
    scalars[i] = d >= 0 ? x[d] : constrained || d == SP_NO_DOF ? 0 : x[~d];
  }
}

/* Z^T for one block: lanes one after another, because they may share DOFs. */
INLINE void scatter(int points, const sp_lid *dofs, bool plain, bool constrained, const vec *out,
                    double *y) {
  const double *scalars = (const double *)out;
  if (plain) {
    for (int i = 0; i < points * SP_LANES; i++) y[dofs[i]] += scalars[i];
    return;
  }
  for (int i = 0; i < points * SP_LANES; i++) {
    const sp_lid d = dofs[i];
    if (d >= 0)
      y[d] += scalars[i];
    else if (!constrained && d != SP_NO_DOF)
      y[~d] += scalars[i];
  }
}

/* Entries [begin, end) just before they are touched first: y = 0, and the new direction. */
INLINE void first_touch(const sp_host_sweep *sweep, sp_lid begin, sp_lid end) {
  double *restrict y = sweep->y, *restrict p = sweep->direction;
  const double *restrict r = sweep->residual, *restrict d = sweep->inverse_diagonal;
  const double beta = sweep->beta;
  for (sp_lid i = begin; i < end; i++) y[i] = 0;
  if (!p) return;
  if (d)
    for (sp_lid i = begin; i < end; i++) p[i] = d[i] * r[i] + beta * p[i];
  else
    for (sp_lid i = begin; i < end; i++) p[i] = r[i] + beta * p[i];
}

INLINE void sweep_blocks(sp_problem_kind kind, int trilinear, int order,
                         const sp_host_layout *layout, const sp_host_tables *tables,
                         sp_host_sweep *sweep) {
  const int nq = order + 1, points = nq * nq * nq, n = kind == SP_BP35 ? nq : nq + 1;
  const ptrdiff_t stride =
      SP_LANES * (trilinear ? 24 : (ptrdiff_t)n * n * n * (kind == SP_MASS ? 1 : SP_FACTORS));
  vec *gathered = (vec *)sweep->work, *scattered = gathered + points, *work = scattered + points;
  vec energy = splat(0);
  if (sweep->first == 0 && !sweep->unassembled) first_touch(sweep, layout->owned, layout->local);
  for (sp_lid b = sweep->first; b < sweep->last; b++) {
    const sp_lid *dofs = &layout->dofs[(ptrdiff_t)b * points * SP_LANES];
    const double *factors = &layout->factors[b * stride];
    const bool plain = layout->plain[b];
    const ptrdiff_t place = (ptrdiff_t)b * points * SP_LANES;
    const vec *u = sweep->unassembled ? (const vec *)(sweep->x + place) : gathered;
    vec *out = sweep->unassembled ? (vec *)(sweep->y + place) : scattered;
    if (!sweep->unassembled) {
      for (int c = 0; c < SP_DOF_CLASSES; c++)
        first_touch(sweep, layout->touched[b][c], layout->touched[b + 1][c]);
      gather(points, dofs, plain, sweep->constrained, sweep->x, gathered);
    }
    if (kind == SP_MASS)
      mass(nq, trilinear, tables, factors, u, out, work);
    else if (kind == SP_BP35)
      stiffness(nq, trilinear, tables, factors, sweep->lambda, u, out, work, work + points);
    else
      bp30(nq, trilinear, tables, factors, sweep->lambda, u, out, work);
    if (sweep->unassembled) continue;
    for (int p = 0; p < points; p++) energy += u[p] * out[p];
    scatter(points, dofs, plain, sweep->constrained, out, sweep->y);
  }
  for (int lane = 0; lane < SP_LANES; lane++) sweep->energy += energy[lane];
}

static void update(sp_lid owned, sp_lid n, double alpha, const double *restrict p,
                   const double *restrict ap, const double *restrict inverse_diagonal,
                   double *restrict x, double *restrict r, double sums[2]) {
  vec rr = splat(0), rz = splat(0);
  sp_lid i = 0;
  for (; i + SP_LANES <= owned; i += SP_LANES) {
    vec residual, diagonal = splat(1);
    for (int l = 0; l < SP_LANES; l++) {
      x[i + l] += alpha * p[i + l];
      residual[l] = r[i + l] -= alpha * ap[i + l];
      if (inverse_diagonal) diagonal[l] = inverse_diagonal[i + l];
    }
    rr += residual * residual;
    if (inverse_diagonal) rz += residual * diagonal * residual;
  }
  double sum_rr = 0, sum_rz = 0;
  for (; i < n; i++) {
    x[i] += alpha * p[i];
    r[i] -= alpha * ap[i];
    if (i < owned) {
      sum_rr += r[i] * r[i];
      if (inverse_diagonal) sum_rz += r[i] * inverse_diagonal[i] * r[i];
    }
  }
  for (int l = 0; l < SP_LANES; l++) {
    sum_rr += rr[l];
    sum_rz += rz[l];
  }
  sums[0] = sum_rr;
  sums[1] = inverse_diagonal ? sum_rz : sum_rr;
}

#define EACH_ORDER(DO, kind, trilinear)                                                            \
  DO(kind, trilinear, 1)                                                                           \
  DO(kind, trilinear, 2)                                                                           \
  DO(kind, trilinear, 3)                                                                           \
  DO(kind, trilinear, 4)                                                                           \
  DO(kind, trilinear, 5)                                                                           \
  DO(kind, trilinear, 6)                                                                           \
  DO(kind, trilinear, 7)                                                                           \
  DO(kind, trilinear, 8)                                                                           \
  DO(kind, trilinear, 9)                                                                           \
  DO(kind, trilinear, 10)                                                                          \
  DO(kind, trilinear, 11)                                                                          \
  DO(kind, trilinear, 12)                                                                          \
  DO(kind, trilinear, 13)                                                                          \
  DO(kind, trilinear, 14)                                                                          \
  DO(kind, trilinear, 15)

#define DEFINE(kind, trilinear, order)                                                             \
  static void sweep_##kind##_##trilinear##_##order(                                                \
      const sp_host_layout *layout, const sp_host_tables *tables, sp_host_sweep *sweep) {          \
    sweep_blocks(kind, trilinear, order, layout, tables, sweep);                                   \
  }
#define ENTER(kind, trilinear, order)                                                              \
  .sweep[kind][trilinear][order] = sweep_##kind##_##trilinear##_##order,

EACH_ORDER(DEFINE, SP_MASS, 0)
EACH_ORDER(DEFINE, SP_MASS, 1)
EACH_ORDER(DEFINE, SP_BP35, 0)
EACH_ORDER(DEFINE, SP_BP35, 1)
EACH_ORDER(DEFINE, SP_BP30, 0)
EACH_ORDER(DEFINE, SP_BP30, 1)

const sp_host_kernels SP_HOST_KERNELS = {
    .instruction_set = SP_HOST_INSTRUCTION_SET,
    EACH_ORDER(ENTER, SP_MASS, 0) EACH_ORDER(ENTER, SP_MASS, 1) EACH_ORDER(ENTER, SP_BP35, 0)
        EACH_ORDER(ENTER, SP_BP35, 1) EACH_ORDER(ENTER, SP_BP30, 0) EACH_ORDER(ENTER, SP_BP30, 1)
            .update = update,
};
