extern "C" {
#include "operators/cuda/copies.h"
#include "operators/cuda/peers.h"
}

#include <algorithm>
#include <cstdlib>

namespace {

#include "operators/cuda/sums.cuh"

#include "operators/cuda/gather.cuh"

#include "operators/cuda/queue.cuh"

#include "operators/cuda/targets.cuh"

constexpr int THREADS = 256;

__device__ __forceinline__ void signal(sp_cuda_epoch *flag, sp_cuda_epoch epoch) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(epoch) : "memory");
}
__device__ __forceinline__ sp_cuda_epoch acquired(const sp_cuda_epoch *flag) {
  sp_cuda_epoch value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

// The sums of edge nodes on the device; edges = NULL: there are none.
template <class T> struct pending_sums {
  sp_cuda_targets shared;
  const int *sent; // [entries of the lists], target of the value, or one out of range
  const T *edges;
  bool constrained;
};

template <class T>
__global__ void send(sp_cuda_border p, pending_sums<T> pending, T *vector,
                     const sp_cuda_scalars *scalars) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  const bool completes = pending.edges && i < p.lists.shared;
  const int t = completes ? __ldg(pending.sent + i) : pending.shared.count;
  target<T> here(pending.shared, t);
  follow();
  if (scalars && scalars->stop) return;
  const sp_cuda_epoch exchange = *p.begun + 1;
  if (i < p.lists.shared) {
    const sp_cuda_neighbour &b = neighbour_of(p, i);
    const int to = b.place + i - b.begin;
    T &value = vector[p.lists.dofs[i]];
    if (t < pending.shared.count) { // also the DOF's other entries store this value
      here.load(pending.edges);
      value = pending.constrained && here.is_constrained()
                  ? 0
                  : here.sum(pending.shared, pending.edges);
    }
    double *const buffer = b.received + (exchange % 2) * 2 * (unsigned)b.shared;
    if (p.few)
      put((unsigned long long *)buffer + 2 * to, value, (unsigned)exchange);
    else
      ((T *)buffer)[to] = value;
  }
  if (!p.few) __threadfence_system();
  __syncthreads();
  if (!is_last(p.sent, gridDim.x)) return;
  for (int b = threadIdx.x; b < p.neighbours && !p.few; b += THREADS)
    signal(p.of[b].arrived, exchange);
  if (threadIdx.x == 0) *p.begun = exchange; // all blocks have read the old value
}

// Only one block waits, to leave room for the blocks of other kernels.
__global__ void await_neighbours(sp_cuda_border p, const sp_cuda_scalars *scalars) {
  follow();
  if (scalars && scalars->stop) return;
  const sp_cuda_epoch exchange = *p.begun;
  for (int b = threadIdx.x; b < p.neighbours; b += blockDim.x)
    await([&] { return acquired(p.arrived + b) >= exchange; }, p.of[b].rank, p.missing);
}

template <class T>
__global__ void add_received(sp_cuda_border p, T *vector, const sp_cuda_scalars *scalars) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (t >= p.lists.targets || (scalars && scalars->stop)) return;
  const T *buffer = (const T *)(p.received + (*p.begun % 2) * 2 * (unsigned)p.lists.shared);
  T &value = vector[p.lists.target[t]];
  value = sum_of_ranks(p.lists, t, value, [&](int s) { return __ldcg(buffer + s); });
}

template <class T>
__global__ void add_words(sp_cuda_border p, T *vector, const sp_cuda_scalars *scalars) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (scalars && scalars->stop) return;
  const received_words<T> received(p, t);
  if (t >= p.lists.targets) return;
  T &value = vector[p.lists.target[t]];
  value = sum_of_ranks(p.lists, t, value, received);
}

/* A rank's message to the others about its region. */
struct introduction {
  cudaIpcMemHandle_t handle;
  int shared, ready;
};

bool on_one_machine(MPI_Comm comm) {
  MPI_Comm machine;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const int together = sp_comm_size(machine);
  MPI_Comm_free(&machine);
  return sp_cuda_all_agree(comm, together == sp_comm_size(comm));
}

