/* Measure the program's own kernels (operators/backend.h): from E-vector to E-vector, from L-vector
 * to L-vector, and in an iteration of conjugate gradients. */
#pragma once

#include "operators/operator.h"
#include "solver/bench/case.h"
#include "solver/bench/clock.h"
#include "solver/bench/options.h"

/* One problem with one geometry in one precision on a case. An operator contains its geometry, so
 * there is one per input set. */
typedef struct sp_bench_production {
  const sp_bench_clock *clock;
  const sp_bench_case *c;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  sp_precision precision;
  int sets;
  sp_operator **operators; /* [sets] */
  size_t e_size, l_size;   /* numbers per vector */
  sp_vector e_x, e_y;      /* [sets][e_size], in this precision */
  sp_vector l_x, l_y;      /* [sets][l_size] */
  double *x, *expected;    /* [l_size], the input of all sets, 0 where constrained, and A x */
} sp_bench_production;

/* Create operators and vectors on *c. The clock and *c must outlive *production. The caller
 * destroys it, also after an error. Errors: SP_ERR_SYSTEM; SP_ERR_INPUT for single precision where
 * the backend has no such operators. Collective. */
sp_status sp_bench_production_create(const sp_bench_clock *clock, sp_bench_case *c,
                                     sp_operator_kind kind, sp_geometry_kind geometry,
                                     sp_precision precision, sp_bench_production *production);
void sp_bench_production_destroy(sp_bench_production *production); /* Collective. */

/* Check the result, except of SP_BENCH_CG, then time it. Fills *row except its key. Not for
 * SP_BENCH_COPY, and SP_BENCH_CG is for double precision. Errors: SP_ERR_SYSTEM for a wrong result.
 * Collective. */
sp_status sp_bench_production_time(const sp_bench_production *production, sp_bench_what what,
                                   sp_bench_row *row);
