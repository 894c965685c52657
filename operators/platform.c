#include "operators/platform.h"

#include "operators/gpus.h"

const char *const sp_device_names[] = {
    [SP_DEVICE_AUTO] = "auto", [SP_DEVICE_HOST] = "host", [SP_DEVICE_CUDA] = "cuda", NULL};

const char *const sp_share_names[] = {[SP_SHARE_NO] = "no", [SP_SHARE_YES] = "yes", NULL};

/* `view`, and so the choice, is the same on all ranks. */
static sp_status choose_rank(const sp_gpu_view *view, int rank, sp_device_kind kind,
                             bool *has_elements) {
  SP_OWNED int *choice = NULL;
  if (view->first[view->ranks] == 0) return SP_OK; /* sp_platform_open reports why */
  SP_TRY(sp_allocate((size_t)view->ranks, sizeof *choice, "GPUs", &choice));
  const sp_status status = sp_gpus_choose(view, choice);
  if (!status) *has_elements = choice[rank] >= 0;
  return status == SP_ERR_INPUT && kind == SP_DEVICE_AUTO ? SP_OK : status;
}

sp_status sp_platform_choose_ranks(MPI_Comm comm, sp_device_kind kind, bool *has_elements) {
  SP_AUTO_VALUE(sp_gpu_view) view = {0};
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  *has_elements = true;
  if (size == 1 || kind == SP_DEVICE_HOST || !sp_backend_cuda) return SP_OK;
  SP_TRY(sp_gpus_look(comm, sp_gpus_visible, &view));
  return sp_agree(comm, choose_rank(&view, rank, kind, has_elements));
}

static sp_status open_device(sp_device_kind kind, sp_platform *p) {
  p->backend = &sp_backend_host;
  if (kind != SP_DEVICE_HOST && sp_backend_cuda) {
    /* With `auto` a machine without a GPU is no failure; with `cuda` its reason is reported. */
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
