/* A case on paper: what each rank holds, and sends in a cycle of multigrid, computed from a mesh
 * that is not refined yet and for any number of ranks. */
#pragma once

#include "io/terminal.h"
#include "mesh/parts.h"
#include "solver/run/memory.h"
#include "solver/run/precondition.h"

typedef struct sp_plan {
  int ranks;
  /* The levels; without multigrid, only the operator. Sizes are those of the last rank chosen. */
  sp_memory_case memory;
  sp_sizes all[SP_MULTIGRID_MOST];    /* of the levels */
  sp_sizes *parts[SP_MULTIGRID_MOST]; /* [ranks] */
} sp_plan;

/* Complete plan->memory, which describes the operator and names a preconditioner, by the levels of
 * multigrid, and count all levels on `parts`, which is coarsened. `facts` are those of the choice
 * of the preconditioner, `mesh` has elements of all shapes. The caller frees the plan, also after
 * an error. Errors: those of sp_multigrid_check and sp_geometry_choose; SP_ERR_SYSTEM. Collective.
 */
sp_status sp_plan_levels(const sp_config *config, const sp_precondition_facts *facts,
                         const sp_mesh *mesh, sp_parts *parts, sp_plan *plan);
void sp_plan_free(sp_plan *plan);

/* Set the sizes in plan->memory to those of a rank. Local. */
void sp_plan_choose(sp_plan *plan, int rank);

/* Print a row per level: elements and DOFs in all, DOFs, neighbours, messages and bytes per cycle
 * on the rank with the most. Nothing without multigrid. Local. */
void sp_plan_print(const sp_plan *plan, sp_terminal *terminal);
