/* Bodies from CAD that are extrusions. They have two equal plane faces, the source and the target.
 * Side faces join them straight. gmsh meshes the source with triangles, which become layers of
 * prisms here. Tetrahedra of a body thinner than they are long would be slivers. The meshes of
 * target and sides are replaced, so other bodies share with a swept one only its source, or its
 * target if they are swept from there. */
#include <gmshc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

/* ---- Find extrusions ---- */

static const double EQUAL = 1e-5; /* relative difference of lengths, areas and volumes */

typedef struct tags {
  int *list;
  size_t count;
} tags;

/* The entities of the next higher or lower dimension at one. */
static tags list_adjacent(int dimension, int tag, bool higher) {
  tags up = {0}, down = {0};
  int error;
  gmshModelGetAdjacencies(dimension, tag, &up.list, &up.count, &down.list, &down.count, &error);
  gmshFree(higher ? down.list : up.list);
  return higher ? up : down;
}

static bool has_tag(const tags *t, int tag) {
  bool found = false;
  for (size_t i = 0; i < t->count; i++) found = found || t->list[i] == tag;
  return found;
}

static bool are_equal(double a, double b) {
  return fabs(a - b) <= EQUAL * fabs(b);
}

static double mass_of(int dimension, int tag) {
  double mass = NAN;
  int error;
  gmshModelOccGetMass(dimension, tag, &mass, &error);
  return fabs(mass);
}

/* The vector between the centres of two entities; returns its length. */
static double find_shift(int dimension, int from, int to, double shift[3]) {
  double a[3] = {NAN, 0, 0}, b[3] = {NAN, 0, 0};
  int error;
  gmshModelOccGetCenterOfMass(dimension, from, &a[0], &a[1], &a[2], &error);
  gmshModelOccGetCenterOfMass(dimension, to, &b[0], &b[1], &b[2], &error);
  for (int d = 0; d < 3; d++) shift[d] = b[d] - a[d];
  return sqrt(shift[0] * shift[0] + shift[1] * shift[1] + shift[2] * shift[2]);
}

static bool is_plane(int face) {
  char *type = NULL;
  int error;
  gmshModelGetType(2, face, &type, &error);
  const bool plane = !error && strcmp(type, "Plane") == 0;
  gmshFree(type);
  return plane;
}

/* The distance between a plane face and its copy, moved by `shift`. */
static double find_height(int face, const double shift[3]) {
  double *normal = NULL, height = NAN;
  size_t count = 0;
  int error;
  gmshModelGetNormal(face, (double[]){0, 0}, 2, &normal, &count, &error);
  if (!error && count == 3)
    height = fabs(normal[0] * shift[0] + normal[1] * shift[1] + normal[2] * shift[2]);
  gmshFree(normal);
  return height;
}

/* The point of a curve at a share of its range of parameters. */
static bool find_point(int curve, double share, double point[3]) {
  double *low = NULL, *high = NULL, *xyz = NULL;
  size_t lows = 0, highs = 0, count = 0;
  int error;
  gmshModelGetParametrizationBounds(1, curve, &low, &lows, &high, &highs, &error);
  bool good = !error && lows == 1 && highs == 1;
  if (good) {
    double at = low[0] + share * (high[0] - low[0]);
    gmshModelGetValue(1, curve, &at, 1, &xyz, &count, &error);
    good = !error && count == 3;
  }
  if (good) memcpy(point, xyz, 3 * sizeof *point);
  gmshFree(low);
  gmshFree(high);
  gmshFree(xyz);
  return good;
}

/* True if the face contains the point, to `tolerance`. */
static bool has_point(int face, double point[3], double tolerance) {
  double *closest = NULL, *parameters = NULL, square = INFINITY;
  size_t count = 0, parameter_count = 0;
  int error;
  gmshModelGetClosestPoint(2, face, point, 3, &closest, &count, &parameters, &parameter_count,
                           &error);
  if (!error && count == 3) {
    square = 0;
    for (int d = 0; d < 3; d++) square += pow(closest[d] - point[d], 2);
  }
  gmshFree(closest);
  gmshFree(parameters);
  return square <= tolerance * tolerance;
}

