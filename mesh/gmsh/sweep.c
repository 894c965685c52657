/* Prisms of the bodies that sweep_find.c chooses. */
#include <gmshc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

enum { MOST = 18 }; /* nodes of a prism of order 2 */

/* The node of a triangle at the place j (g + 1) + i of its lattice. */
static const int GRID[3][9] = {{0}, {0, 1, 2, -1}, {0, 3, 1, 5, 4, -1, 2, -1, -1}};

typedef struct sweeping {
  sp_gmsh_model *m;
  const sp_gmsh_sweep *sweep;
  int order;
  int line, triangle, prism, quadrangle; /* gmsh's types; quadrangles have order 1 */
  size_t *column; /* [points before], 1 + index of a node of a source; 0 for others */
  size_t *top;    /* [points before], 1 + its copy on a curve that keeps its mesh; 0 for others */
  bool again;     /* a triangle was straightened */
  size_t first, last; /* new points; number of the last element */
} sweeping;

/* The point at a level above a node of a source; level 0 is the node. */
static size_t point_at(const sweeping *w, size_t node, int level) {
  const size_t levels = (size_t)(w->sweep->layers * w->order);
  if ((size_t)level == levels && w->top[node] > 0) return w->top[node] - 1;
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
    if (level == levels) memcpy(m->points[point_at(w, node, level)].xyz, xyz, sizeof xyz);
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

/* The middle of edge n in direction d. */
static double middle_of(const sweeping *w, const size_t *nodes, int n, int d) {
  return (w->m->points[nodes[n]].xyz[d] + w->m->points[nodes[(n + 1) % 3]].xyz[d]) / 2;
}

/* The largest distance of a triangle's curved edges from straight ones; 0 if it is rounding. */
static double bend_of(const sweeping *w, const size_t *nodes) {
  static const double ROUNDING = 1e-9; /* of the edge */
  double most = 0;
  for (int n = 0; n < 3 && w->order == 2; n++) {
    double bend = 0, edge = 0;
    for (int d = 0; d < 3; d++) {
      const double middle = middle_of(w, nodes, n, d);
      bend += pow(w->m->points[nodes[3 + n]].xyz[d] - middle, 2);
      edge += pow(2 * (w->m->points[nodes[n]].xyz[d] - middle), 2);
    }
    if (sqrt(bend) > ROUNDING * sqrt(edge)) most = fmax(most, sqrt(bend));
  }
  return most;
}

/* Straighten a curved triangle that would be inverted. */
static sp_status straighten_triangle(sweeping *w, const size_t *nodes) {
  static const double LEAST = 0.1; /* of the Jacobian, relative */
  double low = INFINITY, high = -INFINITY;
  for (int n = 0; n < 6 && w->order == 2; n++) {
    const double value = height_of(w, nodes, n);
    low = fmin(low, value), high = fmax(high, value);
  }
  if (w->order == 1 || low > LEAST * high || high < LEAST * low) return SP_OK;
  w->m->cad.distance = fmax(w->m->cad.distance, bend_of(w, nodes));
  w->m->cad.flattened += w->sweep->layers;
  w->m->cad.curved += w->sweep->layers;
  for (int n = 0; n < 3; n++)
    for (int d = 0; d < 3; d++) w->m->points[nodes[3 + n]].xyz[d] = middle_of(w, nodes, n, d);
  w->again = true;
  return SP_OK;
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
  if (bend_of(w, found) > 0) w->m->cad.curved += w->sweep->layers;
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
  if (side->keeps_mesh) return SP_OK;
  return add_above(w, 1, side->to, w->line, edge, (int[]){top, top, top});
}

/* The number of a type of elements. */
static int type_of(const char *family, int order) {
  int error;
  return gmshModelMeshGetElementType(family, order, 0, &error);
}

/* True if element e is part of an entity. */
static bool is_of(const sp_gmsh_model *m, size_t e, int dimension, int tag) {
  const sp_gmsh_entity *entity = &m->entities[m->elements[e].entity];
  return entity->dimension == dimension && entity->tag == tag;
}

static const size_t *nodes_of(const sp_gmsh_model *m, size_t e) {
  return &m->nodes[m->elements[e].first];
}

/* Call `visit` for the first `count` elements that are triangles of sources. */
static sp_status visit_sources(sweeping *w, size_t count,
                               sp_status (*visit)(sweeping *w, const size_t *nodes)) {
  for (size_t i = 0; i < w->sweep->source_count; i++)
    for (size_t e = 0; e < count; e++)
      if (is_of(w->m, e, 2, w->sweep->sources[i])) SP_TRY(visit(w, nodes_of(w->m, e)));
  return SP_OK;
}

static sp_status add_columns(sweeping *w, const size_t *nodes) {
  for (int n = 0; n < sp_gmsh_type_of(w->triangle)->nodes; n++) SP_TRY(add_column(w, nodes[n]));
  return SP_OK;
}

/* points[*count] = the nodes of a curve, with repetitions. */
static sp_status list_nodes(const sweeping *w, size_t elements, int curve, size_t **points,
                            size_t *count) {
  const size_t nodes = (size_t)sp_gmsh_type_of(w->line)->nodes;
  *count = 0;
  for (size_t e = 0; e < elements; e++) *count += is_of(w->m, e, 1, curve) ? nodes : 0;
  SP_TRY(sp_allocate(*count, sizeof **points, "nodes", points));
  size_t *next = *points;
  for (size_t e = 0; e < elements; e++) {
    if (!is_of(w->m, e, 1, curve)) continue;
    memcpy(next, nodes_of(w->m, e), nodes * sizeof *next);
    next += nodes;
  }
  return SP_OK;
}

/* Find the copies of all nodes of the curve `from`: the nearest nodes of the curve `to`. gmsh
 * meshed both with as many elements. */
static sp_status find_tops(sweeping *w, size_t elements, const sp_gmsh_side *side) {
  SP_OWNED size_t *from = NULL, *to = NULL;
  size_t count, copies;
  SP_TRY(list_nodes(w, elements, side->from, &from, &count));
  SP_TRY(list_nodes(w, elements, side->to, &to, &copies));
  if (count != copies) return sp_gmsh_failed(w->m->path, "copy the mesh of an edge");
  for (size_t i = 0; i < count; i++) {
    double least = INFINITY;
    for (size_t k = 0; k < copies; k++) {
      double square = 0;
      for (int d = 0; d < 3; d++)
        square +=
            pow(w->m->points[from[i]].xyz[d] + w->sweep->shift[d] - w->m->points[to[k]].xyz[d], 2);
      if (square < least) least = square, w->top[from[i]] = 1 + to[k];
    }
  }
  return SP_OK;
}

static sp_status sweep_body(sweeping *w) {
  const sp_gmsh_model *m = w->m;
  const sp_gmsh_sweep *s = w->sweep;
  const size_t count = m->element_count;
  for (size_t i = 0; i < s->side_count; i++)
    if (s->sides[i].keeps_mesh) SP_TRY(find_tops(w, count, &s->sides[i]));
  do {
    w->again = false;
    SP_TRY(visit_sources(w, count, straighten_triangle));
  } while (w->again);
  SP_TRY(visit_sources(w, count, add_columns));
  SP_TRY(visit_sources(w, count, raise_triangle));
  for (size_t i = 0; i < s->side_count; i++)
    for (size_t e = 0; e < count; e++)
      if (is_of(m, e, 1, s->sides[i].from)) SP_TRY(raise_edge(w, &s->sides[i], nodes_of(m, e)));
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
    status = SP_ALLOCATE("nodes", SP_ARRAY(w.column, w.first), SP_ARRAY(w.top, w.first));
    if (!status) status = sweep_body(&w);
    SP_FREE(w.column, w.top);
  }
  return status;
}
