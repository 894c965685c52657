extern "C" {
#include "operators/cuda/peers.h"
}

#include <climits>
#include <cstdlib>

namespace {

#include "operators/cuda/sums.cuh"

#include "operators/cuda/gather.cuh"

#include "operators/cuda/queue.cuh"

constexpr int THREADS = 256;

int blocks_for(int n) {
  return (n + THREADS - 1) / THREADS;
}

__device__ __forceinline__ void signal(sp_cuda_epoch *flag, sp_cuda_epoch epoch) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(epoch) : "memory");
}
__device__ __forceinline__ sp_cuda_epoch acquired(const sp_cuda_epoch *flag) {
  sp_cuda_epoch value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

__global__ void send(sp_cuda_peers p, const double *vector, const sp_cuda_scalars *scalars) {
  follow();
  if (scalars->stop) return;
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < p.lists.shared) {
    int b = 0;
    while (i >= p.start[b + 1]) b++;
    p.remote_received[b][i - p.start[b]] = vector[p.lists.dofs[i]];
  }
  __threadfence_system();
  __syncthreads();
  if (!is_last(p.sent, gridDim.x)) return;
  for (int b = threadIdx.x; b < p.neighbours; b += THREADS)
    signal(p.remote_arrived[b], *p.epoch + 1);
}

// By one block: it waits beside others that work.
__global__ void await_neighbours(sp_cuda_peers p, const sp_cuda_scalars *scalars) {
  follow();
  if (scalars->stop) return;
  const sp_cuda_epoch epoch = *p.epoch + 1;
  for (int b = threadIdx.x; b < p.neighbours; b += blockDim.x)
    await([&] { return acquired(p.arrived + b) >= epoch; }, p.ranks[b], p.missing);
}

__global__ void add_received(sp_cuda_peers p, double *vector, const sp_cuda_scalars *scalars) {
  const int t = blockIdx.x * THREADS + threadIdx.x;
  follow();
  if (t < p.lists.targets && !scalars->stop) sum_of_ranks(p.lists, t, p.received, vector);
}

/* What ranks tell each other. */
struct introduction {
  cudaIpcMemHandle_t handle;
  int shared, neighbours, ready;
};

/* Places in a region, in units of 8 bytes. */
struct layout {
  size_t received, sums, arrived, count;
};

layout lay_out(int size, int shared, int neighbours) {
  layout l = {};
  l.sums = (size_t)shared;
  l.arrived = l.sums + 2 * sizeof(sp_cuda_sums) / 8 * (size_t)size;
  l.count = l.arrived + (size_t)neighbours;
  return l;
}

sp_status introduce(const sp_exchange_plan *plan, int size, sp_cuda_peer_memory *memory,
                    introduction *mine) {
  mine->shared = plan->start[plan->neighbours];
  mine->neighbours = plan->neighbours;
  const layout l = lay_out(size, mine->shared, mine->neighbours);
  SP_TRY(sp_cuda_allocate(l.count, 8, "exchange", &memory->region));
  SP_CUDA(cudaIpcGetMemHandle(&mine->handle, memory->region));
  mine->ready = 1;
  return SP_OK;
}

bool on_one_machine(MPI_Comm comm) {
  MPI_Comm machine;
  int size, together;
  MPI_Comm_size(comm, &size);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &together);
  MPI_Comm_free(&machine);
  return sp_cuda_all_agree(comm, together == size);
}

bool map_regions(const introduction *all, int rank, int size, sp_cuda_peer_memory *memory) {
  memory->mapped_count = size;
  for (int r = 0; r < size; r++) {
    if (r == rank) continue;
    if (cudaIpcOpenMemHandle(&memory->mapped[r], all[r].handle, cudaIpcMemLazyEnablePeerAccess) !=
        cudaSuccess) {
      (void)cudaGetLastError();
      memory->mapped[r] = nullptr;
      return false;
    }
  }
  return true;
}

template <class T>
sp_status table(sp_cuda_peer_memory *memory, const T *host, size_t count, const T **out) {
  void *copy = nullptr;
  const sp_status status = sp_cuda_copy_of(host, count, sizeof(T), "exchange", &copy);
  memory->tables[memory->table_count++] = copy;
  *out = (const T *)copy;
  return status;
}

/* `places[b]`: where neighbour b expects this rank's values and its flag. */
struct place {
  int start, index;
};

