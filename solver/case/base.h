/* Base of a case: the ranks with elements, their device and a mesh. */
#pragma once

#include "io/terminal.h"
#include "mesh/box.h"
#include "mesh/mesh.h"
#include "solver/case/config.h"
#include "solver/run/profile.h"
#include "solver/run/workers.h"

/* Base of a case, or shared by the cases of a series. */
typedef struct sp_case_base {
  const sp_workers *workers; /* borrowed */
  MPI_Comm comm;             /* that of the workers, like the platform */
  const sp_platform *platform;
  sp_mesh *mesh;
} sp_case_base;

/* The box of a case without a mesh file, without its regions. Local. */
sp_box sp_case_box(const sp_config *config);

/* Read or make the mesh that `config` names, with its refinements; add the time to `profile`. The
 * caller destroys *base. Errors: those of the mesh. Collective over workers->comm, like the
 * function below. */
sp_status sp_case_base_create(const sp_workers *workers, const sp_config *config,
                              sp_profile *profile, sp_terminal *terminal, sp_case_base *base);

/* Release the mesh. Collective. */
void sp_case_base_destroy(sp_case_base *base);
