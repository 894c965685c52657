/* Columns in the set-up of additive Schwarz (operators/schwarz.h). All functions but one are
 * Local. */
#ifndef SP_OPERATORS_SCHWARZ_COLUMNS_H
#define SP_OPERATORS_SCHWARZ_COLUMNS_H

#include "operators/schwarz_builder.h"

/* Find the columns and the elements at edges. Errors: SP_ERR_SYSTEM. */
sp_status sp_schwarz_find_columns(sp_schwarz_builder *b);

/* Give an interface between two elements of a column to the lower one, with the shares of both. */
void sp_schwarz_join_weights(sp_schwarz_builder *b);

/* Sum the energies at edges over ranks. Call it before sp_schwarz_solve_columns, when the diagonal
 * of the boxes is no longer needed. Collective. */
void sp_schwarz_sum_edges(sp_schwarz_builder *b);

/* Fill the arrays of elements in columns. */
void sp_schwarz_solve_columns(sp_schwarz_builder *b);

#endif
