/* Internal to solver/case/config: sections with a name of their own, [material NAME] and [region
 * NAME]. Each is an entry of a list in sp_config. Their keys are the rows of sp_keys with `named`
 * set, whose offset is in the entry. An argument is written material.NAME.key=value; NAME may
 * contain dots. */
#ifndef SP_SOLVER_CASE_CONFIG_SECTIONS_H
#define SP_SOLVER_CASE_CONFIG_SECTIONS_H

#include "io/ini.h"
#include "solver/case/config.h"

/* Whether a line or an argument belongs to such a section; false for unknown sections. Local. */
bool sp_section_is_named(const sp_ini_entry *entry);

/* Whether two sections of a file are the same: white space before the name does not matter. Local.
 */
bool sp_section_is_same(const char *a, const char *b);

/* Apply a line or an argument for which sp_section_is_named holds. `location` begins messages, as
 * for other keys. Local. Errors: SP_ERR_INPUT for a section without a name, a name that a file
 * cannot hold, unknown keys, wrong values; SP_ERR_SYSTEM. */
sp_status sp_section_assign(sp_config *config, const char *location, const sp_ini_entry *entry);

/* After all lines and arguments: set the corners of regions that were not given to those of the
 * box. Local. Errors: SP_ERR_INPUT for regions without a box, or with corners in the wrong order.
 */
sp_status sp_sections_resolve(sp_config *config);

/* Write all entries as a part of a case. Local. */
void sp_sections_print(const sp_config *config, FILE *stream);

/* Write the keys and their meaning as comments, for --defaults. Local. */
void sp_sections_print_keys(FILE *stream);

/* Free what `config` owns of them. Local. */
void sp_sections_clear(sp_config *config);

#endif
