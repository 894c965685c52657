/* Geometric factors of polynomial maps, whose volume and derivatives are known in closed form. All
 * maps have points of order one, so absolute tolerances are in units of EPSILON. A Jacobian is a
 * threefold sum over (g + 1)^3 <= 64 lattice points with derivatives of the Lagrange basis up to
 * about 5, so its error is below 1000 EPSILON. */
#include "mesh/geometry.h"

#include <float.h>

#include "mesh/mesh.h"
#include "tests/check.h"

static const double EPSILON = DBL_EPSILON;
static const double TOLERANCE = 1000 * DBL_EPSILON;

enum {
  G = 3,
  TERMS = (G + 1) * (G + 1) * (G + 1),
  POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE
};

/* x_d = sum of c[d][k][j][i] r^i s^j t^k, degree `order` in each direction. */
typedef struct polynomial_map {
  const char *name;
  int order;
  double c[3][G + 1][G + 1][G + 1];
} polynomial_map;

static void map_point(const polynomial_map *map, const double r[3], double x[3]) {
  for (int d = 0; d < 3; d++) {
    x[d] = 0;
    for (int k = 0; k <= G; k++)
      for (int j = 0; j <= G; j++)
        for (int i = 0; i <= G; i++)
          x[d] += map->c[d][k][j][i] * pow(r[0], i) * pow(r[1], j) * pow(r[2], k);
  }
}

/* jacobian[d][b] = d x_d / d r_b. */
static void map_slopes(const polynomial_map *map, const double r[3], double jacobian[3][3]) {
  for (int d = 0; d < 3; d++)
    for (int b = 0; b < 3; b++) {
      jacobian[d][b] = 0;
      for (int term = 0; term < TERMS; term++) {
        const int power[3] = {term % (G + 1), term / (G + 1) % (G + 1), term / (G + 1) / (G + 1)};
        if (power[b] == 0) continue;
        double value = map->c[d][power[2]][power[1]][power[0]] * power[b];
        for (int m = 0; m < 3; m++) value *= pow(r[m], power[m] - (m == b));
        jacobian[d][b] += value;
      }
    }
}

static double map_jacobian(const polynomial_map *map, const double r[3]) {
  double m[3][3], determinant = 0;
  map_slopes(map, r, m);
  for (int a = 0; a < 3; a++)
    determinant +=
        m[0][a] * (m[1][(a + 1) % 3] * m[2][(a + 2) % 3] - m[1][(a + 2) % 3] * m[2][(a + 1) % 3]);
  return determinant;
}

/* The integral of the determinant, by a rule that is exact for it. */
static double map_volume(const polynomial_map *map) {
  double volume = 0;
  sp_rule rule;
  sp_rule_gl(2 * G, &rule);
  for (int q = 0; q < rule.n * rule.n * rule.n; q++) {
    const int i = q % rule.n, j = q / rule.n % rule.n, k = q / rule.n / rule.n;
    const double r[3] = {rule.nodes[i], rule.nodes[j], rule.nodes[k]};
    volume += rule.weights[i] * rule.weights[j] * rule.weights[k] * map_jacobian(map, r);
  }
  return volume;
}

static double draw(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) / 8388608.0 - 1;
}

/* The identity plus terms whose slopes sum to less than `size` per direction: invertible. */
static void make_map(const char *name, int order, double size, polynomial_map *map) {
  unsigned state = 12345u + (unsigned)order;
  memset(map, 0, sizeof *map);
  map->name = name;
  map->order = order;
  const int terms = (order + 1) * (order + 1) * (order + 1);
  for (int d = 0; d < 3; d++) {
    for (int k = 0; k <= order; k++)
      for (int j = 0; j <= order; j++)
        for (int i = 0; i <= order; i++) map->c[d][k][j][i] = size * draw(&state) / (terms * order);
    map->c[d][d == 2][d == 1][d == 0] += 1;
  }
}

static void make_affine(const char *name, const double matrix[3][3], const double shift[3],
                        polynomial_map *map) {
  memset(map, 0, sizeof *map);
  map->name = name;
  map->order = 1;
  for (int d = 0; d < 3; d++) {
    map->c[d][0][0][0] = shift[d];
    map->c[d][0][0][1] = matrix[d][0];
    map->c[d][0][1][0] = matrix[d][1];
    map->c[d][1][0][0] = matrix[d][2];
  }
}

