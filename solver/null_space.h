/* The null space of a Poisson operator without lambda and without Dirichlet boundary: one constant
 * for each connected component of the mesh. */
#ifndef SP_SOLVER_NULL_SPACE_H
#define SP_SOLVER_NULL_SPACE_H

#include "operators/operator.h"
#include "solver/problem.h"

typedef struct sp_null_space {
  int components; /* over all ranks */
  int *of_dof;    /* [numbering->local], component of each DOF */
} sp_null_space;

/* Whether `problem` has one: it is not mass, lambda is zero (at all
 * quadrature points, after sp_problem_coefficients), nothing is Dirichlet, no alpha is
 * positive (after sp_problem_robin). Local. */
bool sp_null_space_exists(const sp_problem *problem);

/* Refuse a positive lambda or alpha that rounding hides beside the stiffness: without a Dirichlet
 * boundary it alone determines the mean of the solution. 1.A 1, which is the integral of lambda and
 * alpha, must be ten times its rounding error eps |A|_F (|A|_F, the root of the sum of all squared
 * entries, is estimated by |A v| with random signs in v). x and y are L-vectors on the device, host
 * is one on the host; x and host are zero afterwards. Errors: SP_ERR_INPUT. Collective. */
sp_status sp_null_space_check_resolved(sp_operator *op, const sp_numbering *numbering, double *x,
                                       double *y, double *host);

/* Connected components, through shared DOFs. The caller destroys *out. Collective. */
sp_status sp_null_space_create(const sp_mesh *mesh, const sp_numbering *numbering,
                               sp_exchange *exchange, sp_null_space **out);

/* NULL-safe; sets *null_space to NULL. Local. */
void sp_null_space_destroy(sp_null_space **null_space);

/* Remove from b its mean over each component. *imbalance is the largest |sum of b| / sum of |b|;
 * with `must_balance`, more than 1e-10 is an error (SP_ERR_INPUT), because then no solution exists.
 * Collective. */
sp_status sp_null_space_project(const sp_null_space *null_space, const sp_numbering *numbering,
                                sp_exchange *exchange, bool must_balance, double *b,
                                double *imbalance);

/* Add to x the constant on each component that gives u_h the mean of the exact solution in the mass
 * inner product, or mean zero if the problem has none. Collective. */
sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_mesh *mesh, const sp_numbering *numbering,
                                    sp_exchange *exchange, double *x);

#endif
