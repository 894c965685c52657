/* Check a solve by conjugate gradients. */
#ifndef SP_SOLVER_BENCH_RESIDUAL_H
#define SP_SOLVER_BENCH_RESIDUAL_H

#include "solver/bench/clock.h"
#include "solver/linear/cg.h"

/* A solved system: A is `op`, b on the host, the rest in the backend's memory or work space. */
typedef struct sp_bench_system {
  const sp_bench_clock *clock;
  sp_operator *op;
  const double *b; /* [local DOFs] */
  double *work;    /* [local DOFs], on the host */
  double *x, *y;   /* the solution, and scratch; both are overwritten */
} sp_bench_system;

/* *error = | ||b - A x|| - r | / ||b||, where r is the recursively updated residual of CG, and
 * *tolerance = what rounding explains. Collective. Errors: those of the operator. */
sp_status sp_bench_check_residual(const sp_bench_system *system, const sp_cg_result *result,
                                  double *error, double *tolerance);

#endif