/* One element, number 42, with the lattice of the map. */
static sp_hexes *make_element(const polynomial_map *map) {
  sp_hexes *hexes;
  if (sp_hexes_create(1, map->order, &hexes)) abort();
  const int g = map->order, n = g + 1;
  for (int p = 0; p < n * n * n; p++) {
    const double r[3] = {-1 + 2.0 * (p % n) / g, -1 + 2.0 * (p / n % n) / g,
                         -1 + 2.0 * (p / n / n) / g};
    map_point(map, r, &hexes->lattice[3 * p]);
  }
  for (int c = 0; c < SP_CORNERS; c++) hexes->vertices[0][c] = c;
  for (int f = 0; f < SP_FACES; f++) hexes->surfaces[0][f] = SP_SURFACE_INTERIOR;
  hexes->tags[0] = 42;
  return hexes;
}

static void check_factors(const polynomial_map *map, const sp_hexes *hexes, const sp_rule *rule) {
  static double factors[SP_FACTORS * POINTS], inverse[9 * POINTS], jacobian[POINTS],
      xyz[3 * POINTS], again[3 * POINTS], wj[POINTS];
  const int n = rule->n, points = n * n * n;
  CHECK_OK(sp_geometry_factors(hexes, 0, rule, factors));
  CHECK_OK(sp_geometry_volume(hexes, 0, rule, again, wj));
  CHECK(memcmp(wj, &factors[SP_G_WJ * points], (size_t)points * sizeof *wj) == 0, "wJ");
  sp_geometry_inverse(hexes, 0, n, rule->nodes, again, inverse, jacobian);
  sp_hexes_coordinates(hexes, 0, n, rule->nodes, xyz);
  double volume = 0;
  for (int q = 0; q < points; q++) {
    const double r[3] = {rule->nodes[q % n], rule->nodes[q / n % n], rule->nodes[q / n / n]};
    const double w = rule->weights[q % n] * rule->weights[q / n % n] * rule->weights[q / n / n];
    double x[3], slopes[3][3], g[SP_FACTORS];
    map_point(map, r, x);
    map_slopes(map, r, slopes);
    for (int d = 0; d < 3; d++) {
      CHECK_CLOSE(xyz[d * points + q], x[d], TOLERANCE);
      CHECK_CLOSE(again[d * points + q], x[d], TOLERANCE);
    }

    /* J^-1 times the analytic J is the identity. */
    CHECK_CLOSE(jacobian[q], map_jacobian(map, r), TOLERANCE);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        double sum = 0;
        for (int d = 0; d < 3; d++) sum += inverse[(3 * a + d) * points + q] * slopes[d][b];
        CHECK_CLOSE(sum, a == b, TOLERANCE);
      }

    /* G = wJ J^-1 J^-T, and wJ = w |J|. Both come from separate roundings of J, a few EPSILON of
     * the length of its columns, which are enlarged by at most the product of its row's lengths in
     * J^-1: some 20 operations. */
    for (int f = 0; f < SP_FACTORS; f++) g[f] = factors[f * points + q];
    CHECK_CLOSE(g[SP_G_WJ], w * jacobian[q], 4 * EPSILON * w * jacobian[q]);
    for (int a = 0, f = 0; a < 3; a++)
      for (int b = a; b < 3; b++, f++) {
        double sum = 0, squares[2] = {0, 0};
        for (int d = 0; d < 3; d++) {
          const double u = inverse[(3 * a + d) * points + q], v = inverse[(3 * b + d) * points + q];
          sum += u * v;
          squares[0] += u * u;
          squares[1] += v * v;
        }
        CHECK_CLOSE(g[f], g[SP_G_WJ] * sum,
                    20 * EPSILON * g[SP_G_WJ] * sqrt(squares[0] * squares[1]));
      }

    volume += g[SP_G_WJ];
  }
  CHECK_CLOSE(volume / map_volume(map), 1, TOLERANCE);
}

/* The integral of the normal over the closed surface is zero; the integral of x . n is three times
 * the volume. */
