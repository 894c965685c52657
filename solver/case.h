/* One case from its configuration to its results. */
#ifndef SP_SOLVER_CASE_H
#define SP_SOLVER_CASE_H

#include "io/config.h"
#include "io/terminal.h"
#include "solver/cg.h"
#include "solver/errors.h"

/* What a case came to; filled as far as it got, also if it did not converge. */
typedef struct sp_results {
  int64_t elements, dofs;
  sp_cg_result cg;
  bool have_norms; /* the problem has a solution to compare with */
  sp_error_norms norms;
} sp_results;

/* Read or make the mesh, number the unknowns, build the operator and the right-hand side, solve,
 * measure the errors, write the run log and the field, and print the tables. Log and field are also
 * written if the iteration does not converge. Errors: those of all phases; the first one decides.
 * Collective. */
sp_status sp_case_run(MPI_Comm comm, const sp_config *config, sp_terminal *terminal,
                      sp_results *results);

#endif
