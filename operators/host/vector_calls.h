/* Vector operations of operators/backend.h by the team of threads (io/team.h). Entries are split
 * into contiguous ranges, one per thread; short vectors use fewer threads. The number of threads
 * changes only sums, by rounding. */
#pragma once

#include "operators/backend.h"
#include "operators/host/kernels.h"

sp_status sp_host_copy(sp_device *device, sp_precision precision, size_t count, const void *from,
                       void *to);
sp_status sp_host_fill(sp_device *device, sp_precision precision, size_t count, double value,
                       void *vector);
sp_status sp_host_combine(sp_device *device, sp_precision precision, size_t count, int terms,
                          const double *weights, const void *const *x, void *y);
sp_status sp_host_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z);
sp_status sp_host_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum);
sp_status sp_host_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to);
sp_status sp_host_correct(sp_device *device, sp_precision precision, size_t count,
                          const sp_correction *step);

/* Pass 2 of CG (sp_host_update_function): `sums` are this rank's r.r and r.D^-1 r. */
void sp_host_update(const sp_host_vectors *kernels, sp_lid owned, sp_lid local, double alpha,
                    const sp_cg_arrays *vectors, double sums[2]);
