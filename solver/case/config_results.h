/* Internal to solver/case/config: the lines of [result]. `key` is their row of sp_keys. */
#ifndef SP_SOLVER_CASE_CONFIG_RESULTS_H
#define SP_SOLVER_CASE_CONFIG_RESULTS_H

#include "solver/case/config_keys.h"

/* Replace the line called `name`, or append it. `where` begins messages. Local. Errors:
 * SP_ERR_INPUT for a value that is no result, SP_ERR_SYSTEM. */
sp_status sp_result_assign(sp_config *config, const sp_key *key, const char *name,
                           const char *value, const char *where);

/* Remove the line called `name`, if there is one. Local. */
void sp_result_drop(sp_config *config, const sp_key *key, const char *name);

/* Write all lines as a part of a case. Local. */
void sp_results_print(const sp_config *config, const sp_key *key, FILE *stream);

/* Free all lines. Local. */
void sp_results_clear(sp_config *config, const sp_key *key);

#endif
