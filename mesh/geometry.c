#include "mesh/geometry.h"

#include <float.h>
#include <stddef.h>

#include "mesh/geometry_planes.h"

/* The points in one direction; for curved maps also values and derivatives of the Lagrange basis
 * there, [lattice][n]. */
typedef struct map_table {
  int n;
  const double *nodes; /* [n] */
  double value[SP_MAX_NQ * SP_MAX_RULE], derivative[SP_MAX_NQ * SP_MAX_RULE];
} map_table;

static void transpose(int rows, int columns, const double *matrix, double *out) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) out[c * rows + r] = matrix[r * columns + c];
}

static void make_table(int map_order, int n, const double *nodes, map_table *table) {
  const int g = map_order + 1;
  table->n = n;
  table->nodes = nodes;
  if (map_order == 1) return; /* evaluate_straight needs only the nodes */
  double lattice[SP_MAX_NQ], matrix[SP_MAX_RULE * SP_MAX_NQ];
  for (int i = 0; i <= map_order; i++) lattice[i] = -1 + 2.0 * i / map_order;
  sp_interpolation_matrix(g, lattice, n, nodes, matrix);
  transpose(n, g, matrix, table->value);
  sp_derivative_matrix(g, lattice, n, nodes, matrix);
  transpose(n, g, matrix, table->derivative);
}

/* The map along one line of points, with b and c fixed in the second and third direction: x and its
 * three derivatives, each [3][n]. */
typedef struct map_line {
  double x[3][SP_MAX_RULE], dr[3][SP_MAX_RULE], ds[3][SP_MAX_RULE], dt[3][SP_MAX_RULE];
} map_line;

/* A line of a trilinear map, at s and t. */
SP_INLINE void evaluate_straight(const element_map *map, int n, const double *restrict r, double s,
                                 double t, map_line *restrict line) {
  for (int d = 0; d < 3; d++) {
    const double *p = &map->lattice[d];
    const double low = between(t, between(s, p[0], p[6]), between(s, p[12], p[18]));
    const double high = between(t, between(s, p[3], p[9]), between(s, p[15], p[21]));
    double c[8];
    for (int m = 0; m < 8; m++) c[m] = map->linear[m][d];
    const double dr = (c[1] + s * c[3]) + t * (c[5] + s * c[7]);
    const double ds = c[2] + t * c[6], dsr = c[3] + t * c[7];
    const double dt = c[4] + s * c[6], dtr = c[5] + s * c[7];
    for (int a = 0; a < n; a++) {
      line->x[d][a] = between(r[a], low, high);
      line->dr[d][a] = dr;
      line->ds[d][a] = ds + r[a] * dsr;
      line->dt[d][a] = dt + r[a] * dtr;
    }
  }
}

/* Evaluate a curved map likewise, with b and c in the tables of s and t. */
SP_INLINE void evaluate_curved(const element_map *map, const map_table *r, const map_table *s,
                               int b, const map_table *t, int c, map_line *line) {
  const int g = map->g, n = r->n;
  for (int d = 0; d < 3; d++) {
    for (int a = 0; a < n; a++)
      line->x[d][a] = line->dr[d][a] = line->ds[d][a] = line->dt[d][a] = 0;
    for (int i = 0; i < g; i++) {
      double x = 0, ds = 0, dt = 0;
      for (int k = 0; k < g; k++)
        for (int j = 0; j < g; j++) {
          const double point = map->lattice[((k * g + j) * g + i) * 3 + d];
          x += t->value[k * t->n + c] * s->value[j * s->n + b] * point;
          ds += t->value[k * t->n + c] * s->derivative[j * s->n + b] * point;
          dt += t->derivative[k * t->n + c] * s->value[j * s->n + b] * point;
        }
      const double *value = &r->value[i * n], *derivative = &r->derivative[i * n];
      for (int a = 0; a < n; a++) {
        line->x[d][a] += value[a] * x;
        line->dr[d][a] += derivative[a] * x;
        line->ds[d][a] += value[a] * ds;
        line->dt[d][a] += value[a] * dt;
      }
    }
  }
}

SP_INLINE void evaluate_line(const element_map *map, const map_table *r, const map_table *s, int b,
                             const map_table *t, int c, map_line *line) {
  if (map->g == 2)
    evaluate_straight(map, r->n, r->nodes, s->nodes[b], t->nodes[c], line);
  else
    evaluate_curved(map, r, s, b, t, c, line);
}

