/* The coarsest space of multigrid on meshes with bars: elements that are thin in two directions.
 *
 * An error that is constant across the bars and oscillates along them costs little energy. No
 * smoother along one direction removes it, and polynomials of lower order cannot represent it. So
 * the coarsest space keeps the order N along bars: its functions have order N on an edge if all
 * elements around it are bars along it, and are linear on all other edges. In each element they
 * interpolate between the edges linearly. Its DOFs are a subset of order N's: the vertices, and the
 * nodes on edges that are kept.
 *
 * An element is a bar along d if its couplings (mesh/columns.h) across d are at least 64 times the
 * coupling along d (a ratio of lengths of 8), and it is not skew. */
#pragma once

#include "operators/sparse.h"
#include "operators/system.h"

/* out = the operator of `fine`, of kind bp3.5, on that subspace. Its setup is the fine one with all
 * DOFs outside the subspace constrained, and P^T times the fine Robin diagonal. NULL if bars are
 * less than a quarter of the elements: then the orders in between save more iterations. Fills
 * fine->boxes. Borrows the space; the caller destroys *out. Errors: as sp_system_find_boxes and
 * sp_bars_interpolation. Collective. */
sp_status sp_bars_create(sp_system *fine, sp_system **out);

/* P, [local DOFs][local DOFs]: the interpolation to all nodes from the DOFs of the subspace that
 * are not constrained. The caller frees the arrays of *out, also after an error. Errors:
 * SP_ERR_SYSTEM; SP_ERR_INPUT for more entries than int counts. Local. */
sp_status sp_bars_interpolation(const sp_operator_setup *setup, sp_csr *out);
