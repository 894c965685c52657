#include "mesh/gmsh/model.h"

#include <gmshc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/divide.h"

sp_status sp_gmsh_failed(const char *path, const char *what) {
  char *reason = NULL;
  int error;
  gmshLoggerGetLastError(&reason, &error);
  const bool known = !error && reason && reason[0];
  const sp_status status = sp_fail(SP_ERR_INPUT, "%s: gmsh could not %s%s%s", path, what,
                                   known ? ": " : "", known ? reason : "");
  if (reason) gmshFree(reason);
  return status;
}

/* ---- Types of elements ---- */

/* The SDK may crash when it describes a type that does not exist. */
static bool type_exists(int type) {
  static const char *const families[] = {"Point",       "Line",    "Triangle", "Quadrangle",
                                         "Tetrahedron", "Pyramid", "Prism",    "Hexahedron"};
  enum { FAMILIES = sizeof families / sizeof *families, ORDERS = 11 };
  int error;
  for (int f = 0; f < FAMILIES; f++)
    for (int order = 0; order < ORDERS; order++)
      for (int serendipity = 0; serendipity < 2; serendipity++) {
        const int known = gmshModelMeshGetElementType(families[f], order, serendipity, &error);
        if (!error && known == type) return true;
      }
  return false;
}

static void set_lattice(const double *coordinates, sp_gmsh_type *t) {
  const int n = t->order + 1, c = t->corners;
  const bool known = t->dimension == 3 && (c == 4 || c == 6 || c == SP_CORNERS);
  const sp_cell_shape shape = c == 4 ? SP_TETRAHEDRON : c == 6 ? SP_PRISM : SP_HEXAHEDRON;
  if (!known || t->nodes != sp_cell_nodes(shape, t->order)) return;
  t->lattice = malloc((size_t)t->nodes * sizeof *t->lattice);
  for (int p = 0; p < t->nodes && t->lattice; p++) {
    int place[3];
    for (int d = 0; d < 3; d++) { /* from 0, or of an interval from -1 to 1 */
      const bool interval = shape == SP_HEXAHEDRON || (shape == SP_PRISM && d == 2);
      const double at = coordinates[3 * p + d];
      place[d] = (int)lround((interval ? (at + 1) / 2 : at) * t->order);
    }
    t->lattice[p] = (place[2] * n + place[1]) * n + place[0];
  }
}

const sp_gmsh_type *sp_gmsh_type_of(int type) {
  enum { TYPES = 256 };
  static sp_gmsh_type types[TYPES];
  static bool asked[TYPES];
  if (type < 1 || type >= TYPES) return NULL;
  sp_gmsh_type *t = &types[type];
  if (!asked[type] && type_exists(type)) {
    char *name = NULL;
    double *coordinates = NULL;
    size_t count;
    int error;
    gmshModelMeshGetElementProperties(type, &name, &t->dimension, &t->order, &t->nodes,
                                      &coordinates, &count, &t->corners, &error);
    if (error) t->nodes = 0;
    if (!error) snprintf(t->name, sizeof t->name, "%s", name);
    if (!error) set_lattice(coordinates, t);
    gmshFree(name);
    gmshFree(coordinates);
  }
  asked[type] = true;
  return t->nodes > 0 ? t : NULL;
}

/* ---- The CAD kernel ---- */

sp_status sp_gmsh_list(const char *path, int dimension, sp_gmsh_tags *pairs) {
  int error;
  gmshModelGetEntities(&pairs->list, &pairs->count, dimension, &error);
  return error ? sp_gmsh_failed(path, "list the entities") : SP_OK;
}

sp_gmsh_tags sp_gmsh_adjacent(int dimension, int tag, bool higher) {
  sp_gmsh_tags up = {0}, down = {0};
  int error;
  gmshModelGetAdjacencies(dimension, tag, &up.list, &up.count, &down.list, &down.count, &error);
  gmshFree(higher ? down.list : up.list);
  return higher ? up : down;
}

bool sp_gmsh_is_plane(int face) {
  char *type = NULL;
  int error;
  gmshModelGetType(2, face, &type, &error);
  const bool plane = !error && strcmp(type, "Plane") == 0;
  gmshFree(type);
  return plane;
}

double sp_gmsh_mass(int dimension, int tag) {
  double mass = NAN;
  int error;
  gmshModelOccGetMass(dimension, tag, &mass, &error);
  return fabs(mass);
}

