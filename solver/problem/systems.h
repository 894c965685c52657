/* Systems of a problem: its formulas, conditions and materials on a space (operators/system.h). */
#pragma once

#include "operators/system.h"
#include "solver/problem/dirichlet.h"
#include "solver/problem/null_space.h"
#include "solver/problem/problem.h"

/* Facts found while the fine system is made. */
typedef struct sp_problem_facts {
  double *boundary_values;     /* [local DOFs] on the host, 0 on free DOFs; NULL: all are 0 */
  sp_data_jump jump;           /* of the Dirichlet data */
  sp_null_space *exact, *weak; /* solver/problem/null_space.h; NULL for none */
  const char *geometry_reason;
} sp_problem_facts;

/* Make the system of the problem. `geometry` may be auto. The caller destroys *out and ends with
 * sp_problem_facts_free, also after a failure. Errors: SP_ERR_INPUT of formulas; SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_problem_system(const sp_problem *problem, const sp_space *space,
                            sp_geometry_kind geometry, sp_problem_facts *facts, sp_system **out);
void sp_problem_facts_free(sp_problem_facts *facts);

/* Make the mass matrix, or with of_capacity the one that is weighted by the capacity, with the
 * problem's quadrature, on the unconstrained space. The caller destroys *out. Errors: as above.
 * Collective. */
sp_status sp_problem_mass(const sp_problem *problem, const sp_space *space, bool of_capacity,
                          sp_operator **out);

/* Make the system of the same problem at a lower order, with GLL quadrature, for a level of
 * multigrid. It owns its space. Coefficients are averages of the coefficients of `fine`, which
 * exist. `exact` belongs to the finest system. Errors: as above. Collective. */
sp_status sp_problem_level(const sp_problem *problem, const sp_system *fine, int order,
                           sp_geometry_kind geometry, const sp_null_space *exact, sp_system **out);
