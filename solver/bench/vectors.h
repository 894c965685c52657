/* Vectors of the study. */
#ifndef SP_SOLVER_BENCH_VECTORS_H
#define SP_SOLVER_BENCH_VECTORS_H

#include "operators/vector.h"

/* Fill *all with values[size], again and again, and wait for it. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_bench_repeat(size_t size, const double *values, sp_vector *all);

#endif
