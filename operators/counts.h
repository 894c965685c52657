/* The three problems as one table: quadrature, floating-point operations and bytes (paper, Table 2
 * and Section "Empirical performance model"). A multiply-add counts as two. The counts do not
 * change with the algorithm: even-odd decomposition or recomputed geometry raise the rate, not the
 * count. */
#ifndef SP_OPERATORS_COUNTS_H
#define SP_OPERATORS_COUNTS_H

#include <stdbool.h>

#include "io/error.h"
#include "mesh/reference.h"
#include "operators/kinds.h"

/* The quadrature rule of a problem: GL with N + 2 points, or GLL at the N + 1 nodes (bp3.5). Local.
 */
const sp_rule *sp_operator_rule(sp_operator_kind kind, int order);

/* Whether the problem has derivatives (bp3.5 and bp3.0) or is a mass matrix. Local. */
bool sp_operator_has_stiffness(sp_operator_kind kind);

/* Flops of the local operator on one element; Nq = N + 1, M = N + 2:
 *     mass    4 (Nq^3 M + Nq^2 M^2 + Nq M^3) + M^3
 *     bp3.5   12 Nq^4 + 18 Nq^3
 *     bp3.0   4 (Nq^3 M + Nq^2 M^2 + Nq M^3) + 12 M^4 + 18 M^3 Local. */
double sp_operator_flops(sp_operator_kind kind, int order);

/* Bytes that the unassembled operator must move for one element: input, output and factors, which
 * for stored geometry are one double a point (mass) or seven, for trilinear 24 doubles in all.
 * Local. */
double sp_operator_bytes(sp_operator_kind kind, sp_geometry_kind geometry, int order);

/* The same between L-vectors, for `dofs` local DOFs and `elements` elements: factors once an
 * element, x and y once a DOF, 4 bytes for each of the Nq^3 indices of an element. Local. */
double sp_operator_bytes_assembled(sp_operator_kind kind, sp_geometry_kind geometry, int order,
                                   double elements, double dofs);

/* Bytes that a device holds during the solve, for a rank's `elements` and `dofs` (copies included);
 * the prediction of --dry-run. Local. */
double sp_operator_device_bytes(sp_operator_kind kind, sp_geometry_kind geometry, int order,
                                double elements, double dofs, bool jacobi);

/* A device has 30 bits for the DOFs of a rank (copies included), and for the nodes of its elements
 * that are on edges or at vertices. SP_ERR_INPUT where they are too few. Local. */
enum { SP_DEVICE_MOST = 0x3fffffff };
sp_status sp_operator_device_numbers(int order, double elements, double dofs);

#endif
