/* A on one space, with everything that defines it: space, kind, geometry, Dirichlet mask,
 * coefficients, Robin diagonal, and the constants of its null space. Two orders, two meshes or two
 * time steps are two values of this type.
 *
 * solver/problem makes systems from a case, solver/linear takes an array of them, finest first. */
#pragma once

#include "operators/operator.h"
#include "operators/schwarz/separable.h"

/* The constants in the null space: component of each local DOF, or -1. components = 0: none. The
 * finest system also has the connected parts of the mesh. */
typedef struct sp_constants {
  int components;
  const int *of_dof; /* [local DOFs] of the system's space; NULL without components */
  int parts;
  const int *part_of_dof; /* [local DOFs]; NULL: all are in part 0 */
} sp_constants;

typedef struct sp_system {
  const sp_space *space;
  sp_space *own_space;     /* the same if the system owns it, else NULL */
  sp_mesh *own_mesh;       /* the space's mesh if the system owns it, else NULL */
  sp_operator_setup setup; /* the definition, with arrays that the system owns */
  sp_constants constants;  /* with arrays that the system owns */
  sp_operator *op;     /* in double precision, made from `setup` by the caller; destroyed here */
  sp_separable *boxes; /* [elements]; NULL before sp_system_find_boxes */
} sp_system;

/* Takes ownership of the arrays of `setup` (from sp_allocate), of the constants, and of the space
 * if it is `own_space`, which may be NULL; also after a failure. The member setup->alike is NULL.
 * The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_system_create(const sp_operator_setup *setup, sp_space *own_space,
                           const sp_constants *constants, sp_system **out);

/* Make the same system with GLL quadrature on a coarser mesh (mesh/coarsen.h); both have order 1.
 * Takes ownership of *mesh, made from the mesh of `fine`. Constraints and components of DOFs are as
 * in `fine`. kappa and lambda are means over children, weighted by volume, and the Robin diagonal
 * is P^T times the fine one. So energies of coarse functions are nearly the same. `geometry` may be
 * auto. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_system_coarsen(const sp_system *fine, sp_geometry_kind geometry, sp_mesh **mesh,
                            sp_system **out);

/* Free the arrays of a setup that owns them. Local. */
void sp_system_free_setup(const sp_operator_setup *setup);

/* NULL-safe; sets *system to NULL. Collective if the system owns its space. */
void sp_system_destroy(sp_system **system);

/* Average kappa and lambda of a setup to the points of `to` (sp_average_matrix); sampling could
 * miss a coefficient. With `bars` (operators/schwarz/bars.h; else NULL) all points stay, `to` has
 * two points, and averages replace the values at the ends of lines that the space does not keep.
 * Constants per element are copied; NULL stays NULL. The caller frees both arrays, also after an
 * error. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_system_average(const sp_operator_setup *setup, const sp_rule *to,
                            const sp_operator_setup *bars, double **kappa, double **lambda);

/* Free kappa and lambda, which existing operators no longer need. Local. */
void sp_system_forget_coefficients(sp_system *system);

/* Return this rank's share of v.D v, D the Robin diagonal; `host` is scratch for v [local DOFs].
 * Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_system_robin_energy(const sp_system *system, const sp_vector *v, double *host,
                                 double *energy);

/* List the entries > 0 of diagonal[dofs] as the diagonal of an sp_operator_setup. The caller frees
 * both arrays, also after an error. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_system_list_diagonal(size_t dofs, const double *diagonal, sp_lid *count, sp_lid **list,
                                  double **values);

/* The direction of an element's edges that a subspace of bars keeps (operators/schwarz/bars.h); -1
 * for none, as at order 1. Local. */
int sp_system_bar_direction(const sp_operator_setup *setup, sp_lid element);

/* Fill system->boxes by sp_separable_fill if they are NULL. They may be freed and set to NULL at
 * any time. Errors: as sp_separable_fill. Collective. */
sp_status sp_system_find_boxes(sp_system *system);

/* b = load - A u_D, and 0 on Dirichlet DOFs; x = u_D. u_D has the Dirichlet values and zeros
 * elsewhere; if it is NULL, it is zero everywhere and x is unchanged. load, u_D and b are [local
 * DOFs]; y is scratch. Collective. */
sp_status sp_system_lift(sp_system *system, const double *u_d, const double *load, double *b,
                         sp_vector *x, sp_vector *y);
