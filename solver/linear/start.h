/* The iterate that conjugate gradients start from. It removes from the error what would hide the
 * rest in a norm, so that the tolerance is about what users look at:
 *
 *     x = c_k on the free DOFs of connected part k,   c_k = (1_k.b) / (1_k.A 1_k)
 *
 * minimises the energy of the error among constants. So an offset of all temperatures changes
 * neither iterations nor digits. Then, if rows may be stiff (a large lambda or alpha),
 *
 *     x += a D^-1 r,   a = (r.D^-1 r) / (D^-1 r.A D^-1 r),   r = b - A x,   D the diagonal of A,
 *
 * which solves rows that their diagonal rules. Both never increase the energy of the error. */
#ifndef SP_SOLVER_LINEAR_START_H
#define SP_SOLVER_LINEAR_START_H

#include "operators/system.h"
#include "solver/linear/preconditioner.h"

/* What a start leaves besides x. */
typedef struct sp_start {
  double weight; /* the sum of 1_k.A 1_k */
  double energy; /* for sp_cg_options: of a given start relative to the one above, else 0 */
} sp_start;

/* Fill x for a system with an operator. Parts in the null space of A get no constant. A diagonal
 * that is needed is the preconditioner's (NULL: none) or a new one. With `given`, an L-vector on
 * the host, x becomes that, 0 on Dirichlet DOFs, and start->energy how far it is from the start
 * above, in the norm of A: what CG is to add is measured by that too. b, x, and the scratch vector
 * y are on the device, and `host`, [local DOFs], on the host. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_start_find(sp_system *system, const sp_preconditioner *preconditioner,
                        const double *given, const double *b, double *x, double *y, double *host,
                        sp_start *start);

#endif
