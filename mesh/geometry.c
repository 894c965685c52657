#include "mesh/geometry.h"
#include "mesh/reference.h"

#include <math.h>
#include <stddef.h>

/* Values and derivatives of the map's Lagrange basis at the points in one direction. */
typedef struct map_table {
  int n, lattice;
  double value[SP_MAX_RULE * SP_MAX_NQ], derivative[SP_MAX_RULE * SP_MAX_NQ];
} map_table;

static void make_table(int map_order, int n, const double *nodes, map_table *table) {
  double lattice[SP_MAX_NQ];
  table->n = n;
  table->lattice = map_order + 1;
  if (map_order == 1) {
    /* The same as the general formula, but cheap: meshes have millions of elements. */
    for (int a = 0; a < n; a++) {
      table->value[2 * a] = 0.5 * (1 - nodes[a]);
      table->value[2 * a + 1] = 0.5 * (1 + nodes[a]);
      table->derivative[2 * a] = -0.5;
      table->derivative[2 * a + 1] = 0.5;
    }
    return;
  }
  for (int i = 0; i <= map_order; i++) lattice[i] = -1 + 2.0 * i / map_order;
  sp_interpolation_matrix(map_order + 1, lattice, n, nodes, table->value);
  sp_derivative_matrix(map_order + 1, lattice, n, nodes, table->derivative);
}

/* The map along one line of points, with b and c fixed in the second and third direction: x and its
 * three derivatives, each [3][n]. */
typedef struct map_line {
  double x[3][SP_MAX_RULE], dr[3][SP_MAX_RULE], ds[3][SP_MAX_RULE], dt[3][SP_MAX_RULE];
} map_line;

static void evaluate_line(const double *lattice, const map_table *r, const map_table *s, int b,
                          const map_table *t, int c, map_line *line) {
  const int g = r->lattice;
  const double *sv = &s->value[b * g], *sd = &s->derivative[b * g];
  const double *tv = &t->value[c * g], *td = &t->derivative[c * g];
  for (int d = 0; d < 3; d++) {
    for (int a = 0; a < r->n; a++)
      line->x[d][a] = line->dr[d][a] = line->ds[d][a] = line->dt[d][a] = 0;
    for (int i = 0; i < g; i++) {
      double value = 0, ds = 0, dt = 0;
      for (int k = 0; k < g; k++)
        for (int j = 0; j < g; j++) {
          const double point = lattice[((k * g + j) * g + i) * 3 + d];
          value += tv[k] * sv[j] * point;
          ds += tv[k] * sd[j] * point;
          dt += td[k] * sv[j] * point;
        }
      for (int a = 0; a < r->n; a++) {
        const double rv = r->value[a * g + i];
        line->x[d][a] += rv * value;
        line->dr[d][a] += r->derivative[a * g + i] * value;
        line->ds[d][a] += rv * ds;
        line->dt[d][a] += rv * dt;
      }
    }
  }
}

static void cross(const double a[3], const double b[3], double out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The rows of the adjugate |J| J^-1 at point a of a line; returns |J|. */
static inline double adjugate(const map_line *line, int a, double adj[3][3]) {
  const double r[3] = {line->dr[0][a], line->dr[1][a], line->dr[2][a]};
  const double s[3] = {line->ds[0][a], line->ds[1][a], line->ds[2][a]};
  const double t[3] = {line->dt[0][a], line->dt[1][a], line->dt[2][a]};
  cross(s, t, adj[0]);
  cross(t, r, adj[1]);
  cross(r, s, adj[2]);
  return r[0] * adj[0][0] + r[1] * adj[0][1] + r[2] * adj[0][2];
}

/* Whether |J| is positive beyond rounding. In a flat element |J| is noise of either sign, about
 * 1e-16 of the product of the column lengths; in a box, however thin, it equals that product. False
 * for NaN. */
static bool is_proper(const map_line *line, int a, double jacobian) {
  const double flat = 1e-13;
  double squares[3] = {0, 0, 0};
  for (int d = 0; d < 3; d++) {
    squares[0] += line->dr[d][a] * line->dr[d][a];
    squares[1] += line->ds[d][a] * line->ds[d][a];
    squares[2] += line->dt[d][a] * line->dt[d][a];
  }
  return jacobian > flat * sqrt(squares[0]) * sqrt(squares[1]) * sqrt(squares[2]);
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
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      evaluate_line(lattice, &table, &table, b, &table, c, &line);
      const double weight = rule->weights[b] * rule->weights[c];
      double *restrict row = &factors[(c * n + b) * n];
      for (int a = 0; a < n; a++) {
        double adj[3][3];
        const double jacobian = adjugate(&line, a, adj);
        if (!is_proper(&line, a, jacobian)) return inverted(hexes, element, &line, a, jacobian);
        const double w = weight * rule->weights[a], scale = w / jacobian;
        for (int p = 0, q = 0; p < 3; p++)
          for (int m = p; m < 3; m++, q++)
            row[q * points + a] =
                scale * (adj[p][0] * adj[m][0] + adj[p][1] * adj[m][1] + adj[p][2] * adj[m][2]);
        row[SP_G_WJ * points + a] = w * jacobian;
      }
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
  for (int c = 0; c < n; c++)
    for (int b = 0; b < n; b++) {
      evaluate_line(lattice, &table, &table, b, &table, c, &line);
      for (int a = 0; a < n; a++) {
        const ptrdiff_t q = (c * n + b) * n + a;
        double adj[3][3];
        jacobian[q] = adjugate(&line, a, adj);
        for (int p = 0; p < 3; p++)
          for (int m = 0; m < 3; m++) inverse[(3 * p + m) * points + q] = adj[p][m] / jacobian[q];
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
  for (int c = 0; c < tables[2]->n; c++)
    for (int b = 0; b < tables[1]->n; b++) {
      evaluate_line(lattice, tables[0], tables[1], b, tables[2], c, &line);
      for (int a = 0; a < tables[0]->n; a++) {
        const int at[3] = {a, b, c}, q = at[high] * n + at[low];
        const double weight = side * rule->weights[at[low]] * rule->weights[at[high]];
        double adj[3][3];
        adjugate(&line, a, adj);
        for (int m = 0; m < 3; m++) {
          xyz[m * n * n + q] = line.x[m][a];
          normal[m * n * n + q] = weight * adj[d][m];
        }
      }
    }
}
