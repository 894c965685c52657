/* Measured peak rates of CPUs, the bounds of all rates. */
#pragma once

#include "solver/bench/clock.h"
#include "solver/bench/plan.h"

/* Measure, on all ranks at a time, and add: *bandwidth, bytes per second of y = a x + b y on
 * vectors of 64 MB, 24 bytes per entry; *multiply_adds per second in double precision, in registers
 * (operators/host/peak.h). Only for sp_backend_host. Errors: SP_ERR_SYSTEM for memory. Collective.
 */
sp_status sp_bench_peaks(const sp_bench_clock *clock, double *bandwidth, double *multiply_adds);

/* Return the least seconds that one call of `what` with the operator of a step takes at these
 * rates: the larger of the times of its bytes and of its arithmetic. The bytes are those of
 * operators/counts.h; for an iteration of CG, 64 bytes of vectors per DOF in one sweep, else 80,
 * instead of the operator's 16. The arithmetic is like the kernels'; single precision has twice the
 * numbers per vector. Local. */
double sp_bench_bound(const sp_bench_step *step, sp_bench_what what, int64_t dofs, double bandwidth,
                      double multiply_adds);
