/* The local operators on blocks of elements, one in each lane. They consist of passes over lines,
 * whose direction and lengths are compile-time constants, so that loops unroll completely. */
#include <stddef.h>
#include <stdint.h>

#include "operators/host/vector.h"

enum { CACHE_LINE = 64 };

/* Prefetch a few cache lines at a time between the arithmetic: stored factors are read in bursts,
 * between which the memory would be idle. */
typedef struct stream {
  uintptr_t next; /* an integer, since it passes the end of the factors */
  int lines;      /* cache lines per step; 0: no prefetch */
} stream;

INLINE void advance(stream *ahead) {
  enum { READ = 0, SECOND_LEVEL = 2 };
  for (int l = 0; l < ahead->lines; l++, ahead->next += CACHE_LINE)
    __builtin_prefetch((const void *)ahead->next, READ, SECOND_LEVEL);
}

/* One line: out = (or +=) matrix in, by its even and odd parts. `sign` is the sign of the symmetry.
 */
INLINE void apply_line(int rows, int columns, int sign, const even_odd *matrix, const vec *in,
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

/* Lines along direction d (0 r, 1 s, 2 t) of an array whose extents are n0, n1, n2, r fastest; the
 * result has `rows` in that direction. */
INLINE void apply_direction(int d, int rows, int n0, int n1, int n2, int sign,
                            const even_odd *matrix, const vec *in, vec *out, bool add,
                            stream *ahead) {
  const int columns = d == 0 ? n0 : d == 1 ? n1 : n2;
  const int inner = d == 0 ? 1 : d == 1 ? n0 : n0 * n1;
  const int outer = d == 2 ? 1 : d == 1 ? n2 : n1 * n2;
  for (int o = 0; o < outer; o++)
    for (int i = 0; i < inner; i++) {
      apply_line(rows, columns, sign, matrix, &in[o * columns * inner + i], inner,
                 &out[o * rows * inner + i], inner, add);
      if (ahead) advance(ahead);
    }
}

/* Passes over all lines of an array, compiled once for all operators. First derivatives on n points
 * a direction: out = (or +=) matrix in, along r and s on a slice [n][n] and along t on a cube. */
typedef void derive_pass(const even_odd *matrix, const vec *in, vec *out, stream *ahead);

typedef struct derive_passes {
  derive_pass *r, *s, *t, *add_r, *add_s, *add_t;
} derive_passes;

#define DERIVE(name, n, direction, depth, add)                                                     \
  static void name##_##n(const even_odd *matrix, const vec *in, vec *out, stream *ahead) {         \
    apply_direction(direction, n, n, n, depth, -1, matrix, in, out, add, ahead);                   \
  }
#define DERIVES(n)                                                                                 \
  DERIVE(derive_r, n, 0, 1, false)                                                                 \
  DERIVE(derive_s, n, 1, 1, false)                                                                 \
  DERIVE(derive_t, n, 2, n, false)                                                                 \
  DERIVE(add_r, n, 0, 1, true)                                                                     \
  DERIVE(add_s, n, 1, 1, true)                                                                     \
  DERIVE(add_t, n, 2, n, true)
#define ENTER_DERIVES(n)                                                                           \
  [n] = {derive_r_##n, derive_s_##n, derive_t_##n, add_r_##n, add_s_##n, add_t_##n},

/* Interpolation from n nodes to m = n + 1 points a direction and its transpose:
 *     up_r [n][n][n] -> [n][n][m],   up_s -> [n][m][m],   up_t -> [m][m][m],
 *     down_t [m][m][m] -> [n][m][m],   down_s -> [n][n][m],   down_r -> [n][n][n]. */
typedef void interpolate_pass(const even_odd *matrix, const vec *in, vec *out);

typedef struct interpolate_passes {
  interpolate_pass *up_r, *up_s, *up_t, *down_t, *down_s, *down_r;
} interpolate_passes;

#define INTERPOLATE(name, n, rows, direction, n0, n1, n2)                                          \
  static void name##_##n(const even_odd *matrix, const vec *in, vec *out) {                        \
    apply_direction(direction, rows, n0, n1, n2, 1, matrix, in, out, false, NULL);                 \
  }
