#include "operators/backend.h"

sp_status sp_backend_open(MPI_Comm comm, sp_device_kind kind, const sp_backend **backend,
                          sp_device **device) {
  *device = NULL;
  *backend = &sp_backend_host;
  if (kind != SP_DEVICE_HOST && sp_backend_cuda) {
    /* Without a wish, a machine without a GPU is no failure; with one, the reason is the answer. */
    const sp_status status = sp_agree(comm, sp_backend_cuda->open(comm, device));
    if (!status) {
      *backend = sp_backend_cuda;
      return SP_OK;
    }
    if (*device) sp_backend_cuda->close(device);
    if (kind == SP_DEVICE_CUDA) return status;
  }
  if (kind == SP_DEVICE_CUDA)
    return sp_fail(SP_ERR_INPUT, "backend.device = cuda, but this program was built without CUDA");
  return sp_agree(comm, sp_backend_host.open(comm, device));
}
