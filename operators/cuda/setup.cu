// Create a local operator on the GPU from data of the host.

extern "C" {
#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/cuda/copies.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/space.h"
}

#include "operators/cuda/local.h"

#include <cassert>
#include <cstdlib>
#include <cstring>

/* The kernels with patches, or NULL to work element by element. Transfers and Schwarz need lists by
 * element. At order 1 elements share corners, which a tensor transforms differently in each. */
static const sp_cuda_kernel *patch_kernel(const sp_operator_setup *setup,
                                          const sp_local_operator *local) {
  if (setup->kind != SP_BP35 || setup->for_level || setup->geometry != SP_GEOMETRY_TRILINEAR)
    return nullptr;
  if (setup->is_tensor && setup->space->numbering->order == 1) return nullptr;
  const sp_cuda_kernel *kernel = &local->order->patched[sp_operator_map_kind(setup)];
  return kernel->launch ? kernel : nullptr;
}

static const sp_cuda_kernel *element_kernel(const sp_operator_setup *setup,
                                            const sp_local_operator *local) {
  return &local->order->kernels[setup->kind][sp_operator_factor_kind(setup)];
}

/* Bytes per element. */
static size_t factor_bytes(const sp_operator_setup *setup, size_t points) {
  const size_t real = sp_precision_bytes(setup->precision);
  if (sp_operator_factor_kind(setup) == SP_FACTORS_AFFINE) return SP_CUDA_AFFINE * real;
  if (setup->geometry == SP_GEOMETRY_TRILINEAR) return 24 * real;
  if (setup->rounded) return sp_operator_rounded_words(points) * sizeof(uint32_t);
  return (size_t)sp_operator_rows[setup->kind].factors * points * real;
}

/* A batch of elements from `begin` on, whose factors go to out[element of the batch][bytes]. */
struct batch {
  const sp_operator_setup *setup;
  const sp_rule *rule;
  size_t begin, bytes;
  char *out;
};

/* The work space has room for the factors of one element. */
static sp_status fill_batch(void *context, void *workspace, size_t begin, size_t end) {
  const batch *b = (const batch *)context;
  double *element = (double *)workspace;
  const size_t points = sp_rule_points(b->rule);
  const size_t used = (size_t)sp_operator_rows[b->setup->kind].factors;
  const double *const first_used = element + (SP_FACTORS - used) * points;
  const sp_factor_kind kind = sp_operator_factor_kind(b->setup);
  for (size_t n = begin; n < end; n++) {
    const sp_lid e = (sp_lid)(b->begin + n);
    char *const out = &b->out[n * b->bytes];
    if (kind == SP_FACTORS_AFFINE) {
      element[SP_CUDA_AFFINE - 1] = 0;
      sp_operator_affine(b->setup, e, element);
      sp_cuda_round(b->setup->precision, SP_CUDA_AFFINE, element, nullptr, out);
      continue;
    }
    if (b->setup->geometry == SP_GEOMETRY_TRILINEAR) {
      sp_operator_trilinear(b->setup, e, element);
      if (kind == SP_FACTORS_SCALED) element[1] /= element[0];
      sp_cuda_round(b->setup->precision, 24, element, nullptr, out);
      continue;
    }
    SP_TRY(sp_operator_factors(b->setup, e, b->rule, element));
    if (kind == SP_FACTORS_ROUNDED)
      sp_operator_round_factors(points, element, (uint32_t *)out);
    else
      sp_cuda_round(b->setup->precision, used * points, first_used, nullptr, out);
  }
  return SP_OK;
}

/* Factors are computed on the host and sent in batches of elements, so the host never holds all. A
 * batch has 32 MB: with only 256 elements per thread, N = 1 with 16 M elements spent 4 s on
 * starting threads. */
static sp_status send_factors(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_hexes *hexes = setup->space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(setup->kind, setup->space->numbering->order);
  const size_t points = sp_rule_points(rule), count = (size_t)hexes->count;
  const size_t bytes = factor_bytes(setup, points);
  const size_t elements = (32 << 20) / bytes + (size_t)sp_threads();
  SP_OWNED char *out = nullptr;
  /* Eight more bytes, which copies in units of 16 bytes (geometry.cuh) may read. */
  SP_TRY(sp_cuda_allocate(count * bytes + 8, 1, "geometric factors", &local->factors));
  SP_TRY(sp_allocate(elements * bytes, 1, "factors", &out));
  batch b = {setup, rule, 0, bytes, out};
  for (; b.begin < count; b.begin += elements) {
    const size_t size = count - b.begin < elements ? count - b.begin : elements;
    sp_loop loop = {};
    loop.what = "factors";
    loop.count = size;
    loop.chunk = sp_loop_chunk(size, bytes / sizeof(float));
    /* Room also for the 24 coefficients of a map, at any order. */
    loop.workspace_bytes = SP_FACTORS * points * sizeof(double);
    loop.context = &b;
    loop.compute = fill_batch;
    SP_TRY(sp_loop_run(&loop));
    SP_TRY(sp_cuda_copy_in(size * bytes, out, (char *)local->factors + b.begin * bytes));
  }
  return SP_OK;
}

