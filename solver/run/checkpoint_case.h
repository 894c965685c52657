/* The case that a checkpoint belongs to, as a text: the keys that make the linear system and its
 * preconditioner, one "section.key = value" a line. The mesh is told apart by itself. */
#ifndef SP_SOLVER_RUN_CHECKPOINT_CASE_H
#define SP_SOLVER_RUN_CHECKPOINT_CASE_H

#include "solver/case/config.h"

/* The text of `config`, which the caller frees. Local. */
sp_status sp_checkpoint_case_text(const sp_config *config, char **text);

/* Whether two such texts are equal. Errors: SP_ERR_INPUT with the first line of `saved`, that of
 * the checkpoint `path`, or of `own` that the other one does not have in its place. Local. */
sp_status sp_checkpoint_case_compare(const char *path, const char *saved, const char *own);

#endif
