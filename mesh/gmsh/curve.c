/* Curved tetrahedra of a geometry from CAD. For edges on the surface gmsh moves the middle nodes,
 * and only these, so near curved surfaces the Jacobian may be negative. The optimisation of gmsh
 * depends on memory addresses, so each run gives another mesh, and it fails if one element cannot
 * be repaired. So the bends d_e of edges, the offsets of their middle nodes from the mid-points,
 * are computed here. With barycentric coordinates l and the corners x_c,
 *
 *     x = sum_c l_c x_c + sum_e 4 l_a l_b d_e,    e from a to b
 *
 * Nodes on curves and curved faces stay. The others, first in plane faces, then in volumes, take
 * the bends that minimise the integral of |grad sum_e 4 l_a l_b d_e|^2. Where the Jacobian is still
 * too small, bends change by least squares, on surfaces last. All sums run in the order of the
 * elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

enum {
  EDGES = 6,
  SWEEPS = 30, /* of the relaxation; it changes little after five */
  LAYERS = 2,  /* of elements around a bad one, relaxed with it */
  MENDS = 40,  /* passes before sides become straight */
  LATTICE = 4  /* the points per edge, at which the Jacobian is computed */
};

/* The least ratio of the Jacobian to its largest value. gmsh's optimisation has the same. */
static const double LEAST = 0.1;

static const double ON_SURFACE = 0.02; /* the weight of changes of bends on surfaces */

/* gmsh's order of the edges of a tetrahedron; a triangle has the first three. */
static const int ENDS[EDGES][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {3, 2}, {3, 1}};

typedef struct curving {
  sp_gmsh_model *m;
  double (*bend)[3], (*change)[3], *weight; /* [points] */
  /* [points]; of a middle node: 0 in a volume, -1 fixed, 2 (entity + 1) on a plane face. Plus 1 if
   * two triangles of the face have the node: it may move in the plane. */
  int *place;
  bool *moved, *moves; /* [points]; middle nodes of bad elements and near them, now and next */
} curving;