static sp_status make_lists(const sp_operator_setup *setup, sp_local_operator *local) {
  assert(!setup->alike || !setup->alike->works_by_patches);
  local->owns_lists = !setup->alike;
  if (!local->owns_lists) {
    local->assembly = setup->alike->assembly;
    local->nodes = setup->alike->nodes;
    return SP_OK;
  }
  const int order = setup->space->numbering->order;
  SP_TRY(sp_cuda_assembly_create(setup, nullptr, &local->assembly));
  return sp_cuda_codes_create(order, (size_t)local->elements, sp_cuda_surface_nodes(order),
                              setup->space->numbering->nodes, local->dofs, setup->constrained,
                              &local->nodes);
}

static sp_status allocate_edges(const sp_operator_setup *setup, sp_local_operator *local) {
  const size_t real = sp_precision_bytes(setup->precision), elements = (size_t)local->elements;
  const size_t count = elements * (size_t)sp_cuda_edge_nodes(setup->space->numbering->order);
  return sp_cuda_allocate(count, real, "edges", &local->edges);
}

static sp_status send_diagonal(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_numbering *numbering = setup->space->numbering;
  const size_t count = (size_t)setup->diagonal_count;
  sp_cuda_diagonal *diagonal = &local->diagonal;
  SP_OWNED bool *shared = nullptr;
  SP_OWNED unsigned *dofs = nullptr;
  SP_OWNED double *values = nullptr;
  SP_TRY(sp_allocate((size_t)local->dofs, sizeof *shared, "diagonal", &shared));
  SP_TRY(sp_allocate(count, sizeof *dofs, "diagonal", &dofs));
  SP_TRY(sp_allocate(count, sizeof *values, "diagonal", &values));
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    shared[numbering->shared[s]] = true;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t n = 0; n < count; n++) {
      const sp_lid dof = setup->diagonal_dofs[n];
      if (shared[dof] != (pass == 0)) continue;
      const bool constrained = setup->constrained && setup->constrained[dof];
      dofs[diagonal->count] = (unsigned)dof | (constrained ? SP_CUDA_CONSTRAINED : 0);
      values[diagonal->count++] = setup->diagonal_values[n];
    }
    if (pass == 0) diagonal->shared = diagonal->count;
  }
  SP_TRY(sp_cuda_copy_of(dofs, count, sizeof *dofs, "diagonal", &diagonal->dofs));
  return sp_cuda_copy_of(values, count, sizeof *values, "diagonal", &diagonal->values);
}

/* The number of blocks of pass 1, in two parts or as a whole, whichever is larger. */
static int most_blocks(const sp_local_operator *local) {
  const int halo = local->kernel->blocks(local->halo_elements);
  const int inner = local->kernel->blocks(local->elements - local->halo_elements);
  const int whole = local->kernel->blocks(local->elements);
  return halo + inner > whole ? halo + inner : whole;
}

/* Find the shared memory that a block may have, and check that it is enough for the kernel. */
static sp_status check_shared_memory(int order, const sp_local_operator *local, size_t *bytes) {
  int most = 0;
  SP_CUDA(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, local->device->id));
  *bytes = (size_t)most;
  if (local->kernel->shared_bytes <= *bytes) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "order %d needs %.1f kB of shared memory a block, GPU %d has %.1f kB: take a "
                 "lower order or backend.device = host",
                 order, 1e-3 * (double)local->kernel->shared_bytes, local->device->id, 1e-3 * most);
}

/* Create the data of the passes of CG, which exist only in double precision. */
static sp_status allocate_sums(sp_local_operator *local) {
  const int blocks = most_blocks(local) + diagonal_blocks(local);
  SP_TRY(sp_cuda_allocate((size_t)(blocks + SP_CUDA_SUM_BLOCKS), sizeof(double), "partial sums",
                          &local->energy));
  SP_TRY(
      sp_cuda_allocate(2 * SP_CUDA_VECTOR_BLOCKS, sizeof(double), "partial sums", &local->partial));
  SP_TRY(sp_cuda_allocate(1, sizeof *local->scalars, "scalars", &local->scalars));
  SP_TRY(sp_cuda_allocate(SP_CG_BATCH, sizeof *local->records, "records", &local->records));
  return SP_CUDA_STATUS(cudaMallocHost(&local->sums, 2 * sizeof(double)));
}

/* ---- Patches (patches.h) ---- */

/* kappa and lambda / kappa of each element. */
static sp_status send_scales(const sp_operator_setup *setup, sp_local_operator *local) {
  const size_t elements = (size_t)local->elements;
  SP_OWNED double *scales = nullptr;
  SP_TRY(sp_allocate(2 * elements, sizeof *scales, "patches", &scales));
  for (size_t e = 0; e < elements; e++) {
    sp_operator_scales(setup, (sp_lid)e, &scales[2 * e]);
    scales[2 * e + 1] /= scales[2 * e];
  }
  return sp_cuda_copy_of(scales, 2 * elements, sizeof *scales, "patches", &local->scales);
}

