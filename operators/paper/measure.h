/* Data for rooflines: a GPU's sizes and clocks, the rates of its shared memory and arithmetic, and
 * time stamps on the device. Errors of all functions: SP_ERR_SYSTEM. All functions Local. */
#pragma once

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A GPU's data, as the driver reports them. */
typedef struct sp_gpu_facts {
  int multiprocessors;
  double clock;            /* highest clock of the multiprocessors, Hz */
  double cache_bytes;      /* L2 */
  double memory_bandwidth; /* B/s: two transfers per clock of the memory, times the bus width; 0:
                              unknown */
  double shared_bandwidth; /* B/s, the paper's B_sh: multiprocessors x 32 lanes x 4 bytes x clock */
  int driver, runtime; /* the newest CUDA version that the driver supports, and the one that this
                          program was compiled with: 1000 major + 10 minor */
} sp_gpu_facts;

/* A start and an end, taken by the device after the work queued before. */
typedef struct sp_stamps sp_stamps;

typedef struct sp_gpu_tools {
  sp_status (*describe)(const sp_device *device, sp_gpu_facts *out);

  sp_status (*stamps_create)(sp_stamps **out);
  void (*stamps_destroy)(sp_stamps **stamps); /* NULL-safe; sets *stamps to NULL */

  /* Queue the stamp of the start, or of the end; a later one replaces it. */
  sp_status (*start)(sp_device *device, sp_stamps *stamps);
  sp_status (*end)(sp_device *device, sp_stamps *stamps);

  /* Seconds from start to end; waits for the end. */
  sp_status (*seconds)(const sp_stamps *stamps, double *seconds);

  /* Queue a pause of the device. Work queued during the pause runs back to back, without gaps for
   * launches. */
  sp_status (*pause)(sp_device *device, double seconds);

  /* Measured B/s of reads from shared memory without bank conflicts, all multiprocessors together:
   * the best of several runs. */
  sp_status (*measure_shared)(sp_device *device, double *bandwidth);

  /* Measured flop/s of independent double-precision multiply-adds (two flops each; not the tensor
   * cores): the best of several runs. */
  sp_status (*measure_fp64)(sp_device *device, double *rate);
} sp_gpu_tools;

/* NULL in a program built without CUDA. */
extern const sp_gpu_tools *const sp_gpu_tools_cuda;

#ifdef __cplusplus
}
#endif
