#include "mesh/geometry.h"
#include "mesh/reference.h"

#include <math.h>
#include <stddef.h>

/* Values and derivatives of the map's Lagrange basis at the points in one direction, [lattice][n].
 */
typedef struct map_table {
  int n, lattice;
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
  table->lattice = g;
  table->nodes = nodes;
  if (map_order == 1) {
    /* The same as the general formula, but cheap: meshes have millions of elements. */
    for (int a = 0; a < n; a++) {
      table->value[a] = 0.5 * (1 - nodes[a]);
      table->value[n + a] = 0.5 * (1 + nodes[a]);
      table->derivative[a] = -0.5;
      table->derivative[n + a] = 0.5;
    }
    return;
  }
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

/* Values at lattice point i of a line, of the map in s and t and of its derivatives. */
typedef struct map_end {
  double x, ds, dt;
} map_end;

static map_end evaluate_end(const double *lattice, int g, int i, int d, const map_table *s, int b,
                            const map_table *t, int c) {
  map_end end = {0, 0, 0};
  for (int k = 0; k < g; k++)
    for (int j = 0; j < g; j++) {
      const double point = lattice[((k * g + j) * g + i) * 3 + d];
      end.x += t->value[k * t->n + c] * s->value[j * s->n + b] * point;
      end.ds += t->value[k * t->n + c] * s->derivative[j * s->n + b] * point;
      end.dt += t->derivative[k * t->n + c] * s->value[j * s->n + b] * point;
    }
  return end;
}

/* Linear between two ends. */
static void evaluate_straight(int n, const double *restrict r, const map_end ends[2], int d,
                              map_line *restrict line) {
  const map_end middle = {0.5 * (ends[0].x + ends[1].x), 0.5 * (ends[0].ds + ends[1].ds),
                          0.5 * (ends[0].dt + ends[1].dt)};
  const map_end half = {0.5 * (ends[1].x - ends[0].x), 0.5 * (ends[1].ds - ends[0].ds),
                        0.5 * (ends[1].dt - ends[0].dt)};
  for (int a = 0; a < n; a++) {
    line->x[d][a] = middle.x + r[a] * half.x;
    line->dr[d][a] = half.x;
    line->ds[d][a] = middle.ds + r[a] * half.ds;
    line->dt[d][a] = middle.dt + r[a] * half.dt;
  }
}

static void evaluate_line(const double *lattice, const map_table *r, const map_table *s, int b,
                          const map_table *t, int c, map_line *line) {
  const int g = r->lattice, n = r->n;
  for (int d = 0; d < 3; d++) {
    if (g == 2) {
      const map_end ends[2] = {evaluate_end(lattice, g, 0, d, s, b, t, c),
                               evaluate_end(lattice, g, 1, d, s, b, t, c)};
      evaluate_straight(n, r->nodes, ends, d, line);
      continue;
    }
    for (int a = 0; a < n; a++)
      line->x[d][a] = line->dr[d][a] = line->ds[d][a] = line->dt[d][a] = 0;
    for (int i = 0; i < g; i++) {
      const map_end end = evaluate_end(lattice, g, i, d, s, b, t, c);
      const double *value = &r->value[i * n], *derivative = &r->derivative[i * n];
      for (int a = 0; a < n; a++) {
        line->x[d][a] += value[a] * end.x;
        line->dr[d][a] += derivative[a] * end.x;
        line->ds[d][a] += value[a] * end.ds;
        line->dt[d][a] += value[a] * end.dt;
      }
    }
  }
}

/* At each point of a line |J| and the adjugate |J| J^-1: adjugate[p][m] is |J| d r_p / d x_m. */
typedef struct line_inverse {
  double adjugate[3][3][SP_MAX_RULE], jacobian[SP_MAX_RULE];
} line_inverse;

static void cross(int n, double a[3][SP_MAX_RULE], double b[3][SP_MAX_RULE],
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

static void invert_line(int n, map_line *line, line_inverse *out) {
  cross(n, line->ds, line->dt, out->adjugate[0]);
  cross(n, line->dt, line->dr, out->adjugate[1]);
  cross(n, line->dr, line->ds, out->adjugate[2]);
  for (int a = 0; a < n; a++)
    out->jacobian[a] = line->dr[0][a] * out->adjugate[0][0][a] +
                       line->dr[1][a] * out->adjugate[0][1][a] +
                       line->dr[2][a] * out->adjugate[0][2][a];
}

/* In a flat element |J| is noise of either sign, about 1e-16 of the product of the column lengths;
 * in a box, however thin, it equals that product. */
static const double FLAT = 1e-13;

/* Whether |J| is positive beyond rounding. False for NaN. */
static bool is_proper(const map_line *line, int a, double jacobian) {
  double squares[3] = {0, 0, 0};
  for (int d = 0; d < 3; d++) {
    squares[0] += line->dr[d][a] * line->dr[d][a];
    squares[1] += line->ds[d][a] * line->ds[d][a];
    squares[2] += line->dt[d][a] * line->dt[d][a];
  }
  return jacobian > FLAT * sqrt(squares[0]) * sqrt(squares[1]) * sqrt(squares[2]);
}

/* The first point of a line where the element is not proper, n if there is none. Sums of absolute
 * values, which are cheap, exceed the lengths and nearly always suffice. */
static int find_improper(int n, const map_line *line, const double *jacobian) {
  double margin[SP_MAX_RULE];
  for (int a = 0; a < n; a++) {
    const double r = fabs(line->dr[0][a]) + fabs(line->dr[1][a]) + fabs(line->dr[2][a]);
    const double s = fabs(line->ds[0][a]) + fabs(line->ds[1][a]) + fabs(line->ds[2][a]);
    const double t = fabs(line->dt[0][a]) + fabs(line->dt[1][a]) + fabs(line->dt[2][a]);
    /* The last term is NaN, which is not positive, where squares overflow. */
    margin[a] = jacobian[a] - FLAT * r * s * t - 0 * (r * r + s * s + t * t);
  }
  int a = 0;
  while (a < n && (margin[a] > 0 || is_proper(line, a, jacobian[a]))) a++;
  return a;
}

static sp_status inverted(const sp_hexes *hexes, sp_lid element, const map_line *line, int a,
                          double jacobian) {
  return sp_fail(SP_ERR_INPUT,
                 "element %lld has a Jacobian of %.3g at (%g, %g, %g): it is inverted, tangled or "
                 "flat; renumber or move its nodes",
                 (long long)hexes->tags[element], jacobian, line->x[0][a], line->x[1][a],
                 line->x[2][a]);
}

sp_status sp_geometry_factors(const sp_hexes *hexes, sp_lid element, const sp_rule *rule,
                              double *factors) {
  map_table table;
  make_table(hexes->map_order, rule->n, rule->nodes, &table);
  const double *lattice = sp_hexes_lattice(hexes, element);
  const int n = rule->n;
  const ptrdiff_t points = (ptrdiff_t)sp_rule_points(rule);
  map_line line;
  line_inverse inverse;
  double weight[SP_MAX_RULE], scale[SP_MAX_RULE];
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      evaluate_line(lattice, &table, &table, b, &table, c, &line);
      invert_line(n, &line, &inverse);
      const double *jacobian = inverse.jacobian;
      const int bad = find_improper(n, &line, jacobian);
      if (bad < n) return inverted(hexes, element, &line, bad, jacobian[bad]);
      for (int a = 0; a < n; a++) {
        weight[a] = rule->weights[b] * rule->weights[c] * rule->weights[a];
        scale[a] = weight[a] / jacobian[a];
      }
      double *row = &factors[(c * n + b) * n];
      for (int p = 0, q = 0; p < 3; p++)
        for (int m = p; m < 3; m++, q++) {
          double(*u)[SP_MAX_RULE] = inverse.adjugate[p];
          double(*v)[SP_MAX_RULE] = inverse.adjugate[m];
          double *restrict out = &row[q * points];
          for (int a = 0; a < n; a++)
            out[a] = scale[a] * (u[0][a] * v[0][a] + u[1][a] * v[1][a] + u[2][a] * v[2][a]);
        }
      for (int a = 0; a < n; a++) row[SP_G_WJ * points + a] = weight[a] * jacobian[a];
    }
  return SP_OK;
}

void sp_geometry_trilinear(const sp_hexes *hexes, sp_lid element, double coefficients[24]) {
  static const int monomials[8] = {0, 1, 2, 4, 3, 6, 5, 7}; /* bits 1, 2, 4: factors r, s, t */
  const double *corners = sp_hexes_lattice(hexes, element);
  for (int m = 0; m < 8; m++)
    for (int d = 0; d < 3; d++) {
      double sum = 0;
      for (int c = 0; c < SP_CORNERS; c++) {
        /* Corner c has factor -1 for each direction of the monomial whose bit c lacks. */
        const bool minus = __builtin_popcount((unsigned)(monomials[m] & ~c)) % 2;
        sum += minus ? -corners[3 * c + d] : corners[3 * c + d];
      }
      coefficients[3 * m + d] = sum / 8;
    }
}

void sp_geometry_inverse(const sp_hexes *hexes, sp_lid element, int n, const double *nodes,
                         double *inverse, double *jacobian) {
  map_table table;
  make_table(hexes->map_order, n, nodes, &table);
  const double *lattice = sp_hexes_lattice(hexes, element);
  const ptrdiff_t points = (ptrdiff_t)sp_grid_points(n);
  map_line line;
  line_inverse at;
  double scale[SP_MAX_RULE];
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      const ptrdiff_t first = (c * n + b) * n;
      evaluate_line(lattice, &table, &table, b, &table, c, &line);
      invert_line(n, &line, &at);
      for (int a = 0; a < n; a++) {
        jacobian[first + a] = at.jacobian[a];
        scale[a] = 1 / at.jacobian[a];
      }
      for (int k = 0; k < 9; k++) {
        double *restrict out = &inverse[k * points + first];
        for (int a = 0; a < n; a++) out[a] = at.adjugate[k / 3][k % 3][a] * scale[a];
      }
    }
}

void sp_geometry_face(const sp_hexes *hexes, sp_lid element, int face, const sp_rule *rule,
                      double *xyz, double *normal) {
  const int d = face / 2, n = rule->n, low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
  const double side = face % 2 ? 1 : -1;
  map_table on_face, across, *tables[3] = {&on_face, &on_face, &on_face};
  make_table(hexes->map_order, n, rule->nodes, &on_face);
  make_table(hexes->map_order, 1, &side, &across);
  tables[d] = &across;
  const double *lattice = sp_hexes_lattice(hexes, element);
  map_line line;
  line_inverse inverse;
  for (int c = 0; c < tables[2]->n; c++)
    for (int b = 0; b < tables[1]->n; b++) {
      evaluate_line(lattice, tables[0], tables[1], b, tables[2], c, &line);
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
