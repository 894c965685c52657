/* Quadrature, flops and bytes of the operators, from their rows (operators/kinds.h; paper, Table 2
 * and Section "Empirical performance model"). A multiply-add counts as two. The counts do not
 * change with the algorithm: even-odd decomposition or recomputed geometry raise the rate, not the
 * count. */
#pragma once

#include "io/error.h"
#include "mesh/reference.h"
#include "operators/kinds.h"

/* The quadrature rule of an operator: GLL at the N + 1 nodes if collocated, else GL with N + 2
 * points. Local. */
const sp_rule *sp_operator_rule(sp_operator_kind kind, int order);

/* Flops of the local operator on one element, the sum of (Nq = N + 1, M points in each direction)
 *     4 (Nq^3 M + Nq^2 M^2 + Nq M^3)   to interpolate and back; 0 if collocated
 *     12 M^4                           for the gradient and its transpose, with stiffness
 *     point_flops M^3                  at the quadrature points
 * Local. */
double sp_operator_flops(sp_operator_kind kind, int order);

/* Bytes that the unassembled operator must move for one element: input, output and factors. Stored
 * geometry has the row's number of factors per point, trilinear geometry 24 per element, a
 * parallelepiped 7. A number has 8 bytes in double precision, 4 in single; a rounded factor has 2.
 * Local. */
double sp_operator_bytes(sp_operator_kind kind, sp_factor_kind factors, sp_precision precision,
                         int order);

/* Return the bytes between L-vectors, for `dofs` local DOFs and `elements` elements: factors once
 * per element, x and y once per DOF, and 4 bytes per index, Nq^3 per element. Local. */
double sp_operator_bytes_assembled(sp_operator_kind kind, sp_factor_kind factors,
                                   sp_precision precision, int order, double elements, double dofs);

/* A device has 30 bits for a rank's DOFs (with copies), and for its element nodes on edges and at
 * vertices. SP_ERR_INPUT if they do not fit. Local. */
enum { SP_DEVICE_MOST = 0x3fffffff };
sp_status sp_operator_device_numbers(int order, double elements, double dofs);
