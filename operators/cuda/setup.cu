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
#include "operators/cuda/patch_setup.h"

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

/* out = values in this precision. */
static void convert(sp_precision precision, size_t count, const double *values, void *out) {
  if (precision == SP_DOUBLE) memcpy(out, values, count * sizeof *values);
  if (precision == SP_SINGLE)
    for (size_t i = 0; i < count; i++) ((float *)out)[i] = (float)values[i];
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
      convert(b->setup->precision, SP_CUDA_AFFINE, element, out);
      continue;
    }
    if (b->setup->geometry == SP_GEOMETRY_TRILINEAR) {
      sp_operator_trilinear(b->setup, e, element);
      if (kind == SP_FACTORS_SCALED) element[1] /= element[0];
      convert(b->setup->precision, 24, element, out);
      continue;
    }
    SP_TRY(sp_operator_factors(b->setup, e, b->rule, element));
    if (kind == SP_FACTORS_ROUNDED)
      sp_operator_round_factors(points, element, (uint32_t *)out);
    else
      convert(b->setup->precision, used * points, first_used, out);
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
  batch b = {setup, rule, 0, bytes, nullptr};
  /* Eight more bytes, which copies in units of 16 bytes (geometry.cuh) may read. */
  SP_TRY(sp_cuda_allocate(count * bytes + 8, 1, "geometric factors", &local->factors));
  sp_status status = sp_allocate(elements * bytes, 1, "factors", &b.out);
  for (; b.begin < count && !status; b.begin += elements) {
    const size_t size = count - b.begin < elements ? count - b.begin : elements;
    sp_loop loop = {};
    loop.what = "factors";
    loop.count = size;
    loop.chunk = sp_loop_chunk(size, bytes / sizeof(float));
    /* Room also for the 24 coefficients of a map, at any order. */
    loop.workspace_bytes = SP_FACTORS * points * sizeof(double);
    loop.context = &b;
    loop.compute = fill_batch;
    status = sp_loop_run(&loop);
    if (status) break;
    status = sp_cuda_copy_in(size * bytes, b.out, (char *)local->factors + b.begin * bytes);
  }
  free(b.out);
  return status;
}

/* Codes of surface nodes during their construction. */
struct node_codes {
  const sp_operator_setup *setup;
  int surface_nodes;
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ]; /* sp_cuda_node_order */
  sp_lid *first;                                            /* [dofs], the first element of each */
  unsigned *codes;                                          /* [elements][surface_nodes] */

  sp_lid dof(size_t element, int q) const {
    const sp_numbering *numbering = setup->space->numbering;
    const size_t nq = (size_t)numbering->order + 1;
    return numbering->nodes[element * nq * nq * nq + places[q]];
  }
};

static void find_first(void *context, size_t begin, size_t end) {
  const node_codes *n = (const node_codes *)context;
  for (size_t e = begin; e < end; e++)
    for (int q = 0; q < n->surface_nodes; q++) sp_lower(&n->first[n->dof(e, q)], (sp_lid)e);
}

/* Across a period an element may have a DOF twice; only one of its nodes is the first. */
static void write_codes(void *context, size_t begin, size_t end) {
  const node_codes *n = (const node_codes *)context;
  const bool *constrained = n->setup->constrained;
  for (size_t e = begin; e < end; e++)
    for (int q = 0; q < n->surface_nodes; q++) {
      const sp_lid dof = n->dof(e, q);
      unsigned code = (unsigned)dof;
      if (__atomic_load_n(&n->first[dof], __ATOMIC_RELAXED) == (sp_lid)e) {
        code |= SP_CUDA_FIRST;
        __atomic_store_n(&n->first[dof], -1, __ATOMIC_RELAXED);
      }
      if (constrained && constrained[dof]) code |= SP_CUDA_CONSTRAINED;
      n->codes[e * (size_t)n->surface_nodes + (size_t)q] = code;
    }
}

