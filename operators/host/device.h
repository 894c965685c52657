/* The host as a device. */
#pragma once

#include "operators/host/kernels.h"

struct sp_device {
  const sp_host_kernels *kernels; /* of the widest set that the processor can run */
  char description[64];
};
