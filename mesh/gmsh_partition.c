#include <gmshc.h>
#include <stdlib.h>

#include "mesh/gmsh_model.h"

typedef struct tagged {
  sp_gid tag;
  sp_lid element;
} tagged;

static int compare_tags(const void *left, const void *right) {
  const tagged *a = left, *b = right;
  return (a->tag > b->tag) - (a->tag < b->tag);
}

static sp_status assign_volume(const char *path, int entity, const tagged *known, size_t count,
                               int size, int *parts) {
  int *partitions = NULL, error;
  size_t partition_count = 0;
  gmshModelGetPartitions(3, entity, &partitions, &partition_count, &error);
  const int part = !error && partition_count > 0 ? partitions[0] - 1 : -1;
  gmshFree(partitions);
  if (part < 0 || part >= size) return SP_OK; /* an entity that was replaced by its parts */
  sp_gmsh_block b;
  SP_TRY(sp_gmsh_block_get(path, 3, entity, &b));
  for (size_t t = 0; t < b.type_count; t++)
    for (size_t e = 0; e < b.tag_counts[t]; e++) {
      const tagged key = {.tag = (sp_gid)b.tags[t][e]};
      const tagged *found = bsearch(&key, known, count, sizeof key, compare_tags);
      if (found) parts[found->element] = part;
    }
  sp_gmsh_block_free(&b);
  return SP_OK;
}

sp_status sp_gmsh_partition(const char *path, const sp_hexes *hexes, int size, int *parts) {
  if (size == 1) return SP_OK;
  if (hexes->count < size)
    return sp_fail(SP_ERR_INPUT,
                   "%s: %d ranks for a mesh of %d elements: use at most one rank an element", path,
                   size, hexes->count);
  int error, *pairs = NULL;
  size_t pair_count = 0;
  gmshOptionSetNumber("Mesh.PartitionCreateTopology", 0, &error);
#ifdef SP_GMSH_PARTITION_LISTS
  gmshModelMeshPartition(size, NULL, 0, NULL, 0, &error);
#else
  gmshModelMeshPartition(size, &error);
#endif
  if (error) return sp_gmsh_failed(path, "partition the mesh");
  gmshModelGetEntities(&pairs, &pair_count, 3, &error);
  if (error) return sp_gmsh_failed(path, "list the partitions");
  tagged *known = NULL;
  sp_status status = sp_allocate((size_t)hexes->count, sizeof *known, "element tags", &known);
  if (!status) {
    for (sp_lid e = 0; e < hexes->count; e++) {
      known[e] = (tagged){hexes->tags[e], e};
      parts[e] = -1;
    }
    qsort(known, (size_t)hexes->count, sizeof *known, compare_tags);
  }
  for (size_t p = 0; p < pair_count && !status; p += 2)
    status = assign_volume(path, pairs[p + 1], known, (size_t)hexes->count, size, parts);
  for (sp_lid e = 0; e < hexes->count && !status; e++)
    if (parts[e] < 0)
      status = sp_fail(SP_ERR_SYSTEM, "%s: gmsh gave element %lld no partition", path,
                       (long long)hexes->tags[e]);
  gmshFree(pairs);
  free(known);
  return status;
}
