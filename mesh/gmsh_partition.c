/* Parts of a mesh that gmsh has partitioned: find missing ones. */
#include <gmshc.h>
#include <stdlib.h>

#include "mesh/gmsh_model.h"

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
