/* kappa grad u_h at the nodes, averaged over elements. Inside a material, elements differ by the
 * discretization error. Between two materials the tangential part jumps, so each material is
 * averaged by itself. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* flux[d], [local DOFs] = the average of kappa du_h/dx_d over the elements at the node, on all
 * ranks, of one material, an index into the problem's list. It is 0 at nodes without such elements.
 * x is a host L-vector, `weights` [local DOFs] is overwritten. Errors: SP_ERR_INPUT of kappa,
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_flux_of_material(const sp_problem *problem, const sp_space *space, int material,
                              const double *x, double *const flux[3], double *weights);
