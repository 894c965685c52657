/* The problem that a case states:
 *
 *     -div(kappa grad u) + lambda u = f  in the domain,
 *     u = g_D  or  kappa du/dn = g_N  or  kappa du/dn + alpha u = g_R  on parts of its boundary
 *
 * or, for the mass problem, u = f in the sense of L2 projection. f is problem.forcing, or follows
 * from problem.solution; boundary data without a formula follow from the solution too, by exact
 * differentiation. */
#ifndef SP_SOLVER_PROBLEM_PROBLEM_H
#define SP_SOLVER_PROBLEM_PROBLEM_H

#include "io/config.h"
#include "io/expression.h"
#include "mesh/mesh.h"
#include "operators/space.h"

/* A condition on the faces of one line of [boundary] (both groups of a periodic one), or the
 * default. */
typedef struct sp_boundary_part {
  const char *group; /* owned by the configuration */
  sp_condition condition;
  sp_expression *alpha;   /* robin alone has it */
  sp_expression *formula; /* NULL: from the solution */
} sp_boundary_part;

typedef struct sp_problem {
  sp_operator_kind kind;
  double lambda, kappa;                          /* where they are constant; kappa is 1 for mass */
  sp_expression *lambda_formula, *kappa_formula; /* NULL where constant */
  sp_expression *solution, *forcing;             /* NULL where not given */
  int part_count;
  sp_boundary_part *parts; /* in the order of the case; the last one is the default */
  int *part_of_surface;    /* [surface_count], index into parts */
  bool has_dirichlet;      /* some exterior face has a Dirichlet condition */
} sp_problem;

/* Largest and smallest |J| at the operator's quadrature points, over all ranks. */
typedef struct sp_jacobian_range {
  double smallest, largest;
} sp_jacobian_range;

/* Parse the formulas and give every exterior face a condition. `config` must outlive *out, which
 * the caller destroys. Errors: SP_ERR_INPUT for formulas, for data that nothing defines, for groups
 * that the mesh does not have (its groups are listed) or that have no exterior face, for faces that
 * two lines claim, and for boundary conditions or coefficients with the mass problem. Collective.
 */
sp_status sp_problem_create(const sp_config *config, const sp_mesh *mesh, sp_problem **out);

/* NULL-safe; sets *problem to NULL. Local. */
void sp_problem_destroy(sp_problem **problem);

/* Part of [0, part_count) that face f of an element belongs to, -1 for an interior face; a
 * periodic face, which is identified with another, belongs to its line's. Local. */
int sp_problem_face_part(const sp_problem *problem, const sp_hexes *hexes, sp_lid element,
                         int face);

/* Dirichlet DOFs and their values, both [local DOFs] on the host. Where parts meet, the one
 * listed first gives the value; all holders of a DOF get the same bits. Errors: SP_ERR_INPUT where
 * a formula is not finite. Collective. */
sp_status sp_problem_constraints(const sp_problem *problem, const sp_space *space,
                                 bool *constrained, double *values);

/* kappa and lambda at the operator's quadrature points, for sp_operator_setup. */
typedef struct sp_coefficients {
  double *kappa, *lambda; /* [elements][points]; NULL where kappa is 1 and lambda is constant */
  double scale;           /* of the mass term: 1 with `lambda`, else the constant */
  double largest_lambda;  /* over all ranks */
} sp_coefficients;

/* Arrays of *out are freed by sp_coefficients_free, also after a failure. Errors: SP_ERR_INPUT with
 * a point where kappa is not positive, lambda is negative, or one of them is not finite.
 * Collective.
 */
sp_status sp_problem_coefficients(const sp_problem *problem, const sp_mesh *mesh, int order,
                                  sp_coefficients *out);
void sp_coefficients_free(sp_coefficients *coefficients);

/* Values at n points with the same checks; `gradient` may be NULL. Local. */
sp_status sp_problem_kappa(const sp_problem *problem, size_t n, const double *xyz[3], double *value,
                           double *const gradient[3]);
sp_status sp_problem_lambda(const sp_problem *problem, size_t n, const double *xyz[3],
                            double *value);

/* Any coefficient: values > 0, or >= 0 with `zero_allowed`, else SP_ERR_INPUT with the point.
 * Local. */
sp_status sp_problem_evaluate_coefficient(const sp_expression *formula, bool zero_allowed, size_t n,
                                          const double *xyz[3], double *value,
                                          double *const gradient[3]);

/* Part of sp_problem_create. Local. */
sp_status sp_problem_parse_coefficients(const sp_config *config, sp_problem *problem);

/* The Robin faces' part of the operator, for sp_operator_setup. */
typedef struct sp_robin {
  sp_lid count;
  sp_lid *dofs; /* [count], ascending */
  double *values;
  bool anywhere; /* some rank has alpha > 0 */
} sp_robin;

/* The bilinear form of Robin conditions, the integral of alpha u v, by GLL quadrature at the nodes
 * of the faces: a diagonal, value = alpha w |dx/dr x dx/ds| summed over the rank's faces at a DOF.
 * With N + 1 points it is exact to degree 2 N - 1, one short of u v on a plane face: the functional
 * is off by as much as interpolation is, and rates stay N + 1 and N for bp3.0 too. The load uses
 * the same points, so that alpha u = g holds node by node. Memory of *robin is freed by
 * sp_robin_free, also after a failure. Errors: SP_ERR_INPUT with a point where alpha is negative or
 * not finite. Collective. */
sp_status sp_problem_robin(const sp_problem *problem, const sp_space *space, sp_robin *robin);
void sp_robin_free(sp_robin *robin);

/* The load vector: load_i = integral of l_i f + integral over Neumann and Robin faces of l_i g, by
 * the operator's own quadrature (GLL for Robin faces); [local DOFs], summed over ranks.
 * Errors: SP_ERR_INPUT where a formula is not finite. Collective. */
sp_status sp_problem_load(const sp_problem *problem, const sp_space *space, double *load,
                          sp_jacobian_range *range);

/* Values of a formula at n points, with a check: the first value that is not finite is an error
 * with the formula's place and the point. `gradient` and `laplacian` may be NULL. Local. */
sp_status sp_problem_evaluate(const sp_expression *formula, size_t n, const double *xyz[3],
                              double *value, double *const gradient[3], double *laplacian);

#endif
