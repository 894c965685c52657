extern "C" {
#include "operators/cuda/device.h"
#include "operators/cuda/launch.h"
#include "operators/gpus.h"
}

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Rank in MPI_COMM_WORLD, for messages: a thread of a copy may fail, and calls no MPI.
static int own_rank;

static int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

sp_status sp_cuda_status(cudaError_t error, const char *call, const char *file, int line) {
  if (error == cudaSuccess) return SP_OK;
  const char *name = strrchr(file, '/');
  return sp_fail(SP_ERR_SYSTEM, "CUDA: %s in %.60s at %s:%d on rank %d, device %d",
                 cudaGetErrorString(error), call, name ? name + 1 : file, line, own_rank,
                 current_device());
}

/* Give the memory of freed vectors back to the GPU; false if there is none. */
static bool release_pool() {
  cudaMemPool_t pool;
  uint64_t before = 0, after = 0;
  (void)cudaGetLastError();
  if (cudaDeviceGetDefaultMemPool(&pool, current_device()) != cudaSuccess) return false;
  (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &before);
  (void)cudaDeviceSynchronize();
  (void)cudaMemPoolTrimTo(pool, 0);
  (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &after);
  return after < before;
}

static sp_status fail_memory(const char *what, size_t bytes) {
  size_t available = 0, total = 0;
  (void)cudaGetLastError();
  (void)cudaMemGetInfo(&available, &total);
  return sp_fail(SP_ERR_SYSTEM,
                 "out of memory on GPU %d: %s needs %.1f MB, %.1f of %.1f MB are free: use more "
                 "GPUs, or trilinear geometry",
                 current_device(), what, bytes * 1e-6, available * 1e-6, total * 1e-6);
}

/* `allocate` allocates memory of a number of bytes, and the work of `stream` clears it. */
template <class Allocate>
static sp_status allocate_zeroed(size_t count, size_t size, const char *what, Allocate allocate,
                                 cudaStream_t stream, void **out) {
  const size_t bytes = (count > 0 ? count : 1) * size;
  *out = nullptr;
  if (count > SIZE_MAX / size)
    return sp_fail(SP_ERR_SYSTEM, "out of memory on GPU %d: %s needs %zu times %zu bytes",
                   current_device(), what, count, size);
  cudaError_t error = allocate(bytes, out);
  if (error == cudaErrorMemoryAllocation && release_pool()) error = allocate(bytes, out);
  if (error == cudaErrorMemoryAllocation) return fail_memory(what, bytes);
  SP_TRY(sp_cuda_status(error, "cudaMalloc", __FILE__, __LINE__));
  return SP_CUDA_STATUS(cudaMemsetAsync(*out, 0, bytes, stream));
}

sp_status sp_cuda_allocate(size_t count, size_t size, const char *what, void *out) {
  const auto allocate = [](size_t bytes, void **memory) { return cudaMalloc(memory, bytes); };
  void *memory;
  sp_status status = allocate_zeroed(count, size, what, allocate, nullptr, &memory);
  /* Our streams do not wait for the default stream, on which this runs. */
  if (!status) status = SP_CUDA_STATUS(cudaStreamSynchronize(nullptr));
  if (status) {
    (void)cudaFree(memory);
    memory = nullptr;
  }
  memcpy(out, &memory, sizeof memory);
  return status;
}

void sp_cuda_free_each(size_t count, const void *const *arrays) {
  for (size_t i = 0; i < count; i++) (void)cudaFree(const_cast<void *>(arrays[i]));
}

sp_status sp_cuda_vector_create(sp_device *device, sp_precision precision, size_t count,
                                void *out) {
  const auto allocate = [device](size_t bytes, void **memory) {
    return cudaMallocAsync(memory, bytes, device->stream);
  };
  void *memory;
  /* One more entry, because kernels use pairs of entries. */
  const sp_status status = allocate_zeroed(count + 1, sp_precision_bytes(precision), "vector",
                                           allocate, device->stream, &memory);
  memcpy(out, &memory, sizeof memory);
  if (status) sp_cuda_vector_destroy(device, out);
  return status;
}

void sp_cuda_vector_destroy(sp_device *device, void *vector) {
  void *memory;
  memcpy(&memory, vector, sizeof memory);
  if (memory) (void)cudaFreeAsync(memory, device->stream);
  memory = nullptr;
  memcpy(vector, &memory, sizeof memory);
}

