/* The vector group of the backend's table (operators/backend.h), on the device's stream; and steps
 * with the result of an application. */
#pragma once

#include "operators/cuda/assembly.h"
#include "operators/cuda/device.h"
#include "operators/cuda/peers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finish an application whose result is step->q, or step->t if step->q is NULL: sum at edges and
 * vertices, then do the step. If `border` is not NULL, first receive and add the few shared values
 * (peers.h). Before the call the result is zero at edges and vertices, except
 * for values from the exchange or the diagonal; afterwards it is zero there, in faces and at
 * copies. `joins`: the call may follow kernels of several streams (queue.cuh). */
cudaError_t sp_cuda_complete(const sp_cuda_assembly *assembly, sp_precision precision,
                             const void *edges, const sp_correction *step,
                             const sp_cuda_border *border, bool joins, cudaStream_t stream);

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

#ifdef __cplusplus
}
#endif