/* At each point of a line: |J|, and the adjugate[p][m] = |J| d r_p / d x_m. */
typedef struct line_inverse {
  double adjugate[3][3][SP_MAX_RULE], jacobian[SP_MAX_RULE];
} line_inverse;

SP_INLINE void cross(int n, double a[3][SP_MAX_RULE], double b[3][SP_MAX_RULE],
                     double out[3][SP_MAX_RULE]) {
  double *restrict x = out[0], *restrict y = out[1], *restrict z = out[2];
  for (int i = 0; i < n; i++) {
    const double a0 = a[0][i], a1 = a[1][i], a2 = a[2][i];
    const double b0 = b[0][i], b1 = b[1][i], b2 = b[2][i];
    x[i] = a1 * b2 - a2 * b1;
    y[i] = a2 * b0 - a0 * b2;
    z[i] = a0 * b1 - a1 * b0;
  }
}

SP_INLINE void invert_line(int n, map_line *line, line_inverse *out) {
  cross(n, line->ds, line->dt, out->adjugate[0]);
  cross(n, line->dt, line->dr, out->adjugate[1]);
  cross(n, line->dr, line->ds, out->adjugate[2]);
  for (int a = 0; a < n; a++)
    out->jacobian[a] = line->dr[0][a] * out->adjugate[0][0][a] +
                       line->dr[1][a] * out->adjugate[0][1][a] +
                       line->dr[2][a] * out->adjugate[0][2][a];
}

/* True if |J| is positive beyond rounding; false for NaN. */
SP_INLINE bool is_proper(const map_line *line, int a, double jacobian) {
  double squares[3] = {0, 0, 0};
  for (int d = 0; d < 3; d++) {
    squares[0] += line->dr[d][a] * line->dr[d][a];
    squares[1] += line->ds[d][a] * line->ds[d][a];
    squares[2] += line->dt[d][a] * line->dt[d][a];
  }
  return jacobian > FLAT * sqrt(squares[0]) * sqrt(squares[1]) * sqrt(squares[2]);
}

/* The first point of a line where the element is not proper; n if none. First tries cheap upper
 * bounds of the lengths: sums of absolute values. */
SP_INLINE int find_improper(int n, const map_line *line, const double *jacobian) {
  double margin[SP_MAX_RULE];
  for (int a = 0; a < n; a++) {
    const double r = fabs(line->dr[0][a]) + fabs(line->dr[1][a]) + fabs(line->dr[2][a]);
    const double s = fabs(line->ds[0][a]) + fabs(line->ds[1][a]) + fabs(line->ds[2][a]);
    const double t = fabs(line->dt[0][a]) + fabs(line->dt[1][a]) + fabs(line->dt[2][a]);
    /* Overflow of the squares makes the last term NaN, so the test fails. */
    margin[a] = jacobian[a] - FLAT * r * s * t - 0 * (r * r + s * s + t * t);
  }
  int a = 0;
  while (a < n && (margin[a] > 0 || is_proper(line, a, jacobian[a]))) a++;
  return a;
}

static sp_status inverted(const sp_hexes *hexes, sp_lid element, const map_line *line, int a,
                          double jacobian) {
  double squares = 0;
  for (int d = 0; d < 3; d++)
    squares += line->dr[d][a] * line->dr[d][a] + line->ds[d][a] * line->ds[d][a] +
               line->dt[d][a] * line->dt[d][a];
  return sp_fail(SP_ERR_INPUT, "element %lld has a Jacobian of %.3g at (%.12g, %.12g, %.12g): %s",
                 (long long)hexes->tags[element], jacobian, line->x[0][a], line->x[1][a],
                 line->x[2][a],
                 isfinite(squares) && isfinite(jacobian)
                     ? "it is inverted, tangled or flat; renumber or move its nodes"
                     : "its coordinates are not finite, or too large for double precision");
}

/* factors[SP_FACTORS][points] of a trilinear element; false if a point is not surely proper. */
SP_INLINE bool trilinear_factors(const element_map *map, const sp_rule *rule, double *factors) {
  const ptrdiff_t points = (ptrdiff_t)sp_rule_points(rule);
  plane_points at;
  make_points(rule->n, rule->nodes, rule->weights, &at);
  quad_mask proper = {-1, -1, -1, -1};
  for (int c = 0; c < rule->n; c++) {
    map_plane plane;
    make_plane(map, rule->nodes[c], &plane);
    for (int q = 0; q < at.count; q += 4) {
      const int first = four_from(&at, q);
      double *const out = &factors[c * at.count + first];
      quad_map here;
      evaluate_quad(&plane, &at, first, &here);
      proper &= here.proper;
      const quad weight = rule->weights[c] * *(const quad *)&at.weights[first];
      const quad scale = weight / here.jacobian;
#pragma GCC unroll 3
      for (int p = 0; p < 3; p++)
#pragma GCC unroll 3
        for (int m = p; m < 3; m++) {
          const quad *u = here.adjugate[p], *v = here.adjugate[m];
          const int component = p * (5 - p) / 2 + m; /* rr, rs, rt, ss, st, tt */
          *(quad *)&out[component * points] = scale * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
        }
      *(quad *)&out[SP_G_WJ * points] = weight * here.jacobian;
    }
  }
  return all_proper(&proper);
}

