/* Ties in the set-up of additive Schwarz (operators/schwarz/schwarz.h): elements that touch a block
 * only by an edge. They hold it like stiff neighbours, so their energy is added to the ends of the
 * block's matrices. Functions are Local unless they say otherwise. */
#pragma once

#include "operators/schwarz/builder.h"

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
