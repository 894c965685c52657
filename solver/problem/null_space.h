/* The constants, one for each connected component of the mesh without Dirichlet data: the null
 * space of the operator where nothing determines the mean of the solution there, and near to it
 * where a small lambda or alpha does. */
#ifndef SP_SOLVER_PROBLEM_NULL_SPACE_H
#define SP_SOLVER_PROBLEM_NULL_SPACE_H

#include "operators/operator.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/problem.h"
#include "solver/problem/robin.h"

typedef struct sp_null_space {
  int components; /* without Dirichlet DOFs, over all ranks */
  bool of_parts;  /* each is a part of the mesh */
  int *of_dof;    /* [local DOFs], component of each DOF; -1 in one with Dirichlet DOFs */
  /* After sp_null_space_weigh: 1_c . A 1_c = integral of lambda and alpha over component c, and the
   * largest |A|_F / weight: relative errors of A and b come that much larger in a mean. */
  double *weight, magnification;
} sp_null_space;

/* Whether nothing determines the mean on them: lambda is zero, and no alpha is positive. Local. */
bool sp_null_space_is_exact(const sp_coefficients *coefficients, const sp_robin *robin);

/* Of an operator that is not mass: the mesh's connected components (mesh/components.h) that have no
 * Dirichlet DOF; `constrained` marks those, [local DOFs], the same on all holders of a DOF. *out is
 * NULL if each component has some; the caller destroys it. Collective. */
sp_status sp_null_space_create(const sp_space *space, const bool *constrained, sp_null_space **out);

/* Bytes that it holds on a rank with so many local DOFs, without numbers per component. Local. */
double sp_null_space_predicted_bytes(double dofs);

/* NULL-safe; sets *null_space to NULL. Local. */
void sp_null_space_destroy(sp_null_space **null_space);

/* Fill weight and magnification, and refuse a lambda or alpha that rounding hides beside the
 * stiffness: a weight must be ten times its rounding error eps |A|_F (|A|_F, the root of the sum of
 * all squared entries, is estimated by |A v| with random signs in v). x and y are L-vectors on the
 * device, host is one on the host; x and host are zero afterwards. Errors: SP_ERR_INPUT.
 * Collective. */
sp_status sp_null_space_weigh(sp_null_space *null_space, sp_operator *op, double *x, double *y,
                              double *host);

/* x += sum over c of (1_c . r / weight[c]) 1_c, where r = b - A x, both on the host: what is best
 * in the energy norm, and the exact mean where lambda is constant. An iteration that stops at a
 * relative residual says nothing about a mean whose part in b is smaller than that. Collective. */
sp_status sp_null_space_correct_means(const sp_null_space *null_space, const sp_space *space,
                                      const double *r, double *x);

/* Remove from b its mean over each component. *imbalance is the largest |sum of b| / sum of |b|;
 * with `must_balance`, more than 1e-10 is an error (SP_ERR_INPUT), because then no solution exists.
 * Collective. */
sp_status sp_null_space_project(const sp_null_space *null_space, const sp_space *space,
                                bool must_balance, double *b, double *imbalance);

/* Add to x the constant on each component that gives u_h the mean of the exact solution in the mass
 * inner product, or mean zero if the problem has none. Collective. */
sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_space *space, double *x);

#endif
