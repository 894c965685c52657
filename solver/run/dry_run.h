/* A run that stops before it begins: read and check the case, predict its memory. */
#ifndef SP_SOLVER_RUN_DRY_RUN_H
#define SP_SOLVER_RUN_DRY_RUN_H

#include "io/terminal.h"
#include "solver/case/config.h"
#include "solver/run/workers.h"

/* Memory of this process that is resident now, in bytes. Local. */
double sp_memory_resident(void);

/* Check what can be checked on the mesh before refinement (case, mesh, formulas where they are
 * constant, groups, probes, whether the field can be written, 32-bit counts), and print how large
 * the problem is and what it will take on every rank: on the host at the peak, resident, and on the
 * device, and what the machine with the least room can still give. The refined mesh is never made.
 * `at_start` is what was resident after MPI_Init: it takes part in the prediction as it is. Errors:
 * those of a case, before its operator is built; SP_ERR_INPUT where a machine has too little room
 * for its ranks. Collective. */
sp_status sp_dry_run(MPI_Comm comm, const sp_config *config, double at_start,
                     sp_terminal *terminal);

/* The same on ranks that are chosen, whatever [backend] says; the others are in the table with no
 * elements. Collective over workers->all. */
sp_status sp_dry_run_on(const sp_workers *workers, const sp_config *config, double at_start,
                        sp_terminal *terminal);

#endif
