/* Parts of a mesh: find missing ones, and make new ones with the SDK's METIS. */
#include <gmshc.h>
#include <stdlib.h>

#include "mesh/gmsh_model.h"

/* ---- Completeness ---- */

/* Mark in there[size] the partitions 1 ... size of an entity, and raise *highest to the largest. */
static void mark_partitions(int dimension, int entity, int size, bool *there, int *highest) {
  int *list = NULL, error;
  size_t count = 0;
  gmshModelGetPartitions(dimension, entity, &list, &count, &error);
  for (size_t i = 0; i < count && !error; i++) {
    if (list[i] > *highest) *highest = list[i];
    if (list[i] >= 1 && list[i] <= size) there[list[i] - 1] = true;
  }
  gmshFree(list);
}

/* Mark the parts of a file of format 2, which the SDK ignores (gmsh_read.c). */
static void mark_parts(const sp_gmsh_format2 *format2, int size, bool *there, int *highest) {
  for (int p = 0; p < format2->part_room && p < size; p++) there[p] = format2->has_part[p];
  *highest = format2->part_count;
}

sp_status sp_gmsh_check_complete(const sp_gmsh_file *file, int files, size_t count,
                                 const int *volumes) {
  const char *path = file->path;
  int *pairs = NULL, error, parts = file->format2.part_count, highest = 0, missing = 0;
  size_t pair_count = 0;
  bool *there;
  gmshModelGetEntities(&pairs, &pair_count, -1, &error);
  if (error) return sp_gmsh_failed(path, "list the entities");
  for (size_t p = 0; p < pair_count; p += 2)
    mark_partitions(pairs[p], pairs[p + 1], 0, NULL, &parts);
  gmshFree(pairs);
  if (files > 0 && parts > files)
    return sp_fail(SP_ERR_INPUT, "%s: part %d of this mesh is missing: its files 1 to %d are here",
                   path, parts, files);
  if (files > 0) return SP_OK;
  SP_TRY(sp_allocate((size_t)parts, sizeof *there, "partitions", &there));
  for (size_t v = 0; v < count; v++) mark_partitions(3, volumes[v], parts, there, &highest);
  if (highest == 0) mark_parts(&file->format2, parts, there, &highest);
  for (int p = parts; p >= 1; p--)
    if (!there[p - 1]) missing = p;
  free(there);
  if (highest == 0 || missing == 0) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s: part %d of this mesh is not in it: to read all parts of a split mesh, name "
                 "it without the number",
                 path, missing);
}

/* ---- METIS ----
 * METIS gets a model of its own, made of corners that are numbered without gaps: its tables are as
 * long as the largest number of a node, and renumbering the nodes of the model that was read leaves
 * them so. */

enum { HEXAHEDRON = 5 }; /* gmsh's number of the type with eight nodes */

/* Input of the model; tags of elements are 1, 2 ... in the order of the hexahedra. */
typedef struct connectivity {
  size_t *node_tags, *element_tags, *corners;
  double *coordinates;
} connectivity;

static sp_status connectivity_create(const sp_hexes *hexes, const sp_gmsh_points *points,
                                     connectivity *c) {
  static const int gmsh_order[SP_CORNERS] = {0, 1, 3, 2, 4, 5, 7, 6};
  const size_t elements = (size_t)hexes->count, nodes = points->count;
  SP_TRY(sp_allocate(nodes, sizeof *c->node_tags, "nodes", &c->node_tags));
  SP_TRY(sp_allocate(3 * nodes, sizeof *c->coordinates, "nodes", &c->coordinates));
  SP_TRY(sp_allocate(elements, sizeof *c->element_tags, "element tags", &c->element_tags));
  SP_TRY(sp_allocate(SP_CORNERS * elements, sizeof *c->corners, "corners", &c->corners));
  for (size_t n = 0; n < nodes; n++) c->node_tags[n] = n + 1; /* METIS asks for no coordinates */
  for (size_t e = 0; e < elements; e++) {
    c->element_tags[e] = e + 1;
    for (int v = 0; v < SP_CORNERS; v++) {
      const size_t tag = (size_t)hexes->vertices[e][gmsh_order[v]] + 1;
      c->corners[SP_CORNERS * e + (size_t)v] = sp_gmsh_points_find(points, tag) + 1;
    }
  }
  return SP_OK;
}

