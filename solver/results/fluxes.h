/* Fluxes q = -kappa du/dn out of a set of elements through its marked faces: Dirichlet faces, faces
 * towards elements of other sets, and Robin faces whose alpha is stiffer than the elements beside
 * them. All come from the discrete equations of these elements, without the marked conditions:
 *
 *     r_i = load_i - (A u)_i = integral of q l_i over all marked faces,
 *     q_i(F) = d_i(F) + w_i(F) / W_i (r_i - D_i),   flux through face F = sum of q_i(F)
 *
 * where d_i(F) = -integral over face F of kappa du_h/dn l_i, by GLL quadrature with kappa du_h/dn
 * interpolated from the operator's points. The quadrature weight of F at DOF i is w_i(F), and W_i,
 * D_i are the sums of w_i, d_i over all marked faces at i. So each face has its own flux, also at
 * an edge, and the sum over all faces is exact, to the residual of CG and to rounding. For smooth
 * data, the flux through a surface converges at rate 2 N if it meets no other marked one; else the
 * division adds an error of rate N + 1 or more.
 *
 * A Robin flux alpha u - g loses log10(alpha |u| / |q|) digits; r_i loses log10(k |u| / |q|) with k
 * = kappa N (N + 1) / h. So faces with alpha > k are marked, and the others take alpha u - g. With
 * `rest` all are marked.
 *
 * A load without elements, problem->extra, is part of load_i. At a DOF of several sets, it is
 * divided in proportion to the mass of their elements there (GLL quadrature). This is exact for the
 * sum over the sets, and for one flux up to the quadrature of a smooth source.
 *
 * Rounding. A u is computed from the differences of u in an element. `noise` is the change of the
 * fluxes by the rounding of u (sp_balance_compute adds the fluxes alpha u - g). If it is too large,
 * the caller finds `rest`, the part of the solution below the rounding of x (A rest = b - A x), and
 * the fluxes belong to x + rest. */
#pragma once

#include "operators/space.h"
#include "solver/problem/load.h"
#include "solver/problem/problem.h"

/* Gets the flux of each marked face of a set, element by element; as face SP_FACES, the heat that a
 * fixed element takes inside and through faces that are not marked. */
typedef void sp_fluxes_on_face(void *context, sp_lid element, int face, double flux);

/* The first of the two faces of a contact that bodies are beside; the other is the next one. */
enum { SP_FLUXES_LOW = 4 };

typedef struct sp_fluxes {
  const sp_problem *problem;
  const sp_space *space;
  const double *x;    /* the solution, an L-vector on the host */
  const double *rest; /* NULL, or its part below rounding */
  /* All elements are one set: their own faces with a contact are not marked, and elements that a
   * line of [boundary] fixes take r_i through their faces, with d_i = 0, and inside. */
  bool whole;
  /* The elements of the set are contacts: their faces take the contacts' own flux, the integral of
   * the difference of u over R. `stiffness` is the sum of 1 / R over their faces. */
  bool contacts;
  int *keys;     /* [volume.count], >= 0: a set has all or none of the volumes of a key */
  bool *volumes; /* [volume.count]: the volumes of this set */
  bool (*marked)[SP_FACES]; /* [elements]: marked faces of each element, for all sets */
  double *weights, *left;   /* [local DOFs], scratch: W_i, and r_i - D_i where W_i > 0 */
  /* Over all ranks: the largest energy of a set's fluxes, the sum of k over marked faces. An error
   * e of x changes their sum by sqrt(stiffness) ||e||_A. */
  double stiffness;
  double noise; /* likewise: possible change of fluxes by rounding of x; grows with each set */
} sp_fluxes;

/* Return fluxes of parts of the mesh, for the same solution and with the same scratch as `whole`.
 * Local. */
sp_fluxes sp_fluxes_of_parts(const sp_fluxes *whole);

/* Allocate keys, volumes and marked; the caller fills keys, then volumes. End with sp_fluxes_close,
 * also after a failure. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_fluxes_open(sp_fluxes *fluxes);
void sp_fluxes_close(sp_fluxes *fluxes);

/* Mark the faces, by conditions and `keys`. Errors: SP_ERR_INPUT of formulas, SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_fluxes_mark(sp_fluxes *fluxes);

/* *sum = the stiffness k, times the quadrature weights, of all nodes of face f of an element.
 * Errors: SP_ERR_INPUT of formulas. Local. */
sp_status sp_fluxes_stiffness(const sp_fluxes *fluxes, sp_lid e, int f, double *sum);

/* Compute the fluxes of the elements of `volumes`; on_face gets them. Errors: SP_ERR_INPUT of
 * formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_fluxes_compute(sp_fluxes *fluxes, sp_fluxes_on_face *on_face, void *context);

/* masses[local DOFs] = the integral of each basis function over all elements, or over the set; GLL
 * quadrature, summed over ranks. Uses space and volumes only. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_fluxes_masses(const sp_fluxes *fluxes, bool of_set, double *masses);

/* left = load - A (x + rest) of all elements with all conditions, summed over ranks: the residual
 * of the unconstrained equations, accurate to the differences of u. Uses problem, space, x, rest
 * and left only. Errors: SP_ERR_INPUT of formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_fluxes_residual(sp_fluxes *fluxes);
