/* The set-up of additive Schwarz (operators/schwarz/schwarz.h), internal to this folder: its data,
 * the ends of its boxes (builder.c), ties (ties.c) and columns (columns.c). Functions are Local
 * unless they say otherwise. */
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
  double *leveled;      /* L-vector: sums of the leveled diagonals */
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

/* Fill `inside`, `nearest` and `nodes`. */
void sp_schwarz_choose_nodes(sp_schwarz_builder *b);

/* Sum the entries at the ends of neighbours. Collective. */
void sp_schwarz_sum_ends(sp_schwarz_builder *b);

/* Find the terms at a face. */
sp_schwarz_end sp_schwarz_find_end(const sp_schwarz_builder *b, sp_lid element, int face);

/* The DOFs of an element, [n^3]. */
static inline const sp_lid *sp_schwarz_nodes(const sp_schwarz_builder *b, sp_lid element) {
  return &b->setup->space->numbering->nodes[(size_t)element * sp_grid_points(b->n)];
}

/* ---- Ties: elements that touch a block only by an edge. They hold it like stiff neighbours, so
 * their energy is added to the ends of the block's matrices. ---- */

/* Sum the energies at edges over ranks. Collective. */
void sp_schwarz_sum_edges(sp_schwarz_builder *b);

/* Energies of a value of 1 along an edge, divided by K_00 w_j: in an element, in its neighbours
 * over two faces at the edge, and in all other elements there. The flag in_column is set if one of
 * these is in a column. */
typedef struct sp_schwarz_edge {
  double own, beside[2], others;
  bool in_column;
} sp_schwarz_edge;

/* At the edge of element e between faces f and g. Needs the energies at edges. */
sp_schwarz_edge sp_schwarz_find_edge(const sp_schwarz_builder *b, sp_lid e, int f, int g);

/* Ties at the edges in direction d of face f: the energy that is missing at the ends of the block's
 * matrices, because a stiff element touches the block only by that edge. It holds the element in
 * series with the element's own coupling. Both faces at an edge share it in proportion to their
 * neighbours' energies, so that it does not hold a direction that is free. None if kappa is
 * constant. Without ties, random kappa within 1e6 in cubes takes up to 119 iterations, with them
 * 17.
 *
 * A Dirichlet edge is also a tie: the element's coupling along the face holds the face, even if
 * kappa is constant. 0 for a contact, since other contacts at its edge hold nothing. */
double sp_schwarz_tie(const sp_schwarz_builder *b, sp_lid e, int f, int d);

/* The same for all ties of column c at a side of lateral direction t, by K_00 w_j: energies of a
 * value of 1 along the column on that side. A board with a die takes 9 iterations at order 4 with
 * them, and 21 without. */
double sp_schwarz_sum_ties(const sp_schwarz_builder *b, sp_lid c, int t, int side);

/* ---- Columns ---- */

/* Find the columns and the elements at edges. Errors: SP_ERR_SYSTEM. */
sp_status sp_schwarz_find_columns(sp_schwarz_builder *b);

/* Add the Robin terms of the blocks to their diagonals, in b->weights. They are zero for an element
 * that touches a surface only by an edge. */
void sp_schwarz_add_robin(sp_schwarz_builder *b);

/* Raise the shares of elements that are strong in two directions, in b->weights. Needs the energies
 * at edges. Errors: SP_ERR_SYSTEM. */
sp_status sp_schwarz_raise(sp_schwarz_builder *b);

/* Level the columns' shares of b->weights along their lines unless kappa is constant, and sum the
 * weights in b->leveled. Errors: SP_ERR_SYSTEM. Collective, also after a failure. */
sp_status sp_schwarz_level(sp_schwarz_builder *b);

/* Give an interface to the lower element, with the shares of both. */
void sp_schwarz_join_weights(sp_schwarz_builder *b);

/* Fill the arrays of elements in columns. */
void sp_schwarz_solve_columns(sp_schwarz_builder *b);
