/* Choice of the GPU of each rank. The choice itself needs no device, only the names of GPUs. */
#pragma once

#include "io/error.h"

/* Two ranks of a machine see the same GPU if and only if the names are equal;
 * CUDA_VISIBLE_DEVICES may number it differently on each of them. */
typedef struct sp_gpu {
  char name[64];
} sp_gpu;

/* GPUs that ranks see: rank r, on machine[r], sees gpus[first[r]], ..., gpus[first[r + 1] - 1],
 * which it calls devices 0, 1, ... Ranks with equal numbers are on one machine. */
typedef struct sp_gpu_view {
  int ranks;
  int *machine; /* [ranks] */
  int *first;   /* [ranks + 1] */
  sp_gpu *gpus; /* [first[ranks]] */
} sp_gpu_view;

/* The GPUs that this process sees, in the order of its device numbers; none without a driver, or in
 * a program built without CUDA; the list ends before one that does not answer. Creates no context.
 * The caller frees *gpus, also after an error. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_gpus_visible(int *count, sp_gpu **gpus);

/* Start the driver on a thread, while MPI_Init runs: call it before that, and sp_gpus_awake, which
 * waits for the thread, before the process ends. sp_gpus_visible then waits for the rest only. Does
 * nothing if this machine has fewer GPUs than ranks, or if their number is not known yet: few ranks
 * should start the driver (sp_gpus_look). Local. */
void sp_gpus_wake(void);
void sp_gpus_awake(void);

/* Gather the GPUs that all ranks of `comm` see; gpus[count] are those of this rank. The result is
 * the same on all ranks. machine[r] is the lowest rank of the machine. sp_gpu_view_destroy frees
 * it, also after an error. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_gpus_gather(MPI_Comm comm, int count, const sp_gpu *gpus, sp_gpu_view *view);
void sp_gpu_view_destroy(sp_gpu_view *view);

/* Gather likewise; `visible` (sp_gpus_visible, except in tests) finds what a rank sees. Few ranks
 * call it, because the first call in a process starts the driver, which takes long if all ranks of
 * a machine do it at the same time. Ranks of a machine see the same GPUs if their environments have
 * the same variables CUDA_... and NVIDIA_..., and if they are in the same control group and mount
 * namespace (Linux); the first of them asks for all. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_gpus_look(MPI_Comm comm, sp_status (*visible)(int *count, sp_gpu **gpus),
                       sp_gpu_view *view);

/* Give as many ranks as possible a GPU of their own, machine by machine: rank r gets its device
 * choice[r], or -1 if it gets none. The first rank of a machine that sees a GPU gets one. If all
 * ranks of a machine see the same G GPUs, of R > G ranks number floor(g R / G) gets GPU g, so that
 * these ranks are spread over the machine as the launcher has spread all of them; of R <= G ranks,
 * number g gets GPU g. Errors: SP_ERR_INPUT if no rank of a machine sees a GPU, or if rank 0, which
 * prints and writes files, sees none; SP_ERR_SYSTEM. Local. */
sp_status sp_gpus_choose(const sp_gpu_view *view, int *choice);
