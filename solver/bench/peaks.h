/* What CPUs can do at most: the bounds of their rates. */
#ifndef SP_SOLVER_BENCH_PEAKS_H
#define SP_SOLVER_BENCH_PEAKS_H

#include "solver/bench/clock.h"

/* Measure, on all ranks at a time, and add: *bandwidth, bytes per second of y = a x + b y on
 * vectors of 64 MB, 24 bytes per entry; *multiply_adds per second in double precision, in registers
 * (operators/host/peak.h). Only for sp_backend_host. Errors: SP_ERR_SYSTEM for memory. Collective.
 */
sp_status sp_bench_peaks(const sp_bench_clock *clock, double *bandwidth, double *multiply_adds);

/* The least seconds that one call of a row takes by these rates: those of its bytes or those of its
 * arithmetic, whichever are more. The bytes are those of operators/counts.h; for an iteration of
 * CG, 64 bytes of vectors per DOF in one sweep, else 80, instead of the operator's 16. The
 * arithmetic is what the kernels do; of twice as many numbers at a time in single precision. Local.
 */
double sp_bench_bound(const sp_bench_row *row, double bandwidth, double multiply_adds);

#endif
