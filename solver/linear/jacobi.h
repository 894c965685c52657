/* Jacobi's preconditioner: B = D^-1, the inverse of the operator's diagonal. */
#pragma once

#include "solver/linear/preconditioner.h"

/* Create the preconditioner for `op`, which was built from `setup` and must outlive *out.
 * sp_preconditioner_destroy frees *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_jacobi_create(sp_operator *op, const sp_operator_setup *setup,
                           sp_preconditioner **out);