/* Keep the memory of freed vectors: allocating and freeing it on the GPU takes a millisecond. */
static sp_status keep_pool(int id) {
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  SP_CUDA(cudaDeviceGetDefaultMemPool(&pool, id));
  return SP_CUDA_STATUS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

static __global__ void probe() {}

static int architecture;

int sp_cuda_architecture(void) {
  return architecture;
}

static bool name_gpu(int device, sp_gpu *gpu) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return false; // no context
  const int used = snprintf(gpu->name, sizeof gpu->name, "%x:%x:%x ", properties.pciDomainID,
                            properties.pciBusID, properties.pciDeviceID);
  char *digits = gpu->name + used; // parts of a GPU (MIG) differ only in the UUID
  for (size_t b = 0; b < sizeof properties.uuid.bytes; b++)
    snprintf(digits + 2 * b, 3, "%02x", (unsigned char)properties.uuid.bytes[b]);
  return true;
}

sp_status sp_gpus_visible(int *count, sp_gpu **gpus) {
  int visible = 0;
  *count = 0;
  *gpus = nullptr;
  if (cudaGetDeviceCount(&visible) != cudaSuccess) visible = 0;
  SP_TRY(sp_allocate((size_t)visible, sizeof **gpus, "GPUs", gpus));
  // A GPU that does not respond ends the list.
  while (*count < visible && name_gpu(*count, &(*gpus)[*count])) ++*count;
  (void)cudaGetLastError();
  return SP_OK;
}

// "; GPUs by rank: 0 1 0 1", if it fits.
static void describe_ranks(int size, const int *ids, size_t room, char *text) {
  if (size == 1) return;
  size_t used = (size_t)snprintf(text, room, "; GPUs by rank:");
  for (int r = 0; r < size && used + 8 < room; r++)
    used += (size_t)snprintf(text + used, room - used, " %d", ids[r]);
}

// Give each rank of a machine a GPU of its own or, with more ranks than GPUs, in turn; -1: none.
static void choose_on(const sp_gpu_view *view, int machine, bool own, int *ids) {
  for (int r = 0; r < view->ranks; r++)
    if (view->machine[r] == machine) own = own && ids[r] >= 0;
  for (int r = 0, turn = 0; r < view->ranks && !own; r++) {
    if (view->machine[r] != machine) continue;
    const int visible = view->first[r + 1] - view->first[r];
    ids[r] = visible > 0 ? turn % visible : -1;
    turn++;
  }
}

// A process has one GPU: kernels and copies run on the current device. Later devices share the GPU
// of the first one that is open, although another communicator would give the rank another GPU.
static int open_devices, own_gpu;

// `map` describes the GPUs of all ranks.
static sp_status choose_device(MPI_Comm comm, int *id, char *map, size_t room) {
  int count = 0;
  SP_OWNED sp_gpu *gpus = nullptr;
  SP_OWNED int *ids = nullptr, *kept = nullptr;
  const int mine = open_devices > 0 ? own_gpu : -1;
  SP_AUTO_VALUE(sp_gpu_view) view = {};
  SP_TRY(sp_agree(comm, sp_gpus_visible(&count, &gpus)));
  SP_TRY(sp_gpus_gather(comm, count, gpus, &view));
  sp_status status = sp_allocate((size_t)view.ranks, sizeof *ids, "GPUs", &ids);
  if (!status) status = sp_allocate((size_t)view.ranks, sizeof *kept, "GPUs", &kept);
  SP_TRY(sp_agree(comm, status));
  MPI_Allgather(&mine, 1, MPI_INT, kept, 1, MPI_INT, comm);
  const bool chosen = sp_gpus_choose(&view, ids) == SP_OK;
  for (int r = 0; r < view.ranks; r++)
    if (view.machine[r] == r) choose_on(&view, r, chosen, ids);
  for (int r = 0; r < view.ranks; r++)
    if (kept[r] >= 0) ids[r] = kept[r];
  *id = ids[sp_comm_rank(comm)];
  describe_ranks(view.ranks, ids, room, map);
  if (*id >= 0) return SP_OK;
  const cudaError_t error = cudaGetDeviceCount(&count);
  return sp_fail(SP_ERR_SYSTEM, "no usable GPU: %s",
                 error != cudaSuccess ? cudaGetErrorString(error) : "none found");
}

