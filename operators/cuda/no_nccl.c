/* Replaces nccl.c in a build without NCCL: never connects. */
#include "operators/cuda/exchange.h"

sp_status sp_cuda_nccl_connect(sp_device *device, MPI_Comm comm, const char **why) {
  (void)device;
  (void)comm;
  *why = "this program was built without NCCL";
  return SP_OK;
}

sp_status sp_cuda_nccl_begin(sp_device_space *space, sp_precision precision) {
  (void)space;
  (void)precision;
  return sp_fail(SP_ERR_SYSTEM, "this program was built without NCCL");
}

sp_status sp_cuda_nccl_wait(sp_device *device) {
  (void)device;
  return SP_OK;
}

void sp_cuda_nccl_close(struct sp_cuda_nccl **nccl) {
  (void)nccl;
}
