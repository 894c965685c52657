/* One case from its configuration to its results. */
#ifndef SP_SOLVER_CASE_H
#define SP_SOLVER_CASE_H

#include "io/config.h"
#include "io/terminal.h"

/* Read or make the mesh, number the unknowns, build the operator and the right-hand side, solve,
 * measure the errors, write the run log and the field, and print the tables. Log and field are also
 * written if the iteration does not converge. Errors: those of all phases; the first one decides.
 * Collective. */
sp_status sp_case_run(MPI_Comm comm, const sp_config *config, sp_terminal *terminal);

#endif
