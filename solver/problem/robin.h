/* The term of conditions with alpha in the operator: the integral of alpha u v over their faces,
 * with GLL quadrature at the nodes of the faces. It is a diagonal matrix; its entry is alpha w
 * |dx/dr x dx/ds|, summed over the rank's faces at the DOF. N + 1 points are exact to degree 2 N -
 * 1; u v on a plane face has degree 2 N. This error is of the order of the interpolation error, so
 * the rates stay N + 1 and N, also for bp3.0. The load uses the same points, so that alpha u = g is
 * consistent at each node. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* Nonzero entries of this rank's faces, not summed over ranks; for sp_operator_setup. */
typedef struct sp_robin {
  sp_lid count;
  sp_lid *dofs;   /* [count], ascending */
  double *values; /* [count], > 0 */
} sp_robin;

/* Fill *robin. For a level below an operator of the order `finest`, sp_average_matrix divides the
 * entries there among the nodes of the level. Their sum stays. sp_robin_free releases its memory,
 * also after a failure. Errors: SP_ERR_INPUT with a point at which alpha is negative or not finite.
 * Collective. */
sp_status sp_problem_robin(const sp_problem *problem, const sp_space *space, int finest,
                           sp_robin *robin);
void sp_robin_free(sp_robin *robin);

/* Compute the indices in the element of the nodes of face f at an order, and alpha w |dx/dr x
 * dx/ds| at each, with the condition `part`; both are [Nq][Nq]. Errors: as above. Local. */
sp_status sp_robin_face(const sp_boundary_part *part, const sp_hexes *hexes, int order,
                        sp_lid element, int f, int *indices, double *values);

/* Add the integral of alpha u over that face to *flux. Errors: as above. Local. */
sp_status sp_robin_flux(const sp_boundary_part *part, const sp_space *space, sp_lid element, int f,
                        const double *x, double *flux);
