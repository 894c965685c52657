/* Choice of a GPU for each rank, from names of GPUs. */
#pragma once

#include "io/error.h"

/* Unique in a machine; CUDA_VISIBLE_DEVICES may number a GPU differently on each rank. */
typedef struct sp_gpu {
  char name[64];
} sp_gpu;

/* GPUs visible to ranks: devices 0, 1, ... of rank r are gpus[first[r]], ..., gpus[first[r + 1] -
 * 1]. Ranks with equal machine[r] are on one machine. */
typedef struct sp_gpu_view {
  int ranks;
  int *machine; /* [ranks] */
  int *first;   /* [ranks + 1] */
  sp_gpu *gpus; /* [first[ranks]] */
} sp_gpu_view;

/* The GPUs visible to this process, in the order of its device numbers; none without a driver or
 * CUDA. The list ends before a GPU that does not respond. Creates no context. The caller frees
 * *gpus, also after an error. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_gpus_visible(int *count, sp_gpu **gpus);

/* Gather the GPUs gpus[count] of all ranks of `comm`. The result is the same on all ranks.
 * machine[r] is the lowest rank of the machine. sp_gpu_view_destroy frees it, also after an error.
 * Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_gpus_gather(MPI_Comm comm, int count, const sp_gpu *gpus, sp_gpu_view *view);
void sp_gpu_view_destroy(sp_gpu_view *view);

/* Find and gather GPUs. Only few ranks call `visible` (sp_gpus_visible, except in tests), because
 * starting the driver takes long if all ranks of a machine do it at once. The first rank calls it
 * for all ranks of its machine with equal variables CUDA_... and NVIDIA_..., control group and
 * mount namespace (Linux): their visible GPUs are the same. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_gpus_look(MPI_Comm comm, sp_status (*visible)(int *count, sp_gpu **gpus),
                       sp_gpu_view *view);

/* Give as many ranks as possible a GPU of their own, machine by machine: rank r gets its device
 * choice[r], or -1 for none. The first rank of a machine with visible GPUs gets one. If R ranks of
 * a machine have the same G GPUs, rank g gets GPU g for R <= G; for R > G rank floor(g R / G) does,
 * which spreads the GPUs over the machine. Errors: SP_ERR_INPUT if no rank of a machine has a
 * visible GPU, or if rank 0, which writes files, has none; SP_ERR_SYSTEM. Local. */
sp_status sp_gpus_choose(const sp_gpu_view *view, int *choice);
