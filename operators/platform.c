#include "operators/platform.h"

const char *const sp_device_names[] = {
    [SP_DEVICE_AUTO] = "auto", [SP_DEVICE_HOST] = "host", [SP_DEVICE_CUDA] = "cuda", NULL};

static sp_status open_device(sp_device_kind kind, sp_platform *p) {
  p->backend = &sp_backend_host;
  if (kind != SP_DEVICE_HOST && sp_backend_cuda) {
    /* With `auto` a machine without a GPU is no failure; with `cuda` the reason is the answer. */
    const sp_status status = sp_agree(p->comm, sp_backend_cuda->open(p->comm, &p->device));
    if (!status) {
      p->backend = sp_backend_cuda;
      return SP_OK;
    }
    if (p->device) sp_backend_cuda->close(&p->device);
    if (kind == SP_DEVICE_CUDA) return status;
  }
  if (kind == SP_DEVICE_CUDA)
    return sp_fail(SP_ERR_INPUT, "backend.device = cuda, but this program was built without CUDA");
  return sp_agree(p->comm, sp_backend_host.open(p->comm, &p->device));
}

sp_status sp_platform_open(MPI_Comm comm, sp_device_kind kind, sp_transport transport,
                           sp_platform *platform) {
  *platform = (sp_platform){.comm = comm, .transport = transport};
  sp_status status = open_device(kind, platform);
  if (!status) status = sp_reduction_create(comm, &platform->reduction);
  if (status) sp_platform_close(platform);
  return status;
}

void sp_platform_close(sp_platform *platform) {
  sp_reduction_destroy(&platform->reduction);
  if (platform->device) platform->backend->close(&platform->device);
}
