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

sp_status sp_cuda_failed(cudaError_t error, const char *call, const char *file, int line) {
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

/* *bytes = count * size, at least one entry. */
static sp_status count_bytes(size_t count, size_t size, const char *what, size_t *bytes) {
  *bytes = (count > 0 ? count : 1) * size;
  if (count <= SIZE_MAX / size) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "out of memory on GPU %d: %s needs %zu times %zu bytes",
                 current_device(), what, count, size);
}

sp_status sp_cuda_allocate(size_t count, size_t size, const char *what, void **out) {
  size_t bytes;
  *out = nullptr;
  SP_TRY(count_bytes(count, size, what, &bytes));
  cudaError_t error = cudaMalloc(out, bytes);
  if (error == cudaErrorMemoryAllocation && release_pool()) error = cudaMalloc(out, bytes);
  if (error == cudaErrorMemoryAllocation) return fail_memory(what, bytes);
  if (error != cudaSuccess) return sp_cuda_failed(error, "cudaMalloc", __FILE__, __LINE__);
  /* Our streams do not wait for the default stream, on which this runs. */
  cudaError_t cleared = cudaMemset(*out, 0, bytes);
  if (cleared == cudaSuccess) cleared = cudaStreamSynchronize(nullptr);
  if (cleared == cudaSuccess) return SP_OK;
  (void)cudaFree(*out);
  *out = nullptr;
  return sp_cuda_failed(cleared, "cudaMemset", __FILE__, __LINE__);
}

sp_status sp_cuda_take(sp_device *device, size_t count, size_t size, const char *what, void **out) {
  size_t bytes;
  *out = nullptr;
  SP_TRY(count_bytes(count, size, what, &bytes));
  cudaError_t error = cudaMallocAsync(out, bytes, device->stream);
  if (error == cudaErrorMemoryAllocation && release_pool())
    error = cudaMallocAsync(out, bytes, device->stream);
  if (error == cudaErrorMemoryAllocation) return fail_memory(what, bytes);
  if (error != cudaSuccess) return sp_cuda_failed(error, "cudaMallocAsync", __FILE__, __LINE__);
  error = cudaMemsetAsync(*out, 0, bytes, device->stream);
  if (error == cudaSuccess) return SP_OK;
  sp_cuda_give(device, out);
  return sp_cuda_failed(error, "cudaMemsetAsync", __FILE__, __LINE__);
}

void sp_cuda_give(sp_device *device, void **memory) {
  if (*memory) (void)cudaFreeAsync(*memory, device->stream);
  *memory = nullptr;
}

/* Keep the memory of freed vectors: allocating and freeing it on the GPU takes a millisecond. */
static sp_status keep_pool(int id) {
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  SP_CUDA(cudaDeviceGetDefaultMemPool(&pool, id));
  SP_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  return SP_OK;
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

// Append "; GPUs by rank: 0 1 0 1", if it fits.
static void describe_ranks(MPI_Comm comm, int id, char *text, size_t room) {
  const int size = sp_comm_size(comm);
  int *ids = (int *)malloc((size_t)size * sizeof *ids); // if this fails, the map is left out
  int possible = ids != nullptr;
  MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, comm);
  if (possible) MPI_Allgather(&id, 1, MPI_INT, ids, 1, MPI_INT, comm);
  if (possible && size > 1) {
    size_t used = (size_t)snprintf(text, room, "; GPUs by rank:");
    for (int r = 0; r < size && used + 8 < room; r++)
      used += (size_t)snprintf(text + used, room - used, " %d", ids[r]);
  }
  free(ids);
}

// Give each rank of this machine a GPU of its own or, with more ranks than GPUs, in turn.
static sp_status device_of(const sp_gpu_view *view, int rank, int *id) {
  const int visible = view->first[rank + 1] - view->first[rank];
  int *choice, before = 0;
  *id = -1;
  SP_TRY(sp_allocate((size_t)view->ranks, sizeof *choice, "GPUs", &choice));
  bool enough = sp_gpus_choose(view, choice) == SP_OK;
  for (int r = 0; r < view->ranks; r++) {
    if (view->machine[r] != view->machine[rank]) continue;
    enough = enough && choice[r] >= 0;
    before += r < rank;
  }
  if (visible > 0) *id = enough ? choice[rank] : before % visible;
  free(choice);
  return SP_OK;
}

// `map` describes the GPUs of all ranks.
static sp_status choose_device(MPI_Comm comm, int *id, char *map, size_t room) {
  int count = 0;
  sp_gpu *gpus = nullptr;
  sp_gpu_view view = {};
  *id = -1;
  sp_status status = sp_agree(comm, sp_gpus_visible(&count, &gpus));
  if (!status) status = sp_gpus_gather(comm, count, gpus, &view);
  if (!status) status = sp_agree(comm, device_of(&view, sp_comm_rank(comm), id));
  sp_gpu_view_destroy(&view);
  free(gpus);
  SP_TRY(status);
  describe_ranks(comm, *id, map, room);
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
  (*out)->id = id;
  return use_device(*out, map);
}

bool sp_cuda_all_agree(MPI_Comm comm, bool mine) {
  int all = mine;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all;
}

sp_status sp_cuda_gpus_differ(MPI_Comm comm, bool *differ) {
  enum { BUS = 32 };
  MPI_Comm machine;
  int device;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  const int rank = sp_comm_rank(machine), size = sp_comm_size(machine);
  char *all = nullptr, mine[BUS] = "";
  sp_status status = sp_allocate((size_t)size, BUS, "exchange", &all);
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(mine, BUS, device);
  if (!status && error != cudaSuccess)
    status = sp_cuda_failed(error, "cudaDeviceGetPCIBusId", __FILE__, __LINE__);
  status = sp_agree(comm, status);
  bool alone = true;
  if (!status) {
    MPI_Allgather(mine, BUS, MPI_CHAR, all, BUS, MPI_CHAR, machine);
    for (int r = 0; r < size; r++)
      alone = alone && (r == rank || strcmp(&all[(size_t)r * BUS], mine) != 0);
  }
  MPI_Comm_free(&machine);
  free(all);
  SP_TRY(status);
  *differ = sp_cuda_all_agree(comm, alone);
  return SP_OK;
}

sp_status sp_cuda_fork(sp_device *device) {
  SP_CUDA(cudaEventRecord(device->fork, device->stream));
  SP_CUDA(cudaStreamWaitEvent(device->urgent, device->fork, 0));
  return SP_OK;
}

sp_status sp_cuda_join(sp_device *device) {
  SP_CUDA(cudaEventRecord(device->join, device->urgent));
  SP_CUDA(cudaStreamWaitEvent(device->stream, device->join, 0));
  return SP_OK;
}

void sp_cuda_close(sp_device **device) {
  if (!*device) return;
  (void)cudaFree((*device)->partial);
  (void)cudaFree((*device)->arrived);
  (void)cudaFreeHost((*device)->sum);
  if ((*device)->fork) (void)cudaEventDestroy((*device)->fork);
  if ((*device)->join) (void)cudaEventDestroy((*device)->join);
  if ((*device)->urgent) (void)cudaStreamDestroy((*device)->urgent);
  if ((*device)->stream) (void)cudaStreamDestroy((*device)->stream);
  free(*device);
  *device = nullptr;
}