/* Round up to pages of 2 MiB: export works by page, and small allocations would share one with
 * other data. */
sp_status export_region(size_t bytes, sp_cuda_mapping *mapping, introduction *mine) {
  const size_t page = 2 << 20;
  SP_TRY(sp_cuda_allocate((bytes + page - 1) / page, page, "exchange", &mapping->region));
  SP_CUDA(cudaIpcGetMemHandle(&mine->handle, mapping->region));
  mine->ready = 1;
  return SP_OK;
}

bool map_region(const introduction *other, void **mapped) {
  if (cudaIpcOpenMemHandle(mapped, other->handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
    return true;
  (void)cudaGetLastError();
  *mapped = nullptr;
  return false;
}

/* Export a region of `bytes` bytes, and map the regions of the neighbours in `plan`, or of all
 * ranks if it is NULL. The array all[size] receives the ranks' messages. *why as in
 * sp_cuda_peers_connect. */
sp_status map_regions(MPI_Comm comm, size_t bytes, const sp_exchange_plan *plan, introduction *mine,
                      introduction *all, const char **why, sp_cuda_mapping *mapping) {
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  SP_TRY(sp_agree(
      comm, sp_allocate((size_t)size, sizeof *mapping->mapped, "exchange", &mapping->mapped)));
  mapping->size = size;
  (void)export_region(bytes, mapping, mine); /* mine->ready is the result */
  MPI_Allgather(mine, (int)sizeof *mine, MPI_BYTE, all, (int)sizeof *mine, MPI_BYTE, comm);
  *why = "GPU memory cannot be exported";
  if (!sp_cuda_all_agree(comm, mine->ready)) return SP_OK;
  *why =
      "GPUs cannot reach each other's memory (all GPUs of a machine must be visible to its ranks)";
  mapping->comm = comm;
  bool possible = true;
  for (int n = 0; n < (plan ? plan->neighbours : size) && possible; n++) {
    const int r = plan ? plan->ranks[n] : n;
    if (r != rank) possible = map_region(&all[r], &mapping->mapped[r]);
  }
  if (!sp_cuda_all_agree(comm, possible)) return SP_OK;
  *why = nullptr;
  return SP_OK;
}

void unmap(sp_cuda_mapping *mapping) {
  for (int r = 0; r < mapping->size && mapping->mapped; r++)
    if (mapping->mapped[r]) (void)cudaIpcCloseMemHandle(mapping->mapped[r]);
  /* Memory may be freed only after other ranks have closed their mappings of it. */
  if (mapping->comm != MPI_COMM_NULL) MPI_Barrier(mapping->comm);
  (void)cudaFree(mapping->region);
  free(mapping->mapped);
  *mapping = {};
  mapping->comm = MPI_COMM_NULL;
}

/* ---- Sums over all ranks ---- */

sp_status make_sum_tables(int rank, int size, sp_cuda_peers *peers) {
  sp_cuda_ranks *view = &peers->view;
  sp_cuda_sums *sums[SP_CUDA_MOST_PEERS];
  for (int r = 0; r < size; r++)
    sums[r] = (sp_cuda_sums *)(r == rank ? peers->mapping.region : peers->mapping.mapped[r]);
  view->rank = rank;
  view->sums = sums[rank];
  SP_TRY(sp_cuda_copy_of(sums, (size_t)size, sizeof *sums, "exchange", &view->remote_sums));
  SP_TRY(sp_cuda_allocate(1, sizeof *view->epoch, "exchange", &view->epoch));
  SP_TRY(sp_cuda_allocate(1, sizeof(int), "exchange", &view->missing.on_device));
  SP_CUDA(cudaMallocHost(&view->missing.on_host, sizeof(int)));
  *view->missing.on_host = 0;
  return SP_OK;
}

sp_status connect(MPI_Comm comm, const char **why, sp_cuda_peers *peers) {
  bool differ;
  introduction mine = {}, all[SP_CUDA_MOST_PEERS];
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  *why = "ranks are on several machines";
  if (!on_one_machine(comm)) return SP_OK;
  *why = "there are too many ranks";
  if (size > SP_CUDA_MOST_PEERS) return SP_OK;
  *why = "ranks share a GPU";
  SP_TRY(sp_cuda_gpus_differ(comm, &differ));
  if (!differ) return SP_OK;
  SP_TRY(map_regions(comm, 2 * (size_t)size * sizeof(sp_cuda_sums), nullptr, &mine, all, why,
                     &peers->mapping));
  if (*why) return SP_OK;
  SP_TRY(sp_agree(comm, make_sum_tables(rank, size, peers)));
  peers->view.size = size;
  return SP_OK;
}

/* ---- Values of neighbours ---- */

/* A region has two buffers of 2 `shared` doubles, then the flags of neighbours. */
size_t flags_offset(int shared) {
  return 4 * (size_t)shared;
}

/* Exchange places in regions with the neighbours: the offset of a rank's values, and the index of
 * its flag. */
void meet_neighbours(const sp_exchange_plan *plan, const introduction *all, void *const *regions,
                     MPI_Comm comm, sp_cuda_neighbour *of) {
  for (int b = 0; b < plan->neighbours; b++) {
    const int rank = plan->ranks[b], mine[2] = {plan->start[b], b};
    int place[2];
    MPI_Sendrecv(mine, 2, MPI_INT, rank, 1, place, 2, MPI_INT, rank, 1, comm, MPI_STATUS_IGNORE);
    double *const region = (double *)regions[rank];
    of[b] = {rank,
             plan->start[b],
             plan->start[b + 1],
             all[rank].shared,
             place[0],
             region,
             (sp_cuda_epoch *)region + flags_offset(all[rank].shared) + place[1]};
  }
}

sp_status make_border_tables(const sp_exchange_plan *plan, const sp_cuda_neighbour *of,
                             sp_cuda_border_memory *memory) {
  sp_cuda_border *view = &memory->view;
  SP_TRY(sp_cuda_copy_of(of, (size_t)plan->neighbours, sizeof *of, "exchange", &view->of));
  SP_TRY(sp_cuda_allocate(1, sizeof *view->begun, "exchange", &view->begun));
  SP_TRY(sp_cuda_allocate(1, sizeof *view->sent, "exchange", &view->sent));
  view->neighbours = plan->neighbours;
  view->received = (double *)memory->mapping.region;
  view->arrived = (sp_cuda_epoch *)view->received + flags_offset(view->lists.shared);
  return SP_OK;
}

/* all[ranks] and of[neighbours] are workspace. */
sp_status connect_border(MPI_Comm comm, const sp_exchange_plan *plan, introduction *all,
                         sp_cuda_neighbour *of, const char **why, sp_cuda_border_memory *memory) {
  introduction mine = {};
  mine.shared = memory->view.lists.shared;
  const size_t words = flags_offset(mine.shared) + (size_t)plan->neighbours;
  SP_TRY(map_regions(comm, 8 * words, plan, &mine, all, why, &memory->mapping));
  if (*why) return SP_OK;
  memory->view.few = true;
  for (int r = 0; r < sp_comm_size(comm); r++)
    memory->view.few = memory->view.few && all[r].shared <= SP_CUDA_FEW_SHARED;
  meet_neighbours(plan, all, memory->mapping.mapped, comm, of);
  return sp_agree(comm, make_border_tables(plan, of, memory));
}

} // namespace

sp_status sp_cuda_peers_connect(sp_device *device, MPI_Comm comm, const char **why) {
  *why = nullptr;
  if (sp_cuda_all_agree(comm,
                        device->peers && sp_cuda_same_ranks(device->peers->mapping.comm, comm)))
    return SP_OK;
  *why = "peers are other ranks already";
  if (!sp_cuda_all_agree(comm, !device->peers)) return SP_OK;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof *device->peers, "peers", &device->peers)));
  device->peers->mapping.comm = MPI_COMM_NULL;
  const sp_status status = connect(comm, why, device->peers);
  if (status || *why) sp_cuda_peers_close(&device->peers);
  return status;
}

