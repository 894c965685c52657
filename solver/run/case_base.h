/* What a case stands on: a mesh and the device. */
#ifndef SP_SOLVER_RUN_CASE_BASE_H
#define SP_SOLVER_RUN_CASE_BASE_H

#include "io/config.h"
#include "io/terminal.h"
#include "mesh/mesh.h"
#include "operators/platform.h"
#include "solver/run/profile.h"

/* What cases of a series share: the device and a mesh. */
typedef struct sp_case_base {
  MPI_Comm comm;
  sp_platform platform;
  sp_mesh *mesh;
} sp_case_base;

/* Read or make the mesh that `config` names, with its refinements, and open the device. `profile`
 * gains the time. The caller destroys *base. Errors: those of the mesh and of the backend.
 * Collective. */
sp_status sp_case_base_create(MPI_Comm comm, const sp_config *config, sp_profile *profile,
                              sp_terminal *terminal, sp_case_base *base);

/* Release the mesh and the device. Collective. */
void sp_case_base_destroy(sp_case_base *base);

#endif
