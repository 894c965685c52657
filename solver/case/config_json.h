/* The resolved case as JSON. */
#ifndef SP_SOLVER_CASE_CONFIG_JSON_H
#define SP_SOLVER_CASE_CONFIG_JSON_H

#include "io/json.h"
#include "solver/case/config.h"

/* Add to `json` the object "case": the resolved case, one object per section and one member per
 * key. Integers and numbers are JSON numbers, in an array where there are several;
 * other values are strings. Sections [material NAME] and [region NAME] are objects by NAME in
 * "material" and "region". Keys without a meaning in this case are left out. Errors: those of
 * sp_config_format. Local. */
sp_status sp_config_write_json(const sp_config *config, sp_json *json);

#endif
