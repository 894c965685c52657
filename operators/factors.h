/* The stored factors of an operator: geometry (mesh/geometry.h) times the coefficients of
 *
 *     -div(kappa grad u) + lambda u
 *
 * so that at every quadrature point the operator needs nothing else:
 *
 *     G <- kappa G,      wJ <- lambda wJ   where lambda varies (setup->lambda is 1 then). */
#ifndef SP_OPERATORS_FACTORS_H
#define SP_OPERATORS_FACTORS_H

#include "mesh/reference.h"
#include "operators/backend.h"

/* factors[SP_FACTORS][k][j][i] of one element on the tensor grid of `rule`, the operator's own
 * (operators/counts.h). Errors: SP_ERR_INPUT for an element with a non-positive Jacobian. Local. */
sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors);

#endif
