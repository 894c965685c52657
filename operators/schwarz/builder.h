/* Data of the set-up of additive Schwarz (operators/schwarz/schwarz.h), internal to this folder,
 * and the ends of its boxes. */
#pragma once

#include "mesh/columns.h"
#include "mesh/reference.h"
#include "operators/backend.h"
#include "operators/intervals.h"
#include "operators/schwarz/column_factors.h"
#include "operators/schwarz/separable.h"
#include "operators/space.h"

typedef struct sp_schwarz_builder {
  const sp_operator_setup *setup;
  const sp_separable *boxes;
  const double *inverse_diagonal; /* of A, by DOF */
  int n;
  const sp_rule *gll;
  sp_intervals *intervals;
  const double *stiffness; /* K^ = D^T W D on [-1, 1] */
  /* A face's inner nodes, (n-2)^2, first the `nearest` ones to its corners: these are the same DOFs
   * in both elements of the face, in any orientation. */
  int inside, nearest, nodes[SP_FACES][SP_MAX_NQ * SP_MAX_NQ];
  double face_weight; /* of the nodes inside a face of [-1, 1]^2 */
  /* L-vectors. At the nodes near corners of faces, end_stiffness and end_mass are sums over the two
   * elements of kappa times the entries of K and M at the end of the direction across. At nodes
   * inside edges, `edges` and `placed` are energies and numbers of elements in columns. The vector
   * `diagonal` is the setup's, over all ranks; `sums` is the diagonal of the boxes. */
  double *end_stiffness, *end_mass, *diagonal, *sums, *edges, *placed;
  double *leveled;      /* L-vector: sums of the leveled diagonals (lines.c) */
  unsigned char *alike; /* scratch, [elements] */

  sp_columns *columns;
  sp_lid *interface; /* [elements], an element's lower interface in its column, or -1 */
  /* Elements that touch an edge: from edge_start[edge] up to edge_start[edge + 1]. */
  sp_lid *edge_start, *edge_elements;
  /* Eigenvectors of the interior of [-1, 1], their eigenvalues and couplings to the ends. */
  sp_column_modes modes;
  double interior[SP_MAX_NQ * SP_MAX_NQ], theta[SP_MAX_NQ], end_couplings[2 * SP_MAX_NQ];
  double *lateral; /* per column, two bases [n][n] and two sets of eigenvalues [n] */
  double *room;    /* scratch, [4][length of a column] */

  /* Arrays of sp_schwarz_setup. */
  double *basis, *values, *weights, *conductances, *inverse, *ratio, *ring;
} sp_schwarz_builder;

/* Terms at a face of an element, divided by its kappa: the neighbour's entries of K and M, and
 * Robin's coefficient. */
typedef struct sp_schwarz_end {
  double stiffness, mass, robin;
  bool fixed; /* Dirichlet */
} sp_schwarz_end;

/* Fill `inside`, `nearest` and `nodes`. Local. */
void sp_schwarz_choose_nodes(sp_schwarz_builder *b);

/* Sum the entries at the ends of neighbours. Collective. */
void sp_schwarz_sum_ends(sp_schwarz_builder *b);

/* Find the terms at a face. Local. */
sp_schwarz_end sp_schwarz_find_end(const sp_schwarz_builder *b, sp_lid element, int face);

/* The DOFs of an element, [n^3]. Local. */
static inline const sp_lid *sp_schwarz_nodes(const sp_schwarz_builder *b, sp_lid element) {
  return &b->setup->space->numbering->nodes[(size_t)element * sp_grid_points(b->n)];
}