/* True if the side consists of straight lines along the shift, at some points: a bulged side may
 * have the right edges and leave the volume as it is. */
static bool is_straight(const sp_gmsh_sweep *s, const sp_gmsh_side *side, double tolerance) {
  bool good = true;
  for (int i = 0; i < 9 && good; i++) {
    double point[3];
    good = find_point(side->from, 0.2 + 0.3 * (i % 3), point);
    for (int d = 0; d < 3; d++) point[d] += (0.2 + 0.3 * (i / 3)) * s->shift[d];
    good = good && has_point(side->face, point, tolerance);
  }
  return good;
}

/* Find the curves of a side face: one in the source, its copy in the target, and others as long as
 * the body is high. */
static bool match_side(const sp_gmsh_sweep *s, const tags *from, const tags *to, double height,
                       sp_gmsh_side *side) {
  tags curves = list_adjacent(2, side->face, false);
  int froms = 0, tos = 0;
  bool good = true;
  for (size_t c = 0; c < curves.count && good; c++) {
    const int curve = curves.list[c];
    const bool in_source = has_tag(from, curve), in_target = has_tag(to, curve);
    if (in_source) side->from = curve;
    if (in_target) side->to = curve;
    froms += in_source;
    tos += in_target;
    good = in_source || in_target || are_equal(mass_of(1, curve), height);
  }
  gmshFree(curves.list);
  double shift[3];
  if (!good || froms != 1 || tos != 1) return false;
  (void)find_shift(1, side->from, side->to, shift);
  for (int d = 0; d < 3; d++) good = good && fabs(shift[d] - s->shift[d]) <= EQUAL * height;
  const double length = mass_of(1, side->from);
  return good && are_equal(length, mass_of(1, side->to)) &&
         is_straight(s, side, EQUAL * (height + length));
}

/* Fill the sides; false if the body is no extrusion from source to target. */
static bool match_sides(const tags *faces, double height, sp_gmsh_sweep *s) {
  tags from = list_adjacent(2, s->source, false), to = list_adjacent(2, s->target, false);
  bool good = from.count == to.count && from.count + 2 == faces->count;
  s->side_count = 0;
  for (size_t f = 0; f < faces->count && good; f++) {
    if (faces->list[f] == s->source || faces->list[f] == s->target) continue;
    sp_gmsh_side *side = &s->sides[s->side_count++];
    side->face = faces->list[f];
    good = match_side(s, &from, &to, height, side);
  }
  gmshFree(from.list);
  gmshFree(to.list);
  return good;
}

/* Find the direction of the least height in which the body is an extrusion, if there is one. */
static sp_status find_extrusion(int volume, double size, sp_gmsh_sweep *best) {
  tags faces = list_adjacent(3, volume, false);
  SP_OWNED double *areas = NULL; /* 0 for faces that are not plane */
  sp_gmsh_sweep s = {.volume = volume};
  double least = INFINITY;
  const double mass = mass_of(3, volume);
  sp_status status =
      SP_ALLOCATE("faces", SP_ARRAY(areas, faces.count), SP_ARRAY(s.sides, faces.count),
                  SP_ARRAY(best->sides, faces.count));
  for (size_t f = 0; f < faces.count && !status; f++)
    areas[f] = is_plane(faces.list[f]) ? mass_of(2, faces.list[f]) : 0;
  for (size_t i = 0; i < faces.count && !status; i++)
    for (size_t j = 0; j < i; j++) {
      if (areas[i] == 0 || !are_equal(areas[i], areas[j])) continue;
      s.source = faces.list[i], s.target = faces.list[j];
      const double height = find_shift(2, s.source, s.target, s.shift);
      const double apart = find_height(s.source, s.shift);
      if (!(height < least) || !are_equal(areas[i] * apart, mass)) continue;
      if (!match_sides(&faces, height, &s)) continue;
      sp_gmsh_side *sides = best->sides;
      *best = s;
      best->sides = memcpy(sides, s.sides, s.side_count * sizeof *sides);
      best->layers = (int)fmax(1, ceil(height / size));
      least = height;
    }
  free(s.sides);
  gmshFree(faces.list);
  return status;
}

