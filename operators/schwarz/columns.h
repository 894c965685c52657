/* Columns in the set-up of additive Schwarz (operators/schwarz/schwarz.h). Functions are Local
 * unless they say otherwise. */
#pragma once

#include "operators/schwarz/builder.h"

/* Find the columns and the elements at edges. Errors: SP_ERR_SYSTEM. */
sp_status sp_schwarz_find_columns(sp_schwarz_builder *b);

/* Add the Robin terms of the blocks to their diagonals, in b->weights. They are zero for an
 * element that touches a surface by an edge alone, so the elements with its faces decide there. */
void sp_schwarz_add_robin(sp_schwarz_builder *b);

/* Level the columns' shares of b->weights along their lines, and sum the weights in b->leveled.
 * Nothing happens if kappa is constant. Errors: SP_ERR_SYSTEM. Collective, also after a failure. */
sp_status sp_schwarz_level(sp_schwarz_builder *b);

/* Fill held[length + 1][n][n] of column c (sp_column) and return true if a stiff element has a
 * Dirichlet node at one end of a line alone, other than of an end face; else clear it and return
 * false. Lateral matrices of such a column have to be diagonal, so that modes are lines. */
bool sp_schwarz_find_held(const sp_schwarz_builder *b, sp_lid c, bool *held);

/* Give an interface between two elements of a column to the lower one, with the shares of both. */
void sp_schwarz_join_weights(sp_schwarz_builder *b);

/* Sum the energies at edges over ranks. Call it before the functions below, when the diagonal of
 * the boxes is no longer needed. Collective. */
void sp_schwarz_sum_edges(sp_schwarz_builder *b);

/* True if stiff elements that touch the block of these elements by edges alone hold it, and its
 * neighbours over faces hardly do: of edges along the column, or with frames = NULL of all edges.
 * The ends of the block's matrices do not see it, so their eigenvectors would be wrong. False if
 * kappa is constant. Local. */
bool sp_schwarz_is_tied(const sp_schwarz_builder *b, sp_lid count, const sp_lid *elements,
                        const sp_frame *frames);

/* Fill the arrays of elements in columns. */
void sp_schwarz_solve_columns(sp_schwarz_builder *b);
