/* Matrices on the host (operators/backend.h): entries of the backend's table. Rows are shared by
 * the team of threads (io/team.h). An inverse is kept as the factor U of M = U^T U, in double
 * precision. */
#pragma once

#include "operators/backend.h"

sp_status sp_host_matrix_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                sp_device_matrix **out);
sp_status sp_host_inverse_create(sp_device *device, sp_precision precision, const sp_csr *matrix,
                                 sp_device_matrix **out);
void sp_host_matrix_destroy(sp_device_matrix **matrix);
sp_status sp_host_matrix_apply(sp_device_matrix *matrix, double a, const void *x, double b,
                               const void *z, void *y);
