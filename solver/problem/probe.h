/* Probes: the solution at the points of [probe], which is the value of the polynomial in the
 * element that contains the point,
 *
 *     u_h(x) = sum_ijk l_i(r) l_j(s) l_k(t) u_ijk,    x = x(r, s, t),
 *
 * evaluated by the lowest rank that has such an element. */
#ifndef SP_SOLVER_PROBLEM_PROBE_H
#define SP_SOLVER_PROBLEM_PROBE_H

#include "operators/space.h"
#include "solver/problem/problem.h"

typedef struct sp_probe {
  const char *name;    /* owned by the configuration */
  const double *point; /* [3], owned by the configuration */
  sp_lid element;      /* local index on the rank that evaluates, else -1 */
  double reference[3]; /* (r, s, t) of the point in that element */
  double value, error; /* u_h, and u_h - u if the problem has a solution; on all ranks */
} sp_probe;

typedef struct sp_probes {
  int count;
  sp_probe *list; /* [count], in the order of the case */
} sp_probes;

/* Find the elements. The caller destroys *out; `config` must outlive it. Errors: SP_ERR_INPUT with
 * the first point that is outside the mesh. Collective. */
sp_status sp_probes_create(const sp_config *config, const sp_mesh *mesh, sp_probes **out);

/* NULL-safe; sets *probes to NULL. Local. */
void sp_probes_destroy(sp_probes **probes);

/* Fill value and error for the host L-vector x. Errors: SP_ERR_INPUT if the solution is not finite.
 * Collective. */
sp_status sp_probes_evaluate(sp_probes *probes, const sp_problem *problem, const sp_space *space,
                             const double *x);

#endif