/* ---- Choose from them ---- */

/* Make `face` the source. */
static bool orient_sweep(sp_gmsh_sweep *s, int face) {
  if (face != s->source && face != s->target) return false;
  if (face == s->source) return true;
  s->target = s->source;
  s->source = face;
  for (int d = 0; d < 3; d++) s->shift[d] = -s->shift[d];
  for (size_t i = 0; i < s->side_count; i++)
    s->sides[i] = (sp_gmsh_side){s->sides[i].to, s->sides[i].face, s->sides[i].from};
  return true;
}

/* True if all bodies at the curve are the two. */
static bool is_between(int curve, int volume, int next) {
  tags faces = list_adjacent(1, curve, true);
  bool good = true;
  for (size_t f = 0; f < faces.count; f++) {
    tags volumes = list_adjacent(2, faces.list[f], true);
    for (size_t v = 0; v < volumes.count; v++)
      good = good && (volumes.list[v] == volume || volumes.list[v] == next);
    gmshFree(volumes.list);
  }
  gmshFree(faces.list);
  return good;
}

/* True if sides and target touch only the body `next` behind the target. */
static bool are_sides_free(const sp_gmsh_sweep *s, int next) {
  bool good = true;
  for (size_t i = 0; i < s->side_count && good; i++) {
    tags volumes = list_adjacent(2, s->sides[i].face, true),
         curves = list_adjacent(2, s->sides[i].face, false);
    good = volumes.count == 1;
    for (size_t c = 0; c < curves.count && good; c++)
      good = curves.list[c] == s->sides[i].from || is_between(curves.list[c], s->volume, next);
    gmshFree(volumes.list);
    gmshFree(curves.list);
  }
  return good;
}

/* The body on the other side of the target; 0 if there is none. */
static int find_next(const sp_gmsh_sweep *s) {
  tags volumes = list_adjacent(2, s->target, true);
  int next = 0;
  for (size_t v = 0; v < volumes.count; v++)
    if (volumes.list[v] != s->volume) next = volumes.list[v];
  gmshFree(volumes.list);
  return next;
}

/* True if a body is swept from `face` already. */
static bool is_swept_from(const sp_gmsh_model *m, int face) {
  bool swept = false;
  for (size_t i = 0; i < m->sweep_count; i++) swept = swept || m->sweeps[i].source == face;
  return swept;
}

/* Choose to sweep all[i] from `face`, and the bodies behind it. Appends to m->sweeps, last body
 * first. */
static bool choose_sweep(sp_gmsh_model *m, sp_gmsh_sweep *all, size_t count, size_t i, int face) {
  sp_gmsh_sweep *s = &all[i];
  if (s->source == 0 || s->chosen || !orient_sweep(s, face)) return false;
  const int next = find_next(s);
  size_t n = 0;
  while (n < count && all[n].volume != next) n++;
  if (!are_sides_free(s, next)) return false;
  s->chosen = true;
  s->chosen = next == 0 || is_swept_from(m, s->target) ||
              (n < count && choose_sweep(m, all, count, n, s->target));
  if (s->chosen) m->sweeps[m->sweep_count++] = *s;
  return s->chosen;
}

/* gmsh needs not mesh the body, its target and its sides, which may be difficult. */
static void hide_replaced(const sp_gmsh_sweep *s) {
  int error;
  gmshModelSetVisibility((int[]){3, s->volume}, 2, 0, 0, &error);
  gmshModelSetVisibility((int[]){2, s->target}, 2, 0, 0, &error);
  for (size_t i = 0; i < s->side_count; i++)
    gmshModelSetVisibility((int[]){2, s->sides[i].face}, 2, 0, 0, &error);
}

