/* The operators on one element, written for reading: sum factorization line by line on the host. It
 * uses only the matrices of mesh/reference.h and the factors of mesh/geometry.h. sp_bench compares
 * every kernel's result with it before timing the kernel. All functions Local but the last. */
#pragma once

#include "io/error.h"
#include "mesh/hexes.h"
#include "operators/kinds.h"
#include "operators/precision.h"
#include "solver/linear/cg.h"

/* y = A x on element `element`, x and y [Np]:
 *     mass    I^T wJ I x
 *     bp3.5   (D^T G D + lambda wJ) x
 *     bp3.0   I^T (D~^T G D~ + lambda wJ) I x,   I, D, D~ acting along all directions. */
sp_status sp_bench_reference(sp_operator_kind kind, int order, double lambda, const sp_hexes *hexes,
                             sp_lid element, const double *x, double *y);

/* max |result - expected| / max |expected|; infinite if any value is NaN. */
double sp_bench_difference(size_t count, const double *result, const double *expected);

/* FLT_EPSILON or DBL_EPSILON. */
double sp_bench_epsilon(sp_precision precision);

/* The largest difference that rounding explains: sixteen passes of sums of M = N + 2 terms, and 30
 * roundings of the factors, each of one machine epsilon of the precision that the kernel works in.
 */
double sp_bench_tolerance(int order, sp_precision precision);

/* A pseudorandom number in [-1, 1), uniform; it depends on `number` only, so all ranks get the
 * same. */
double sp_bench_random(sp_gid number);

/* Fill *all with values[size], again and again, and wait for it. Errors: SP_ERR_SYSTEM. */
sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all);

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
