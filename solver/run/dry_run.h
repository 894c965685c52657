/* Dry run: read and check a case and estimate its memory; solve nothing. */
#pragma once

#include "io/terminal.h"
#include "solver/config/config.h"
#include "solver/solve/workers.h"

/* Check all that needs no refined mesh: case, mesh, constant formulas, groups, probes, outputs,
 * 32-bit counts. Print the size of the problem, an estimate of its memory (peak resident memory of
 * the host, memory of the device), and the memory available on the machine with the least room. The
 * refined mesh is never made. From 1 M DOFs on the estimate is within 25 % of the memory of a run.
 *
 * Errors: as sp_run_one, before its operator is built; SP_ERR_INPUT if a machine has too little
 * room for its ranks. Collective. */
sp_status sp_dry_run(MPI_Comm comm, const sp_config *config, sp_terminal *terminal);

/* Do the same on given ranks and ignore [backend]. Collective over workers->all. */
sp_status sp_dry_run_on(const sp_workers *workers, const sp_config *config, sp_terminal *terminal);
