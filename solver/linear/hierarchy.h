/* The levels of algebraic multigrid in host memory, by smoothed aggregation (P. Vanek, J. Mandel,
 * M. Brezina, Computing 56, 1996). This rank has the whole matrix A, with diagonal d.
 *
 * - m_i is the largest -a_ij of row i. Rows i and j are strongly coupled if -a_ij is at least a
 *   quarter of sqrt(m_i m_j). A row is dominated if its negative entries add up to less than a
 *   tenth of d_i; it has no strong coupling, and smoothing solves it.
 * - Row by row, a row and its strong neighbours form an aggregate if none of them is in one yet.
 *   Then each other row joins the aggregate of its strongest neighbour.
 * - T has a one in row i at the aggregate of i; the rows of T for dominated rows are empty.
 *   P = (I - 0.8 D^-1 A_F) T and A_coarse = P^T A P. A_F has the strong entries of A, and a
 *   diagonal that gives it the row sums of A, where these are positive. D is its diagonal, but at
 *   least d / 2. So away from conditions P interpolates with positive weights whose sum is one: a
 *   fifth from the own aggregate, the rest from the aggregates of strong neighbours.
 *
 * With strong couplings by size and weights by rows, jumps of coefficients and stretched elements
 * need no parameter. The work runs on threads (io/threads.h), with the same bits for any number of
 * them. All functions are Local. */
#pragma once

#include "operators/sparse.h"

enum { SP_HIERARCHY_MOST = 25 };

/* The last level has no transfer. */
typedef struct sp_hierarchy_level {
  sp_csr matrix; /* of the first level: borrowed */
  sp_csr interpolation,
      restriction;          /* from the next level and to it; each is the transpose of the other */
  double *inverse_diagonal; /* [rows] */
  double bound;             /* on the eigenvalues of D^-1 A: 1.1 times an estimate */
} sp_hierarchy_level;

typedef struct sp_hierarchy {
  int levels;
  sp_hierarchy_level level[SP_HIERARCHY_MOST];
} sp_hierarchy;

/* Build the levels of a symmetric positive definite matrix, which must outlive *out. Coarsening
 * ends at a level with at most `direct` rows, or if all rows are dominated. Call
 * sp_hierarchy_destroy also after an error. Errors: SP_ERR_SYSTEM; SP_ERR_INPUT for more entries
 * than int counts. */
sp_status sp_hierarchy_create(const sp_csr *matrix, int direct, sp_hierarchy *out);
void sp_hierarchy_destroy(sp_hierarchy *hierarchy);
