/* The words of a case, collected from the modules that give them a meaning. */
#ifndef SP_SOLVER_RUN_VOCABULARY_H
#define SP_SOLVER_RUN_VOCABULARY_H

#include "solver/case/config.h"

/* For sp_config_read: words in the order of sp_map, sp_step, sp_operator_kind, sp_geometry_kind,
 * sp_preconditioner_kind, sp_smoother_kind, sp_coarse_kind, sp_cycle_precision, sp_device_kind and
 * sp_transport, so that an index casts to its enum. Always the same object. Local. */
const sp_vocabulary *sp_case_vocabulary(void);

#endif
