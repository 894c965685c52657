// The CUDA table of functions. Work is queued on the device's stream; what the host reads waits for
// it.

extern "C" {
#include "operators/counts.h"
#include "operators/cuda/peers.h"
#include "operators/cuda/vectors.h"
#include "operators/factors.h"
#include "mesh/geometry.h"
}

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <nvtx3/nvToolsExt.h>

struct sp_local_operator {
  sp_device *device;
  const sp_cuda_order *order;
  sp_problem_kind kind;
  const sp_cuda_kernel *kernel;
  int geometry; /* 0 stored, 1 trilinear */
  double lambda;
  int halo_elements, elements, owned, dofs;
  size_t nodes_an_element;
  double *factors, *edges, *energy, *partial;
  unsigned *nodes;
  sp_cuda_assembly assembly;
  sp_cuda_diagonal diagonal;
  sp_cuda_scalars *scalars;
  double *sums; /* pinned: what the last pass left in the scalars */
  size_t bytes;
  /* The exchange: shared DOFs, packed on either side, and the host's L-vector. */
  int shared;
  int *shared_list;
  int *host_list;
  double *packed, *host_packed, *host_vector;
  sp_exchange_kind exchange;
  sp_cuda_peer_memory peers;
  char how[96]; /* values travel between ranks */
  /* SP_CUDA_GRAPH iterations as a graph, for the vectors it was captured with. */
  cudaGraphExec_t graph;
  sp_cg_vectors captured;
  sp_cg_record *records; /* on the device, SP_CUDA_BATCH */
};

/* As many partial sums of pass 1 every block of pass 2 adds up itself: for small problems that is
 * less than what one more kernel takes. */
enum { SP_CUDA_FEW_SUMS = 4096 };

/* Iterations between two looks of the host, and in a graph: launching a graph costs some
 * microseconds, a graph of several small iterations hides them. */
enum { SP_CUDA_BATCH = 64, SP_CUDA_GRAPH = 8 };

/* What the host does, for profilers (NVTX): from here to the end of the block. */
struct range {
  explicit range(const char *name) {
    nvtxRangePushA(name);
  }
  ~range() {
    nvtxRangePop();
  }
};

static const char *cuda_describe(const sp_device *device) {
  return device->description;
}

static sp_geometry_kind cuda_faster_geometry(sp_problem_kind kind, int order) {
  (void)kind;
  (void)order;
  return SP_GEOMETRY_TRILINEAR;
}

static sp_status cuda_vector_create(sp_device *device, size_t count, double **out) {
  (void)device;
  /* Kernels work on pairs: room for a whole last one. */
  return sp_cuda_allocate(count + 1, sizeof(double), "vector", (void **)out);
}

static void cuda_vector_destroy(sp_device *device, double **vector) {
  (void)device;
  (void)cudaFree(*vector);
  *vector = nullptr;
}

