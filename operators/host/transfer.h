/* Transfer between two orders on the host (operators/transfer.h): entries of the backend's table.
 */
#pragma once

#include "operators/backend.h"

sp_status sp_host_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out);
void sp_host_transfer_destroy(sp_device_transfer **transfer);
sp_status sp_host_prolong(sp_device_transfer *transfer, const void *coarse, void *fine);
sp_status sp_host_restrict(sp_device_transfer *transfer, const void *fine, void *coarse);
