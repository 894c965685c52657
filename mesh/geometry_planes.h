/* Internal to mesh/geometry.c: trilinear maps. Points are evaluated by planes, four at a time,
 * because lines are too short for vectors. */
#pragma once

#include <assert.h>

#include "io/clones.h"
#include "mesh/hexes.h"
#include "mesh/reference.h"

/* An element's map: the points of its lattice and, if it is trilinear, its coefficients:
 * linear[bits] multiplies r for bit 0, s for bit 1, t for bit 2. */
typedef struct element_map {
  int g; /* points of the lattice in each direction */
  const double *lattice;
  double linear[8][3];
} element_map;

static inline void find_coefficients(const double *corners, double linear[8][3]) {
  for (int m = 0; m < 8; m++)
    for (int d = 0; d < 3; d++) linear[m][d] = corners[3 * m + d];
  for (int bit = 1; bit < 8; bit *= 2)
    for (int m = 0; m < 8; m++)
      for (int d = 0; d < 3 && !(m & bit); d++) {
        const double low = linear[m][d], high = linear[m | bit][d];
        linear[m][d] = 0.5 * (low + high);
        linear[m | bit][d] = 0.5 * (high - low);
      }
}

static inline void make_map(const sp_hexes *hexes, sp_lid element, element_map *map) {
  map->g = hexes->map_order + 1;
  map->lattice = sp_hexes_lattice(hexes, element);
  if (map->g == 2) find_coefficients(map->lattice, map->linear);
}

/* The point r in [-1, 1] between two ends. It is exact at the ends and if the ends are equal, so
 * that flat faces along the axes stay flat. */
SP_INLINE double between(double r, double low, double high) {
  const double length = high - low, near = r < 0 ? low : high, way = r < 0 ? 1 + r : r - 1;
  return near + 0.5 * way * length;
}

/* Least |J| relative to the product of the column lengths. It is 1 in any box, however thin, and
 * noise of about 1e-16 in a flat element. */
static const double FLAT = 1e-13;

/* The map of a plane of points, t = const: x_d = x[0] + x[1] r + x[2] s + x[3] rs, and d x_d / dt
 * likewise. */
typedef struct map_plane {
  double x[3][4], dt[3][4];
} map_plane;

SP_INLINE void make_plane(const element_map *map, double t, map_plane *plane) {
  for (int d = 0; d < 3; d++)
    for (int m = 0; m < 4; m++) {
      plane->dt[d][m] = map->linear[m + 4][d];
      plane->x[d][m] = map->linear[m][d] + t * plane->dt[d][m];
    }
}

/* Four points at a time, at any address of a double. */
typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long quad_mask __attribute__((vector_size(32)));

/* The points of a plane, and the products of their weights in r and s. */
typedef struct plane_points {
  int count;
  double r[SP_MAX_RULE * SP_MAX_RULE], s[SP_MAX_RULE * SP_MAX_RULE];
  double weights[SP_MAX_RULE * SP_MAX_RULE];
} plane_points;

/* Mask of the negative numbers r for quad_between, and half of the distance from the near end. */
typedef struct quad_fractions {
  quad_mask negative;
  quad half;
} quad_fractions;

/* By lanes, a where `mask` is set, b elsewhere. */
SP_INLINE void choose(const quad_mask *mask, const quad *a, const quad *b, quad *out) {
  *out = (quad)(((quad_mask)*a & *mask) | ((quad_mask)*b & ~*mask));
}

SP_INLINE void make_fractions(const double *r, quad_fractions *out) {
  const quad at = *(const quad *)r, one = {1, 1, 1, 1}, minus = -one;
  quad end;
  out->negative = at < 0;
  choose(&out->negative, &one, &minus, &end);
  out->half = 0.5 * (end + at);
}

/* `between`, to the bit. */
SP_INLINE void quad_between(const quad_fractions *r, const quad *low, const quad *high, quad *out) {
  quad near;
  choose(&r->negative, low, high, &near);
  *out = near + r->half * (*high - *low);
}

/* Set the points; set the weights only if `weights` is not NULL. */
SP_INLINE void make_points(int n, const double *nodes, const double *weights, plane_points *at) {
  assert(n >= 2);
  at->count = n * n;
  for (int b = 0; b < n; b++)
    for (int a = 0; a < n; a++) {
      at->r[b * n + a] = nodes[a];
      at->s[b * n + a] = nodes[b];
      if (weights) at->weights[b * n + a] = weights[a] * weights[b];
    }
}

/* The first of the next four points, q or less: the last four of a plane may overlap the previous
 * ones, with the same result. */
SP_INLINE int four_from(const plane_points *at, int q) {
  return q + 4 <= at->count ? q : at->count - 4;
}

/* x at four points of a plane, by `between`, so that no point lies outside the corners. */
SP_INLINE void exact_points(const element_map *map, double t, const plane_points *at, int first,
                            quad x[3]) {
  quad_fractions in_r, in_s;
  make_fractions(&at->r[first], &in_r);
  make_fractions(&at->s[first], &in_s);
#pragma GCC unroll 3
  for (int d = 0; d < 3; d++) {
    quad corner[4], low, high;
#pragma GCC unroll 4
    for (int m = 0; m < 4; m++)
      corner[m] = (quad){0} + between(t, map->lattice[3 * m + d], map->lattice[3 * (m + 4) + d]);
    quad_between(&in_s, &corner[0], &corner[2], &low);
    quad_between(&in_s, &corner[1], &corner[3], &high);
    quad_between(&in_r, &low, &high, &x[d]);
  }
}

/* At four points: x, the adjugate by rows, |J|, and a mask of the points where |J| is surely
 * positive beyond rounding (is_proper). The mask is false if products overflow. */
typedef struct quad_map {
  quad x[3], adjugate[3][3], jacobian;
  quad_mask proper;
} quad_map;

SP_INLINE void evaluate_quad(const map_plane *plane, const plane_points *at, int first,
                             quad_map *out) {
  const quad u = *(const quad *)&at->r[first], v = *(const quad *)&at->s[first];
  quad dr[3], ds[3], dt[3];
#pragma GCC unroll 3
  for (int d = 0; d < 3; d++) {
    const double *x = plane->x[d], *t = plane->dt[d];
    dr[d] = x[1] + x[3] * v;
    ds[d] = x[2] + x[3] * u;
    dt[d] = (t[0] + t[1] * u) + v * (t[2] + t[3] * u);
    out->x[d] = (x[0] + x[1] * u) + v * (x[2] + x[3] * u);
  }
#pragma GCC unroll 3
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    out->adjugate[0][d] = ds[e] * dt[f] - ds[f] * dt[e];
    out->adjugate[1][d] = dt[e] * dr[f] - dt[f] * dr[e];
    out->adjugate[2][d] = dr[e] * ds[f] - dr[f] * ds[e];
  }
  const quad jacobian =
      dr[0] * out->adjugate[0][0] + dr[1] * out->adjugate[0][1] + dr[2] * out->adjugate[0][2];
  const quad squares = (dr[0] * dr[0] + dr[1] * dr[1] + dr[2] * dr[2]) *
                       (ds[0] * ds[0] + ds[1] * ds[1] + ds[2] * ds[2]) *
                       (dt[0] * dt[0] + dt[1] * dt[1] + dt[2] * dt[2]);
  out->jacobian = jacobian;
  out->proper = (jacobian > 0) & (jacobian * jacobian > 4 * FLAT * FLAT * squares);
}

SP_INLINE bool all_proper(const quad_mask *proper) {
  return (*proper)[0] && (*proper)[1] && (*proper)[2] && (*proper)[3];
}
