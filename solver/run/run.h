/* What a command does: a case from its configuration to its results, single or one of a series; a
 * dry run; a list of groups (study.h has studies). And the steps after a solve, which the library
 * (library.c) also needs. */
#pragma once

#include "solver/run/running.h"
#include "solver/solve/mesh.h"

/* Read or make the mesh, number the unknowns, build the operator and the right-hand side, solve,
 * measure the errors, write the run log and the field, and print the tables. Log and field are also
 * written if the iteration does not converge, or is interrupted by a signal. `profile` has the
 * times before this call, and the start of the total. Ranks without elements get no *results.
 * Errors: the first one of any phase. Collective over workers->all. */
sp_status sp_run(const sp_workers *workers, const sp_config *config, const sp_profile *profile,
                 sp_terminal *terminal, sp_results *results);

/* Solve `config` on the ranks and the device of `workers` and on `mesh`, ignore its [mesh] and
 * [backend], and measure the errors. The solution of `start`, of another order, takes the place of
 * problem.initial; NULL: none. If `answers` is not NULL, evaluate them as well; the caller ends
 * with sp_answers_free, also after a failure. `report` belongs to the series: it shows the progress
 * line and gets the notes, without a start; no file is written. Errors as above. Collective. */
sp_status sp_run_one(const sp_workers *workers, const sp_mesh *mesh, const sp_config *config,
                     const sp_running *start, sp_report *report, sp_answers *answers,
                     sp_results *results);

/* sp_solve --dry-run: check all that needs no refined mesh: case, mesh, constant formulas, groups,
 * probes, outputs, 32-bit counts. Print the size of the problem, an estimate of its memory (peak
 * resident memory of the host, memory of the device), and the memory available on the machine with
 * the least room. Errors: as sp_run_one, before its operator is built; SP_ERR_INPUT if a machine
 * has too little room for its ranks. Collective over workers->all. */
sp_status sp_dry_run(const sp_workers *workers, const sp_config *config, sp_terminal *terminal);

/* sp_solve --groups: read the mesh of the case, and print for each group of volumes and of surfaces
 * the number of elements or faces, volume or area, and centre. Surfaces also have a mean outward
 * normal (of length 1 if the faces are parallel; none between elements), and the bodies beside
 * them, by Physical Volumes. If the terminal has a record (--json), it gets the same as table
 * "groups". "faces" are 13 numbers per face in a group, from each side that has an element: the row
 * of its group and the four corners, (a, b) to (a + 1, b + 1) with b fastest. The cross product of
 * the directions of a and b points out of the element. Collective over workers->all. */
sp_status sp_group_table_run(const sp_workers *workers, const sp_config *config,
                             sp_terminal *terminal);

/* ---- Steps after a solve (running.h) ---- */

/* Measure the times of the preconditioner's levels. Collective, as the others here. */
sp_status sp_running_time_levels(sp_running *c);

/* Estimate error bars of the results; a failure is kept for sp_running_report. If the solver solves
 * only `once`, it is released before, for memory. */
void sp_running_find_bars(sp_running *c, bool once);

/* Record and print all results. Errors: no error bars, results that are not finite, or, if CG has
 * converged (`solved`), a balance that does not close. */
sp_status sp_running_report(sp_running *c, sp_status solved);
