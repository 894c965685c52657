/* The term of conditions with alpha in the operator: the integral of alpha u v over their faces,
 * with GLL quadrature at the nodes of the faces. It is a diagonal matrix; its entry is alpha w
 * |dx/dr x dx/ds|, summed over the rank's faces at the DOF. N + 1 points are exact to degree 2 N -
 * 1; u v on a plane face has degree 2 N. This error is of the order of the interpolation error, so
 * the rates stay N + 1 and N, also for bp3.0. The load uses the same points, so that alpha u = g is
 * consistent at each node. */
#pragma once

#include "operators/backend.h"
#include "operators/space.h"
#include "solver/problem/problem.h"

/* Fill diagonal_count, diagonal_dofs, ascending, and diagonal_values, > 0, of a setup with a space
 * and a kind; it owns them, also after a failure (sp_system_free_setup). For a level below an
 * operator of the order `finest`, sp_average_matrix divides the entries there among the nodes of
 * the level. Their sum stays. Errors: SP_ERR_INPUT with a point at which alpha is negative or not
 * finite. Collective. */
sp_status sp_problem_robin(const sp_problem *problem, int finest, sp_operator_setup *setup);

/* Compute the indices in the element of the nodes of face f at an order, and alpha w |dx/dr x
 * dx/ds| at each, with the condition `part`; both are [Nq][Nq]. Errors: as above. Local. */
sp_status sp_robin_face(const sp_boundary_part *part, const sp_hexes *hexes, int order,
                        sp_lid element, int f, int *indices, double *values);

/* Add the integral of alpha u over that face to *flux. Errors: as above. Local. */
sp_status sp_robin_flux(const sp_boundary_part *part, const sp_space *space, sp_lid element, int f,
                        const double *x, double *flux);
