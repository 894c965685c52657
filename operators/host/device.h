/* The host as a device. */
#ifndef SP_OPERATORS_HOST_DEVICE_H
#define SP_OPERATORS_HOST_DEVICE_H

#include "operators/host/kernels.h"

struct sp_device {
  const sp_host_kernels *kernels; /* of the widest set that the processor can run */
  char description[64];
};

#endif
