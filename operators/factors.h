/* The factors of an operator: geometry (mesh/geometry.h) and the coefficients of
 *
 *     -div(kappa grad u) + lambda u
 *
 * Stored factors hold the coefficients, so that at every quadrature point the operator needs
 * nothing else:
 *
 *     G <- kappa G,      wJ <- lambda wJ   where lambda has values (setup->lambda is 1 then).
 *
 * Recomputed factors come from the 24 coefficients of the trilinear map. Kernels do not need the
 * first three, the element's position. Where kappa and lambda are constant in each element, they
 * are stored in the first two instead. */
#ifndef SP_OPERATORS_FACTORS_H
#define SP_OPERATORS_FACTORS_H

#include "mesh/reference.h"
#include "operators/backend.h"

/* factors[SP_FACTORS][k][j][i] of one element on the tensor grid of `rule`, the operator's own
 * (operators/counts.h). Errors: SP_ERR_INPUT for an element with a non-positive Jacobian. Local. */
sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors);

/* What the kernels of this operator compute their factors from. Local. */
sp_factor_kind sp_operator_factor_kind(const sp_operator_setup *setup);

/* Fill coefficients[8][3] of the element's trilinear map (mesh/geometry.h). For SP_FACTORS_SCALED
 * the first two are kappa and lambda of the element. The setup has trilinear geometry. Local. */
void sp_operator_trilinear(const sp_operator_setup *setup, sp_lid element, double coefficients[24]);

#endif
