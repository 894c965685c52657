/* Internal to solver/case/config: rules that involve several keys. */
#ifndef SP_SOLVER_CASE_CONFIG_CHECK_H
#define SP_SOLVER_CASE_CONFIG_CHECK_H

#include <stdbool.h>

#include "solver/case/config.h"

/* Where the values of a case come from. */
typedef struct sp_config_origin {
  const char *path; /* of the case file, NULL without one */
  char **where;     /* [sp_key_count]: where each key was given, NULL if it was not */
  bool file_in_argument, initial_in_argument; /* mesh.file, problem.initial: on the command line */
} sp_config_origin;

/* Where a key was given, as messages begin; NULL if it was not. Local. */
const char *sp_config_where(const sp_config_origin *origin, const char *section, const char *name);

/* After all lines and arguments: fill the members of `config` that follow from several keys, such
 * as mesh.shape and the path of the mesh, and check keys against each other. Local. Errors:
 * SP_ERR_INPUT for keys that contradict each other, SP_ERR_SYSTEM. */
sp_status sp_config_check(const sp_config_origin *origin, sp_config *config);

#endif
