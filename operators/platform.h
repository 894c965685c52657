/* Platform of a run: the ranks, a device per rank, and the sums over all ranks. Opened once;
 * borrowed by all other objects. */
#pragma once

#include "operators/backend.h"
#include "operators/reduction.h"

typedef enum sp_device_kind { SP_DEVICE_AUTO, SP_DEVICE_HOST, SP_DEVICE_CUDA } sp_device_kind;

/* All names as in a case, by sp_device_kind; ends in NULL. */
extern const char *const sp_device_names[];

/* SP_SHARE_YES: several ranks share a GPU if there are fewer GPUs than ranks. SP_SHARE_NO: one rank
 * per GPU has elements. */
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
 * rank per visible GPU (operators/gpus.h), or on all ranks if they use CPUs or no GPU is visible.
 * SP_DEVICE_AUTO takes GPUs if rank 0 and a rank of each machine have one. No CUDA context is
 * created. Errors: SP_ERR_INPUT for SP_DEVICE_CUDA if only some machines have GPUs, or rank 0 has
 * none; SP_ERR_SYSTEM. Collective. */
sp_status sp_platform_choose_ranks(MPI_Comm comm, sp_device_kind kind, bool *has_elements);

/* Open the backend `kind`. SP_DEVICE_AUTO takes a GPU if there is one; a missing requested device
 * is an error. `comm` must outlive *platform. Close it with the function below, also after an
 * error. Errors: SP_ERR_INPUT, SP_ERR_SYSTEM. Collective. */
sp_status sp_platform_open(MPI_Comm comm, sp_device_kind kind, sp_transport transport,
                           sp_platform *platform);
void sp_platform_close(sp_platform *platform); /* Collective. */
