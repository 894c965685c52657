/* A on one space, with everything that defines it: space, kind, geometry, Dirichlet mask,
 * coefficients, Robin diagonal, and the constants of its null space. Two orders, two meshes or two
 * time steps are two values of this type.
 *
 * solver/problem makes systems from a case, solver/linear takes an array of them, finest first. */
#pragma once

#include "operators/operator.h"
#include "operators/schwarz/separable.h"

/* The constants in the null space: component of each local DOF, or -1. components = 0: none. The
 * finest system also has the connected parts of the mesh, whether in the null space or not. */
typedef struct sp_constants {
  int components;
  const int *of_dof; /* [local DOFs] of the space in question; NULL without components */
  int parts;
  const int *part_of_dof; /* [local DOFs]; NULL: all are in part 0 */
} sp_constants;

typedef struct sp_system {
  const sp_space *space;
  sp_space *own_space;     /* the same if the system owns it, else NULL */
  sp_mesh *own_mesh;       /* the space's if the system owns it, else NULL */
  sp_operator_setup setup; /* the definition, with arrays that the system owns */
  sp_constants constants;  /* with arrays that the system owns */
  sp_operator *op;         /* in double precision; NULL before sp_system_build */
  sp_separable *boxes;     /* [elements]; NULL before sp_system_find_boxes */
} sp_system;

/* Take over the arrays of `setup` (allocated by sp_allocate) and the constants, also after a
 * failure. The space of the setup is borrowed, unless it is `own_space`, which may be NULL; `alike`
 * is NULL. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_system_create(const sp_operator_setup *setup, sp_space *own_space,
                           const sp_constants *constants, sp_system **out);

/* Make the same system at order 1 with GLL quadrature on a coarser mesh (mesh/coarsen.h). Take over
 * *mesh, made from the mesh of `fine`, a system of order 1. DOFs are constrained, and in a
 * component, as in `fine`; kappa and lambda are means over children, weighted by volume; the Robin
 * diagonal is P^T times the fine one. So the energies of coarse functions are close to those of
 * `fine`. `geometry` may be auto. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_system_coarsen(const sp_system *fine, sp_geometry_kind geometry, sp_mesh **mesh,
                            sp_system **out);

/* NULL-safe; sets *system to NULL. Collective if the system owns its space. */
void sp_system_destroy(sp_system **system);

/* Average kappa and lambda of a setup to the points of `to` (sp_average_matrix); samples would miss
 * a coefficient that is zero at all of these. With `bars` (operators/schwarz/bars.h; else NULL) all
 * points stay, but averages replace those at the ends of lines that the space does not keep, and
 * `to` has two. Constants per element are copied; NULL stays NULL. The caller frees both arrays,
 * also after an error. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_system_average(const sp_operator_setup *setup, const sp_rule *to,
                            const sp_operator_setup *bars, double **kappa, double **lambda);

/* Free kappa and lambda: operators that exist keep what they need. Local. */
void sp_system_forget_coefficients(sp_system *system);

/* Return this rank's share of v.D v, D the Robin diagonal; `host` is scratch for v [local DOFs].
 * Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_system_robin_energy(const sp_system *system, const sp_vector *v, double *host,
                                 double *energy);

/* The direction of an element's edges that a subspace of bars keeps (operators/schwarz/bars.h); -1
 * if there are none, as in a space of order
 * 1. Local. */
int sp_system_bar_direction(const sp_operator_setup *setup, sp_lid element);

/* Create the operator. Errors: those of sp_operator_create. Collective. */
sp_status sp_system_build(sp_system *system);

/* Fill system->boxes by sp_separable_fill, unless they are there. They may be freed and set to NULL
 * at any time. Errors: those of sp_separable_fill. Collective. */
sp_status sp_system_find_boxes(sp_system *system);

/* b = load - A u_D, and 0 on Dirichlet DOFs. u_D has the Dirichlet values, and is zero elsewhere,
 * NULL if everywhere; load, u_D and b are [local DOFs]. x = u_D, unless that is NULL; y is scratch.
 * Collective. */
sp_status sp_system_lift(sp_system *system, const double *u_d, const double *load, double *b,
                         sp_vector *x, sp_vector *y);
