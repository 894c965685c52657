/* The balance of fluxes of a solution. With q = -kappa du/dn, the flux out of the domain,
 *
 *     integral of f - integral of lambda u - integral of q over the boundary = 0.
 *
 * All integrals are those of the discrete equations, so the balance holds to the residual of CG and
 * to rounding, on every mesh and at every order. The flux is defined face by face:
 *
 *     Neumann     q = -g, with the quadrature of the load vector,
 *     Robin       q = alpha u - g, at the nodes of the face, as in the operator,
 *     Dirichlet   the residual r = load - A u of the unconstrained equations: r_i is the integral
 * of q l_i over the Dirichlet faces at DOF i.
 *
 * At DOFs in the interior of a surface, r_i belongs to that surface. At DOFs of several Dirichlet
 * surfaces it is divided. With d_i(F) = -integral over face F of kappa du_h/dn l_i (GLL quadrature,
 * kappa du_h/dn interpolated from the operator's points) and w_i(F) the quadrature weight of F at
 * DOF i,
 *
 *     q_i(F) = d_i(F) + w_i(F) / W_i (r_i - D_i),   W_i, D_i = sums of w_i, d_i over all faces at
 * i.
 *
 * A volume in which a line fixes u takes r_i inside its elements; the faces of these count in W_i
 * with d_i = 0. So each face has its own flux, also at an edge, and the sum over all surfaces stays
 * exact. For smooth data, the flux through a Dirichlet surface converges at rate 2 N if it meets no
 * other one; else the division adds an error of rate N + 1 or more. */
#pragma once

#include "mesh/reference.h"
#include "operators/space.h"
#include "solver/problem/load.h"
#include "solver/problem/problem.h"

typedef struct sp_balance {
  bool has_default; /* a face that is not periodic has the default condition */
  int surfaces;     /* those of the mesh, then one for faces that no surface covers */
  int terms;        /* surfaces, then the volumes of the mesh */
  /* Until sp_balance_compute: integrals of the data on this rank, and the load at Dirichlet DOFs.
   */
  sp_load_sums sums;
  sp_lid dirichlet_count;
  sp_lid *dirichlet_dofs; /* [dirichlet_count], ascending */
  double *dirichlet_load; /* [dirichlet_count] */
  double removed;         /* sum over all ranks that a projection took out of the load
                             (solver/problem/null_space.h); set by the caller */
  /* Afterwards, over all ranks. */
  double source, absorbed; /* integrals of f and lambda u */
  double
      *flux; /* [terms], integral of q, on surfaces between elements out of both sides; the sum of
                r_i that a volume takes; 0 for periodic surfaces and volumes that are not fixed */
  double imbalance; /* source - removed - absorbed - sum of flux */
  double data;      /* integrals of |f| and of the given fluxes' absolute values, by surface */
  double largest;   /* absolute value of the largest of these terms, and the integral of |f| */
} sp_balance;

/* The arrays of an element and one of its faces; too large for the stack. */
enum {
  SP_FACE_NODES = SP_MAX_NQ * SP_MAX_NQ,
  SP_ELEMENT_NODES = SP_MAX_NQ * SP_FACE_NODES,
  SP_ELEMENT_POINTS = SP_MAX_M * SP_MAX_M * SP_MAX_M
};
typedef struct sp_face_workspace {
  double nodal[SP_ELEMENT_NODES], u[SP_ELEMENT_POINTS], lambda[SP_ELEMENT_POINTS];
  double coordinates[3 * SP_ELEMENT_POINTS], wj[SP_ELEMENT_POINTS];
  double inverse[9 * SP_ELEMENT_POINTS], jacobian[SP_ELEMENT_POINTS];
  double kappa[SP_ELEMENT_POINTS], along[3 * SP_ELEMENT_POINTS], flow[SP_ELEMENT_POINTS];
  double xyz[3 * SP_FACE_NODES], normal[3 * SP_FACE_NODES], values[SP_FACE_NODES];
  int indices[SP_FACE_NODES];
} sp_face_workspace;

/* w_i and d_i at the nodes of a face, weights and direct [Nq][Nq], whose indices in the element
 * become w->indices; adds the sum of d_i to *flux. Errors: those of kappa. Local. */
sp_status sp_face_direct(const sp_problem *problem, const sp_space *space, sp_lid e, int f,
                         const double *x, sp_face_workspace *w, double *weights, double *direct,
                         double *flux);

/* Fill *balance with zeros. sp_balance_free releases its memory, also after a failure. Errors:
 * SP_ERR_SYSTEM. Local. */
sp_status sp_balance_create(const sp_mesh *mesh, sp_balance *balance);
void sp_balance_free(sp_balance *balance);

/* Keep the load, [local DOFs] on the host, at the Dirichlet DOFs. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_balance_keep(sp_balance *balance, const sp_space *space, const bool *constrained,
                          const double *load);

/* Fill the rest for the solution x, with ax = A x of the unconstrained operator. All are L-vectors
 * on the host; ax and scratch are overwritten. Errors: those of formulas. Collective. */
sp_status sp_balance_compute(sp_balance *balance, const sp_problem *problem, const sp_space *space,
                             const double *x, double *ax, double *scratch);

/* The flux through all faces of a line of [boundary], or of the default; false for a part without
 * faces but periodic ones. Local. */
bool sp_balance_has_part(const sp_balance *balance, const sp_problem *problem, int part);
double sp_balance_part(const sp_balance *balance, const sp_problem *problem, int part);
const char *sp_balance_part_name(const sp_problem *problem, int part); /* "default" for the last */

/* Check that the balance closes as well as the solution was asked for: `explained` is the imbalance
 * that the tolerance allows, `rounding` that of the terms if no heat flows and no data ask for any.
 * Errors: SP_ERR_NOT_CONVERGED. Local, with the same answer on all ranks. */
sp_status sp_balance_check(const sp_balance *balance, double explained, double rounding);