static void connectivity_free(connectivity *c) {
  free(c->node_tags);
  free(c->element_tags);
  free(c->corners);
  free(c->coordinates);
}

/* Replace the open model. */
static sp_status make_model(const sp_gmsh_file *file, const sp_hexes *hexes) {
  sp_gmsh_points points;
  connectivity c = {0};
  int error = 0;
  SP_TRY(sp_gmsh_points_read(file, &points));
  sp_status status = connectivity_create(hexes, &points, &c);
  if (!status) {
    const size_t elements = (size_t)hexes->count, nodes = points.count;
    gmshClear(&error);
    if (!error) gmshModelAddDiscreteEntity(3, 1, NULL, 0, &error);
    if (!error)
      gmshModelMeshAddNodes(3, 1, c.node_tags, nodes, c.coordinates, 3 * nodes, NULL, 0, &error);
    if (!error)
      gmshModelMeshAddElementsByType(1, HEXAHEDRON, c.element_tags, elements, c.corners,
                                     SP_CORNERS * elements, &error);
    if (error) status = sp_gmsh_failed(file->path, "make a model of the corners");
  }
  connectivity_free(&c);
  sp_gmsh_points_free(&points);
  return status;
}

static sp_status assign_volume(const char *path, int entity, sp_lid count, int size, int *parts) {
  int *partitions = NULL, error;
  size_t partition_count = 0;
  gmshModelGetPartitions(3, entity, &partitions, &partition_count, &error);
  const int part = !error && partition_count > 0 ? partitions[0] - 1 : -1;
  gmshFree(partitions);
  if (part < 0 || part >= size) return SP_OK; /* an entity that was replaced by its parts */
  sp_gmsh_file none = {.path = path};         /* numbers of this model are not those of the file */
  sp_gmsh_block b;
  SP_TRY(sp_gmsh_block_get(&none, 3, entity, &b));
  for (size_t t = 0; t < b.type_count; t++)
    for (size_t e = 0; e < b.tag_counts[t]; e++)
      if (b.tags[t][e] >= 1 && b.tags[t][e] <= (size_t)count) parts[b.tags[t][e] - 1] = part;
  sp_gmsh_block_free(&b);
  return SP_OK;
}

sp_status sp_gmsh_partition(const sp_gmsh_file *file, const sp_hexes *hexes, int size, int *parts) {
  const char *path = file->path;
  if (size == 1) return SP_OK;
  if (hexes->count < size)
    return sp_fail(SP_ERR_INPUT,
                   "%s: %d ranks for a mesh of %d element%s: use at most one rank per element",
                   path, size, hexes->count, sp_plural(hexes->count));
  int error, *pairs = NULL;
  size_t pair_count = 0;
  SP_TRY(make_model(file, hexes));
  gmshOptionSetNumber("Mesh.PartitionCreateTopology", 0, &error);
#ifdef SP_GMSH_PARTITION_LISTS
  gmshModelMeshPartition(size, NULL, 0, NULL, 0, &error);
#else
  gmshModelMeshPartition(size, &error);
#endif
  if (error) return sp_gmsh_failed(path, "partition the mesh");
  gmshModelGetEntities(&pairs, &pair_count, 3, &error);
  if (error) return sp_gmsh_failed(path, "list the partitions");
  for (sp_lid e = 0; e < hexes->count; e++) parts[e] = -1;
  sp_status status = SP_OK;
  for (size_t p = 0; p < pair_count && !status; p += 2)
    status = assign_volume(path, pairs[p + 1], hexes->count, size, parts);
  for (sp_lid e = 0; e < hexes->count && !status; e++)
    if (parts[e] < 0)
      status = sp_fail(SP_ERR_SYSTEM, "%s: gmsh gave element %lld no partition", path,
                       (long long)hexes->tags[e]);
  gmshFree(pairs);
  return status;
}
