/* Transfer between two orders on the GPU (operators/transfer.h): entries of the backend's table. */
#pragma once

#include "operators/cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

sp_status sp_cuda_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out);
void sp_cuda_transfer_destroy(sp_device_transfer **transfer);
sp_status sp_cuda_prolong(sp_device_transfer *transfer, const void *coarse, void *fine);
sp_status sp_cuda_restrict(sp_device_transfer *transfer, const void *fine, void *coarse);

#ifdef __cplusplus
}
#endif
