/* Dry run: read and check a case and predict its memory; solve nothing. */
#pragma once

#include "io/terminal.h"
#include "solver/case/config.h"
#include "solver/run/workers.h"

/* Return the resident memory of this process, in bytes. Local. */
double sp_memory_resident(void);

/* Check all that needs no refined mesh: case, mesh, constant formulas, groups, probes, outputs,
 * 32-bit counts. Print the size of the problem, its memory on every rank (peak resident memory of
 * the host, memory of the device), what ranks hold and send on each level of multigrid, and the
 * memory available on the machine with the least room. The refined mesh is never made. `at_start`
 * is the resident memory after MPI_Init, which the prediction includes.
 *
 * If `planned` is not 0, do it for so many ranks like this one, which need not exist: `comm` has
 * one rank, the memory of the machine is not compared, and a large box is checked with fewer
 * elements.
 *
 * Errors: those of a case, before its operator is built; SP_ERR_INPUT if a machine has too little
 * room for its ranks, or for a plan that is not possible. Collective. */
sp_status sp_dry_run(MPI_Comm comm, const sp_config *config, int planned, double at_start,
                     sp_terminal *terminal);

/* Do the same on given ranks and ignore [backend]. The table lists the others with no elements.
 * Collective over workers->all. */
sp_status sp_dry_run_on(const sp_workers *workers, const sp_config *config, int planned,
                        double at_start, sp_terminal *terminal);
