/* Patches of elements, for local operators of order 1 between L-vectors (patches.cuh).
 *
 * At order 1 all nodes are vertices, and an element has eight of them for about one DOF. So a block
 * works on a patch: SP_CUDA_PATCH successive elements. It reads each vertex of the patch once, and
 * adds up what its elements contribute to a vertex. The sum goes straight to y if the vertex is
 * complete, that is, if no other patch, no second vertex with the same DOF (across a period) and no
 * other rank contributes to it. Otherwise it goes to a slot in the array of edge nodes
 * (assembly.h). A patch has either halo elements or others (mesh/mesh.h), never both. */
#ifndef SP_OPERATORS_CUDA_PATCHES_H
#define SP_OPERATORS_CUDA_PATCHES_H

#include "io/error.h"
#include "operators/backend.h"
#include "operators/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Patches in host memory. Vertices of a patch are numbered from zero, the complete ones first. */
typedef struct sp_patches {
  int count, halo;               /* patches; those of halo elements, which come first */
  int most_vertices, most_words; /* of a patch */
  size_t vertices, slots, groups, words;
  sp_cuda_patch *list; /* [count] */
  unsigned *codes;     /* [vertices], as of nodes (launch.h) */
  double *points;      /* [3 vertices], coordinates: [3][vertices of the patch] by patch */
  /* [elements], the vertices of corner 0, 1, ... (mesh/hexes.h) */
  unsigned short (*corners)[SP_CORNERS];
  /* What is added up at a vertex, in the order of elements, by groups of 32 vertices, those of one
   * warp: contributions 2 w and 2 w + 1 of vertex n are the lower and upper half of
   *
   *     entries[start[group + n / 32] + 32 w + n % 32]
   *
   * with the patch's first group. A contribution is SP_CUDA_PATCH * corner + element, counted from
   * the patch's first one, or SP_CUDA_NO_CORNER. */
  unsigned *start;   /* [groups + 1] */
  unsigned *entries; /* [words] */
  sp_lid *slot_dofs; /* [slots] */
} sp_patches;

/* The patches of the setup's space, of order 1 and with elements of eight nodes, with its
 * `constrained`. sp_patches_free frees *out, also after a failure. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_patches_create(const sp_operator_setup *setup, sp_patches *out);
void sp_patches_free(sp_patches *patches);

/* Number of patches of that many successive elements. */
static inline int sp_cuda_patch_count(int elements) {
  return (elements + SP_CUDA_PATCH - 1) / SP_CUDA_PATCH;
}

#ifdef __cplusplus
}
#endif

#endif
