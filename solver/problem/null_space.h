/* Constants on connected components of the mesh without Dirichlet data. If nothing determines the
 * mean of the solution on a component, its constant is in the null space of the operator. If only
 * lambda or alpha does, its constant may be close to a null space. */
#pragma once

#include "operators/system.h"
#include "solver/problem/problem.h"

typedef struct sp_null_space {
  int components;  /* over all ranks, at least one */
  bool of_parts;   /* no component is the whole mesh */
  int *of_element; /* [elements], in [0, components); -1 in a component that is not of this set */
  int *of_dof;     /* [local DOFs], likewise */
  /* Set by sp_null_space_weigh: weight[c] = 1_c . A 1_c, the integral of lambda and alpha over
   * component c; magnification = the largest |A|_F / weight[c], the factor by which relative errors
   * of A and b are magnified in a mean. */
  double *weight, magnification;
} sp_null_space;

/* Find the mesh's connected components (mesh/components.h) that have no Dirichlet DOF. Components
 * in *exact have no lambda > 0 in any element and no alpha > 0 on any face: A 1_c = 0. The others
 * are in *weak. `setup` defines the operator; its `constrained` is the same on all ranks that hold
 * a DOF. A set without components is NULL; the caller destroys both. *constants = the parts of the
 * mesh, with an array (part_of_dof) that the caller frees. The mass problem has no null space: do
 * not call it there. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_null_space_create(const sp_operator_setup *setup, sp_null_space **exact,
                               sp_null_space **weak, sp_constants *constants);

/* For a mesh with more bodies (mesh/touching.h) than connected parts. Refuse a body without
 * Dirichlet or Robin face, fixed volume or lambda if the load b, an L-vector on the host, does not
 * add up to zero there. All heat would flow through an edge or a vertex, where u has no limit as
 * elements become smaller. *tied = the free DOFs that bodies share. Errors: SP_ERR_INPUT with the
 * body. Collective. */
sp_status sp_null_space_check_ties(const sp_problem *problem, const sp_space *space,
                                   const bool *constrained, const double *b, sp_gid *tied);

/* Fill components and of_dof of *out, for a space of the same mesh; the caller frees of_dof, also
 * after an error. Nothing if null_space is NULL. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_null_space_constants(const sp_null_space *null_space, const sp_space *space,
                                  sp_constants *out);

/* NULL-safe; sets *null_space to NULL. Local. */
void sp_null_space_destroy(sp_null_space **null_space);

/* Fill weight and magnification, and refuse a lambda or alpha that is lost in the rounding of the
 * stiffness. A weight must be ten times its rounding error eps |A|_F; the Frobenius norm |A|_F is
 * estimated by |A v| for a vector v of random signs. `null_space` is a weak set. Scratch: the
 * L-vectors x and y on the device, and `host` on the host; x and host are zero afterwards. Errors:
 * SP_ERR_INPUT with the component. Collective. */
sp_status sp_null_space_weigh(sp_null_space *null_space, sp_operator *op, sp_vector *x,
                              sp_vector *y, double *host);

/* x += sum over c of (1_c . r / weight[c]) 1_c, where r = b - A x; r and x are L-vectors on the
 * host. This minimises the error in the energy norm, and gives the exact mean if lambda is
 * constant. CG does not ensure this: its relative residual does not bound the error of a mean whose
 * part in b is smaller. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_null_space_correct_means(const sp_null_space *null_space, const sp_space *space,
                                      const double *r, double *x);

/* The largest imbalances |sum of b| / sum of |b| of components. */
typedef struct sp_defect {
  double largest;
  double accepted, finer; /* of given f and g, explained by quadrature; and with a finer one */
  int order;              /* of that quadrature; 0: not compared */
} sp_defect;

/* Remove from b its mean over each component of an exact set. An imbalance above 1e-10 is an error
 * (SP_ERR_INPUT with the component), because no solution exists then, with two exceptions. If f and
 * g follow from the problem's solution on the whole component, they balance up to quadrature errors
 * by the divergence theorem. Or the quadrature of order N + 4 leaves at most a hundredth of the
 * imbalance, so that quadrature explains it. (It gains many digits for data that are smooth in each
 * element, fewer for kinks and jumps.) The load b is an L-vector on the host. Collective. */
sp_status sp_null_space_project(const sp_null_space *null_space, const sp_problem *problem,
                                const sp_space *space, double *b, sp_defect *defect);

/* Remove from b its mean over each component. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_null_space_remove(const sp_null_space *null_space, const sp_space *space, double *b);
