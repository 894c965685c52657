/* Patches of elements, for local operators of low order between L-vectors (patches.cuh).
 *
 * At orders 1 and 2 an element has 8 and 27 nodes for about 1 and 8 DOFs. So a block works on a
 * patch: SP_CUDA_PATCH(order) successive elements. It reads each node of the patch once, and sums
 * the contributions of its elements at each node. The sum goes straight to y if the node is
 * complete: no other patch, no second node with the same DOF (across a period) and no other rank
 * contributes to it. Otherwise it goes to a slot in the array of edge nodes (assembly.h). A patch
 * has only halo elements or none (mesh/mesh.h). */
#pragma once

#include "io/error.h"
#include "operators/backend.h"
#include "operators/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Patches in host memory. Nodes of a patch are numbered from zero, the complete ones first, then by
 * decreasing number of contributions. At order 1 nodes have coordinates, so across a period two
 * nodes have the same DOF. */
typedef struct sp_patches {
  int order, each, results;   /* nodes per element, and results, SP_CUDA_PATCH_RESULTS */
  int count, halo;            /* patches; the first `halo` have halo elements */
  int most_nodes, most_words; /* of a patch */
  size_t nodes, slots, groups, words;
  sp_cuda_patch *list; /* [count] */
  unsigned *codes;     /* [nodes], codes (launch.h) */
  /* Order 1: coordinates, [3 nodes], [3][nodes of the patch] by patch. Order 2: coefficients of the
   * trilinear maps (launch.h), [24 elements], [24][elements of the patch] by patch. */
  double *geometry;
  size_t geometry_count;
  /* The nodes of an element's lattice, two per word, [element_words elements], by patch
   * [element_words][elements of the patch]: node q is the lower or upper half of word q / 2. */
  unsigned *pairs;
  int element_words;
  /* Terms of the sum at a node, in the order of elements, by the 32 nodes of a warp: entries 2 w
   * and 2 w + 1 of node n are the lower and upper half of
   *
   *     entries[start[group + n / 32] + 32 w + n % 32]
   *
   * with the patch's first group. An entry is results * element + node of the lattice, the element
   * relative to the patch's first one, or SP_CUDA_PATCH_NONE. */
  unsigned *start;   /* [groups + 1] */
  unsigned *entries; /* [words] */
  sp_lid *slot_dofs; /* [slots] */
} sp_patches;

/* Make the patches of the setup's space, of order 1 or 2 with elements of eight nodes. Uses the
 * setup's `constrained` and, in scaled maps of order 2, its coefficients. The caller frees *out
 * with sp_patches_free, also after a failure. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_patches_create(const sp_operator_setup *setup, sp_patches *out);
void sp_patches_free(sp_patches *patches);

/* The patch's node at node q of the lattice of its element e, relative to its first element. */
static inline int sp_patches_node(const sp_patches *patches, const sp_cuda_patch *patch, int e,
                                  int q) {
  const size_t first = (size_t)patch->element * (size_t)patches->element_words;
  const unsigned pair = patches->pairs[first + (size_t)(q / 2 * patch->elements + e)];
  return (int)(pair >> (q % 2 * 16) & 0xffff);
}

#ifdef __cplusplus
}
#endif
