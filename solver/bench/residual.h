/* Check a solve by conjugate gradients. */
#ifndef SP_SOLVER_BENCH_RESIDUAL_H
#define SP_SOLVER_BENCH_RESIDUAL_H

#include "solver/linear/cg.h"

/* A solved system A x = b; A is `op`. */
typedef struct sp_bench_system {
  sp_operator *op;
  const double *b;  /* [local DOFs] */
  double *work;     /* [local DOFs], scratch */
  sp_vector *x, *y; /* the solution, and scratch; both are overwritten */
} sp_bench_system;

/* *error = | ||b - A x|| - r | / ||b||, where r is the recursively updated residual of CG, and
 * *tolerance = what rounding explains. Collective. Errors: those of the operator. */
sp_status sp_bench_check_residual(const sp_bench_system *system, const sp_cg_result *result,
                                  double *error, double *tolerance);

#endif