bool sp_gmsh_sample_curve(int curve, size_t count, double *parameters, double *points) {
  double *low = NULL, *high = NULL, *xyz = NULL;
  size_t lows = 0, highs = 0, values = 0;
  int error;
  gmshModelGetParametrizationBounds(1, curve, &low, &lows, &high, &highs, &error);
  bool good = !error && lows == 1 && highs == 1;
  for (size_t i = 0; i < count && good; i++)
    parameters[i] = low[0] + parameters[i] * (high[0] - low[0]);
  if (good) gmshModelGetValue(1, curve, parameters, count, &xyz, &values, &error);
  good = good && !error && values == 3 * count;
  if (good) memcpy(points, xyz, values * sizeof *points);
  gmshFree(low);
  gmshFree(high);
  gmshFree(xyz);
  return good;
}

/* ---- Fill ---- */

sp_status sp_gmsh_add_point(sp_gmsh_model *m, size_t tag, const double xyz[3]) {
  SP_TRY(sp_reserve(m->point_count, 1, sizeof *m->points, "items of a mesh", &m->points));
  m->points[m->point_count++] = (sp_gmsh_point){tag, {xyz[0], xyz[1], xyz[2]}};
  return SP_OK;
}

sp_status sp_gmsh_add_element(sp_gmsh_model *m, const sp_gmsh_element *element, size_t **nodes) {
  const size_t count = (size_t)sp_gmsh_type_of(element->type)->nodes;
  SP_TRY(sp_reserve(m->node_count, count, sizeof *m->nodes, "items of a mesh", &m->nodes));
  SP_TRY(sp_reserve(m->element_count, 1, sizeof *m->elements, "items of a mesh", &m->elements));
  sp_gmsh_element *new = &m->elements[m->element_count++];
  *new = *element;
  new->first = m->node_count;
  *nodes = &m->nodes[m->node_count];
  m->node_count += count;
  return SP_OK;
}

sp_status sp_gmsh_add_entity(sp_gmsh_model *m, int dimension, int tag) {
  SP_TRY(sp_reserve(m->entity_count, 1, sizeof *m->entities, "items of a mesh", &m->entities));
  m->entities[m->entity_count++] = (sp_gmsh_entity){.dimension = dimension, .tag = tag};
  return SP_OK;
}

sp_status sp_gmsh_add_group(sp_gmsh_entity *entity, int number) {
  SP_TRY(sp_reserve((size_t)entity->group_count, 1, sizeof *entity->groups, "items of a mesh",
                    &entity->groups));
  entity->groups[entity->group_count++] = number;
  return SP_OK;
}

sp_status sp_gmsh_add_name(sp_gmsh_model *m, int dimension, int number, const char *text,
                           size_t length) {
  char *copy = NULL;
  SP_TRY(sp_reserve(m->name_count, 1, sizeof *m->names, "items of a mesh", &m->names));
  SP_TRY(sp_format(&copy, "%.*s", (int)length, text));
  m->names[m->name_count++] = (sp_gmsh_name){dimension, number, copy};
  return SP_OK;
}

sp_status sp_gmsh_add_part(sp_gmsh_model *m, int part, bool has_elements) {
  if (part > m->last_part) m->last_part = part;
  if (part < 1 || !has_elements) return SP_OK;
  for (size_t p = m->part_count; p > 0; p--)
    if (m->parts[p - 1] == part) return SP_OK;
  SP_TRY(sp_reserve(m->part_count, 1, sizeof *m->parts, "items of a mesh", &m->parts));
  m->parts[m->part_count++] = part;
  return SP_OK;
}

/* First try the last result: nodes and elements of an entity follow each other. */
sp_status sp_gmsh_find_entity(sp_gmsh_model *m, int dimension, int tag, int *index) {
  const size_t count = m->entity_count;
  size_t n = 0, e = 0;
  for (; n < count; n++) {
    e = (m->found + n) % count;
    if (m->entities[e].dimension == dimension && m->entities[e].tag == tag) break;
  }
  m->found = n < count ? e : count;
  *index = (int)m->found;
  return n < count ? SP_OK : sp_gmsh_add_entity(m, dimension, tag);
}

/* ---- Complete ---- */

int sp_gmsh_compare_sizes(const void *left, const void *right) {
  const size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a > b) - (a < b);
}