void sp_cuda_peers_close(sp_cuda_peers **peers) {
  if (!*peers) return;
  const sp_cuda_ranks *view = &(*peers)->view;
  unmap(&(*peers)->mapping);
  SP_CUDA_FREE(view->remote_sums, view->epoch, view->missing.on_device);
  (void)cudaFreeHost(view->missing.on_host);
  free(*peers);
  *peers = nullptr;
}

sp_status sp_cuda_peers_check(const sp_cuda_peers *peers) {
  if (!peers || !*(volatile const int *)peers->view.missing.on_host) return SP_OK;
  return sp_fail(SP_ERR_ELSEWHERE, "rank %d did not respond to rank %d for %.0f s",
                 *peers->view.missing.on_host - 1, peers->view.rank, SP_CUDA_PATIENCE * 1e-9);
}

sp_status sp_cuda_border_create(sp_device *device, MPI_Comm comm, const sp_exchange_plan *plan,
                                const sp_cuda_lists *lists, const char **why,
                                sp_cuda_border_memory *out) {
  SP_OWNED introduction *all = nullptr;
  SP_OWNED sp_cuda_neighbour *of = nullptr;
  *out = {};
  out->mapping.comm = MPI_COMM_NULL;
  out->view.lists = *lists;
  out->view.missing = device->peers->view.missing;
  sp_status status = sp_allocate((size_t)sp_comm_size(comm), sizeof *all, "exchange", &all);
  if (!status) status = sp_allocate((size_t)plan->neighbours, sizeof *of, "exchange", &of);
  SP_TRY(sp_agree(comm, status));
  return connect_border(comm, plan, all, of, why, out);
}