/* A tetrahedron, or a triangle whose corner 3 lies above corner 0 at distance 1. */
typedef struct simplex {
  int bends; /* 0 if it has order 1 */
  double sides[3][3], bend[EDGES][3];
  const size_t *nodes;
} simplex;

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3]) {
  for (int d = 0; d < 3; d++)
    c[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static double determinant(double rows[3][3]) {
  double normal[3];
  cross(rows[0], rows[1], normal);
  return dot(normal, rows[2]);
}

/* Returns false if element e is no tetrahedron or no triangle. */
static bool load_simplex(const curving *c, size_t e, int dimension, simplex *s) {
  const sp_gmsh_element *element = &c->m->elements[e];
  const sp_gmsh_type *type = sp_gmsh_type_of(element->type);
  if (type->dimension != dimension || type->corners != dimension + 1 || type->order > 2)
    return false;
  s->nodes = &c->m->nodes[element->first];
  s->bends = type->order == 1 ? 0 : dimension == 2 ? 3 : EDGES;
  for (int a = 0; a < dimension; a++)
    for (int d = 0; d < 3; d++)
      s->sides[a][d] = c->m->points[s->nodes[a + 1]].xyz[d] - c->m->points[s->nodes[0]].xyz[d];
  if (dimension == 2) {
    cross(s->sides[0], s->sides[1], s->sides[2]);
    const double length = sqrt(dot(s->sides[2], s->sides[2]));
    for (int d = 0; d < 3; d++) s->sides[2][d] /= length > 0 ? length : 1;
  }
  for (int b = 0; b < s->bends; b++)
    memcpy(s->bend[b], c->bend[s->nodes[dimension + 1 + b]], sizeof s->bend[b]);
  return true;
}

static double middle(const curving *c, const simplex *s, int edge, int d) {
  const sp_gmsh_point *points = c->m->points;
  return (points[s->nodes[ENDS[edge][0]]].xyz[d] + points[s->nodes[ENDS[edge][1]]].xyz[d]) / 2;
}

/* True if a middle node of the element is in `moved`. */
static bool is_near(const curving *c, const simplex *s, int dimension) {
  for (int b = 0; b < s->bends; b++)
    if (c->moved[s->nodes[dimension + 1 + b]]) return true;
  return false;
}

/* ---- Initial bends, and the nodes that may move ---- */

static void find_bends(curving *c) {
  simplex s;
  for (size_t e = 0; e < c->m->element_count; e++) {
    if (load_simplex(c, e, 3, &s))
      for (int b = 0; b < s.bends; b++)
        for (int d = 0; d < 3; d++)
          c->bend[s.nodes[4 + b]][d] = c->m->points[s.nodes[4 + b]].xyz[d] - middle(c, &s, b, d);
    const int entity = c->m->elements[e].entity, once = 2 * (entity + 1);
    for (int b = 0; load_simplex(c, e, 2, &s) && b < s.bends; b++) {
      int *place = &c->place[s.nodes[3 + b]];
      const bool plane = c->m->entities[entity].is_plane;
      *place = plane && *place == 0 ? once : plane && *place == once ? once + 1 : -1;
    }
  }
}

/* ---- Relaxation ---- */

/* Add an element's matrix times its bends. Row sums of absolute values as the diagonal make
 * Jacobi's iteration converge on any mesh. */
static void add_element(curving *c, int dimension, const simplex *s, double sides[3][3]) {
  double gradient[4][3] = {{0}};
  const double size = determinant(sides);
  for (int a = 0; a < dimension; a++) {
    cross(sides[(a + 1) % 3], sides[(a + 2) % 3], gradient[a + 1]);
    for (int d = 0; d < 3; d++) {
      gradient[a + 1][d] /= size;
      gradient[0][d] -= gradient[a + 1][d];
    }
  }
  for (int r = 0; r < s->bends; r++)
    for (int q = 0; q < s->bends; q++) {
      const size_t node = s->nodes[dimension + 1 + r];
      double entry = 0;
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
          entry += (ENDS[r][i] == ENDS[q][j] ? 2 : 1) *
                   dot(gradient[ENDS[r][1 - i]], gradient[ENDS[q][1 - j]]) * fabs(size);
      c->weight[node] += fabs(entry);
      for (int d = 0; d < 3; d++) c->change[node][d] += entry * s->bend[q][d];
    }
}

static void relax_bends(curving *c, int dimension) {
  const size_t count = c->m->point_count;
  simplex s;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    memset(c->change, 0, count * sizeof *c->change);
    memset(c->weight, 0, count * sizeof *c->weight);
    for (size_t e = 0; e < c->m->element_count; e++)
      if (load_simplex(c, e, dimension, &s) && is_near(c, &s, dimension) &&
          determinant(s.sides) != 0)
        add_element(c, dimension, &s, s.sides);
    for (size_t p = 0; p < count; p++) {
      const bool is_free = dimension == 3 ? c->place[p] == 0 : c->place[p] > 0 && c->place[p] % 2;
      for (int d = 0; d < 3 && is_free && c->moved[p] && c->weight[p] > 0; d++)
        c->bend[p][d] -= c->change[p][d] / c->weight[p];
    }
  }
}

/* ---- The Jacobian ---- */

/* The derivative of 4 l_i l_j, of edge b from i to j, by l_(a + 1) with l_0 = 1 - l_1 - l_2 - l_3.
 */
static double slope(int b, int a, const double l[4]) {
  const int i = ENDS[b][0], j = ENDS[b][1];
  return 4 * (l[i] * ((j == a + 1) - (j == 0)) + l[j] * ((i == a + 1) - (i == 0)));
}

static double jacobian(const simplex *s, const double l[4], double map[3][3]) {
  memcpy(map, s->sides, sizeof s->sides);
  for (int b = 0; b < s->bends; b++)
    for (int a = 0; a < 3; a++)
      for (int d = 0; d < 3; d++) map[a][d] += slope(b, a, l) * s->bend[b][d];
  return determinant(map);
}

/* False if the Jacobian is too small: sets l to the point and *aim to the value to reach. */
static bool is_good(const simplex *s, double l[4], double *aim) {
  double map[3][3], least = 1, most = 1;
  const double straight = determinant((double(*)[3])s->sides);
  for (int i = 0; i <= LATTICE; i++)
    for (int j = 0; j <= LATTICE - i; j++)
      for (int k = 0; k <= LATTICE - i - j; k++) {
        const double n = LATTICE, at[4] = {(n - i - j - k) / n, i / n, j / n, k / n};
        const double ratio = jacobian(s, at, map) / straight;
        most = fmax(most, ratio);
        if (ratio >= least) continue;
        least = ratio;
        memcpy(l, at, sizeof at);
      }
  *aim = 1.2 * LEAST * most * straight;
  return !(least < LEAST * most);
}

/* Change the bends by least squares so that the Jacobian at l, linearised, becomes `aim`. Bends on
 * surfaces change less, and only in their own direction, so plane faces stay plane. */
static void mend_bends(curving *c, const simplex *s, const double l[4], double aim) {
  double map[3][3], step[EDGES][3], sum = 0;
  const double lack = aim - jacobian(s, l, map);
  for (int b = 0; b < s->bends; b++) {
    double gradient[3] = {0}, cofactor[3];
    for (int a = 0; a < 3; a++) {
      cross(map[(a + 1) % 3], map[(a + 2) % 3], cofactor);
      for (int d = 0; d < 3; d++) gradient[d] += slope(b, a, l) * cofactor[d];
    }
    const double square = dot(s->bend[b], s->bend[b]);
    const double along = square > 0 ? dot(gradient, s->bend[b]) / square : 0;
    const bool on_surface = c->place[s->nodes[4 + b]] != 0;
    for (int d = 0; d < 3; d++)
      step[b][d] = on_surface ? ON_SURFACE * along * s->bend[b][d] : gradient[d];
    sum += dot(step[b], gradient);
  }
  for (int b = 0; b < s->bends && sum > 0; b++)
    for (int d = 0; d < 3; d++) c->bend[s->nodes[4 + b]][d] += step[b][d] * lack / sum;
}

/* The volume, by a rule that is exact for degree 3 (Keast, 1986). */
static double volume(const simplex *s) {
  double map[3][3], sum = -0.8 * jacobian(s, (const double[]){0.25, 0.25, 0.25, 0.25}, map);
  for (int c = 0; c < 4; c++) {
    double l[4] = {1. / 6, 1. / 6, 1. / 6, 1. / 6};
    l[c] = 0.5;
    sum += 0.45 * jacobian(s, l, map);
  }
  return fabs(sum) / 6;
}

/* Replace `moved` by the middle nodes of the elements near it. If `pass` >= 0, only of bad ones,
 * whose bends are repaired or, in late passes, set to 0. Returns true if there are any. */
static bool move_near(curving *c, int pass) {
  const size_t count = c->m->point_count;
  bool some = false;
  simplex s;
  memset(c->moves, 0, count * sizeof *c->moves);
  for (size_t e = 0; e < c->m->element_count; e++) {
    double l[4], aim;
    if (!load_simplex(c, e, 3, &s) || !is_near(c, &s, 3) || (pass >= 0 && is_good(&s, l, &aim)))
      continue;
    if (pass > 0 && pass <= MENDS) mend_bends(c, &s, l, aim);
    for (int b = 0; b < s.bends; b++) {
      c->moves[s.nodes[4 + b]] = true;
      if (pass > MENDS) memset(c->bend[s.nodes[4 + b]], 0, sizeof *c->bend);
    }
    some = true;
  }
  memcpy(c->moved, c->moves, count * sizeof *c->moved);
  return some;
}

/* ---- The result ---- */

/* Count elements with a node that left its curve or curved face, and measure the volumes. */
static void measure_results(const curving *c) {
  static const double ROUNDING = 1e-9;
  sp_hexes_cad *cad = &c->m->cad;
  simplex s;
  for (size_t e = 0; e < c->m->element_count; e++) {
    if (!load_simplex(c, e, 3, &s)) continue;
    bool left = false;
    for (int b = 0; b < s.bends; b++) {
      double way[3];
      for (int d = 0; d < 3; d++)
        way[d] = c->m->points[s.nodes[4 + b]].xyz[d] - middle(c, &s, b, d) - s.bend[b][d];
      const double distance = c->place[s.nodes[4 + b]] < 0 ? sqrt(dot(way, way)) : 0;
      left = left || distance > ROUNDING * sqrt(dot(s.sides[0], s.sides[0]));
      cad->distance = fmax(cad->distance, distance);
    }
    cad->flattened += left;
    cad->curved += s.bends > 0;
    c->m->entities[c->m->elements[e].entity].volume += volume(&s);
  }
}

static void bend_edges(curving *c) {
  for (int layer = 0; layer < LAYERS; layer++) move_near(c, -1);
  relax_bends(c, 2);
  relax_bends(c, 3);
  for (int pass = 1; move_near(c, pass);) pass++;
}

static void move_nodes(const curving *c) {
  simplex s;
  for (size_t e = 0; e < c->m->element_count; e++)
    for (int b = 0; load_simplex(c, e, 3, &s) && b < s.bends; b++)
      for (int d = 0; d < 3; d++)
        c->m->points[s.nodes[4 + b]].xyz[d] = middle(c, &s, b, d) + s.bend[b][d];
}

sp_status sp_gmsh_curve(sp_gmsh_model *m) {
  curving c = {.m = m};
  const size_t count = m->point_count;
  const sp_status status =
      SP_ALLOCATE("curved elements", SP_ARRAY(c.bend, count), SP_ARRAY(c.change, count),
                  SP_ARRAY(c.weight, count), SP_ARRAY(c.place, count), SP_ARRAY(c.moved, count),
                  SP_ARRAY(c.moves, count));
  if (!status) {
    find_bends(&c);
    memset(c.moved, true, count * sizeof *c.moved);
    const bool some = move_near(&c, 0);
    if (some) bend_edges(&c);
    measure_results(&c);
    if (some) move_nodes(&c);
  }
  SP_FREE(c.bend, c.change, c.weight, c.place, c.moved, c.moves);
  return status;
}
