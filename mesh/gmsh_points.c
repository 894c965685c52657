/* The nodes of the model. */
#include <gmshc.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh_model.h"

static int compare_points(const void *left, const void *right) {
  const size_t a = ((const sp_gmsh_point *)left)->tag, b = ((const sp_gmsh_point *)right)->tag;
  return (a > b) - (a < b);
}

/* Some writers list a node once for each entity that it belongs to, which does no harm. */
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

/* Whole files number their nodes without gaps; the parts of a split one do not, and some writers
 * list a node twice. */
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