sp_status sp_gmsh_sweeps_find(sp_gmsh_model *m, const int *bodies, size_t count, double size) {
  SP_OWNED sp_gmsh_sweep *all = NULL;
  int error;
  SP_TRY(SP_ALLOCATE("bodies", SP_ARRAY(all, count), SP_ARRAY(m->sweeps, count)));
  sp_status status = SP_OK;
  for (size_t b = 0; b < count && !status; b++)
    status = find_extrusion(all[b].volume = bodies[2 * b + 1], size, &all[b]);
  for (size_t b = 0; b < count && !status; b++)
    if (!choose_sweep(m, all, count, b, all[b].source))
      (void)choose_sweep(m, all, count, b, all[b].target);
  for (size_t b = 0; b < count; b++)
    if (!all[b].chosen) free(all[b].sides);
  for (size_t s = 0; s < m->sweep_count; s++) hide_replaced(&m->sweeps[s]);
  gmshOptionSetNumber("Mesh.MeshOnlyVisible", m->sweep_count > 0, &error);
  return status;
}

bool sp_gmsh_is_swept(const sp_gmsh_model *m, int dimension, int tag) {
  bool swept = false;
  for (size_t i = 0; i < m->sweep_count; i++) {
    const sp_gmsh_sweep *s = &m->sweeps[i];
    swept = swept || (dimension == 2 && tag == s->target);
    for (size_t n = 0; n < s->side_count; n++)
      swept = swept || (dimension == 2 && tag == s->sides[n].face) ||
              (dimension == 1 && tag == s->sides[n].to);
  }
  return swept;
}

/* ---- The mesh ---- */

enum { MOST = 18 }; /* nodes of a prism of order 2 */

/* The node of a triangle at the place j (g + 1) + i of its lattice. */
static const int GRID[3][9] = {{0}, {0, 1, 2, -1}, {0, 3, 1, 5, 4, -1, 2, -1, -1}};

typedef struct sweeping {
  sp_gmsh_model *m;
  const sp_gmsh_sweep *sweep;
  int order;
  int line, triangle, prism, quadrangle; /* gmsh's types; quadrangles have order 1 */
  size_t *column;     /* [points before], 1 + index of a node of the source; 0 for others */
  size_t first, last; /* new points; number of the last element */
} sweeping;

/* The point at a level above a node of the source; level 0 is the node. */
static size_t point_at(const sweeping *w, size_t node, int level) {
  const size_t levels = (size_t)(w->sweep->layers * w->order);
  return level == 0 ? node : w->first + (w->column[node] - 1) * levels + (size_t)level - 1;
}

static sp_status add_column(sweeping *w, size_t node) {
  const int levels = w->sweep->layers * w->order;
  sp_gmsh_model *m = w->m;
  if (w->column[node] > 0) return SP_OK;
  w->column[node] = 1 + (m->point_count - w->first) / (size_t)levels;
  for (int level = 1; level <= levels; level++) {
    double xyz[3];
    for (int d = 0; d < 3; d++)
      xyz[d] = m->points[node].xyz[d] + w->sweep->shift[d] * level / levels;
    SP_TRY(sp_gmsh_add_point(m, m->points[m->point_count - 1].tag + 1, xyz));
  }
  return SP_OK;
}

/* Add an element with the nodes `base` at the levels `level`. */
static sp_status add_above(sweeping *w, int dimension, int tag, int type, const size_t *base,
                           const int *level) {
  size_t *nodes;
  int entity;
  SP_TRY(sp_gmsh_find_entity(w->m, dimension, tag, &entity));
  const sp_gmsh_element new = {.tag = ++w->last, .type = type, .entity = entity, .place = tag};
  SP_TRY(sp_gmsh_add_element(w->m, &new, &nodes));
  for (int n = 0; n < sp_gmsh_type_of(type)->nodes; n++) nodes[n] = point_at(w, base[n], level[n]);
  return SP_OK;
}

