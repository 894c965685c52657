/* Matrices on a GPU (operators/backend.h): entries of the backend's table. */
#pragma once

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

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
