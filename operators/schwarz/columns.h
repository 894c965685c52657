/* Columns in the set-up of additive Schwarz (operators/schwarz/schwarz.h). Functions are Local
 * unless they say otherwise. */
#pragma once

#include "operators/schwarz/builder.h"

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