/* out = K adjugate on a line of points, where `first` is the line's first point. */
SP_INLINE void conduct_line(int n, const sp_geometry_tensor *k, ptrdiff_t first,
                            double adjugate[3][3][SP_MAX_RULE], double out[3][3][SP_MAX_RULE]) {
  static const int component[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
  for (int p = 0; p < 3; p++)
    for (int d = 0; d < 3; d++)
      for (int a = 0; a < n; a++) {
        const double *at = &k->values[k->point * (first + a)];
        double sum = 0;
        for (int e = 0; e < 3; e++) sum += at[k->component * component[d][e]] * adjugate[p][e][a];
        out[p][d][a] = sum;
      }
}

/* The factors of any element; K = 1 if `k` is NULL. */
SP_INLINE sp_status any_factors(const sp_hexes *hexes, sp_lid element, const element_map *map,
                                const sp_rule *rule, const sp_geometry_tensor *k, double *factors) {
  map_table table;
  make_table(hexes->map_order, rule->n, rule->nodes, &table);
  const int n = rule->n;
  const ptrdiff_t points = (ptrdiff_t)sp_rule_points(rule);
  map_line line;
  line_inverse inverse;
  double weight[SP_MAX_RULE], scale[SP_MAX_RULE], conducted[3][3][SP_MAX_RULE];
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      evaluate_line(map, &table, &table, b, &table, c, &line);
      invert_line(n, &line, &inverse);
      const double *jacobian = inverse.jacobian;
      const int bad = find_improper(n, &line, jacobian);
      if (bad < n) return inverted(hexes, element, &line, bad, jacobian[bad]);
      if (k) conduct_line(n, k, (c * n + b) * n, inverse.adjugate, conducted);
      for (int a = 0; a < n; a++) {
        weight[a] = rule->weights[b] * rule->weights[c] * rule->weights[a];
        scale[a] = weight[a] / jacobian[a];
      }
      double *row = &factors[(c * n + b) * n];
      for (int p = 0, q = 0; p < 3; p++)
        for (int m = p; m < 3; m++, q++) {
          double(*u)[SP_MAX_RULE] = inverse.adjugate[p];
          double(*v)[SP_MAX_RULE] = k ? conducted[m] : inverse.adjugate[m];
          double *restrict out = &row[q * points];
          for (int a = 0; a < n; a++)
            out[a] = scale[a] * (u[0][a] * v[0][a] + u[1][a] * v[1][a] + u[2][a] * v[2][a]);
        }
      for (int a = 0; a < n; a++) row[SP_G_WJ * points + a] = weight[a] * jacobian[a];
    }
  return SP_OK;
}

SP_CLONES sp_status sp_geometry_factors(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                                        double *factors) {
  element_map map;
  make_map(hexes, element, &map);
  if (map.g == 2 && trilinear_factors(&map, rule, factors)) return SP_OK;
  return any_factors(hexes, element, &map, rule, NULL, factors);
}

SP_CLONES sp_status sp_geometry_tensor_factors(const sp_hexes *hexes, sp_lid element,
                                               const sp_rule *rule, const sp_geometry_tensor *k,
                                               double *factors) {
  element_map map;
  make_map(hexes, element, &map);
  return any_factors(hexes, element, &map, rule, k, factors);
}

