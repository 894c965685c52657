/* The data that kernels are measured on: a deformed box, its degrees of freedom at one order,
 * and its geometric factors. Each is made on first use and kept until the mesh or the order
 * changes, so that all kernels of a case share it. */
#pragma once

#include "mesh/box.h"
#include "operators/space.h"

/* lambda of the screened Poisson problems. */
#define SP_BENCH_LAMBDA 1.0

typedef struct sp_bench_case {
  const sp_platform *platform;
  sp_gid elements; /* of the mesh; 0: no mesh yet */
  int order;
  sp_mesh *mesh;
  sp_space *space; /* NULL until sp_bench_case_space */
  bool *boundary;  /* [local DOFs]: true on the boundary */
  double *factors; /* NULL until sp_bench_case_factors */
  int factor_rule; /* points per direction of the rule of `factors` */
} sp_bench_case;

/* Set *c to a box of exactly `elements` elements, as close to a cube as that number allows, at this
 * order. Before the first use *c must be zero except `platform`, which must outlive it.
 * Errors: those of the mesh. Collective. */
sp_status sp_bench_case_set(sp_bench_case *c, sp_gid elements, int order);

/* Create c->space and c->boundary unless they exist. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_case_space(sp_bench_case *c);

/* Compute c->factors unless they exist for this rule: [elements][SP_FACTORS][points], for this
 * rank's elements at the points of the problem's rule (mesh/geometry.h). Errors: SP_ERR_SYSTEM and
 * those of sp_geometry_factors. Collective. */
sp_status sp_bench_case_factors(sp_bench_case *c, sp_operator_kind kind);

/* Release everything. Collective. */
void sp_bench_case_clear(sp_bench_case *c);
