/* The host as a device: its kernels by instruction set, and the entries of the backend's table
 * (operators/backend.h) that are in files of their own. */
#pragma once

#include "operators/host/kernels.h"

struct sp_device {
  const sp_host_kernels *kernels; /* of the widest set that the processor can run */
  char description[64];
};

extern const sp_host_kernels sp_host_kernels_generic, sp_host_kernels_avx2, sp_host_kernels_avx512;

enum { SP_HOST_KERNEL_SETS = 3 };

/* List the built tables (CMake: SP_HOST_KERNEL_SETS) that this processor can run, widest vectors
 * first. The backend uses the first. Returns their number. Local. */
int sp_host_usable_kernels(const sp_host_kernels *usable[SP_HOST_KERNEL_SETS]);

/* Vector operations by the team of threads (io/team.h). Entries are split into contiguous ranges,
 * one per thread; short vectors use fewer threads. The number of threads changes only sums, by
 * rounding. */
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

/* Pass 2 of CG: `sums` are this rank's r.r and r.D^-1 r. */
void sp_host_update(const sp_host_vectors *kernels, sp_lid owned, sp_lid local, double alpha,
                    const sp_cg_arrays *vectors, double sums[2]);

/* Transfer between two orders (operators/transfer.h). */
sp_status sp_host_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out);
void sp_host_transfer_destroy(sp_device_transfer **transfer);
sp_status sp_host_prolong(sp_device_transfer *transfer, const void *coarse, void *fine);
sp_status sp_host_restrict(sp_device_transfer *transfer, const void *fine, void *coarse);

/* Additive Schwarz (operators/schwarz/schwarz.h). */
sp_status sp_host_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out);
void sp_host_schwarz_destroy(sp_device_schwarz **schwarz);
sp_status sp_host_schwarz_apply(sp_device_schwarz *schwarz, const void *r, void *z);

/* Matrices. Rows are shared by the team. An inverse is kept as the factor U of M = U^T U, in double
 * precision. */
sp_status sp_host_matrix_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                sp_device_matrix **out);
sp_status sp_host_inverse_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                 sp_device_matrix **out);
void sp_host_matrix_destroy(sp_device_matrix **matrix);
sp_status sp_host_matrix_apply(sp_device_matrix *matrix, double a, const void *x, double b,
                               const void *z, void *y);
