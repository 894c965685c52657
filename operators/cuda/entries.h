/* Functions of the backend's table (operators/backend.h) without a header of their own: vectors
 * (blas.cu), transfer.cu, schwarz.cu, matrix.cu. */
#pragma once

#include "operators/cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workspace for dot; freed with the device. Local. */
sp_status sp_cuda_blas_prepare(sp_device *device);

sp_status sp_cuda_fill(sp_device *device, sp_precision precision, size_t count, double value,
                       void *vector);
sp_status sp_cuda_combine_vectors(sp_device *device, sp_precision precision, size_t count,
                                  int terms, const double *weights, const void *const *x, void *y);
sp_status sp_cuda_multiply(sp_device *device, sp_precision precision, size_t count, const void *x,
                           const void *y, void *z);
sp_status sp_cuda_convert(sp_device *device, size_t count, double scale,
                          sp_precision from_precision, const void *from, sp_precision to_precision,
                          void *to);
sp_status sp_cuda_correct(sp_device *device, sp_precision precision, size_t count,
                          const sp_correction *step);
sp_status sp_cuda_dot(sp_device *device, sp_precision precision, size_t count, const void *x,
                      const void *y, double *sum);

sp_status sp_cuda_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out);
void sp_cuda_transfer_destroy(sp_device_transfer **transfer);
sp_status sp_cuda_prolong(sp_device_transfer *transfer, const void *coarse, void *fine);
sp_status sp_cuda_restrict(sp_device_transfer *transfer, const void *fine, void *coarse);

sp_status sp_cuda_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out);
void sp_cuda_schwarz_destroy(sp_device_schwarz **schwarz);
sp_status sp_cuda_schwarz_apply(sp_device_schwarz *schwarz, const void *r, void *z);
sp_status sp_cuda_schwarz_step(sp_device_schwarz *schwarz, const void *r, void *z,
                               const sp_correction *step);

sp_status sp_cuda_matrix_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                sp_device_matrix **out);
sp_status sp_cuda_inverse_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                 sp_device_matrix **out);
void sp_cuda_matrix_destroy(sp_device_matrix **matrix);
sp_status sp_cuda_matrix_apply(sp_device_matrix *matrix, double a, const void *x, double b,
                               const void *z, void *y);

#ifdef __cplusplus
}
#endif
