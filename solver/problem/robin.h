/* The Robin faces' part of the operator: the bilinear form of Robin conditions, the integral of
 * alpha u v, by GLL quadrature at the nodes of the faces. It is a diagonal: alpha w |dx/dr x dx/ds|
 * summed over the rank's faces at a DOF. With N + 1 points it is exact to degree 2 N - 1, one short
 * of u v on a plane face: the functional is off by as much as interpolation is, and rates stay N +
 * 1 and N for bp3.0 too. The load uses the same points, so that alpha u = g holds node by node. */
#ifndef SP_SOLVER_PROBLEM_ROBIN_H
#define SP_SOLVER_PROBLEM_ROBIN_H

#include "operators/space.h"
#include "solver/problem/problem.h"

/* For sp_operator_setup. */
typedef struct sp_robin {
  sp_lid count;
  sp_lid *dofs; /* [count], ascending */
  double *values;
  bool anywhere; /* some rank has alpha > 0 */
} sp_robin;

/* Fill *robin. sp_robin_free releases its memory, also after a failure. Errors: SP_ERR_INPUT with a
 * point where alpha is negative or not finite. Collective. */
sp_status sp_problem_robin(const sp_problem *problem, const sp_space *space, sp_robin *robin);
void sp_robin_free(sp_robin *robin);

#endif
