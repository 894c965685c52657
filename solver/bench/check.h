/* The result that sp_bench expects of a kernel before it times it: that of the host backend with
 * stored geometry in double precision, which tests/ compare with the bilinear forms. Local unless
 * marked Collective. */
#pragma once

#include "solver/bench/case.h"

/* y = A x, [local DOFs] of c->space, without constraints. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_expected(const sp_bench_case *c, sp_operator_kind kind, const double *x,
                            double *y);

/* q = Z x, [elements][Np] of [local DOFs]. */
void sp_bench_gather(const sp_space *space, const double *x, double *q);

/* *error = max |Z^T q - y| / max |y| over all ranks; q [elements][Np]; infinite if any value is not
 * finite. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_bench_compare_sum(const sp_space *space, const double *q, const double *y,
                               double *error);

/* max |result - expected| / max |expected| over all ranks; infinite if any value is not finite.
 * Collective. */
double sp_bench_difference(MPI_Comm comm, size_t count, const double *result,
                           const double *expected);

/* FLT_EPSILON or DBL_EPSILON. */
double sp_bench_epsilon(sp_precision precision);

/* The largest difference that rounding explains: in two results eight passes each of sums of M =
 * N + 2 terms, and 30 roundings of the factors, each of one machine epsilon of the precision that
 * the kernel works in.
 */
double sp_bench_tolerance(int order, sp_precision precision);

/* A pseudorandom number in [-1, 1), uniform; it depends on `number` only, so all ranks get the
 * same. */
double sp_bench_random(sp_gid number);

/* Fill *all with values[size], again and again, and wait for it. Errors: SP_ERR_SYSTEM. */
sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all);
