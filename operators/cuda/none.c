/* Replaces the CUDA backend in a build without it. */
#include "operators/backend.h"
#include "operators/gpus.h"

const sp_backend *const sp_backend_cuda = NULL;

sp_status sp_gpus_visible(int *count, sp_gpu **gpus) {
  *count = 0;
  *gpus = NULL;
  return SP_OK;
}
