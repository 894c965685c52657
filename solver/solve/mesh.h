/* The mesh that a case names. */
#pragma once

#include "io/profile.h"
#include "io/terminal.h"
#include "mesh/box.h"
#include "mesh/mesh.h"
#include "solver/config/config.h"
#include "solver/solve/workers.h"

/* The box of a case without a mesh file, without its regions. Local. */
sp_box sp_case_box(const sp_config *config);

/* Read or make the mesh that `config` names, with its refinements; add the time to `profile`. The
 * caller destroys *mesh. Errors: those of the mesh. Collective over workers->comm. */
sp_status sp_case_mesh(const sp_workers *workers, const sp_config *config, sp_profile *profile,
                       sp_terminal *terminal, sp_mesh **mesh);
