#include "mesh/gmsh_model.h"

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

sp_status sp_gmsh_type_get(const char *path, int type, sp_gmsh_type *out) {
  char *name = NULL;
  double *coordinates = NULL;
  size_t coordinate_count;
  int error;
  *out = (sp_gmsh_type){0};
  gmshModelMeshGetElementProperties(type, &name, &out->dimension, &out->order, &out->nodes,
                                    &coordinates, &coordinate_count, &out->corners, &error);
  if (error) return sp_gmsh_failed(path, "describe an element type");
  snprintf(out->name, sizeof out->name, "%s", name);
  const int n = out->order + 1, c = out->corners;
  sp_status status = SP_OK;
  const bool known = out->dimension == 3 && (c == 4 || c == 6 || c == SP_CORNERS);
  const sp_cell_shape shape = c == 4 ? SP_TETRAHEDRON : c == 6 ? SP_PRISM : SP_HEXAHEDRON;
  if (known && out->nodes == sp_cell_nodes(shape, out->order)) {
    status = sp_allocate((size_t)out->nodes, sizeof *out->lattice, "element type", &out->lattice);
    for (int p = 0; p < out->nodes && !status; p++) {
      int place[3];
      for (int d = 0; d < 3; d++) { /* from 0, or of an interval from -1 to 1 */
        const bool interval = shape == SP_HEXAHEDRON || (shape == SP_PRISM && d == 2);
        const double at = coordinates[3 * p + d];
        place[d] = (int)lround((interval ? (at + 1) / 2 : at) * out->order);
      }
      out->lattice[p] = (place[2] * n + place[1]) * n + place[0];
    }
  }
  gmshFree(name);
  gmshFree(coordinates);
  return status;
}

/* The SDK may crash if it is asked to describe a type that it does not know. */
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

int sp_gmsh_type_nodes(int type) {
  enum { TYPES = 256, UNKNOWN = -1 };
  static int nodes[TYPES]; /* 0: not asked yet */
  sp_gmsh_type properties;
  if (type < 1 || type >= TYPES) return 0;
  if (nodes[type] == 0) {
    nodes[type] = UNKNOWN;
    if (type_exists(type) && sp_gmsh_type_get("", type, &properties) == SP_OK) {
      nodes[type] = properties.nodes;
      free(properties.lattice);
    }
  }
  return nodes[type] == UNKNOWN ? 0 : nodes[type];
}

/* ---- Elements ---- */

void sp_gmsh_block_free(sp_gmsh_block *b) {
  for (size_t t = 0; t < b->type_count; t++) {
    gmshFree(b->tags[t]);
    gmshFree(b->nodes[t]);
  }
  gmshFree(b->types);
  gmshFree(b->tags);
  gmshFree(b->nodes);
  gmshFree(b->tag_counts);
  gmshFree(b->node_counts);
}

sp_status sp_gmsh_block_get(sp_gmsh_file *file, int dimension, int entity, sp_gmsh_block *b) {
  int error;
  *b = (sp_gmsh_block){0};
  gmshModelMeshGetElements(&b->types, &b->type_count, &b->tags, &b->tag_counts, &b->unused,
                           &b->nodes, &b->node_counts, &b->unused, dimension, entity, &error);
  if (error) return sp_gmsh_failed(file->path, "list the elements");
  for (size_t t = 0; t < b->type_count; t++) {
    const int type = b->types[t];
    if (type > 0 && type < SP_GMSH_TYPES) file->returned[type] += b->tag_counts[t];
    for (size_t e = 0; e < b->tag_counts[t] && file->format4.copy; e++)
      b->tags[t][e] = sp_gmsh_number_in_file(&file->format4.elements, b->tags[t][e]);
    for (size_t n = 0; n < b->node_counts[t] && file->format4.copy; n++)
      b->nodes[t][n] = sp_gmsh_number_in_file(&file->format4.nodes, b->nodes[t][n]);
  }
  return SP_OK;
}

/* ---- Nodes ---- */

static int compare_points(const void *left, const void *right) {
  const size_t a = ((const sp_gmsh_point *)left)->tag, b = ((const sp_gmsh_point *)right)->tag;
  return (a > b) - (a < b);
}

/* Refuse nodes with one number and different places. Equal ones are harmless: some writers list a
 * node once for each entity that it belongs to. */
static sp_status check_twins(const char *path, const sp_gmsh_points *points) {
  for (size_t i = 1; i < points->count; i++) {
    const sp_gmsh_point *a = &points->list[i - 1], *b = &points->list[i];
    if (a->tag == b->tag &&
        (a->xyz[0] != b->xyz[0] || a->xyz[1] != b->xyz[1] || a->xyz[2] != b->xyz[2]))
      return sp_fail(SP_ERR_INPUT,
                     "%s: node %zu is both at (%.12g, %.12g, %.12g) and at (%.12g, %.12g, %.12g): "
                     "give every node a "
                     "number of its own",
                     path, a->tag, a->xyz[0], a->xyz[1], a->xyz[2], b->xyz[0], b->xyz[1],
                     b->xyz[2]);
  }
  return SP_OK;
}

sp_status sp_gmsh_points_read(const sp_gmsh_file *file, sp_gmsh_points *points) {
  size_t *tags = NULL, tag_count = 0, coordinate_count = 0, parameter_count = 0;
  double *coordinates = NULL, *parameters = NULL;
  int error;
  *points = (sp_gmsh_points){0};
  gmshModelMeshGetNodes(&tags, &tag_count, &coordinates, &coordinate_count, &parameters,
                        &parameter_count, -1, -1, 0, 0, &error);
  if (error) return sp_gmsh_failed(file->path, "list the nodes");
  sp_status status = sp_allocate(tag_count, sizeof *points->list, "nodes", &points->list);
  if (!status) {
    bool ascending = true;
    points->count = tag_count;
    for (size_t i = 0; i < tag_count; i++) {
      points->list[i].tag = sp_gmsh_number_in_file(&file->format4.nodes, tags[i]);
      memcpy(points->list[i].xyz, &coordinates[3 * i], sizeof points->list[i].xyz);
      ascending = ascending && (i == 0 || tags[i - 1] < tags[i]);
    }
    if (!ascending) {
      qsort(points->list, tag_count, sizeof *points->list, compare_points);
      status = check_twins(file->path, points);
    }
  }
  if (status) sp_gmsh_points_free(points);
  gmshFree(tags);
  gmshFree(coordinates);
  gmshFree(parameters);
  return status;
}

/* Try the place of a numbering without gaps first. Parts of a split mesh have gaps, and some
 * writers list a node twice. */
size_t sp_gmsh_points_find(const sp_gmsh_points *points, size_t tag) {
  const size_t n = points->count;
  if (n == 0 || tag < points->list[0].tag) return n;
  const size_t place = tag - points->list[0].tag;
  if (place < n && points->list[place].tag == tag) return place;
  const sp_gmsh_point wanted = {.tag = tag};
  const sp_gmsh_point *found =
      bsearch(&wanted, points->list, n, sizeof *points->list, compare_points);
  return found ? (size_t)(found - points->list) : n;
}

void sp_gmsh_points_free(sp_gmsh_points *points) {
  free(points->list);
  *points = (sp_gmsh_points){0};
}
