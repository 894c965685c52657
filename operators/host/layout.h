/* Pack a mesh, its numbering and its geometry into the blocks that the host's kernels sweep over.
 */
#pragma once

#include "operators/backend.h"
#include "operators/host/kernels.h"

/* Fill *layout for these kernels and the setup's tables (sp_host_tables_fill). The caller frees it
 * with sp_host_layout_free, also after a failure. Errors: SP_ERR_INPUT for an element with a
 * non-positive Jacobian. Local. */
sp_status sp_host_layout_create(const sp_host_kernels *kernels, const sp_operator_setup *setup,
                                const sp_host_tables *tables, sp_host_layout *layout);
void sp_host_layout_free(sp_host_layout *layout);

/* Copy the stored factors of an element: sp_backend.read_factors. Local. */
bool sp_host_layout_factors(const sp_host_layout *layout, const sp_operator_setup *setup, sp_lid e,
                            double *factors);

/* Fill the one-dimensional matrices, the quadrature rule and the node order of `kind` at `order`,
 * and settings for these kernels. Matrices are computed in double and rounded once, like the
 * layout's factors. Local. */
void sp_host_tables_fill(const sp_host_kernels *kernels, sp_operator_kind kind, int order,
                         sp_precision precision, sp_host_tables *tables);
