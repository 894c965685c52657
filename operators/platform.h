/* What a run computes with: the ranks, a device per rank, and the sums over all ranks. Opened once
 * and borrowed by everything else. */
#ifndef SP_OPERATORS_PLATFORM_H
#define SP_OPERATORS_PLATFORM_H

#include "operators/backend.h"
#include "operators/reduction.h"

typedef enum sp_device_kind { SP_DEVICE_AUTO, SP_DEVICE_HOST, SP_DEVICE_CUDA } sp_device_kind;

/* All names as in a case, by sp_device_kind; ends in NULL. */
extern const char *const sp_device_names[];

typedef struct sp_platform {
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  sp_reduction *reduction;
  sp_transport transport; /* how values are to travel between devices */
} sp_platform;

/* Open the backend that `kind` asks for. SP_DEVICE_AUTO takes a GPU if there is one; a device that
 * is asked for and missing is an error. `comm` must outlive *platform. Close it with the function
 * below, which is safe after an error too. Errors: SP_ERR_INPUT, SP_ERR_SYSTEM. Collective. */
sp_status sp_platform_open(MPI_Comm comm, sp_device_kind kind, sp_transport transport,
                           sp_platform *platform);
void sp_platform_close(sp_platform *platform); /* Collective. */

#endif