static sp_status make_codes(size_t elements, size_t dofs, node_codes *n) {
  sp_loop_set(dofs * sizeof *n->first, -1, n->first);
  SP_TRY(sp_loop_over("element nodes", elements, (size_t)n->surface_nodes, n, find_first));
  return sp_loop_over("element nodes", elements, (size_t)n->surface_nodes, n, write_codes);
}

static sp_status send_nodes(const sp_operator_setup *setup, sp_local_operator *local) {
  const int order = setup->space->numbering->order;
  const size_t elements = (size_t)setup->space->mesh->hexes->count, dofs = (size_t)local->dofs;
  const size_t count = elements * (size_t)sp_cuda_surface_nodes(order);
  node_codes n = {};
  n.setup = setup;
  n.surface_nodes = sp_cuda_surface_nodes(order);
  sp_cuda_node_order(order, n.places);
  sp_status status = sp_allocate(count, sizeof *n.codes, "element nodes", &n.codes);
  if (!status) status = sp_allocate(dofs, sizeof *n.first, "element nodes", &n.first);
  if (!status) status = make_codes(elements, dofs, &n);
  if (!status)
    status =
        sp_cuda_copy_of(n.codes, count, sizeof *n.codes, "element nodes", (void **)&local->nodes);
  free(n.codes);
  free(n.first);
  return status;
}

static sp_status make_lists(const sp_operator_setup *setup, sp_local_operator *local) {
  assert(!setup->alike || !setup->alike->works_by_patches);
  local->owns_lists = !setup->alike;
  if (!local->owns_lists) {
    local->assembly = setup->alike->assembly;
    local->nodes = setup->alike->nodes;
    return SP_OK;
  }
  SP_TRY(sp_cuda_assembly_create(setup, nullptr, &local->assembly));
  return send_nodes(setup, local);
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
  bool *shared = nullptr;
  unsigned *dofs = nullptr;
  double *values = nullptr;
  sp_status status = sp_allocate((size_t)local->dofs, sizeof *shared, "diagonal", &shared);
  if (!status) status = sp_allocate(count, sizeof *dofs, "diagonal", &dofs);
  if (!status) status = sp_allocate(count, sizeof *values, "diagonal", &values);
  for (sp_lid s = 0; !status && s < numbering->shared_start[numbering->neighbours]; s++)
    shared[numbering->shared[s]] = true;
  for (int pass = 0; pass < 2 && !status; pass++) {
    for (size_t n = 0; n < count; n++) {
      const sp_lid dof = setup->diagonal_dofs[n];
      if (shared[dof] != (pass == 0)) continue;
      const bool constrained = setup->constrained && setup->constrained[dof];
      dofs[diagonal->count] = (unsigned)dof | (constrained ? SP_CUDA_CONSTRAINED : 0);
      values[diagonal->count++] = setup->diagonal_values[n];
    }
    if (pass == 0) diagonal->shared = diagonal->count;
  }
  if (!status)
    status = sp_cuda_copy_of(dofs, count, sizeof *dofs, "diagonal", (void **)&diagonal->dofs);
  if (!status)
    status = sp_cuda_copy_of(values, count, sizeof *values, "diagonal", (void **)&diagonal->values);
  free(shared);
  free(dofs);
  free(values);
  return status;
}

/* The number of blocks of pass 1, in two parts or as a whole, whichever is larger. */
static int most_blocks(const sp_local_operator *local) {
  const int halo = pass_1_blocks(local, local->halo_elements);
  const int inner = pass_1_blocks(local, local->elements - local->halo_elements);
  const int whole = pass_1_blocks(local, local->elements);
  return halo + inner > whole ? halo + inner : whole;
}

static sp_status check_shared_memory(int order, const sp_local_operator *local) {
  int most = 0;
  SP_CUDA(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, local->device->id));
  if (local->kernel->shared_bytes <= (size_t)most) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "order %d needs %.1f kB of shared memory a block, GPU %d has %.1f kB: take a "
                 "lower order or backend.device = host",
                 order, 1e-3 * (double)local->kernel->shared_bytes, local->device->id, 1e-3 * most);
}

