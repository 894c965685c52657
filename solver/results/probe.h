/* Probes: the solution at the points of [probe] and along the lines of [line], as the polynomial in
 * the element that contains the point. The heat flux is also of this element:
 *
 *     u_h(x) = sum_ijk l_i(r) l_j(s) l_k(t) u_ijk,    q = -kappa grad u_h,    x = x(r, s, t),
 *
 * evaluated in the element of the least tag, then octants, on any number of ranks: u jumps across
 * contacts, and q between any elements. A point that is outside the mesh by at most 1e-4 of an
 * element's width (mesh/locate.h) has the values of a point on the surface there. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"
#include "solver/results/wanted.h"

typedef struct sp_probe {
  const char *name;          /* owned by sp_wanted */
  double point[3], distance; /* from the first end of its line */
  bool outside;              /* of the mesh, on all ranks; only samples of lines */
  sp_lid element;            /* local index on the rank that evaluates, else -1 */
  double reference[3];       /* (r, s, t) of the point in that element */
  /* On all ranks: u_h, u_h - u if the problem has a solution, and q, not of the mass problem; NaN
   * outside. */
  double value, error, flux[3];
} sp_probe;

typedef struct sp_probes {
  int count, all;
  sp_probe *list; /* [all]: count probes, then the samples of lines, in the order of the case */
} sp_probes;

/* Find the elements. The caller destroys *out. The input must outlive it. Errors: SP_ERR_INPUT for
 * the first point outside the mesh, or line with all its samples outside. The message has the point
 * of the mesh that is nearest to it, or to the line's first end. Collective. */
sp_status sp_probes_create(const sp_wanted *wanted, const sp_mesh *mesh, sp_probes **out);

/* NULL-safe; sets *probes to NULL. Local. */
void sp_probes_destroy(sp_probes **probes);

/* Fill value, error and flux for the host L-vector x. Errors: SP_ERR_INPUT if the solution or kappa
 * is not finite. Collective. */
sp_status sp_probes_evaluate(sp_probes *probes, const sp_problem *problem, const sp_space *space,
                             const double *x);
