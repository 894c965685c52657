/* Columns in the set-up of additive Schwarz (operators/schwarz/schwarz.h). Functions are Local
 * unless they say otherwise. */
#pragma once

#include "operators/schwarz/builder.h"

/* Find the columns and the elements at edges. Errors: SP_ERR_SYSTEM. */
sp_status sp_schwarz_find_columns(sp_schwarz_builder *b);

/* Add the Robin terms of the blocks to their diagonals, in b->weights. They are zero for an element
 * that touches a surface only by an edge. */
void sp_schwarz_add_robin(sp_schwarz_builder *b);

/* Level the columns' shares of b->weights along their lines, and sum the weights in b->leveled.
 * Does nothing if kappa is constant. Errors: SP_ERR_SYSTEM. Collective, also after a failure. */
sp_status sp_schwarz_level(sp_schwarz_builder *b);

/* Return true, with held[length + 1][n][n] of column c (sp_column), if a stiff element has a
 * Dirichlet node at only one end of a line, not on an end face; else clear it. Lateral matrices of
 * such a column have to be diagonal, so that modes are lines. */
bool sp_schwarz_find_held(const sp_schwarz_builder *b, sp_lid c, bool *held);

/* Give an interface to the lower element, with the shares of both. */
void sp_schwarz_join_weights(sp_schwarz_builder *b);

/* Sum the energies at edges over ranks. Call it before the functions below; it overwrites the
 * diagonal of the boxes. Collective. */
void sp_schwarz_sum_edges(sp_schwarz_builder *b);

/* True if stiff elements hold the block of these elements by edges, and its neighbours over faces
 * hardly do. Tests edges along the column, or all edges if frames = NULL. Such elements are not in
 * the ends of the block's matrices, so their eigenvectors would be wrong. False if kappa is
 * constant. Local. */
bool sp_schwarz_is_tied(const sp_schwarz_builder *b, sp_lid count, const sp_lid *elements,
                        const sp_frame *frames);

/* Fill the arrays of elements in columns. */
void sp_schwarz_solve_columns(sp_schwarz_builder *b);
