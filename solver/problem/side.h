/* Fluxes q = -kappa du/dn out of the elements of a side, through faces on which no condition gives
 * q alone: those towards the elements of other sides, and Dirichlet faces. They are those of the
 * discrete equations (solver/problem/balance.h): of the elements of this side alone,
 *
 *     r_i = load_i - (A u)_i = integral of q l_i over all such faces,
 *     flux through a face = sum over its DOFs i of  d_i + w_i (r_i - D_i) / W_i,
 *
 * where w_i and d_i are the weights and the derivatives of u_h of the face at DOF i, and W_i and
 * D_i those of all such faces. So what flows through them is what the side has left, to the
 * residual of CG and to rounding, and both sides of a face agree, up to the division at DOFs where
 * three sides meet. */
#pragma once

#include "operators/space.h"
#include "solver/problem/load.h"
#include "solver/problem/problem.h"

typedef struct sp_side {
  const sp_problem *problem;
  const sp_space *space;
  const double *x; /* the solution, an L-vector on the host */
  int *keys;       /* [volume.count], >= 0: volumes of one key are on one side of all faces */
  bool *volumes;   /* [volume.count]: those of this side, with all or none of a key */
  bool (*marked)[SP_FACES]; /* [elements]: such faces of each element, for all sides */
  double *weights, *left;   /* [local DOFs]: W_i, and r_i - D_i where W_i > 0 */
  double (*flux)[SP_FACES]; /* [elements]: of marked faces, after sp_side_compute; else 0 */
} sp_side;

/* Allocate the arrays by volume and element; the caller has set the rest and fills keys, then
 * volumes. End with sp_side_close, also after a failure. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_side_open(sp_side *side);
void sp_side_close(sp_side *side);

/* Mark the faces, by `keys`. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_side_mark(sp_side *side);

/* Compute the fluxes of the side's elements. Adds to *sums, unless that is NULL, for these
 * elements. Errors: those of formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_side_compute(sp_side *side, sp_load_sums *sums);
