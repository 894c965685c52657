/* Interpolation on L-vectors, and its transpose, between spaces of two orders on the same elements,
 * or of order 1 on a mesh and a coarser one (mesh/coarsen.h):
 *
 *     fine += P coarse        P: the polynomial of the coarse space at the fine space's nodes
 *     coarse = P^T fine       P^T = Z_c^T J^T W Z_f,  J the interpolation on a coarse element, W
 *                             one over the number of coarse elements that share a fine DOF
 *
 * Constrained DOFs count as zero on input. On output fine ones do not change and coarse ones become
 * zero. So P^T is the transpose of P on the unconstrained DOFs. */
#pragma once

#include "operators/operator.h"

typedef struct sp_transfer {
  const sp_space *fine; /* borrowed */
  sp_device_transfer *on_device;
} sp_transfer;

/* Connect the space of an operator, which must outlive *out, with a space of lower or equal order
 * on the same mesh, or both of order 1, on a mesh by sp_mesh_coarser. The precision is the
 * operator's. Masks [local DOFs] may be NULL and are not used afterwards; fine_constrained is the
 * operator's. With exact_copies prolongation adds the same bits to all copies of a DOF. Without it
 * copies differ by rounding, and nothing is sent. The caller destroys *out. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_transfer_create(const sp_operator *fine, const sp_space *coarse,
                             const bool *fine_constrained, const bool *coarse_constrained,
                             bool exact_copies, sp_transfer **out);

/* The nodes of sp_transfer_setup for two spaces of order 1. The caller frees *out. Local. */
sp_status sp_transfer_nodes(const sp_space *fine, const sp_space *coarse, sp_lid **out);

/* NULL-safe; sets *transfer to NULL. Local. */
void sp_transfer_destroy(sp_transfer **transfer);

/* The two operations above, on L-vectors of the transfer's precision. Return this rank's failure,
 * for the next reduction. Collective among neighbours. */
sp_status sp_transfer_prolong(sp_transfer *transfer, const sp_vector *coarse, sp_vector *fine);
sp_status sp_transfer_restrict(sp_transfer *transfer, const sp_vector *fine, sp_vector *coarse);
