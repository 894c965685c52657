/* What the kernels work on: a sine-mapped box, the degrees of freedom of one order on it, and its
 * geometric factors. Each is made when it is first asked for and kept until another mesh or order
 * is, so that the kernels of a case share it. */
#ifndef SP_SOLVER_BENCH_CASE_H
#define SP_SOLVER_BENCH_CASE_H

#include "operators/space.h"

/* lambda of the screened Poisson problems. */
#define SP_BENCH_LAMBDA 1.0

typedef struct sp_bench_case {
  const sp_platform *platform;
  sp_gid elements; /* of the mesh; 0: there is none yet */
  int order;
  sp_mesh *mesh;
  sp_space *space; /* NULL until asked for */
  bool *boundary;  /* [local DOFs]: those on the boundary */
  double *factors; /* of `factor_rule`, see below */
  int factor_rule; /* its number of points a direction */
} sp_bench_case;

/* Set *c, zeroed before its first use except `platform`, to a box of exactly so many elements, as
 * near to a cube as they allow, at this order. Errors: those of the mesh. Collective. */
sp_status sp_bench_case_set(sp_bench_case *c, sp_gid elements, int order);

/* Make sure of c->space and c->boundary. Collective. */
sp_status sp_bench_case_space(sp_bench_case *c);

/* Make sure of c->factors, [elements][SP_FACTORS][points] of this rank's elements on the points of
 * the problem's rule (mesh/geometry.h). Collective. */
sp_status sp_bench_case_factors(sp_bench_case *c, sp_operator_kind kind);

/* Release everything. Collective. */
void sp_bench_case_clear(sp_bench_case *c);

/* Divisors of `elements` whose box has the least surface, ascending. Local. */
void sp_bench_box(sp_gid elements, int box[3]);

#endif