#define INTERPOLATES(n)                                                                            \
  INTERPOLATE(up_r, n, n + 1, 0, n, n, n)                                                          \
  INTERPOLATE(up_s, n, n + 1, 1, n + 1, n, n)                                                      \
  INTERPOLATE(up_t, n, n + 1, 2, n + 1, n + 1, n)                                                  \
  INTERPOLATE(down_t, n, n, 2, n + 1, n + 1, n + 1)                                                \
  INTERPOLATE(down_s, n, n, 1, n + 1, n + 1, n)                                                    \
  INTERPOLATE(down_r, n, n, 0, n + 1, n, n)
#define ENTER_INTERPOLATES(n)                                                                      \
  [n] = {up_r_##n, up_s_##n, up_t_##n, down_t_##n, down_s_##n, down_r_##n},

#define EACH_LENGTH(DO)                                                                            \
  DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15) DO(16)

EACH_LENGTH(DERIVES)
DERIVES(17)
EACH_LENGTH(INTERPOLATES)
static const derive_passes derives[SP_MAX_M + 1] = {EACH_LENGTH(ENTER_DERIVES) ENTER_DERIVES(17)};
static const interpolate_passes interpolates[SP_MAX_ORDER + 2] = {EACH_LENGTH(ENTER_INTERPOLATES)};

/* The trilinear map along a line of points. d x / d r does not depend on r, and the other
 * derivatives are linear in r, so the rows of |J| J^-1 and |J| are polynomials in r:
 *
 *     ds x dt of degree 2,  dt x dr and dr x ds of degree 1,  |J| = dr . (ds x dt) of degree 2
 *
 * and so for r, s and t in cyclic order. Coefficients are [power][component]. Scalars are splat:
 * gcc's products of a vector and a plain scalar are slower. */
typedef struct line_map {
  vec st[3][3], tr[2][3], rs[2][3], jacobian[3];
} line_map;