/* Create the data of the passes of CG, which exist only in double precision. */
static sp_status allocate_sums(sp_local_operator *local) {
  const int blocks = most_blocks(local) + diagonal_blocks(local);
  SP_TRY(sp_cuda_allocate((size_t)(blocks + SP_CUDA_SUM_BLOCKS), sizeof(double), "partial sums",
                          (void **)&local->energy));
  SP_TRY(sp_cuda_allocate(2 * SP_CUDA_VECTOR_BLOCKS, sizeof(double), "partial sums",
                          (void **)&local->partial));
  SP_TRY(sp_cuda_allocate(1, sizeof *local->scalars, "scalars", (void **)&local->scalars));
  SP_TRY(
      sp_cuda_allocate(SP_CG_BATCH, sizeof *local->records, "records", (void **)&local->records));
  SP_CUDA(cudaMallocHost(&local->sums, 2 * sizeof(double)));
  return SP_OK;
}

/* Patch kernels if every patch fits in shared memory; else element kernels. Patches have many nodes
 * if the order of elements does not keep neighbours together. */
static sp_status try_patches(const sp_operator_setup *setup, sp_local_operator *local) {
  SP_TRY(sp_cuda_patches_make(setup, local, &local->works_by_patches));
  if (!local->works_by_patches) local->kernel = element_kernel(setup, local);
  return SP_OK;
}

static sp_status build(const sp_operator_setup *setup, sp_local_operator *local) {
  const int order = setup->space->numbering->order;
  SP_TRY(check_shared_memory(order, local));
  SP_CUDA(local->order->prepare(sp_reference_get(order)));
  if (local->works_by_patches) SP_TRY(try_patches(setup, local));
  if (!local->works_by_patches) {
    SP_TRY(send_factors(setup, local));
    SP_TRY(make_lists(setup, local));
    SP_TRY(allocate_edges(setup, local));
  }
  SP_TRY(send_diagonal(setup, local));
  if (local->precision == SP_DOUBLE) SP_TRY(allocate_sums(local));
  SP_CUDA(cudaDeviceSynchronize());
  return SP_OK;
}

void sp_cuda_operator_destroy(sp_local_operator **out) {
  sp_local_operator *local = *out;
  if (!local) return;
  if (local->graph) (void)cudaGraphExecDestroy(local->graph);
  (void)cudaFree(local->factors);
  (void)cudaFree(local->scales);
  (void)cudaFree(local->edges);
  (void)cudaFree(local->energy);
  (void)cudaFree(local->partial);
  (void)cudaFree(local->diagonal.dofs);
  (void)cudaFree(local->diagonal.values);
  if (local->owns_lists) {
    (void)cudaFree(local->nodes);
    sp_cuda_assembly_free(&local->assembly);
    sp_cuda_patches_free(&local->patches);
  }
  (void)cudaFree(local->scalars);
  (void)cudaFree(local->records);
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
  SP_TRY(sp_operator_device_numbers(setup->space->numbering->order,
                                    setup->space->mesh->hexes->count,
                                    setup->space->numbering->local));
  SP_TRY(sp_allocate(1, sizeof *local, "operator", &local));
  local->device = device;
  local->precision = setup->precision;
  local->order = sp_cuda_order_get(setup->space->numbering->order, setup->precision);
  local->kernel = patch_kernel(setup, local);
  local->works_by_patches = local->kernel != nullptr;
  if (!local->kernel) local->kernel = element_kernel(setup, local);
  local->lambda = setup->lambda;
  local->space = setup->space->on_device;
  local->halo_elements = setup->space->mesh->halo_elements;
  local->elements = setup->space->mesh->hexes->count;
  local->dofs = setup->space->numbering->local;
  const size_t nq = (size_t)setup->space->numbering->order + 1;
  local->nodes_an_element = nq * nq * nq;
  const sp_status status = build(setup, local);
  if (status)
    sp_cuda_operator_destroy(&local);
  else
    *out = local;
  return status;
}
