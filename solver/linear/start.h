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

#include "operators/operator.h"

/* The connected parts of the mesh, for their constants. */
typedef struct sp_parts {
  int count;   /* over all ranks */
  int *of_dof; /* [local DOFs]: the part of each DOF, or -1 in the null space of A; NULL: all are in
                * part 0 */
} sp_parts;

/* Find the parts (mesh/components.h). null_of_dof, [local DOFs], is not negative in the null space
 * of A; NULL: it has none. The caller ends with sp_parts_free. Collective. */
sp_status sp_parts_create(const sp_space *space, const int *null_of_dof, sp_parts *parts);

/* Safe for a zeroed struct. Local. */
void sp_parts_free(sp_parts *parts);

/* Fill x; *weight becomes the sum of 1_k.A 1_k. b is zero on constrained DOFs; `constrained`,
 * [local DOFs], is the operator's. `inverse_diagonal` is an L-vector on the device, or NULL: no row
 * is stiff. b, x, and the scratch vectors y and z are on the device; `host` is scratch, [local
 * DOFs]. Collective. */
sp_status sp_start_find(sp_operator *op, const sp_parts *parts, const bool *constrained,
                        const double *inverse_diagonal, const double *b, double *x, double *y,
                        double *z, double *host, double *weight);

/* *energy = (x - start).A (x - start), which a solve from x counts as done (solver/linear/cg.h).
 * `start` becomes the difference; y is scratch. Collective. */
sp_status sp_start_energy(sp_operator *op, const double *x, double *start, double *y,
                          double *energy);

#endif
