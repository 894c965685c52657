/* The iterate that conjugate gradients start from. It removes from the error the parts that would
 * dominate its norm, so that the tolerance applies to the rest:
 *
 *     x = c_k on the free DOFs of connected part k,   c_k = (1_k.b) / (1_k.A 1_k)
 *
 * minimises the energy of the error among constants. So a shift of all temperatures does not change
 * the iterations. Then, if rows may be stiff (a large lambda or alpha),
 *
 *     x += a D^-1 r,   a = (r.D^-1 r) / (D^-1 r.A D^-1 r),   r = b - A x,   D the diagonal of A,
 *
 * which solves rows that their diagonal dominates. Both never increase the energy of the error. */
#pragma once

#include "operators/system.h"

/* Input of a start, and results besides x. For repeated starts of one system the caller may set
 * `ones`, 1 on the free DOFs, if A has no null space. */
typedef struct sp_start {
  const sp_vector *ones;
  const sp_vector *inverse_diagonal; /* of A; only a stiff start needs it */
  bool stiff;                        /* rows may be stiff */
  double weight;                     /* the sum of 1_k.A 1_k */
  double energy; /* for sp_cg_options: by how much the given x is better than the start; else 0 */
} sp_start;

/* Find start->stiff, while the system has its coefficients. Collective. */
sp_status sp_start_prepare(const sp_operator_setup *setup, sp_start *start);

/* Fill x for a system with an operator, after sp_start_prepare. Parts in the null space of A get no
 * constant. With `given`, 0 on Dirichlet DOFs, x = given
 * if that is closer to the solution than the start above in the energy norm. Then start->energy
 * counts in the norm of CG's steps. y and host[local DOFs] are scratch. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_start_find(sp_system *system, const sp_vector *given, const sp_vector *b, sp_vector *x,
                        sp_vector *y, double *host, sp_start *start);