void sp_cuda_border_free(sp_cuda_border_memory *memory) {
  if (memory->mapping.mapped) unmap(&memory->mapping);
  SP_CUDA_FREE(memory->view.of, memory->view.begun, memory->view.sent);
  *memory = {};
}

cudaError_t sp_cuda_border_send(const sp_cuda_border *border, sp_precision precision,
                                const sp_cuda_pending *pending, void *vector,
                                const sp_cuda_scalars *scalars, cudaStream_t stream) {
  return with_precision(precision, [&](auto real) {
    using T = decltype(real);
    pending_sums<T> sums = {};
    if (pending)
      sums = {pending->assembly->shared, pending->assembly->sent, (const T *)pending->edges,
              pending->constrained};
    return queue(send<T>, blocks_for((size_t)border->lists.shared, THREADS), THREADS, 0, stream,
                 *border, sums, (T *)vector, scalars);
  });
}

template <class T>
static cudaError_t queue_receive(const sp_cuda_border *border, void *vector,
                                 const sp_cuda_scalars *scalars, cudaStream_t stream) {
  const int targets = border->lists.targets;
  if (border->few)
    return queue(add_words<T>, blocks_for((size_t)std::max(targets, border->neighbours), THREADS),
                 THREADS, 0, stream, *border, (T *)vector, scalars);
  const cudaError_t error = queue(await_neighbours, 1, 32, 0, stream, *border, scalars);
  if (error != cudaSuccess) return error;
  // No programmatic launch: its blocks would occupy multiprocessors while one block waits.
  return start(false, nullptr, add_received<T>, blocks_for((size_t)targets, THREADS), THREADS, 0,
               stream, *border, (T *)vector, scalars);
}

cudaError_t sp_cuda_border_receive(const sp_cuda_border *border, sp_precision precision,
                                   void *vector, const sp_cuda_scalars *scalars,
                                   cudaStream_t stream) {
  return (precision == SP_SINGLE ? queue_receive<float> : queue_receive<double>)(border, vector,
                                                                                 scalars, stream);
}