/* Points and wJ of a trilinear element, as above. */
SP_INLINE bool trilinear_volume(const element_map *map, const sp_rule *rule, double *xyz,
                                double *wj) {
  const ptrdiff_t points = (ptrdiff_t)sp_rule_points(rule);
  plane_points at;
  make_points(rule->n, rule->nodes, rule->weights, &at);
  quad_mask proper = {-1, -1, -1, -1};
  for (int c = 0; c < rule->n; c++) {
    map_plane plane;
    make_plane(map, rule->nodes[c], &plane);
    for (int q = 0; q < at.count; q += 4) {
      const int first = four_from(&at, q), out = c * at.count + first;
      quad_map here;
      evaluate_quad(&plane, &at, first, &here);
      proper &= here.proper;
      const quad weight = rule->weights[c] * *(const quad *)&at.weights[first];
      *(quad *)&wj[out] = weight * here.jacobian;
      exact_points(map, rule->nodes[c], &at, first, here.x);
      for (int d = 0; d < 3; d++) *(quad *)&xyz[d * points + out] = here.x[d];
    }
  }
  return all_proper(&proper);
}

SP_CLONES static sp_status fill_volume(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                                       double *xyz, double *wj) {
  element_map map;
  make_map(hexes, element, &map);
  if (map.g == 2 && trilinear_volume(&map, rule, xyz, wj)) return SP_OK;
  map_table table;
  make_table(hexes->map_order, rule->n, rule->nodes, &table);
  const int n = rule->n;
  const ptrdiff_t points = (ptrdiff_t)sp_rule_points(rule);
  map_line line;
  line_inverse inverse;
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      const ptrdiff_t first = (c * n + b) * n;
      evaluate_line(&map, &table, &table, b, &table, c, &line);
      invert_line(n, &line, &inverse);
      const double *jacobian = inverse.jacobian;
      const int bad = find_improper(n, &line, jacobian);
      if (bad < n) return inverted(hexes, element, &line, bad, jacobian[bad]);
      for (int a = 0; a < n; a++)
        wj[first + a] = rule->weights[b] * rule->weights[c] * rule->weights[a] * jacobian[a];
      for (int d = 0; d < 3; d++)
        for (int a = 0; a < n; a++) xyz[d * points + first + a] = line.x[d][a];
    }
  return SP_OK;
}

sp_status sp_geometry_volume(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                             double *xyz, double *wj) {
  SP_TRY(fill_volume(hexes, element, rule, xyz, wj));
  if (!sp_hexes_is_contact(hexes, element)) return SP_OK;
  for (size_t p = 0; p < sp_rule_points(rule); p++) wj[p] = 0;
  sp_hexes_coordinates(hexes, element, rule->n, rule->nodes, xyz);
  return SP_OK;
}

bool sp_geometry_trilinear(const sp_hexes *hexes, sp_lid element, double coefficients[24]) {
  static const int monomials[8] = {0, 1, 2, 4, 3, 6, 5, 7}; /* bits 1, 2, 4: factors r, s, t */
  const double *corners = sp_hexes_lattice(hexes, element);
  double largest[3] = {0}, linear[8][3];
  find_coefficients(corners, linear);
  for (int c = 0; c < 3 * SP_CORNERS; c++)
    if (fabs(corners[c]) > largest[c % 3]) largest[c % 3] = fabs(corners[c]);
  bool affine = true;
  for (int m = 0; m < 8; m++)
    for (int d = 0; d < 3; d++) {
      double *c = &coefficients[3 * m + d];
      *c = linear[monomials[m]][d];
      if (m >= 4 && fabs(*c) <= 4 * DBL_EPSILON * largest[d] && isfinite(*c)) *c = 0;
      affine = affine && (m < 4 || *c == 0);
    }
  return affine;
}

/* Use ten times the bound of is_proper, at the largest possible column lengths, so that rounding
 * cannot change the result. */
SP_CLONES bool sp_geometry_is_surely_proper(const sp_hexes *hexes, sp_lid element) {
  static const double nodes[3] = {-1, 0, 1};
  element_map map;
  make_map(hexes, element, &map);
  double length[3] = {0, 0, 0}, squares = 0;
  for (int m = 1; m < 8; m++)
    for (int d = 0; d < 3; d++)
      for (int bit = 0; bit < 3; bit++)
        if (m >> bit & 1) length[bit] += fabs(map.linear[m][d]);
  for (int bit = 0; bit < 3; bit++) squares += length[bit] * length[bit];
  /* Overflow makes the bound NaN, so the test below fails. */
  const double bound = 10 * FLAT * length[0] * length[1] * length[2] + 0 * squares;
  plane_points at;
  make_points(3, nodes, NULL, &at);
  quad_mask proper = {-1, -1, -1, -1};
  for (int c = 0; c < 3; c++) {
    map_plane plane;
    make_plane(&map, nodes[c], &plane);
    for (int q = 0; q < at.count; q += 4) {
      quad_map here;
      evaluate_quad(&plane, &at, four_from(&at, q), &here);
      proper &= here.jacobian > bound;
    }
  }
  return all_proper(&proper);
}

