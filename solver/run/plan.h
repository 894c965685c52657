/* The levels of multigrid, as a run would have them, on a mesh that is not refined yet. */
#pragma once

#include "solver/run/memory.h"
#include "solver/run/precondition.h"

/* Complete *c, which describes the operator and names a preconditioner, by the sizes of this rank
 * on all levels. Coarser meshes of a box are estimated. `facts` are those of the choice of the
 * preconditioner; `mesh` has elements of all shapes. Errors: those of sp_multigrid_check and
 * sp_geometry_choose. Collective. */
sp_status sp_plan_levels(const sp_config *config, const sp_precondition_facts *facts,
                         const sp_mesh *mesh, sp_memory_case *c);
