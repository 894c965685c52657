/* Interpolation between spaces of two orders on the same elements, or of order 1 on a mesh and a
 * coarser one (mesh/coarsen.h), and its transpose, on L-vectors:
 *
 *     fine += P coarse        P: the polynomial of the coarse space at the fine space's nodes
 *     coarse = P^T fine       P^T = Z_c^T J^T W Z_f,  J the interpolation on a coarse element, W
 * one over the number of those (on all ranks) that share a fine DOF
 *
 * Constrained DOFs count as zero where they are read and stay as they are (fine) or become zero
 * (coarse) where they would be written, so P^T is the transpose of P on the unconstrained DOFs. */
#pragma once

#include "operators/operator.h"

typedef struct sp_transfer {
  const sp_space *fine; /* borrowed */
  sp_device_transfer *on_device;
} sp_transfer;

/* Between the space of an operator, which must outlive *out, and a space of at most its order on
 * the same mesh, or both of order 1 on a mesh made from it by sp_mesh_coarser, in the operator's
 * precision. Masks [local DOFs] may be NULL and are not used
 * afterwards; fine_constrained is the operator's. With exact_copies prolongation adds the same bits
 * to all copies of a DOF; without, it sends nothing, and copies differ by rounding. The caller
 * destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_transfer_create(const sp_operator *fine, const sp_space *coarse,
                             const bool *fine_constrained, const bool *coarse_constrained,
                             bool exact_copies, sp_transfer **out);

/* The nodes of sp_transfer_setup for two spaces of order 1. The caller frees *out. Local. */
sp_status sp_transfer_nodes(const sp_space *fine, const sp_space *coarse, sp_lid **out);

/* NULL-safe; sets *transfer to NULL. Local. */
void sp_transfer_destroy(sp_transfer **transfer);

/* The two operations above, on L-vectors of the transfer's precision. Return this rank's failure,
 * for the next reduction. Local, and Collective among neighbours. */
sp_status sp_transfer_prolong(sp_transfer *transfer, const sp_vector *coarse, sp_vector *fine);
sp_status sp_transfer_restrict(sp_transfer *transfer, const sp_vector *fine, sp_vector *coarse);