sp_status make_tables(const sp_cuda_exchange *exchange, const introduction *all,
                      const place *places, int rank, int size, sp_cuda_peer_memory *memory) {
  const sp_exchange_plan *plan = &exchange->plan;
  sp_cuda_peers *view = &memory->view;
  const size_t neighbours = (size_t)plan->neighbours;
  double **pointers = nullptr;
  const size_t most = neighbours > (size_t)size ? neighbours : (size_t)size;
  SP_TRY(sp_allocate(3 * most, sizeof *pointers, "exchange", &pointers));
  double **received = pointers, **arrived = received + most, **sums = arrived + most;
  for (size_t b = 0; b < neighbours; b++) {
    const introduction *other = &all[plan->ranks[b]];
    const layout l = lay_out(size, other->shared, other->neighbours);
    double *region = (double *)memory->mapped[plan->ranks[b]];
    received[b] = region + l.received + places[b].start;
    arrived[b] = region + l.arrived + places[b].index;
  }
  for (int r = 0; r < size; r++) {
    const layout l = lay_out(size, all[r].shared, all[r].neighbours);
    double *region = (double *)(r == rank ? memory->region : memory->mapped[r]);
    sums[r] = region + l.sums;
  }
  sp_status status = table(memory, received, neighbours, (double *const **)&view->remote_received);
  if (!status)
    status = table(memory, (sp_cuda_epoch **)arrived, neighbours,
                   (sp_cuda_epoch *const **)&view->remote_arrived);
  if (!status)
    status = table(memory, (sp_cuda_sums **)sums, (size_t)size,
                   (sp_cuda_sums *const **)&view->remote_sums);
  free(pointers);
  SP_TRY(status);
  SP_TRY(table(memory, plan->start, neighbours + 1, &view->start));
  SP_TRY(table(memory, plan->ranks, neighbours, &view->ranks));
  SP_TRY(sp_cuda_allocate(1, sizeof *view->epoch, "exchange", (void **)&view->epoch));
  memory->tables[memory->table_count++] = view->epoch;
  SP_TRY(sp_cuda_allocate(1, sizeof *view->sent, "exchange", (void **)&view->sent));
  memory->tables[memory->table_count++] = view->sent;
  SP_TRY(sp_cuda_allocate(1, sizeof *view->missing, "exchange", (void **)&view->missing));
  memory->tables[memory->table_count++] = view->missing;
  const layout l = lay_out(size, exchange->lists.shared, plan->neighbours);
  double *region = (double *)memory->region;
  view->rank = rank;
  view->neighbours = plan->neighbours;
  view->lists = exchange->lists;
  view->received = region + l.received;
  view->sums = (sp_cuda_sums *)(region + l.sums);
  view->arrived = (sp_cuda_epoch *)(region + l.arrived);
  return SP_OK;
}

void exchange_places(MPI_Comm comm, const sp_exchange_plan *plan, place *places) {
  for (int b = 0; b < plan->neighbours; b++) {
    const place mine = {plan->start[b], b};
    MPI_Sendrecv(&mine, 2, MPI_INT, plan->ranks[b], 1, &places[b], 2, MPI_INT, plan->ranks[b], 1,
                 comm, MPI_STATUS_IGNORE);
  }
}

/* Host arrays while peers meet. */
struct meeting {
  introduction *all;
  place *places;
};

sp_status meet(MPI_Comm comm, const sp_cuda_exchange *exchange, const char **why, meeting *m,
               sp_cuda_peer_memory *memory) {
  const sp_exchange_plan *plan = &exchange->plan;
  int rank, size;
  bool differ;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  *why = "ranks are on several machines";
  if (!on_one_machine(comm)) return SP_OK;
  *why = "there are too many ranks";
  if (size > SP_CUDA_MOST_PEERS) return SP_OK;
  *why = "ranks share a GPU";
  SP_TRY(sp_cuda_gpus_differ(comm, &differ));
  if (!differ) return SP_OK;
  introduction mine = {};
  sp_status status = sp_allocate((size_t)size, sizeof *m->all, "exchange", &m->all);
  if (!status)
    status = sp_allocate((size_t)plan->neighbours, sizeof *m->places, "exchange", &m->places);
  if (!status)
    status = sp_allocate((size_t)size, sizeof *memory->mapped, "exchange", &memory->mapped);
  SP_TRY(sp_agree(comm, status));
  (void)introduce(plan, size, memory, &mine); /* mine.ready tells */
  MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, m->all, (int)sizeof mine, MPI_BYTE, comm);
  *why = "GPU memory cannot be exported";
  if (!sp_cuda_all_agree(comm, mine.ready)) return SP_OK;
  *why = "GPUs cannot reach each other's memory (every rank must see all of its machine's)";
  memory->comm = comm;
  if (!sp_cuda_all_agree(comm, map_regions(m->all, rank, size, memory))) return SP_OK;
  exchange_places(comm, plan, m->places);
  status = make_tables(exchange, m->all, m->places, rank, size, memory);
  SP_TRY(sp_agree(comm, status));
  memory->view.size = size;
  *why = NULL;
  return SP_OK;
}

} // namespace

sp_status sp_cuda_peers_create(MPI_Comm comm, const sp_cuda_exchange *exchange, const char **why,
                               sp_cuda_peer_memory *out) {
  meeting m = {};
  *out = {};
  const sp_status status = meet(comm, exchange, why, &m, out);
  free(m.all);
  free(m.places);
  return status;
}

void sp_cuda_peers_free(sp_cuda_peer_memory *memory) {
  for (int r = 0; r < memory->mapped_count; r++)
    if (memory->mapped[r]) (void)cudaIpcCloseMemHandle(memory->mapped[r]);
  /* Memory is to be freed after others have closed what they mapped of it. */
  if (memory->mapped_count > 0) MPI_Barrier(memory->comm);
  for (int t = 0; t < memory->table_count; t++) (void)cudaFree(memory->tables[t]);
  (void)cudaFree(memory->region);
  free(memory->mapped);
  *memory = {};
}

cudaError_t sp_cuda_peers_exchange(const sp_cuda_peers *peers, double *vector,
                                   const sp_cuda_scalars *scalars, cudaStream_t stream) {
  cudaError_t error =
      queue(send, blocks_for(peers->lists.shared), THREADS, 0, stream, *peers, vector, scalars);
  if (error == cudaSuccess) error = queue(await_neighbours, 1, 32, 0, stream, *peers, scalars);
  if (error != cudaSuccess) return error;
  // Not early: its blocks would take places while one waits.
  return start(false, nullptr, add_received, blocks_for(peers->lists.targets), THREADS, 0, stream,
               *peers, vector, scalars);
}