static void check_faces(const polynomial_map *map, const sp_hexes *hexes, const sp_rule *rule) {
  static double xyz[3 * SP_MAX_RULE * SP_MAX_RULE], normal[3 * SP_MAX_RULE * SP_MAX_RULE];
  const int n = rule->n;
  double sum[3] = {0, 0, 0}, flux = 0;
  for (int f = 0; f < SP_FACES; f++) {
    const int d = f / 2, low = d == 0 ? 1 : 0, high = d == 2 ? 1 : 2;
    sp_geometry_face(hexes, 0, f, rule, xyz, normal);
    for (int q = 0; q < n * n; q++) {
      double r[3], x[3], slopes[3][3], outward = 0, along[2] = {0, 0};
      r[d] = f % 2 ? 1 : -1;
      r[low] = rule->nodes[q % n];
      r[high] = rule->nodes[q / n];
      map_point(map, r, x);
      map_slopes(map, r, slopes);
      for (int m = 0; m < 3; m++) {
        const double value = normal[m * n * n + q];
        CHECK_CLOSE(xyz[m * n * n + q], x[m], TOLERANCE);
        sum[m] += value;
        flux += x[m] * value;
        outward += value * slopes[m][d] * r[d];
        along[0] += value * slopes[m][low];
        along[1] += value * slopes[m][high];
      }
      CHECK(outward > 0, "%s: the normal of face %d points inward", map->name, f);
      CHECK_CLOSE(along[0], 0, TOLERANCE);
      CHECK_CLOSE(along[1], 0, TOLERANCE);
    }
  }
  for (int m = 0; m < 3; m++) CHECK_CLOSE(sum[m], 0, TOLERANCE);
  CHECK_CLOSE(flux / (3 * map_volume(map)), 1, TOLERANCE);
}

static void check_map(const polynomial_map *map) {
  AUTO(sp_hexes) hexes = make_element(map);
  sp_rule rule;
  sp_rule_gl(2 * map->order, &rule); /* exact to 4g - 1; |J| and x . n have degree 3g - 1 */
  check_factors(map, hexes, &rule);
  check_faces(map, hexes, &rule);
}

static void check_refused(const char *name, sp_hexes *hexes, const char *location) {
  double factors[SP_FACTORS * 8];
  sp_rule rule;
  sp_rule_gll(2, &rule); /* the corners, where a trilinear element becomes invalid first */
  const sp_status status = sp_geometry_factors(hexes, 0, &rule, factors);
  CHECK_FAILS(status, SP_ERR_INPUT, "element 42 ");
  CHECK(strstr(sp_error_message(), location), "%s: '%s' does not say %s", name, sp_error_message(),
        location);

  AUTO(sp_mesh) mesh = NULL;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_SELF, &hexes, &mesh), SP_ERR_INPUT, "element 42 ");
  CHECK(!hexes && !mesh, "%s: elements are left after a failure", name);
  sp_hexes_destroy(&hexes);
}

