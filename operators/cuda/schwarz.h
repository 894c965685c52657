/* Additive Schwarz on a GPU (operators/schwarz/schwarz.h): entries of the backend's table. */
#pragma once

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

sp_status sp_cuda_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out);
void sp_cuda_schwarz_destroy(sp_device_schwarz **schwarz);
sp_status sp_cuda_schwarz_apply(sp_device_schwarz *schwarz, const void *r, void *z);
sp_status sp_cuda_schwarz_step(sp_device_schwarz *schwarz, const void *r, void *z,
                               const sp_correction *step);

#ifdef __cplusplus
}
#endif
