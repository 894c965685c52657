/* What mesh/gmsh.c and mesh/gmsh_partition.c share of the model that the SDK has open on this rank;
 * of no use elsewhere. All functions Local. */
#ifndef SP_MESH_GMSH_MODEL_H
#define SP_MESH_GMSH_MODEL_H

#include "mesh/hexes.h"

/* Elements of one entity as the SDK returns them: by type. */
typedef struct sp_gmsh_block {
  int *types;
  size_t **tags, **nodes;
  size_t *tag_counts, *node_counts, type_count, unused;
} sp_gmsh_block;

/* Elements of an entity; *b is freed by sp_gmsh_block_free. Errors: SP_ERR_INPUT with `path`. */
sp_status sp_gmsh_block_get(const char *path, int dimension, int entity, sp_gmsh_block *b);
void sp_gmsh_block_free(sp_gmsh_block *b);

/* SP_ERR_INPUT: "PATH: gmsh could not WHAT", with the SDK's reason if it gives one. */
sp_status sp_gmsh_failed(const char *path, const char *what);

/* Divide the open model into `size` parts with METIS: parts[e] is the part of element e of `hexes`.
 * The SDK moves elements to new entities, so nothing is read from the model afterwards. Errors:
 * SP_ERR_INPUT if there are fewer elements than parts. */
sp_status sp_gmsh_partition(const char *path, const sp_hexes *hexes, int size, int *parts);

#endif
