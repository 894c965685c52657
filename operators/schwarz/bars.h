/* The coarsest space of multigrid on meshes with bars: elements that are thin in two directions.
 *
 * An error that is constant across the bars and oscillates along them costs little energy. So no
 * smoother that works along one direction removes it, and polynomials of lower order cannot
 * represent it. Then the coarsest space keeps the order N along bars: its functions are of order N
 * on an edge if all elements around it are bars along it, and linear on all other edges; in each
 * element they interpolate between the edges linearly. It is a subspace of order N, and its DOFs
 * are a subset: the vertices, and the nodes on edges that are kept.
 *
 * An element is a bar along d if its couplings (mesh/columns.h) across d are at least 64 times that
 * along d, which is a ratio of lengths of 8, and it is not skew. */
#pragma once

#include "operators/sparse.h"
#include "operators/system.h"

/* *out describes the operator of `fine`, of kind bp3.5, on that subspace: its setup is that of the
 * fine system, with all DOFs outside the subspace constrained, and the Robin diagonal P^T times the
 * fine one. NULL if bars are less than a quarter of the elements: the orders in between then save
 * more iterations. Fills fine->boxes. It borrows the space; the caller destroys *out. Errors:
 * SP_ERR_SYSTEM; those of sp_system_find_boxes, and as below. Collective. */
sp_status sp_bars_create(sp_system *fine, sp_system **out);

/* P, [local DOFs][local DOFs]: the interpolation to all nodes from the DOFs of the subspace that
 * are not constrained. The caller frees the arrays of *out, also after an error. Errors:
 * SP_ERR_SYSTEM; SP_ERR_INPUT for more entries than int counts. Local. */
sp_status sp_bars_interpolation(const sp_operator_setup *setup, sp_csr *out);