INLINE void cross(const vec a[3], const vec b[3], vec out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE vec dot(const vec a[3], const vec b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* dr and the linear parts of ds and dt along r (direction 0, at (s, t)), or along s at (t, r), or
 * along t at (r, s). */
INLINE void derivatives(const real *coefficients, int direction, real second, real third, vec dr[3],
                        vec ds[2][3], vec dt[2][3]) {
  /* Coefficients of r, s, t, and of st, tr, rs. */
  const int linear[] = {3, 6, 9, 3, 6}, mixed[] = {15, 18, 12, 15, 18}, all = 21;
  const int *one = &linear[direction], *two = &mixed[direction];
  const vec *c = (const vec *)coefficients, s = splat(second), t = splat(third);
  UNROLL for (int d = 0; d < 3; d++) {
    dr[d] =
        c[one[0] + d] + s * c[two[2] + d] + t * c[two[1] + d] + splat(second * third) * c[all + d];
    ds[0][d] = c[one[1] + d] + t * c[two[0] + d];
    ds[1][d] = c[two[2] + d] + t * c[all + d];
    dt[0][d] = c[one[2] + d] + s * c[two[0] + d];
    dt[1][d] = c[two[1] + d] + s * c[all + d];
  }
}

/* ds x dt and |J|. */
INLINE void prepare_jacobian(vec dr[3], vec ds[2][3], vec dt[2][3], line_map *line) {
  vec other[3];
  cross(ds[0], dt[0], line->st[0]);
  cross(ds[0], dt[1], line->st[1]);
  cross(ds[1], dt[0], other);
  UNROLL for (int d = 0; d < 3; d++) line->st[1][d] += other[d];
  cross(ds[1], dt[1], line->st[2]);
  UNROLL for (int power = 0; power < 3; power++) line->jacobian[power] = dot(dr, line->st[power]);
}

/* The derivatives of the map on a line along r: ds and dt are [power][component]. */
typedef struct line_derivatives {
  vec dr[3], ds[2][3], dt[2][3];
} line_derivatives;

INLINE void prepare_line(line_derivatives *at, line_map *line) {
  prepare_jacobian(at->dr, at->ds, at->dt, line);
  UNROLL for (int power = 0; power < 2; power++) {
    cross(at->dt[power], at->dr, line->tr[power]);
    cross(at->dr, at->ds[power], line->rs[power]);
  }
}

INLINE vec jacobian_at(const line_map *line, vec r) {
  return line->jacobian[0] + r * (line->jacobian[1] + r * line->jacobian[2]);
}

/* (gr, gs, gt) <- G (gr, gs, gt) at a point; returns wJ. */
INLINE vec scale_stored(const vec *factors, vec *gr, vec *gs, vec *gt) {
  const vec r = *gr, s = *gs, t = *gt;
  *gr = factors[SP_G_RR] * r + factors[SP_G_RS] * s + factors[SP_G_RT] * t;
  *gs = factors[SP_G_RS] * r + factors[SP_G_SS] * s + factors[SP_G_ST] * t;
  *gt = factors[SP_G_RT] * r + factors[SP_G_ST] * s + factors[SP_G_TT] * t;
  return factors[SP_G_WJ];
}

/* Scale likewise, from the rows of |J| J^-1; `scale` is the weight and kappa divided by |J|. */
INLINE void scale_adjugate(vec adj[3][3], vec scale, vec *gr, vec *gs, vec *gt) {
  vec flux[3];
  UNROLL for (int d = 0; d < 3; d++) flux[d] =
      scale * (adj[0][d] * *gr + adj[1][d] * *gs + adj[2][d] * *gt);
  *gr = dot(adj[0], flux);
  *gs = dot(adj[1], flux);
  *gt = dot(adj[2], flux);
}

/* The geometry at point r of a line. */
INLINE void scale_trilinear(const line_map *line, vec r, vec scale, vec *gr, vec *gs, vec *gt) {
  vec adj[3][3];
  UNROLL for (int d = 0; d < 3; d++) {
    adj[0][d] = line->st[0][d] + r * (line->st[1][d] + r * line->st[2][d]);
    adj[1][d] = line->tr[0][d] + r * line->tr[1][d];
    adj[2][d] = line->rs[0][d] + r * line->rs[1][d];
  }
  scale_adjugate(adj, scale, gr, gs, gt);
}

/* The geometry at point r of a line that is too short for polynomials. `weight` is the quadrature
 * weight, `factor` the weight times kappa. Returns wJ. */
INLINE vec scale_at_point(const line_derivatives *at, vec r, vec weight, vec factor, vec *gr,
                          vec *gs, vec *gt) {
  vec ds[3], dt[3], adj[3][3];
  UNROLL for (int d = 0; d < 3; d++) {
    ds[d] = at->ds[0][d] + r * at->ds[1][d];
    dt[d] = at->dt[0][d] + r * at->dt[1][d];
  }
  cross(ds, dt, adj[0]);
  cross(dt, at->dr, adj[1]);
  cross(at->dr, ds, adj[2]);
  const vec jacobian = dot(at->dr, adj[0]);
  scale_adjugate(adj, factor / jacobian, gr, gs, gt);
  return weight * jacobian;
}

/* Numbers of points per direction at which the code changes (README.md, "Measured"). Above DIVIDED
 * points, quotients are computed without division instructions, which are slower there. On short
 * lines polynomials take longer than the geometry at each point; with vectors of 64 bytes that
 * limit is higher, because there are twice as many registers. */
enum { WIDE = SP_HOST_VECTOR_BYTES == 64, DIVIDED = 9, POINTWISE = WIDE ? 8 : 4 };

/* out = (D^T G D + lambda wJ) u on n^3 collocation points; ft is an array like u, `slices` has two
 * of n^2. Scaled and affine factors contain lambda. */
INLINE void stiffness(int n, int prefetched, sp_factor_kind kind, const matrices *tables,
                      const real *factors, real lambda, const vec *u, vec *out, vec *ft,
                      vec *slices) {
  const derive_passes *pass = &derives[n];
  const even_odd *d = &tables->differentiate, *dt = &tables->differentiate_t;
  const int area = n * n;
  const bool scaled = kind == SP_FACTORS_SCALED, affine = kind == SP_FACTORS_AFFINE;
  const bool trilinear = scaled || kind == SP_FACTORS_TRILINEAR;
  const bool pointwise = trilinear && n <= POINTWISE;
  const vec *coefficients = (const vec *)factors;
  const vec kappa = scaled ? coefficients[0] : splat(1);
  const vec shift = scaled ? coefficients[1] : splat(lambda);
  vec *fr = slices, *fs = slices + area;
  /* The 7 n^3 vectors of factors of a block are prefetched in equal parts at its 6 n^2 lines of
   * points, a sixth of a block in advance, because the first n^2 lines read no factors. Blocks are
   * contiguous. On one core BP3.5 gets 15 % (n = 4) to 40 % faster; smaller elements gain nothing.
   */
  const int step = (SP_FACTORS * n * (int)sizeof(vec) + 6 * CACHE_LINE - 1) / (6 * CACHE_LINE);
  stream ahead = {.next = (uintptr_t)factors + (size_t)(step * area * CACHE_LINE),
                  .lines = kind != SP_FACTORS_STORED || n <= 3 || n > prefetched ? 0 : step};
  pass->t(d, u, ft, &ahead);
  for (int k = 0; k < n; k++) {
    const vec *slice = &u[k * area];
    vec *target = &out[k * area], *slice_ft = &ft[k * area];
    pass->r(d, slice, fr, &ahead);
    pass->s(d, slice, fs, &ahead);
    for (int j = 0; j < n; j++) {
      line_derivatives at;
      line_map line;
      vec wj[SP_MAX_M], scale[SP_MAX_M];
      const real weight = tables->weights[j] * tables->weights[k];
      if (affine) {
        for (int i = 0; i < n; i++) {
          const int p = j * n + i;
          const vec w = splat(weight * tables->weights[i]);
          fr[p] *= w;
          fs[p] *= w;
          slice_ft[p] *= w;
          const vec mass = scale_stored(coefficients, &fr[p], &fs[p], &slice_ft[p]);
          target[p] = w * mass * slice[p];
        }
        continue;
      }
      if (trilinear)
        derivatives(factors, 0, tables->nodes[j], tables->nodes[k], at.dr, at.ds, at.dt);
      if (trilinear && !pointwise) {
        prepare_line(&at, &line);
        /* Start the slow quotients before the loop that needs them. */
        for (int i = 0; i < n; i++) {
          const vec w = splat(weight * tables->weights[i]);
          const vec jacobian = jacobian_at(&line, splat(tables->nodes[i]));
          wj[i] = w * jacobian;
          const vec factor = w * kappa;
          scale[i] = n > DIVIDED ? divide(factor, jacobian) : factor / jacobian;
        }
      }
      for (int i = 0; i < n; i++) {
        const int p = j * n + i;
        const vec w = splat(weight * tables->weights[i]);
        if (pointwise)
          wj[i] = scale_at_point(&at, splat(tables->nodes[i]), w, w * kappa, &fr[p], &fs[p],
                                 &slice_ft[p]);
        else if (trilinear)
          scale_trilinear(&line, splat(tables->nodes[i]), scale[i], &fr[p], &fs[p], &slice_ft[p]);
        else
          wj[i] = scale_stored((const vec *)factors + (ptrdiff_t)(k * area + p) * SP_FACTORS,
                               &fr[p], &fs[p], &slice_ft[p]);
        target[p] = shift * wj[i] * slice[p];
      }
    }
    pass->add_r(dt, fr, target, &ahead);
    pass->add_s(dt, fs, target, &ahead);
  }
  pass->add_t(dt, ft, out, &ahead);
}

/* BP1.0. Columns along t are interpolated, multiplied by wJ and projected within registers or the
 * first-level cache, so this function is compiled for each order. */
INLINE void mass(int n, bool trilinear, const matrices *tables, const real *factors, const vec *u,
                 vec *out, vec *work) {
  const int m = n + 1, area = m * m;
  const interpolate_passes *pass = &interpolates[n];
  vec *half = work, *plane = work + n * n * m;
  pass->up_r(&tables->interpolate, u, half);
  pass->up_s(&tables->interpolate, half, plane);
  for (int j = 0; j < m; j++)
    for (int i = 0; i < m; i++) {
      vec column[SP_MAX_M];
      vec *base = &plane[j * m + i];
      apply_line(m, n, 1, &tables->interpolate, base, area, column, 1, false);
      line_map line;
      if (trilinear) {
        vec dt[3], dr[2][3], ds[2][3];
        derivatives(factors, 2, tables->nodes[i], tables->nodes[j], dt, dr, ds);
        prepare_jacobian(dt, dr, ds, &line);
      }
      const real weight = tables->weights[i] * tables->weights[j];
      for (int k = 0; k < m; k++)
        column[k] *= trilinear ? splat(weight * tables->weights[k]) *
                                     jacobian_at(&line, splat(tables->nodes[k]))
                               : ((const vec *)factors)[k * area + j * m + i];
      apply_line(n, m, 1, &tables->interpolate_t, column, 1, base, area, false);
    }
  pass->down_s(&tables->interpolate_t, plane, half);
  pass->down_r(&tables->interpolate_t, half, out);
}

/* BP3.0: interpolate, differentiate on the Gauss points, project. */
INLINE void bp30(int n, int prefetched, sp_factor_kind kind, const matrices *tables,
                 const real *factors, real lambda, const vec *u, vec *out, vec *work) {
  const int m = n + 1, volume = m * m * m;
  const interpolate_passes *pass = &interpolates[n];
  vec *fine = work, *result = work + volume, *ft = work + 2 * volume, *slices = work + 3 * volume;
  pass->up_r(&tables->interpolate, u, ft);
  pass->up_s(&tables->interpolate, ft, result);
  pass->up_t(&tables->interpolate, result, fine);
  stiffness(m, prefetched, kind, tables, factors, lambda, fine, result, ft, slices);
  pass->down_t(&tables->interpolate_t, result, fine);
  pass->down_s(&tables->interpolate_t, fine, ft);
  pass->down_r(&tables->interpolate_t, ft, out);
}

#define MASS(n)                                                                                    \
  static void mass_stored_##n(const matrices *tables, const real *factors, const vec *u, vec *out, \
                              vec *work) {                                                         \
    mass(n, false, tables, factors, u, out, work);                                                 \
  }                                                                                                \
  static void mass_trilinear_##n(const matrices *tables, const real *factors, const vec *u,        \
                                 vec *out, vec *work) {                                            \
    mass(n, true, tables, factors, u, out, work);                                                  \
  }