static sp_status cuda_upload(sp_device *device, size_t count, const double *host, double *vector) {
  SP_CUDA(
      cudaMemcpyAsync(vector, host, count * sizeof *host, cudaMemcpyHostToDevice, device->stream));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

static sp_status cuda_download(sp_device *device, size_t count, const double *vector,
                               double *host) {
  SP_CUDA(
      cudaMemcpyAsync(host, vector, count * sizeof *host, cudaMemcpyDeviceToHost, device->stream));
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

static sp_status cuda_copy(sp_device *device, size_t count, const double *from, double *to) {
  SP_CUDA(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, device->stream));
  return SP_OK;
}

static sp_status cuda_finish(sp_device *device) {
  SP_CUDA(cudaStreamSynchronize(device->stream));
  return SP_OK;
}

/* ---- Creation ----------------------------------------------------------------------------------
 */

/* Factors of a batch of elements on the host, sent before the next batch: no second copy of all. */
static sp_status send_factors(const sp_operator_setup *setup, sp_local_operator *local) {
  enum { ELEMENTS = 256 };
  const sp_hexes *hexes = setup->mesh->hexes;
  const sp_rule *rule = sp_problem_rule(setup->kind, setup->numbering->order);
  const size_t points = (size_t)(rule->n * rule->n * rule->n);
  const size_t first = setup->kind == SP_MASS ? (size_t)SP_G_WJ * points : 0;
  const size_t stored = (size_t)SP_FACTORS * points - first;
  const size_t width = local->geometry ? 24 : stored;
  double *batch = nullptr, *element = nullptr;
  SP_TRY(sp_cuda_allocate((size_t)hexes->count * width, sizeof(double), "geometric factors",
                          (void **)&local->factors));
  local->bytes += (size_t)hexes->count * width * sizeof(double);
  sp_status status = sp_allocate(ELEMENTS * width, sizeof *batch, "factors", &batch);
  if (!status) status = sp_allocate(SP_FACTORS * points, sizeof *element, "factors", &element);
  for (sp_lid begin = 0; begin < hexes->count && !status; begin += ELEMENTS) {
    const sp_lid end = begin + ELEMENTS < hexes->count ? begin + ELEMENTS : hexes->count;
    for (sp_lid e = begin; e < end && !status; e++) {
      double *target = &batch[(size_t)(e - begin) * width];
      if (local->geometry) {
        sp_geometry_trilinear(hexes, e, target);
        continue;
      }
      status = sp_operator_factors(setup, e, rule, element);
      memcpy(target, element + first, stored * sizeof *element);
    }
    if (status) break;
    const cudaError_t error =
        cudaMemcpy(&local->factors[(size_t)begin * width], batch,
                   (size_t)(end - begin) * width * sizeof *batch, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) status = sp_cuda_failed(error, "cudaMemcpy", __FILE__, __LINE__);
  }
  free(batch);
  free(element);
  return status;
}

static sp_status send_nodes(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_numbering *numbering = setup->numbering;
  const int order = numbering->order, nq = order + 1;
  const size_t elements = (size_t)setup->mesh->hexes->count;
  const size_t count = elements * (size_t)sp_cuda_surface_nodes(order);
  const size_t edges = elements * (size_t)sp_cuda_edge_nodes(order);
  unsigned *nodes = nullptr;
  bool *seen = nullptr;
  sp_status status = sp_allocate(count, sizeof *nodes, "element nodes", &nodes);
  if (!status) status = sp_allocate((size_t)local->dofs, sizeof *seen, "element nodes", &seen);
  size_t n = 0;
  for (size_t e = 0; e < elements && !status; e++)
    for (int place = 0; place < nq * nq * nq; place++) {
      const int i = place % nq, j = place / nq % nq, k = place / (nq * nq);
      if (i > 0 && i < order && j > 0 && j < order && k > 0 && k < order) continue;
      const sp_lid dof = numbering->nodes[e * local->nodes_an_element + (size_t)place];
      nodes[n++] = (unsigned)dof | (seen[dof] ? 0 : SP_CUDA_FIRST) |
                   (setup->constrained && setup->constrained[dof] ? SP_CUDA_CONSTRAINED : 0);
      seen[dof] = true;
    }
  if (!status)
    status = sp_cuda_copy_of(nodes, count, sizeof *nodes, "element nodes", (void **)&local->nodes);
  if (!status) status = sp_cuda_allocate(edges, sizeof(double), "edges", (void **)&local->edges);
  free(nodes);
  free(seen);
  local->bytes += count * sizeof *nodes + edges * sizeof(double);
  return status;
}

static sp_status send_diagonal(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_numbering *numbering = setup->numbering;
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
  local->bytes += count * (sizeof *dofs + sizeof *values);
  return status;
}

static sp_status make_exchange(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_numbering *numbering = setup->numbering;
  /* DOFs shared with several neighbours are packed once for each: simple, and they are few. */
  local->shared = numbering->shared_start[numbering->neighbours];
  const size_t shared = (size_t)local->shared;
  SP_TRY(sp_allocate(shared, sizeof(int), "shared DOFs", &local->host_list));
  memcpy(local->host_list, numbering->shared, shared * sizeof(int));
  SP_TRY(sp_cuda_copy_of(numbering->shared, shared, sizeof(int), "shared DOFs",
                         (void **)&local->shared_list));
  SP_TRY(sp_cuda_allocate(shared, sizeof(double), "shared values", (void **)&local->packed));
  SP_TRY(sp_allocate(shared > 0 ? (size_t)local->dofs : 0, sizeof(double), "shared values",
                     &local->host_vector));
  SP_CUDA(cudaMallocHost(&local->host_packed, (shared > 0 ? shared : 1) * sizeof(double)));
  return SP_OK;
}

/* Partial sums of a pass 1 over so many elements. */
static int pass_1_blocks(const sp_local_operator *local, int elements) {
  return local->kernel->blocks(elements, SP_CUDA_CG);
}

static int diagonal_blocks(const sp_local_operator *local) {
  return sp_cuda_diagonal_blocks(local->diagonal.shared) +
         sp_cuda_diagonal_blocks(local->diagonal.count - local->diagonal.shared);
}

/* Of a pass 1 in two parts, or whole. */
static int most_blocks(const sp_local_operator *local) {
  const int halo = pass_1_blocks(local, local->halo_elements);
  const int inner = pass_1_blocks(local, local->elements - local->halo_elements);
  const int whole = pass_1_blocks(local, local->elements);
  return halo + inner > whole ? halo + inner : whole;
}

static sp_status build(const sp_operator_setup *setup, sp_local_operator *local) {
  const int order = setup->numbering->order;
  SP_CUDA(local->order->prepare(sp_reference_get(order)));
  SP_TRY(send_factors(setup, local));
  SP_TRY(sp_cuda_assembly_create(setup, &local->assembly));
  SP_TRY(send_nodes(setup, local));
  SP_TRY(send_diagonal(setup, local));
  local->bytes += local->assembly.bytes;
  const int blocks = most_blocks(local) + diagonal_blocks(local);
  SP_TRY(sp_cuda_allocate((size_t)(blocks + SP_CUDA_SUM_BLOCKS), sizeof(double), "partial sums",
                          (void **)&local->energy));
  SP_TRY(sp_cuda_allocate(2 * SP_CUDA_VECTOR_BLOCKS, sizeof(double), "partial sums",
                          (void **)&local->partial));
  SP_TRY(sp_cuda_allocate(1, sizeof *local->scalars, "scalars", (void **)&local->scalars));
  SP_TRY(
      sp_cuda_allocate(SP_CUDA_BATCH, sizeof *local->records, "records", (void **)&local->records));
  SP_CUDA(cudaMallocHost(&local->sums, 2 * sizeof(double)));
  SP_TRY(make_exchange(setup, local));
  SP_CUDA(cudaDeviceSynchronize());
  return SP_OK;
}

/* Refuse before anything is allocated what cannot fit. */
static sp_status check_memory(const sp_operator_setup *setup) {
  int device = -1;
  size_t available, total;
  const double needed =
      sp_problem_device_bytes(setup->kind, setup->geometry, setup->numbering->order,
                              setup->mesh->hexes->count, setup->numbering->local, false);
  SP_CUDA(cudaGetDevice(&device));
  SP_CUDA(cudaMemGetInfo(&available, &total));
  if (needed <= (double)available) return SP_OK;
  return sp_fail(
      SP_ERR_SYSTEM,
      "the case needs %.1f GB on GPU %d, of which %.1f of %.1f GB are free: use more GPUs, "
      "or trilinear geometry",
      needed * 1e-9, device, available * 1e-9, total * 1e-9);
}

static void cuda_operator_destroy(sp_local_operator **out) {
  sp_local_operator *local = *out;
  if (!local) return;
  if (local->graph) (void)cudaGraphExecDestroy(local->graph);
  (void)cudaFree(local->factors);
  (void)cudaFree(local->edges);
  (void)cudaFree(local->energy);
  (void)cudaFree(local->partial);
  (void)cudaFree(local->diagonal.dofs);
  (void)cudaFree(local->diagonal.values);
  (void)cudaFree(local->nodes);
  (void)cudaFree(local->scalars);
  (void)cudaFree(local->records);
  (void)cudaFree(local->shared_list);
  (void)cudaFree(local->packed);
  (void)cudaFreeHost(local->sums);
  (void)cudaFreeHost(local->host_packed);
  sp_cuda_assembly_free(&local->assembly);
  sp_cuda_peers_free(&local->peers);
  free(local->host_list);
  free(local->host_vector);
  free(local);
  *out = nullptr;
}

static sp_status cuda_operator_create(sp_device *device, const sp_operator_setup *setup,
                                      sp_local_operator **out) {
  const range named("operator: set-up");
  sp_local_operator *local;
  *out = nullptr;
  SP_TRY(check_memory(setup));
  SP_TRY(sp_allocate(1, sizeof *local, "operator", &local));
  local->device = device;
  local->order = sp_cuda_order_get(setup->numbering->order);
  local->kind = setup->kind;
  local->geometry = setup->geometry == SP_GEOMETRY_TRILINEAR;
  local->kernel = &local->order->kernels[local->kind][local->geometry];
  local->lambda = setup->lambda;
  local->exchange = setup->exchange;
  local->halo_elements = setup->mesh->halo_elements;
  local->elements = setup->mesh->hexes->count;
  local->owned = setup->numbering->owned;
  local->dofs = setup->numbering->local;
  const size_t nq = (size_t)setup->numbering->order + 1;
  local->nodes_an_element = nq * nq * nq;
  const sp_status status = build(setup, local);
  if (status)
    cuda_operator_destroy(&local);
  else
    *out = local;
  return status;
}

static size_t cuda_operator_bytes(const sp_local_operator *local) {
  return local->bytes;
}

/* ---- Application -------------------------------------------------------------------------------
 */

static sp_cuda_arguments arguments_of(const sp_local_operator *local, int first, int last) {
  sp_cuda_arguments arguments = {};
  arguments.first = first;
  arguments.last = last;
  arguments.factors = local->factors;
  arguments.nodes = local->nodes;
  arguments.edges = local->edges;
  arguments.lambda = local->lambda;
  return arguments;
}

static sp_cuda_arguments arguments_of_part(const sp_local_operator *local, sp_part part) {
  return part == SP_HALO ? arguments_of(local, 0, local->halo_elements)
                         : arguments_of(local, local->halo_elements, local->elements);
}

static sp_status add_diagonal(sp_local_operator *local, sp_part part, bool constrained,
                              int first_edge, const double *x, double *y, double *partial,
                              const sp_cuda_scalars *scalars) {
  const sp_cuda_diagonal *diagonal = &local->diagonal;
  SP_CUDA(sp_cuda_add_diagonal(diagonal, part == SP_HALO ? 0 : diagonal->shared,
                               part == SP_HALO ? diagonal->shared : diagonal->count, constrained,
                               first_edge, x, y, partial, scalars, local->device->stream));
  return SP_OK;
}

static sp_status cuda_apply(sp_local_operator *local, sp_part part, bool constrained,
                            const double *x, double *y) {
  const range named("operator");
  cudaStream_t stream = local->device->stream;
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  arguments.x = x;
  arguments.y = y;
  arguments.constrained = constrained;
  if (part == SP_HALO) SP_CUDA(sp_cuda_clear_faces(&local->assembly, y, stream));
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_ASSEMBLED, stream));
  if (part == SP_HALO)
    SP_CUDA(
        sp_cuda_assemble_shared(&local->assembly, constrained, local->edges, y, nullptr, stream));
  else
    SP_CUDA(sp_cuda_assemble_own(&local->assembly, constrained, local->edges, y, stream));
  return add_diagonal(local, part, constrained, local->dofs, x, y, nullptr, nullptr);
}

