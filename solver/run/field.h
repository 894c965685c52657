/* The solution as a field file (io/field_file.h): "u", and "error" = u_h - u where the problem has
 * a solution, at the equispaced points of each element; of each element "rank", "tag" (its number
 * in the mesh file), "octants" (its refinement path, mesh/hexes.h) and, where the mesh has volume
 * groups, "region" (the first group that contains it, -1 if none), with the names of the groups as
 * texts "regions".
 *
 * Elements of a rank share their points, except across periodic boundaries. Where elements differ
 * (by rounding, or "error" between materials whose solutions jump), the first element's value is
 * written.
 *
 * With `flux` also "kappa_grad_u", a vector (solver/problem/flux.h). Elements of different
 * materials then share no points, so that each material has its own values. */
#ifndef SP_SOLVER_RUN_FIELD_H
#define SP_SOLVER_RUN_FIELD_H

#include "operators/space.h"
#include "solver/problem/problem.h"

/* Refuse the flux of a problem that has none, with its line: SP_ERR_INPUT. Local. */
sp_status sp_field_check(const sp_config *config);

/* Write the host L-vector x; *seconds is what the file took, without the values in it. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         bool flux, const double *x, double *seconds);

#endif
