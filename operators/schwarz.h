/* Additive Schwarz on the elements, a symmetric and positive definite approximation S of the
 * inverse of an operator with stiffness, for smoothers:
 *
 *     z = W sum over elements of R_e^T P_e A_e^-1 P_e R_e W r
 *
 * A_e is the element as a box (operators/separable.h), whose inverse is three small matrix products
 * per direction (fast diagonalization, Lynch, Rice and Thomas 1964). Ends of its one-dimensional
 * matrices:
 *     a neighbour:   + the neighbour's entries there, times kappa_neighbour / kappa
 *     Dirichlet:     the node is left out
 *     Robin:         + alpha / kappa
 * P_e^2 is the element's share of the diagonal of the assembled boxes at a node: if elements meet,
 * the stiffer one decides (counts: solver/README.md). W = Delta^(-1/2) with Delta = diagonal of A /
 * diagonal of the assembled boxes. */
#ifndef SP_OPERATORS_SCHWARZ_H
#define SP_OPERATORS_SCHWARZ_H

#include "operators/operator.h"
#include "operators/separable.h"
#include "operators/space.h"

typedef struct sp_schwarz sp_schwarz;

/* For `op`, of order 2 or more, which was built from `setup`, with boxes[elements] from
 * sp_separable_fill and the operator's inverse diagonal, inverse[local DOFs]. `setup` and the
 * arrays are not used afterwards, op must outlive *out. The caller destroys *out. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_schwarz_create(const sp_operator *op, const sp_operator_setup *setup,
                            const sp_separable *boxes, const double *inverse, sp_schwarz **out);

/* NULL-safe; sets *schwarz to NULL. Local. */
void sp_schwarz_destroy(sp_schwarz **schwarz);

/* z = S r on L-vectors of the operator's precision, zero at constrained DOFs; z is not r. Returns
 * this rank's failure, for the next reduction. Collective among neighbours. */
sp_status sp_schwarz_apply(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z);

/* z = S r, then a step of Chebyshev's iteration from it: step->t is z, scratch as in
 * sp_operator_apply_step, and step->q is NULL. Collective among neighbours. */
sp_status sp_schwarz_step(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z,
                          const sp_smoothing *step);

#endif