static size_t cuda_e_vector_size(const sp_local_operator *local) {
  return (size_t)local->elements * local->nodes_an_element;
}

static sp_status cuda_apply_unassembled(sp_local_operator *local, const double *x, double *y) {
  sp_cuda_arguments arguments = arguments_of(local, 0, local->elements);
  arguments.x = x;
  arguments.y = y;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_LOCAL, local->device->stream));
  return SP_OK;
}

static void set_step(sp_local_operator *local, const sp_cg_vectors *vectors,
                     sp_cuda_arguments *arguments) {
  arguments->constrained = true;
  arguments->y = vectors->ap;
  arguments->step.r = vectors->r;
  arguments->step.p = vectors->p;
  arguments->step.next_p = vectors->next_p;
  arguments->step.inverse_diagonal = vectors->inverse_diagonal;
  arguments->step.partial = local->energy + SP_CUDA_SUM_BLOCKS;
  arguments->step.scalars = local->scalars;
}

static sp_status finish_pass_1(sp_local_operator *local, int blocks, const sp_cuda_peers *peers,
                               sp_cg_record *records) {
  SP_CUDA(sp_cuda_finish_pass_1(blocks, local->energy + SP_CUDA_SUM_BLOCKS, local->energy,
                                local->scalars, peers, records, local->device->stream));
  return SP_OK;
}