SP_INLINE void invert_trilinear(const element_map *map, int n, const double *nodes, double *xyz,
                                double *inverse, double *jacobian) {
  const ptrdiff_t points = (ptrdiff_t)sp_grid_points(n);
  plane_points at;
  make_points(n, nodes, NULL, &at);
  for (int c = 0; c < n; c++) {
    map_plane plane;
    make_plane(map, nodes[c], &plane);
    for (int q = 0; q < at.count; q += 4) {
      const int first = four_from(&at, q), out = c * at.count + first;
      quad_map here;
      evaluate_quad(&plane, &at, first, &here);
      const quad scale = 1 / here.jacobian;
      *(quad *)&jacobian[out] = here.jacobian;
      for (int d = 0; d < 3; d++) *(quad *)&xyz[d * points + out] = here.x[d];
#pragma GCC unroll 9
      for (int k = 0; k < 9; k++)
        *(quad *)&inverse[k * points + out] = scale * here.adjugate[k / 3][k % 3];
    }
  }
}

static void invert_curved(const element_map *map, int n, const double *nodes, double *xyz,
                          double *inverse, double *jacobian) {
  map_table table;
  make_table(map->g - 1, n, nodes, &table);
  const ptrdiff_t points = (ptrdiff_t)sp_grid_points(n);
  map_line line;
  line_inverse at;
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      const ptrdiff_t first = (c * n + b) * n;
      evaluate_line(map, &table, &table, b, &table, c, &line);
      invert_line(n, &line, &at);
      for (int a = 0; a < n; a++) {
        jacobian[first + a] = at.jacobian[a];
        for (int k = 0; k < 9; k++)
          inverse[k * points + first + a] = at.adjugate[k / 3][k % 3][a] / at.jacobian[a];
        for (int d = 0; d < 3; d++) xyz[d * points + first + a] = line.x[d][a];
      }
    }
}

SP_CLONES static void invert(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                             double *xyz, double *inverse, double *jacobian) {
  element_map map;
  make_map(hexes, element, &map);
  if (map.g == 2)
    invert_trilinear(&map, n, nodes, xyz, inverse, jacobian);
  else
    invert_curved(&map, n, nodes, xyz, inverse, jacobian);
}

void sp_geometry_inverse(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                         double *xyz, double *inverse, double *jacobian) {
  invert(hexes, element, n, nodes, xyz, inverse, jacobian);
  for (size_t p = 0; p < sp_grid_points(n) && sp_hexes_is_contact(hexes, element); p++)
    jacobian[p] = 0;
}

void sp_geometry_face(const sp_hexes *hexes, sp_lid element, int face, const sp_rule *rule,
                      double *xyz, double *normal) {
  const int d = face / 2, n = rule->n, low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
  const double side = face % 2 ? 1 : -1;
  map_table on_face, across, *tables[3] = {&on_face, &on_face, &on_face};
  make_table(hexes->map_order, n, rule->nodes, &on_face);
  make_table(hexes->map_order, 1, &side, &across);
  tables[d] = &across;
  element_map map;
  make_map(hexes, element, &map);
  map_line line;
  line_inverse inverse;
  for (int c = 0; c < tables[2]->n; c++)
    for (int b = 0; b < tables[1]->n; b++) {
      evaluate_line(&map, tables[0], tables[1], b, tables[2], c, &line);
      invert_line(tables[0]->n, &line, &inverse);
      for (int a = 0; a < tables[0]->n; a++) {
        const int at[3] = {a, b, c}, q = at[high] * n + at[low];
        const double weight = side * rule->weights[at[low]] * rule->weights[at[high]];
        for (int m = 0; m < 3; m++) {
          xyz[m * n * n + q] = line.x[m][a];
          normal[m * n * n + q] = weight * inverse.adjugate[d][m][a];
        }
      }
    }
}

sp_status sp_geometry_sample(const sp_hexes *hexes, sp_lid element, int face, const sp_rule *rule,
                             sp_sample *out) {
  out->count = face < 0 ? sp_rule_points(rule) : (size_t)(rule->n * rule->n);
  if (face < 0) return sp_geometry_volume(hexes, element, rule, out->xyz, out->weight);
  sp_geometry_face(hexes, element, face, rule, out->xyz, out->normal);
  for (size_t q = 0; q < out->count; q++)
    out->weight[q] = sp_geometry_area(out->normal, (int)out->count, (int)q);
  return SP_OK;
}