static void check_refusals(void) {
  static const double shift[3] = {5, 6, 7};
  polynomial_map map;
  make_affine("mirrored", (const double[3][3]){{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, shift, &map);
  check_refused(map.name, make_element(&map), "(6, 5, 6)");
  make_affine("flat", (const double[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}, shift, &map);
  check_refused(map.name, make_element(&map), "(4, 5, 7)");
  /* Flat except for rounding: the third direction is a combination of the others. */
  make_affine("flat and tilted",
              (const double[3][3]){{1.0 / 3, 0.1, 0.7 / 3 + 0.03},
                                   {0.7, 0.2, 0.7 * 0.7 + 0.3 * 0.2},
                                   {0.9, 1.1 / 3, 0.7 * 0.9 + 0.11}},
              shift, &map);
  check_refused(map.name, make_element(&map), "(");
  make_affine("flat and tilted, mirrored",
              (const double[3][3]){{0.1, 1.0 / 3, 0.7 / 3 + 0.03},
                                   {0.2, 0.7, 0.7 * 0.7 + 0.3 * 0.2},
                                   {1.1 / 3, 0.9, 0.7 * 0.9 + 0.11}},
              shift, &map);
  check_refused(map.name, make_element(&map), "(");

  /* The last corner moves towards the opposite one and beyond: Jacobians at its neighbours change
   * sign first. */
  make_affine("tangled", (const double[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, shift, &map);
  sp_hexes *hexes = make_element(&map);
  for (int d = 0; d < 3; d++) hexes->lattice[3 * 7 + d] = shift[d] - 2;
  check_refused(map.name, hexes, "(6, 7, 6)");

  /* NaN is not positive. */
  hexes = make_element(&map);
  hexes->lattice[0] = NAN;
  check_refused("not a number", hexes, "nan");
  hexes = make_element(&map);
  hexes->lattice[3 * 7] = INFINITY;
  check_refused("infinite", hexes, "its coordinates are not finite");

  /* Two corners are the same vertex; the message gives the centre. */
  hexes = make_element(&map);
  hexes->vertices[0][6] = hexes->vertices[0][7];
  sp_mesh *mesh;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_SELF, &hexes, &mesh), SP_ERR_INPUT,
              "element 42 near (5, 6, 7) is degenerate");
}

/* Flat faces along the axes stay where they are, to the last bit: sqrt(1 - x) exists at x = 1. */
static void check_flat_faces(void) {
  enum { N = 7, CELLS = 23 };
  static double xyz[3 * N * N], normal[3 * N * N], points[3 * N * N * N], wj[N * N * N];
  sp_rule rule;
  sp_rule_gll(N, &rule);
  for (int cell = 0; cell < CELLS; cell++) {
    polynomial_map map;
    const double low = cell / (double)CELLS, high = (cell + 1) / (double)CELLS;
    make_affine("cell", (const double[3][3]){{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                (const double[3]){0, 0, 0}, &map);
    AUTO(sp_hexes) hexes = make_element(&map);
    for (int k = 0; k < 3 * SP_CORNERS; k++) hexes->lattice[k] = hexes->lattice[k] < 0 ? low : high;
    CHECK_OK(sp_geometry_volume(hexes, 0, &rule, points, wj));
    for (int f = 0; f < SP_FACES; f++) {
      sp_geometry_face(hexes, 0, f, &rule, xyz, normal);
      for (int q = 0; q < N * N; q++)
        CHECK(xyz[f / 2 * N * N + q] == (f % 2 ? high : low), "face %d of cell %d", f, cell);
    }
    for (int q = 0; q < 3 * N * N * N; q++)
      CHECK(points[q] >= low && points[q] <= high, "a point leaves cell %d", cell);
  }
}

/* A very thin, slanted element is valid. */
static void check_thin(void) {
  polynomial_map map;
  make_affine("thin", (const double[3][3]){{0.6, -0.8e-6, 0}, {0.8, 0.6e-6, 0}, {0, 0, 1}},
              (const double[3]){0, 0, 0}, &map);
  AUTO(sp_hexes) hexes = make_element(&map);
  double factors[SP_FACTORS * 8];
  sp_rule rule;
  sp_rule_gl(2, &rule);
  CHECK_OK(sp_geometry_factors(hexes, 0, &rule, factors));
  double volume = 0;
  for (int q = 0; q < 8; q++) volume += factors[SP_G_WJ * 8 + q];
  /* With coordinates of order one, the relative error of the thin direction is EPSILON / 1e-6. */
  CHECK_CLOSE(volume, 8e-6, 8e-6 * EPSILON / 1e-6);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  static polynomial_map map;
  const double shift[3] = {0.5, -0.25, 1};
  make_affine("box", (const double[3][3]){{1, 0, 0}, {0, 0.5, 0}, {0, 0, 1.5}}, shift, &map);
  CHECK_CLOSE(map_volume(&map), 6, 100 * EPSILON);
  check_map(&map);
  make_affine("sheared", (const double[3][3]){{1, 0.4, -0.3}, {0, 0.5, 0.2}, {0, 0, 1.5}}, shift,
              &map);
  CHECK_CLOSE(map_volume(&map), 6, 100 * EPSILON);
  check_map(&map);
  make_affine("turned", (const double[3][3]){{0, 0.5, 0.1}, {0.2, 0, 1.5}, {1, 0.3, 0}}, shift,
              &map);
  check_map(&map);
  make_map("trilinear", 1, 2, &map);
  check_map(&map);
  make_map("order 2", 2, 2, &map);
  check_map(&map);
  make_map("order 3", 3, 2, &map);
  check_map(&map);
  check_refusals();
  check_thin();
  check_flat_faces();
  return check_end();
}