static sp_status cuda_direction(sp_local_operator *local, sp_part part, double beta,
                                const sp_cg_vectors *vectors) {
  const range named("CG: pass 1");
  cudaStream_t stream = local->device->stream;
  const int halo_blocks = pass_1_blocks(local, local->halo_elements);
  const int blocks = halo_blocks + pass_1_blocks(local, local->elements - local->halo_elements);
  const int halo_diagonal = sp_cuda_diagonal_blocks(local->diagonal.shared);
  double *const partial = local->energy + SP_CUDA_SUM_BLOCKS;
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  set_step(local, vectors, &arguments);
  if (part == SP_HALO) {
    sp_cuda_scalars scalars = {};
    scalars.beta = beta;
    SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, stream));
    SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
    SP_CUDA(sp_cuda_assemble_shared(&local->assembly, true, local->edges, vectors->ap,
                                    local->scalars, stream));
    return add_diagonal(local, part, true, local->dofs, vectors->next_p, vectors->ap,
                        partial + blocks, local->scalars);
  }
  arguments.step.first_block = halo_blocks;
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  SP_TRY(add_diagonal(local, part, true, local->assembly.first_edge, vectors->next_p, vectors->ap,
                      partial + blocks + halo_diagonal, local->scalars));
  const sp_cuda_peers none = {}; /* the host sums over ranks */
  SP_TRY(finish_pass_1(local, blocks + diagonal_blocks(local), &none, nullptr));
  SP_CUDA(cudaMemcpyAsync(local->sums, &local->scalars->p_ap, sizeof(double),
                          cudaMemcpyDeviceToHost, stream));
  return SP_OK;
}

