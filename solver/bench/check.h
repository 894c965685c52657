/* The operators on one element, written for reading: sum factorization line by line on the host. It
 * uses only the matrices of mesh/reference.h and the factors of mesh/geometry.h. sp_bench compares
 * every kernel's result with it before timing the kernel. All functions Local. */
#pragma once

#include "io/error.h"
#include "mesh/hexes.h"
#include "operators/kinds.h"
#include "operators/vector.h"

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
