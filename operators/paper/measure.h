/* Data for rooflines: a GPU's sizes and clocks, the rates of its shared memory and arithmetic, and
 * time stamps on the device. Without CUDA every function that can fail fails. All functions Local.
 */
#pragma once

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A GPU's data, as the driver reports them. */
typedef struct sp_gpu {
  int multiprocessors;
  double clock;            /* highest clock of the multiprocessors, Hz */
  double cache_bytes;      /* L2 */
  double memory_bandwidth; /* B/s: two transfers per clock of the memory, times the bus width; 0:
                              unknown */
  double shared_bandwidth; /* B/s, the paper's B_sh: multiprocessors x 32 lanes x 4 bytes x clock */
  int driver, runtime; /* the newest CUDA version that the driver supports, and the one that this
                          program was compiled with: 1000 major + 10 minor */
} sp_gpu;

/* Errors: SP_ERR_SYSTEM. */
sp_status sp_gpu_describe(const sp_device *device, sp_gpu *out);

/* Time stamps 0 .. count - 1, taken by the device after the work queued before. */
typedef struct sp_stamps sp_stamps;

sp_status sp_stamps_create(int count, sp_stamps **out);
void sp_stamps_destroy(sp_stamps **stamps); /* NULL-safe; sets *stamps to NULL */

/* Queue stamp n; a later one with the same number replaces it. */
sp_status sp_stamps_queue(sp_device *device, sp_stamps *stamps, int n);

/* Seconds from stamp `from` to stamp `to`; waits for the latter. */
sp_status sp_stamps_seconds(sp_stamps *stamps, int from, int to, double *seconds);

/* Queue a pause of the device. Work queued during the pause runs back to back, without gaps for
 * launches. */
sp_status sp_gpu_pause(sp_device *device, double seconds);

/* Measured B/s of reads from shared memory without bank conflicts, all multiprocessors together:
 * the best of several runs. */
sp_status sp_gpu_measure_shared(sp_device *device, double *bandwidth);

/* Measured flop/s of independent double-precision multiply-adds (two flops each; not the tensor
 * cores): the best of several runs. */
sp_status sp_gpu_measure_fp64(sp_device *device, double *rate);

#ifdef __cplusplus
}
#endif