static sp_cuda_update update_of(sp_local_operator *local, const sp_cg_vectors *vectors) {
  sp_cuda_update update = {};
  update.vectors = *vectors;
  update.assembly = local->assembly;
  update.edges = local->edges;
  update.partial = local->partial;
  update.scalars = local->scalars;
  return update;
}

static sp_status cuda_update(sp_local_operator *local, double alpha, const sp_cg_vectors *vectors) {
  const range named("CG: pass 2");
  sp_cuda_scalars scalars = {};
  scalars.alpha = alpha;
  sp_cuda_update update = update_of(local, vectors);
  update.update_x = true;
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, local->device->stream));
  SP_CUDA(sp_cuda_update_launch(&update, local->device->stream));
  SP_CUDA(cudaMemcpyAsync(local->sums, &local->scalars->rr, 2 * sizeof(double),
                          cudaMemcpyDeviceToHost, local->device->stream));
  return SP_OK;
}

static sp_status cuda_sums(sp_local_operator *local, double sums[2]) {
  SP_CUDA(cudaStreamSynchronize(local->device->stream));
  memcpy(sums, local->sums, 2 * sizeof *sums);
  return SP_OK;
}

static sp_status cuda_fetch(sp_local_operator *local, double *vector, double **host) {
  cudaStream_t stream = local->device->stream;
  *host = local->host_vector;
  if (local->shared == 0) return SP_OK;
  SP_CUDA(sp_cuda_pack(local->shared, local->shared_list, vector, local->packed, stream));
  SP_CUDA(cudaMemcpyAsync(local->host_packed, local->packed, (size_t)local->shared * sizeof(double),
                          cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaStreamSynchronize(stream));
  for (int i = 0; i < local->shared; i++)
    local->host_vector[local->host_list[i]] = local->host_packed[i];
  return SP_OK;
}

static sp_status cuda_store(sp_local_operator *local, double *vector) {
  cudaStream_t stream = local->device->stream;
  if (local->shared == 0) return SP_OK;
  for (int i = 0; i < local->shared; i++)
    local->host_packed[i] = local->host_vector[local->host_list[i]];
  SP_CUDA(cudaMemcpyAsync(local->packed, local->host_packed, (size_t)local->shared * sizeof(double),
                          cudaMemcpyHostToDevice, stream));
  SP_CUDA(sp_cuda_unpack(local->shared, local->shared_list, local->packed, vector, stream));
  return SP_OK;
}

/* ---- Whole iterations on the device -------------------------------------------------------------
 */

static void change_places(double **a, double **b) {
  double *const kept = *a;
  *a = *b;
  *b = kept;
}

/* Pass 1 over one part, with what belongs to it at edges and on the diagonal. Partial sums go to
 * first_block and after; *blocks gets their number. */
static sp_status queue_part(sp_local_operator *local, sp_part part, sp_cg_vectors *vectors,
                            int first_block, int *blocks) {
  cudaStream_t stream = local->device->stream;
  sp_cuda_arguments arguments = arguments_of_part(local, part);
  const int shared = local->diagonal.shared, own = local->diagonal.count - shared;
  set_step(local, vectors, &arguments);
  arguments.step.x = vectors->x;
  arguments.step.first_block = first_block;
  const int elements = pass_1_blocks(local, arguments.last - arguments.first);
  SP_CUDA(local->kernel->launch(&arguments, SP_CUDA_CG, stream));
  if (part == SP_HALO)
    SP_CUDA(sp_cuda_assemble_shared(&local->assembly, true, local->edges, vectors->ap,
                                    local->scalars, stream));
  SP_TRY(add_diagonal(local, part, true, part == SP_HALO ? local->dofs : local->assembly.first_edge,
                      vectors->next_p, vectors->ap,
                      arguments.step.partial + first_block + elements, local->scalars));
  *blocks = elements + sp_cuda_diagonal_blocks(part == SP_HALO ? shared : own);
  return SP_OK;
}

static sp_status queue_iteration(sp_local_operator *local, sp_cg_vectors *vectors) {
  cudaStream_t stream = local->device->stream;
  const sp_cuda_peers *peers = &local->peers.view;
  int halo_blocks, blocks;
  SP_TRY(queue_part(local, SP_HALO, vectors, 0, &halo_blocks));
  SP_CUDA(sp_cuda_peers_send(peers, vectors->ap, local->scalars, stream));
  SP_TRY(queue_part(local, SP_INNER, vectors, halo_blocks, &blocks));
  SP_CUDA(sp_cuda_peers_receive(peers, vectors->ap, local->scalars, stream));
  blocks += halo_blocks;
  change_places(&vectors->p, &vectors->next_p);
  sp_cuda_update update = update_of(local, vectors);
  update.peers = *peers;
  update.records = local->records;
  if (peers->size == 0 && blocks <= SP_CUDA_FEW_SUMS) {
    update.pass_1 = local->energy + SP_CUDA_SUM_BLOCKS;
    update.pass_1_count = blocks;
  } else {
    SP_TRY(finish_pass_1(local, blocks, peers, local->records));
  }
  SP_CUDA(sp_cuda_update_launch(&update, stream));
  return SP_OK;
}

/* SP_CUDA_GRAPH is even: the directions are back in their places after a graph. */
static sp_status capture_iterations(sp_local_operator *local, const sp_cg_vectors *vectors) {
  if (local->graph && !memcmp(&local->captured, vectors, sizeof *vectors)) return SP_OK;
  if (local->graph) SP_CUDA(cudaGraphExecDestroy(local->graph));
  local->graph = nullptr;
  cudaGraph_t graph = nullptr;
  sp_cg_vectors turning = *vectors;
  SP_CUDA(cudaStreamBeginCapture(local->device->stream, cudaStreamCaptureModeThreadLocal));
  sp_status status = SP_OK;
  for (int i = 0; i < SP_CUDA_GRAPH && !status; i++) status = queue_iteration(local, &turning);
  const cudaError_t ended = cudaStreamEndCapture(local->device->stream, &graph);
  if (status) return status;
  SP_CUDA(ended);
  const cudaError_t made = cudaGraphInstantiate(&local->graph, graph, 0);
  SP_CUDA(cudaGraphDestroy(graph));
  SP_CUDA(made);
  local->captured = *vectors;
  return SP_OK;
}

static sp_status cuda_iterate(sp_local_operator *local, sp_cg_vectors *vectors,
                              const sp_cg_state *state, int count, sp_cg_record *records,
                              int *done) {
  const range named("CG: iterations");
  cudaStream_t stream = local->device->stream;
  sp_cuda_scalars scalars = {};
  scalars.beta = state->beta;
  scalars.rz = state->rz;
  scalars.target = state->target;
  if (count > SP_CUDA_BATCH) count = SP_CUDA_BATCH;
  scalars.limit = count;
  SP_TRY(capture_iterations(local, vectors));
  SP_CUDA(sp_cuda_set_scalars(local->scalars, &scalars, stream));
  for (int i = 0; i < count; i += SP_CUDA_GRAPH) SP_CUDA(cudaGraphLaunch(local->graph, stream));
  SP_CUDA(sp_cuda_last_step(local->dofs, vectors->p, vectors->next_p, vectors->x, local->scalars,
                            stream));
  SP_CUDA(
      cudaMemcpyAsync(&scalars, local->scalars, sizeof scalars, cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaMemcpyAsync(records, local->records, (size_t)count * sizeof *records,
                          cudaMemcpyDeviceToHost, stream));
  int missing = 0;
  if (local->peers.view.size > 0)
    SP_CUDA(cudaMemcpyAsync(&missing, local->peers.view.missing, sizeof missing,
                            cudaMemcpyDeviceToHost, stream));
  SP_CUDA(cudaStreamSynchronize(stream));
  if (missing)
    return sp_fail(SP_ERR_SYSTEM, "rank %d did not answer rank %d for %.0f s", missing - 1,
                   local->peers.view.rank, SP_CUDA_PATIENCE * 1e-9);
  *done = scalars.iterations;
  if (*done % 2) change_places(&vectors->p, &vectors->next_p);
  return SP_OK;
}

static sp_status cuda_connect(sp_local_operator *local, MPI_Comm comm, const sp_exchange_plan *plan,
                              bool *iterates, const char **how) {
  const range named("exchange: set-up");
  int size;
  const char *why = "backend.exchange = staged";
  MPI_Comm_size(comm, &size);
  *iterates = size == 1;
  *how = "none: one rank";
  if (size == 1) return SP_OK;
  if (local->exchange != SP_EXCHANGE_STAGED)
    SP_TRY(sp_cuda_peers_create(comm, plan, iterates, &why, &local->peers));
  if (!*iterates && local->exchange == SP_EXCHANGE_PEER)
    return sp_fail(SP_ERR_SYSTEM, "backend.exchange = peer is not possible: %s; use auto", why);
  snprintf(local->how, sizeof local->how, "%s%s",
           *iterates ? "peer: GPUs write to each other" : "staged through the host: ",
           *iterates ? "" : why);
  *how = local->how;
  return SP_OK;
}

static const sp_backend table = {
    .name = "cuda",
    .open = sp_cuda_open,
    .close = sp_cuda_close,
    .describe = cuda_describe,
    .faster_geometry = cuda_faster_geometry,
    .two_directions = true,
    .vector_create = cuda_vector_create,
    .vector_destroy = cuda_vector_destroy,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .finish = cuda_finish,
    .operator_create = cuda_operator_create,
    .operator_destroy = cuda_operator_destroy,
    .operator_bytes = cuda_operator_bytes,
    .apply = cuda_apply,
    .e_vector_size = cuda_e_vector_size,
    .apply_unassembled = cuda_apply_unassembled,
    .direction = cuda_direction,
    .update = cuda_update,
    .sums = cuda_sums,
    .fetch = cuda_fetch,
    .store = cuda_store,
    .connect = cuda_connect,
    .iterate = cuda_iterate,
};

extern "C" const sp_backend *const sp_backend_cuda = &table;