/* The normal of a triangle at a node, as long as the Jacobian. */
static void find_normal(const sweeping *w, const size_t *nodes, int at, double normal[3]) {
  static const double R[] = {0, 1, 0, 0.5, 0.5, 0}, S[] = {0, 0, 1, 0, 0.5, 0.5};
  const double r = R[at], s = S[at], l = 1 - r - s;
  double a[3], b[3];
  for (int d = 0; d < 3; d++) {
    double x[6], bend[3] = {0};
    for (int n = 0; n < (w->order == 2 ? 6 : 3); n++) x[n] = w->m->points[nodes[n]].xyz[d];
    for (int n = 0; n < 3 && w->order == 2; n++) bend[n] = x[3 + n] - (x[n] + x[(n + 1) % 3]) / 2;
    a[d] = x[1] - x[0] + 4 * ((l - r) * bend[0] + s * bend[1] - s * bend[2]);
    b[d] = x[2] - x[0] + 4 * (-r * bend[0] + r * bend[1] + (l - s) * bend[2]);
  }
  for (int d = 0; d < 3; d++)
    normal[d] = a[(d + 1) % 3] * b[(d + 2) % 3] - a[(d + 2) % 3] * b[(d + 1) % 3];
}

static double height_of(const sweeping *w, const size_t *nodes, int at) {
  double normal[3], sum = 0;
  find_normal(w, nodes, at, normal);
  for (int d = 0; d < 3; d++) sum += normal[d] * w->sweep->shift[d];
  return sum;
}

/* The mid-points of edges integrate the quadratic Jacobian of a curved triangle exactly. */
static double volume_above(const sweeping *w, const size_t *nodes) {
  if (w->order == 1) return height_of(w, nodes, 0) / 2;
  return (height_of(w, nodes, 3) + height_of(w, nodes, 4) + height_of(w, nodes, 5)) / 6;
}

/* Straighten a curved triangle that would be inverted; returns true if it changes. */
static bool straighten_triangle(sweeping *w, const size_t *nodes) {
  static const double LEAST = 0.1; /* of the Jacobian, relative */
  double low = INFINITY, high = -INFINITY;
  for (int n = 0; n < 6 && w->order == 2; n++) {
    const double value = height_of(w, nodes, n);
    low = fmin(low, value), high = fmax(high, value);
  }
  if (w->order == 1 || low > LEAST * high || high < LEAST * low) return false;
  for (int n = 0; n < 3; n++)
    for (int d = 0; d < 3; d++)
      w->m->points[nodes[3 + n]].xyz[d] =
          (w->m->points[nodes[n]].xyz[d] + w->m->points[nodes[(n + 1) % 3]].xyz[d]) / 2;
  return true;
}

/* Add the prisms above a triangle, and its copy on the target. */
static sp_status raise_triangle(sweeping *w, const size_t *found) {
  const sp_gmsh_type *type = sp_gmsh_type_of(w->prism);
  const int n = w->order + 1, top = w->sweep->layers * w->order;
  const bool turned = volume_above(w, found) < 0;
  static const int turn[] = {0, 2, 1, 5, 4, 3};
  size_t triangle[6], base[MOST];
  int levels[MOST], body;
  for (int i = 0; i < sp_gmsh_type_of(w->triangle)->nodes; i++)
    triangle[i] = found[turned ? turn[i] : i];
  SP_TRY(sp_gmsh_find_entity(w->m, 3, w->sweep->volume, &body));
  w->m->entities[body].volume += fabs(volume_above(w, found));
  for (int layer = 0; layer < w->sweep->layers; layer++) {
    for (int p = 0; p < type->nodes; p++) {
      base[p] = triangle[GRID[w->order][type->lattice[p] % (n * n)]];
      levels[p] = layer * w->order + type->lattice[p] / (n * n);
    }
    SP_TRY(add_above(w, 3, w->sweep->volume, w->prism, base, levels));
  }
  for (int i = 0; i < MOST; i++) levels[i] = top;
  return add_above(w, 2, w->sweep->target, w->triangle, triangle, levels);
}

