/* Vectors of a device in either precision, written from and read into doubles on the host. All
 * functions Local. */
#ifndef SP_SOLVER_BENCH_VECTORS_H
#define SP_SOLVER_BENCH_VECTORS_H

#include "operators/backend.h"

/* `value`, rounded to a precision. */
double sp_bench_round(sp_precision precision, double value);

/* The entry `index` of a vector of this precision. */
void *sp_bench_entry(sp_precision precision, void *vector, size_t index);

/* vector[count] = values[count], rounded to the vector's precision; values[count] = vector[count].
 * Errors: SP_ERR_SYSTEM for memory or a failed device. */
sp_status sp_bench_upload(const sp_backend *backend, sp_device *device, sp_precision precision,
                          size_t count, const double *values, void *vector);
sp_status sp_bench_download(const sp_backend *backend, sp_device *device, sp_precision precision,
                            size_t count, const void *vector, double *values);

#endif