#define ENTER_MASS(n) [n] = {mass_stored_##n, mass_trilinear_##n},

EACH_LENGTH(MASS)
typedef void mass_function(const matrices *, const real *, const vec *, vec *, vec *);
static mass_function *const masses[SP_MAX_ORDER + 2][2] = {EACH_LENGTH(ENTER_MASS)};

/* The local operators as entries of the table. */
#define LOCAL(name, ...)                                                                           \
  static void name(const sp_host_tables *all, const void *numbers, double coefficient,             \
                   const void *x, void *y, void *space) {                                          \
    const matrices *tables = (const matrices *)&all->matrices;                                     \
    const real *factors = numbers, lambda = (real)coefficient;                                     \
    const vec *u = x;                                                                              \
    vec *out = y, *work = space;                                                                   \
    const int n = all->n;                                                                          \
    __VA_ARGS__;                                                                                   \
  }
LOCAL(local_mass_stored, (void)lambda; masses[n][0](tables, factors, u, out, work))
LOCAL(local_mass_trilinear, (void)lambda; masses[n][1](tables, factors, u, out, work))
#define BP35(kind)                                                                                 \
  stiffness(n, all->prefetched, kind, tables, factors, lambda, u, out, work, work + n * n * n)
#define BP30(kind) bp30(n, all->prefetched, kind, tables, factors, lambda, u, out, work)
LOCAL(bp35_stored, BP35(SP_FACTORS_STORED))
LOCAL(bp35_trilinear, BP35(SP_FACTORS_TRILINEAR))
LOCAL(bp35_scaled, BP35(SP_FACTORS_SCALED))
LOCAL(bp35_affine, BP35(SP_FACTORS_AFFINE))
LOCAL(bp30_stored, BP30(SP_FACTORS_STORED))
LOCAL(bp30_trilinear, BP30(SP_FACTORS_TRILINEAR))
LOCAL(bp30_scaled, BP30(SP_FACTORS_SCALED))

sp_host_local_function *const SP_HOST_LOCALS[SP_OPERATORS][SP_FACTOR_KINDS] = {
    [SP_MASS] = {local_mass_stored, local_mass_trilinear},
    [SP_BP35] = {[SP_FACTORS_STORED] = bp35_stored,
                 [SP_FACTORS_TRILINEAR] = bp35_trilinear,
                 [SP_FACTORS_SCALED] = bp35_scaled,
                 [SP_FACTORS_AFFINE] = bp35_affine},
    [SP_BP30] = {bp30_stored, bp30_trilinear, bp30_scaled}};
