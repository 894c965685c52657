/* Additive Schwarz on blocks of elements, a symmetric and positive definite approximation S of the
 * inverse of an operator with stiffness, for smoothers:
 *
 *     z = W sum over blocks of R_B^T P_B A_B^-1 P_B R_B W r
 *
 * A block is a column of strongly coupled elements (mesh/columns.h), or an element in no column.
 * A_B consists of the elements as boxes (operators/schwarz/separable.h). The inverse of an element
 * is three small matrix products per direction (fast diagonalization, Lynch, Rice and Thomas 1964);
 * a column costs the same per element, by static condensation (operators/schwarz/column_factors.h).
 * Ends of the one-dimensional matrices:
 *
 *     a neighbour:   + the neighbour's entries there, times kappa_neighbour / kappa
 *     Dirichlet:     the node is eliminated
 *     Robin:         + alpha / kappa
 *
 * A column has one lateral matrix per direction, with means over its elements; terms that hold only
 * one of its elements are limited to the coupling along the column. Ends also include the hold of
 * stiff elements, and of Dirichlet nodes, that touch the block only by edges. P_B^2 is the block's
 * share of the diagonal of the assembled boxes, with Robin's ends, at a node, so the stiffer of two
 * blocks dominates (iteration counts: solver/README.md). Along the lines of a column, and in
 * elements that are strong in two directions, it varies little (columns.c). W = Delta^(-1/2) with
 * Delta = diagonal of A / diagonal of the assembled boxes. On sets of DOFs
 * that blocks do not suit, A is inverted (operators/schwarz/sets.h). */
#pragma once

#include "operators/operator.h"
#include "operators/schwarz/separable.h"
#include "operators/space.h"

typedef struct sp_schwarz sp_schwarz;

/* For `op`, of order 2 or more, which was built from `setup`, with boxes[elements] from
 * sp_separable_fill and the operator's inverse diagonal, inverse[local DOFs]. `setup` and the
 * arrays must outlive calls of sp_schwarz_correct; op must outlive *out. The caller destroys *out.
 * Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_schwarz_create(const sp_operator *op, const sp_operator_setup *setup,
                            const sp_separable *boxes, const double *inverse, sp_schwarz **out);

/* Numbers of columns (mesh/columns.h) and of their elements, over all ranks. */
typedef struct sp_column_counts {
  sp_gid columns, elements;
} sp_column_counts;

/* Local. */
sp_column_counts sp_schwarz_columns(const sp_schwarz *schwarz);

/* NULL-safe; sets *schwarz to NULL. Collective. */
void sp_schwarz_destroy(sp_schwarz **schwarz);

/* The sets are the DOFs with marks[local DOFs] > 0, the same on all ranks, and those where contacts
 * branch or cross. NULL: only those. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_schwarz_correct(sp_schwarz *schwarz, const double *marks);

/* z = S r on L-vectors of the operator's precision, zero at constrained DOFs; z is not r. Returns
 * this rank's failure, for the next reduction. Collective among neighbours. */
sp_status sp_schwarz_apply(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z);

/* z = S r, then a step of Chebyshev's iteration from it: step->t is z, scratch as in
 * sp_operator_apply_step, and step->q is NULL. Collective among neighbours. */
sp_status sp_schwarz_step(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z,
                          const sp_smoothing *step);