/* Copy `count` entries to *out on the device. */
template <class T> static sp_status send(const T *values, size_t count, void *out) {
  return sp_cuda_copy_of(values, count, sizeof *values, "patches", out);
}

static sp_status send_patches(const sp_operator_setup *setup, const sp_patches *patches,
                              sp_local_operator *local) {
  sp_cuda_patch_arrays *arrays = &local->patches;
  arrays->count = patches->count;
  local->halo_patches = patches->halo;
  arrays->most_nodes = patches->most_nodes;
  arrays->most_words = patches->most_words;
  SP_TRY(send(patches->list, (size_t)patches->count, &arrays->list));
  SP_TRY(send(patches->codes, patches->nodes, &arrays->codes));
  SP_TRY(send(patches->geometry, patches->geometry_count, &local->factors));
  SP_TRY(send(patches->pairs, (size_t)local->elements * (size_t)patches->element_words,
              &arrays->pairs));
  SP_TRY(send(patches->start, patches->groups + 1, &arrays->start));
  SP_TRY(send(patches->entries, patches->words, &arrays->entries));
  if (patches->order == 1 && (setup->kappa || setup->lambda_values))
    SP_TRY(send_scales(setup, local));
  SP_TRY(sp_cuda_assembly_create(setup, patches, &local->assembly));
  return sp_cuda_allocate(patches->slots, sizeof(double), "edges", &local->edges);
}

/* Patch kernels if every patch fits in shared memory; else element kernels. Patches have many nodes
 * if the order of elements does not keep neighbours together. */
static sp_status try_patches(const sp_operator_setup *setup, size_t shared_bytes,
                             sp_local_operator *local) {
  sp_patches patches;
  sp_status status = sp_patches_create(setup, &patches);
  local->works_by_patches =
      local->order->patch_shared_bytes(patches.most_nodes, patches.most_words) <= shared_bytes;
  if (!local->works_by_patches) local->kernel = element_kernel(setup, local);
  local->owns_lists = local->works_by_patches;
  if (!status && local->works_by_patches) status = send_patches(setup, &patches, local);
  sp_patches_free(&patches);
  return status;
}

static sp_status build(const sp_operator_setup *setup, sp_local_operator *local) {
  const int order = setup->space->numbering->order;
  size_t shared_bytes;
  SP_TRY(check_shared_memory(order, local, &shared_bytes));
  SP_CUDA(local->order->prepare(sp_reference_get(order)));
  if (local->works_by_patches) SP_TRY(try_patches(setup, shared_bytes, local));
  if (!local->works_by_patches) {
    SP_TRY(send_factors(setup, local));
    SP_TRY(make_lists(setup, local));
    SP_TRY(allocate_edges(setup, local));
  }
  SP_TRY(send_diagonal(setup, local));
  if (local->precision == SP_DOUBLE) SP_TRY(allocate_sums(local));
  return SP_CUDA_STATUS(cudaDeviceSynchronize());
}

void sp_cuda_operator_destroy(sp_local_operator **out) {
  sp_local_operator *local = *out;
  if (!local) return;
  if (local->graph) (void)cudaGraphExecDestroy(local->graph);
  SP_CUDA_FREE(local->factors, local->scales, local->edges, local->energy, local->partial,
               local->diagonal.dofs, local->diagonal.values, local->scalars, local->records);
  if (local->owns_lists) {
    const sp_cuda_patch_arrays *patches = &local->patches;
    SP_CUDA_FREE(local->nodes, patches->list, patches->codes, patches->pairs, patches->start,
                 patches->entries);
    sp_cuda_assembly_free(&local->assembly);
  }
  (void)cudaFreeHost(local->sums);
  free(local);
  *out = nullptr;
}

sp_status sp_cuda_operator_create(sp_device *device, const sp_operator_setup *setup,
                                  sp_local_operator **out) {
  const range named("operator: set-up");
  sp_local_operator *local;
  *out = nullptr;
  static_assert(SP_DEVICE_MOST == SP_CUDA_DOF, "codes of nodes hold all numbers");
  const sp_numbering *numbering = setup->space->numbering;
  const sp_mesh *mesh = setup->space->mesh;
  SP_TRY(sp_operator_device_numbers(numbering->order, mesh->hexes->count, numbering->local));
  SP_TRY(sp_allocate(1, sizeof *local, "operator", &local));
  local->device = device;
  local->precision = setup->precision;
  local->order = sp_cuda_order_get(numbering->order, setup->precision);
  local->kernel = patch_kernel(setup, local);
  local->works_by_patches = local->kernel != nullptr;
  if (!local->kernel) local->kernel = element_kernel(setup, local);
  local->lambda = setup->lambda;
  local->space = setup->space->on_device;
  local->halo_elements = mesh->halo_elements;
  local->elements = mesh->hexes->count;
  local->dofs = numbering->local;
  local->nodes_an_element = sp_element_nodes(numbering->order);
  const sp_status status = build(setup, local);
  if (status)
    sp_cuda_operator_destroy(&local);
  else
    *out = local;
  return status;
}