/* Equal nodes are harmless: some writers list a node once per entity. */
static sp_status sort_points(sp_gmsh_model *m) {
  bool ascending = true;
  for (size_t i = 1; i < m->point_count && ascending; i++)
    ascending = m->points[i - 1].tag < m->points[i].tag;
  if (!ascending) qsort(m->points, m->point_count, sizeof *m->points, sp_gmsh_compare_sizes);
  for (size_t i = 1; i < m->point_count && !ascending; i++) {
    const sp_gmsh_point *a = &m->points[i - 1], *b = &m->points[i];
    if (a->tag == b->tag &&
        (a->xyz[0] != b->xyz[0] || a->xyz[1] != b->xyz[1] || a->xyz[2] != b->xyz[2]))
      return sp_fail(SP_ERR_INPUT,
                     "%s: node %zu is both at (%.12g, %.12g, %.12g) and at (%.12g, %.12g, %.12g): "
                     "give every node a number of its own",
                     m->path, a->tag, a->xyz[0], a->xyz[1], a->xyz[2], b->xyz[0], b->xyz[1],
                     b->xyz[2]);
  }
  return SP_OK;
}

/* The index of the point with this tag, or the number of points. First tries the index in a
 * numbering without gaps. */
static size_t find_point(const sp_gmsh_model *m, size_t tag) {
  const size_t n = m->point_count;
  if (n == 0 || tag < m->points[0].tag) return n;
  const size_t place = tag - m->points[0].tag;
  if (place < n && m->points[place].tag == tag) return place;
  const sp_gmsh_point *found = bsearch(&tag, m->points, n, sizeof *m->points,
                                       sp_gmsh_compare_sizes); /* the tag is the first member */
  return found ? (size_t)(found - m->points) : n;
}

static void drop_unused(sp_gmsh_model *m) {
  const int lowest = m->sweep_count > 0 ? 1 : 2;
  size_t kept = 0;
  for (size_t e = 0; e < m->element_count; e++) {
    const sp_gmsh_entity *entity = &m->entities[m->elements[e].entity];
    if (entity->dimension >= lowest && !entity->is_artificial) m->elements[kept++] = m->elements[e];
  }
  m->element_count = kept;
}

static int compare_elements(const void *left, const void *right) {
  const sp_gmsh_element *a = left, *b = right;
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  if (a->type != b->type) return a->type < b->type ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

/* Order elements of format 2 by number, so that the first of repeated ones is kept. */
static int compare_numbered(const void *left, const void *right) {
  const sp_gmsh_element *a = left, *b = right;
  if (a->place != b->place || a->type != b->type) return compare_elements(left, right);
  return (a->tag > b->tag) - (a->tag < b->tag);
}

sp_status sp_gmsh_model_complete(sp_gmsh_model *m) {
  SP_TRY(sort_points(m));
  for (size_t i = 0; i < m->element_count; i++) {
    const sp_gmsh_element *e = &m->elements[i];
    for (size_t n = e->first; n < e->first + (size_t)sp_gmsh_type_of(e->type)->nodes; n++) {
      const size_t tag = m->nodes[n];
      m->nodes[n] = find_point(m, tag);
      if (m->nodes[n] == m->point_count || tag == 0)
        return sp_fail(SP_ERR_INPUT, "%s: element %zu refers to node %zu, which does not exist",
                       m->path, e->tag, tag);
    }
  }
  drop_unused(m);
  if (m->element_count > 0)
    qsort(m->elements, m->element_count, sizeof *m->elements,
          m->version >= 2 && m->version < 3 ? compare_numbered : compare_elements);
  return SP_OK;
}

void sp_gmsh_model_free(sp_gmsh_model *m) {
  for (size_t e = 0; e < m->entity_count; e++) free(m->entities[e].groups);
  for (size_t n = 0; n < m->name_count; n++) free(m->names[n].text);
  for (size_t s = 0; s < m->sweep_count; s++) SP_FREE(m->sweeps[s].sides, m->sweeps[s].sources);
  SP_FREE(m->points, m->elements, m->nodes, m->entities, m->names, m->parts, m->sweeps);
  *m = (sp_gmsh_model){0};
}

const char *sp_gmsh_group_name(const sp_gmsh_model *m, int dimension, int number) {
  for (size_t i = 0; i < m->name_count; i++) {
    const sp_gmsh_name *n = &m->names[i];
    if (n->number == number && (n->dimension == dimension || n->dimension < 0)) return n->text;
  }
  return "";
}
