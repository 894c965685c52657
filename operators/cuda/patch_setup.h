/* Operators by patches (patches.h): their arrays on the device, for setup.cu. C++ only. All
 * functions are Local. */
#pragma once

#include "operators/cuda/local.h"

/* Make factors and lists for the elements of `local`. *fits is false, and nothing is made, if a
 * patch has too many nodes for a block. Errors: SP_ERR_SYSTEM. */
sp_status sp_cuda_patches_make(const sp_operator_setup *setup, sp_local_operator *local,
                               bool *fits);
void sp_cuda_patches_free(sp_cuda_patch_arrays *patches);
