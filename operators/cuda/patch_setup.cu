// Patches on the device (patches.h).

extern "C" {
#include "operators/factors.h"
}

#include "operators/cuda/copies.h"
#include "operators/cuda/patch_setup.h"

#include <cstdlib>
#include <cstring>

/* Copy `count` entries to *out on the device. */
static sp_status send(const void *values, size_t count, size_t size, const char *what, void *out) {
  void *copy;
  const sp_status status = sp_cuda_copy_of(values, count, size, what, &copy);
  memcpy(out, &copy, sizeof copy);
  return status;
}

/* kappa and lambda / kappa of each element. */
static sp_status send_scales(const sp_operator_setup *setup, sp_local_operator *local) {
  const size_t elements = (size_t)local->elements;
  double *scales;
  SP_TRY(sp_allocate(2 * elements, sizeof *scales, "patches", &scales));
  for (size_t e = 0; e < elements; e++) {
    sp_operator_scales(setup, (sp_lid)e, &scales[2 * e]);
    scales[2 * e + 1] /= scales[2 * e];
  }
  const sp_status status = send(scales, 2 * elements, sizeof *scales, "patches", &local->scales);
  free(scales);
  return status;
}

static sp_status send_patches(const sp_operator_setup *setup, const sp_patches *patches,
                              sp_local_operator *local) {
  sp_cuda_patch_arrays *arrays = &local->patches;
  const size_t elements = (size_t)local->elements;
  const char *const what = "patches";
  arrays->count = patches->count;
  local->halo_patches = patches->halo;
  arrays->most_nodes = patches->most_nodes;
  arrays->most_words = patches->most_words;
  SP_TRY(send(patches->list, (size_t)patches->count, sizeof *patches->list, what, &arrays->list));
  SP_TRY(send(patches->codes, patches->nodes, sizeof *patches->codes, what, &arrays->codes));
  SP_TRY(send(patches->geometry, patches->geometry_count, sizeof *patches->geometry, what,
              &local->factors));
  SP_TRY(send(patches->pairs, elements * (size_t)patches->element_words, sizeof *patches->pairs,
              what, &arrays->pairs));
  SP_TRY(send(patches->start, patches->groups + 1, sizeof *patches->start, what, &arrays->start));
  SP_TRY(send(patches->entries, patches->words, sizeof *patches->entries, what, &arrays->entries));
  if (patches->order == 1 && (setup->kappa || setup->lambda_values))
    SP_TRY(send_scales(setup, local));
  SP_TRY(sp_cuda_assembly_create(setup, patches, &local->assembly));
  return sp_cuda_allocate(patches->slots, sizeof(double), "edges", &local->edges);
}

sp_status sp_cuda_patches_make(const sp_operator_setup *setup, sp_local_operator *local,
                               bool *fits) {
  sp_patches patches;
  int most = 0;
  SP_CUDA(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, local->device->id));
  sp_status status = sp_patches_create(setup, &patches);
  *fits = local->order->patch_shared_bytes(patches.most_nodes, patches.most_words) <= (size_t)most;
  if (!status && *fits) {
    local->owns_lists = true;
    status = send_patches(setup, &patches, local);
  }
  sp_patches_free(&patches);
  return status;
}

void sp_cuda_patches_free(sp_cuda_patch_arrays *patches) {
  (void)cudaFree((void *)patches->list);
  (void)cudaFree((void *)patches->codes);
  (void)cudaFree((void *)patches->pairs);
  (void)cudaFree((void *)patches->start);
  (void)cudaFree((void *)patches->entries);
}
