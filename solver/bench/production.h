/* Times of the program's own kernels, as the backend runs them (operators/backend.h): between
 * E-vectors, between L-vectors, and in an iteration of conjugate gradients. */
#ifndef SP_SOLVER_BENCH_PRODUCTION_H
#define SP_SOLVER_BENCH_PRODUCTION_H

#include "operators/operator.h"
#include "solver/bench/case.h"
#include "solver/bench/clock.h"
#include "solver/bench/options.h"

/* One problem with one geometry on a case, as many times as the clock asks for input sets: an
 * operator holds its geometry itself. */
typedef struct sp_bench_production {
  const sp_bench_clock *clock;
  const sp_bench_case *c;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  int sets;
  sp_operator **operators; /* [sets] */
  size_t e_size, l_size;   /* doubles of a vector */
  double *e_x, *e_y;       /* [sets][e_size] on the device */
  double *l_x, *l_y;       /* [sets][l_size] */
} sp_bench_production;

/* Make operators and vectors on *c, which must outlive them. Destroy with the function below, also
 * after an error. Collective. */
sp_status sp_bench_production_create(const sp_bench_clock *clock, sp_bench_case *c,
                                     sp_operator_kind kind, sp_geometry_kind geometry,
                                     sp_bench_production *production);
void sp_bench_production_destroy(sp_bench_production *production); /* Collective. */

/* Check what is to be measured, then time it: fill *row. Not for SP_BENCH_COPY. Errors:
 * SP_ERR_SYSTEM for a wrong result. Collective. */
sp_status sp_bench_production_time(const sp_bench_production *production, sp_bench_what what,
                                   sp_bench_row *row);

#endif