/* Add the quadrangles above an edge of the source, and its copy on the target. */
static sp_status raise_edge(sweeping *w, const sp_gmsh_side *side, const size_t *found) {
  const size_t edge[] = {found[0], found[1], w->order == 2 ? found[2] : 0};
  const size_t base[] = {edge[0], edge[1], edge[1], edge[0]};
  const int g = w->order, top = w->sweep->layers * g;
  for (int k = 0; k < top; k += g)
    SP_TRY(add_above(w, 2, side->face, w->quadrangle, base, (int[]){k, k, k + g, k + g}));
  return add_above(w, 1, side->to, w->line, edge, (int[]){top, top, top});
}

/* The number of a type of elements. */
static int type_of(const char *family, int order) {
  int error;
  return gmshModelMeshGetElementType(family, order, 0, &error);
}

/* The first element of an entity from e on, before `count`. */
static size_t next_of(const sp_gmsh_model *m, size_t e, size_t count, int dimension, int tag) {
  while (e < count && (m->entities[m->elements[e].entity].dimension != dimension ||
                       m->entities[m->elements[e].entity].tag != tag))
    e++;
  return e;
}

static const size_t *nodes_of(const sp_gmsh_model *m, size_t e) {
  return &m->nodes[m->elements[e].first];
}

static void straighten_source(sweeping *w, size_t count) {
  const sp_gmsh_model *m = w->m;
  const int source = w->sweep->source;
  for (bool again = true; again;) {
    again = false;
    for (size_t e = next_of(m, 0, count, 2, source); e < count;
         e = next_of(m, e + 1, count, 2, source))
      again = straighten_triangle(w, nodes_of(m, e)) || again;
  }
}

static sp_status sweep_body(sweeping *w) {
  const sp_gmsh_model *m = w->m;
  const sp_gmsh_sweep *s = w->sweep;
  const size_t count = m->element_count, begin = next_of(m, 0, count, 2, s->source);
  const sp_gmsh_type *triangle = sp_gmsh_type_of(w->triangle);
  straighten_source(w, count);
  for (size_t e = begin; e < count; e = next_of(m, e + 1, count, 2, s->source))
    for (int n = 0; n < triangle->nodes; n++) SP_TRY(add_column(w, nodes_of(m, e)[n]));
  for (size_t e = begin; e < count; e = next_of(m, e + 1, count, 2, s->source))
    SP_TRY(raise_triangle(w, nodes_of(m, e)));
  for (size_t i = 0; i < s->side_count; i++)
    for (size_t e = next_of(m, 0, count, 1, s->sides[i].from); e < count;
         e = next_of(m, e + 1, count, 1, s->sides[i].from))
      SP_TRY(raise_edge(w, &s->sides[i], nodes_of(m, e)));
  return SP_OK;
}

/* Drop gmsh's meshes of targets and sides. */
static void drop_replaced(sp_gmsh_model *m) {
  size_t kept = 0;
  for (size_t e = 0; e < m->element_count; e++) {
    const sp_gmsh_entity *entity = &m->entities[m->elements[e].entity];
    if (!sp_gmsh_is_swept(m, entity->dimension, entity->tag)) m->elements[kept++] = m->elements[e];
  }
  m->element_count = kept;
}

sp_status sp_gmsh_sweep_bodies(sp_gmsh_model *m) {
  sweeping w = {.m = m, .order = 1};
  for (size_t e = 0; e < m->element_count; e++) {
    const sp_gmsh_type *type = sp_gmsh_type_of(m->elements[e].type);
    if (type->order > w.order) w.order = type->order;
    if (m->elements[e].tag > w.last) w.last = m->elements[e].tag;
  }
  w.line = type_of("Line", w.order);
  w.triangle = type_of("Triangle", w.order);
  w.prism = type_of("Prism", w.order);
  w.quadrangle = type_of("Quadrangle", 1);
  drop_replaced(m);
  sp_status status = SP_OK;
  for (size_t s = m->sweep_count; s > 0 && !status; s--) {
    w.sweep = &m->sweeps[s - 1];
    w.first = m->point_count;
    status = sp_allocate(w.first, sizeof *w.column, "nodes", &w.column);
    if (!status) status = sweep_body(&w);
    SP_FREE(w.column);
  }
  return status;
}
