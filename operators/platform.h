/* Platform of a run: the ranks, a device per rank, and the sums over all ranks. It is opened once
 * and borrowed by everything else. */
#pragma once

#include "operators/backend.h"
#include "operators/reduction.h"

typedef enum sp_device_kind { SP_DEVICE_AUTO, SP_DEVICE_HOST, SP_DEVICE_CUDA } sp_device_kind;

/* All names as in a case, by sp_device_kind; ends in NULL. */
extern const char *const sp_device_names[];

/* SP_SHARE_YES: several ranks share a GPU if there are fewer GPUs than ranks. SP_SHARE_NO: one rank
 * for each GPU has all elements. */
typedef enum sp_share { SP_SHARE_NO, SP_SHARE_YES } sp_share;

/* All names as in a case, by sp_share; ends in NULL. */
extern const char *const sp_share_names[];

typedef struct sp_platform {
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  sp_reduction *reduction;
  sp_transport transport; /* how values travel between devices */
} sp_platform;

/* Choose which ranks have elements if no two ranks may share a GPU. *has_elements is true on one
 * rank for each GPU that a rank can see (operators/gpus.h), and on all ranks if they work on CPUs,
 * or if no rank sees a GPU. SP_DEVICE_AUTO takes GPUs if rank 0 and a rank of each machine see one.
 * No CUDA context is created. Errors: SP_ERR_INPUT for SP_DEVICE_CUDA if only some machines have
 * GPUs, or if rank 0 sees none; SP_ERR_SYSTEM. Collective. */
sp_status sp_platform_choose_ranks(MPI_Comm comm, sp_device_kind kind, bool *has_elements);

/* Open the backend that `kind` asks for. SP_DEVICE_AUTO takes a GPU if there is one; a device that
 * is asked for and missing is an error. `comm` must outlive *platform. Close it with the function
 * below, which is safe after an error too. Errors: SP_ERR_INPUT, SP_ERR_SYSTEM. Collective. */
sp_status sp_platform_open(MPI_Comm comm, sp_device_kind kind, sp_transport transport,
                           sp_platform *platform);
void sp_platform_close(sp_platform *platform); /* Collective. */
