/* Z^T at edges and vertices, and with patches (patches.h) inside faces. Entries of the L-vector
 * with more than two contributions are summed in the order of elements, so the result does not
 * depend on scheduling. A list is for the 32 targets of a warp: contribution c of target t is at
 *
 *     entries[start[t / 32] + 32 c + t % 32],    an index into the array of edge nodes (launch.h),
 *
 * or SP_CUDA_ABSENT if the target has fewer contributions than others of its group. A group without
 * contributions has no entries or flags. */
#pragma once

#include "operators/cuda/device.h"
#include "operators/cuda/launch.h"
#include "operators/cuda/patches.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SP_CUDA_ABSENT 0x7fffffffu /* no entry; the first one may have SP_CUDA_CONSTRAINED */

typedef struct sp_cuda_targets {
  int count;
  unsigned *start;   /* [groups + 1] */
  unsigned *entries; /* [start[groups]] */
} sp_cuda_targets;

typedef struct sp_cuda_assembly {
  int first_face, first_edge, owned, local; /* of an L-vector (mesh/numbering.h); by patches
                                               first_edge = first_face */
  /* The owned DOFs from first_edge on. DOFs shared with other ranks, complete after the exchange,
   * and DOFs completed by a patch (patches.h) have no entries. */
  sp_cuda_targets own;
  /* The shared DOFs, copies included: target t is DOF shared_dofs[t]. */
  sp_cuda_targets shared;
  int *shared_dofs;
  int *sent;       /* [sent entries], target in `shared`; shared.count: none */
  unsigned *waits; /* [local / 32 + 1], a bit per DOF: set if shared */
} sp_cuda_assembly;

/* Build the lists on the host and copy them to the device. The array of edge nodes is by element
 * (launch.h), or by slot if `patches` is not NULL. The caller frees *out with
 * sp_cuda_assembly_free, also after a failure. Indices must fit 30 bits, which setup.cu checks.
 * Local. */
sp_status sp_cuda_assembly_create(const sp_operator_setup *setup, const sp_patches *patches,
                                  sp_cuda_assembly *out);
void sp_cuda_assembly_free(sp_cuda_assembly *assembly);

/* Z^T for any order as plain lists: for each local DOF d its nodes, entries[start[d]] ... in an
 * E-vector [elements][Np], in the order of elements; none if `zero`, which may be NULL, has
 * zero[d]. Slower than the lists above, but without assumptions about the order of DOFs. The caller
 * frees both arrays, also after a failure. Errors: SP_ERR_INPUT for more than 2^31 element nodes.
 * Local. */
sp_status sp_cuda_gather_create(const struct sp_space *space, const bool *zero,
                                sp_cuda_targets *out);

/* Codes (launch.h) of the first `each` nodes of all elements in sp_cuda_node_order, on the device:
 * (*out)[elements][each]. dofs[elements][Nq^3] is lexicographic; a node without DOF has dofs =
 * `local`, the number of DOFs, and code 0. The first node of a DOF is the lowest one. The caller
 * frees *out. Local. */
sp_status sp_cuda_codes_create(int order, size_t elements, int each, const sp_lid *dofs,
                               sp_lid local, const bool *constrained, unsigned **out);

#ifdef __cplusplus
}
#endif
