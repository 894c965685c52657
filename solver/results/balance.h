/* The balance of fluxes of a solution. With q = -kappa du/dn, the flux out of the domain,
 *
 *     integral of f - integral of lambda u - stored - integral of q over the boundary = 0.
 *
 * In time, stored is the integral of capacity du/dt in the scheme's own difference (problem.h).
 *
 * All integrals belong to the discrete equations, so the balance holds to the residual of CG and to
 * rounding, on every mesh and at every order. The flux is defined face by face:
 *
 *     Neumann     q = -g, with the quadrature of the load vector,
 *     Robin       q = alpha u - g, at the nodes of the face, as in the operator,
 *     Dirichlet   from the equations of the elements beside the face (solver/results/fluxes.h),
 *                 and so is Robin with a stiff alpha.
 *
 * A volume in which a line fixes u takes the residual of its own equations. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"
#include "solver/results/fluxes.h"

typedef struct sp_balance {
  bool has_default;  /* a face that is not periodic has the default condition */
  int surfaces;      /* of the mesh, then one for faces that no surface covers */
  int terms;         /* surfaces, then the volumes of the mesh */
  sp_load_sums sums; /* integrals of the data on this rank, until sp_balance_compute */
  sp_fluxes fluxes;  /* of all elements */
  /* Set by the caller: whether the load has been projected (solver/problem/null_space.h), and the
   * sum over all ranks that this took out. */
  bool projected;
  double removed;
  /* Afterwards, over all ranks. */
  double source, absorbed, stored; /* integrals of f, lambda u and capacity du/dt */
  /* [terms], integral of q, on surfaces between elements out of both sides; the sum of r_i that a
   * volume takes; 0 for periodic surfaces and volumes that are not fixed. */
  double *flux;
  double imbalance; /* source - removed - absorbed - stored - sum of flux */
  double data;      /* integrals of |f| and of the given fluxes' absolute values, by surface */
  double largest;   /* absolute value of the largest of these terms, and the integral of |f| */
  double through;   /* sum of the absolute fluxes through marked faces */
  double direct;    /* the same of alpha u over other Robin faces, and of both terms of du/dt */
} sp_balance;

/* Prepare the balance; `sums` are then ready for sp_problem_load. problem and space are borrowed.
 * sp_balance_free releases the memory, also after a failure. Errors: SP_ERR_INPUT of alpha and
 * kappa, SP_ERR_SYSTEM. Collective. */
sp_status sp_balance_create(const sp_problem *problem, const sp_space *space, sp_balance *balance);
void sp_balance_free(sp_balance *balance);

/* Fill `sums` anew, after data or marks have changed; scratch[local DOFs]. Errors: SP_ERR_INPUT of
 * formulas. Collective. */
sp_status sp_balance_load(sp_balance *balance, double *scratch);

/* Fill the rest for the solution x, or x + rest if that is not NULL (solver/results/fluxes.h); both
 * are L-vectors on the host, as scratch[0] and [1], which are overwritten. Errors: SP_ERR_INPUT of
 * formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_balance_compute(sp_balance *balance, const double *x, const double *rest,
                             double *const scratch[2]);

/* The flux through all faces of a line of [boundary], or of the default; false for a part without
 * faces but periodic ones. Local. */
bool sp_balance_has_part(const sp_balance *balance, const sp_problem *problem, int part);
double sp_balance_part(const sp_balance *balance, const sp_problem *problem, int part);
const char *sp_balance_part_name(const sp_problem *problem, int part); /* "default" for the last */

/* The heat that flows: the largest term, or half of the flow through marked faces. Local. */
double sp_balance_flow(const sp_balance *balance);

/* Check that the balance closes to the accuracy of the solution. `explained` is the imbalance that
 * the tolerance allows; at most the share max(0.001, 10^4 tolerance) of the heat that flows counts.
 * Also check that rounding of x, without `rest`, leaves the fluxes accurate to this share. Errors:
 * SP_ERR_NOT_CONVERGED. Local, with the same answer on all ranks. */
sp_status sp_balance_check(const sp_balance *balance, double explained, double tolerance);
