/* Additive Schwarz on the host (operators/schwarz/schwarz.h): entries of the backend's table. */
#pragma once

#include "operators/backend.h"

sp_status sp_host_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out);
void sp_host_schwarz_destroy(sp_device_schwarz **schwarz);
sp_status sp_host_schwarz_apply(sp_device_schwarz *schwarz, const void *r, void *z);