static sp_status use_device(sp_device *device, const char *map) {
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  int kilohertz, driver, runtime;
  SP_CUDA(cudaSetDevice(device->id));
  SP_CUDA(cudaGetDeviceProperties(&properties, device->id));
  if (cudaFuncGetAttributes(&attributes, probe) != cudaSuccess) {
    (void)cudaGetLastError();
    return sp_fail(SP_ERR_SYSTEM,
                   "GPU %d, %s, is of architecture sm_%d%d, for which this program has no code: "
                   "build it with -DCMAKE_CUDA_ARCHITECTURES=%d%d",
                   device->id, properties.name, properties.major, properties.minor,
                   properties.major, properties.minor);
  }
  architecture = attributes.ptxVersion; // all files are compiled for the same architectures
  int least, greatest;
  SP_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  SP_CUDA(cudaStreamCreateWithPriority(&device->stream, cudaStreamNonBlocking, least));
  SP_CUDA(cudaStreamCreateWithPriority(&device->urgent, cudaStreamNonBlocking, greatest));
  SP_CUDA(cudaEventCreateWithFlags(&device->fork, cudaEventDisableTiming));
  SP_CUDA(cudaEventCreateWithFlags(&device->join, cudaEventDisableTiming));
  SP_TRY(keep_pool(device->id));
  SP_CUDA(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device->id));
  SP_CUDA(cudaDriverGetVersion(&driver));
  SP_CUDA(cudaRuntimeGetVersion(&runtime));
  snprintf(device->description, sizeof device->description,
           "%.80s, GPU %d (sm_%d%d), %d MHz, CUDA %d.%d, driver for CUDA %d.%d%s", properties.name,
           device->id, properties.major, properties.minor, kilohertz / 1000, runtime / 1000,
           runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, map);
  return SP_OK;
}

sp_status sp_cuda_open(MPI_Comm comm, sp_device **out) {
  int id = 0;
  char map[160] = "";
  *out = nullptr;
  own_rank = sp_comm_rank(MPI_COMM_WORLD);
  SP_TRY(choose_device(comm, &id, map, sizeof map));
  SP_TRY(sp_allocate(1, sizeof **out, "device", out));
  (*out)->id = own_gpu = id;
  open_devices++;
  return use_device(*out, map);
}

bool sp_cuda_all_agree(MPI_Comm comm, bool mine) {
  int all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all;
}

bool sp_cuda_same_ranks(MPI_Comm a, MPI_Comm b) {
  int comparison;
  MPI_Comm_compare(a, b, &comparison);
  return comparison == MPI_IDENT || comparison == MPI_CONGRUENT;
}

sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ) {
  sp_gpu own = {};
  SP_AUTO_VALUE(sp_gpu_view) view = {};
  const bool known = name_gpu(current_device(), &own);
  own.name[strcspn(own.name, " ")] = '\0'; // only the bus: parts of a GPU are not different
  SP_TRY(sp_agree(comm, known ? SP_OK : SP_CUDA_STATUS(cudaGetLastError())));
  SP_TRY(sp_gpus_gather(comm, 1, &own, &view));
  *differ = true;
  for (int a = 0; a < view.ranks; a++)
    for (int b = 0; b < a; b++)
      if (view.machine[a] == view.machine[b] && !strcmp(view.gpus[a].name, view.gpus[b].name))
        *differ = false;
  return SP_OK;
}

sp_status sp_cuda_fork(sp_device *device) {
  SP_CUDA(cudaEventRecord(device->fork, device->stream));
  return SP_CUDA_STATUS(cudaStreamWaitEvent(device->urgent, device->fork, 0));
}

sp_status sp_cuda_join(sp_device *device) {
  SP_CUDA(cudaEventRecord(device->join, device->urgent));
  return SP_CUDA_STATUS(cudaStreamWaitEvent(device->stream, device->join, 0));
}

void sp_cuda_close(sp_device **device) {
  if (!*device) return;
  open_devices--;
  SP_CUDA_FREE((*device)->partial, (*device)->arrived);
  (void)cudaFreeHost((*device)->sum);
  if ((*device)->fork) (void)cudaEventDestroy((*device)->fork);
  if ((*device)->join) (void)cudaEventDestroy((*device)->join);
  if ((*device)->urgent) (void)cudaStreamDestroy((*device)->urgent);
  if ((*device)->stream) (void)cudaStreamDestroy((*device)->stream);
  free(*device);
  *device = nullptr;
}
