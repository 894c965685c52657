/* The host's kernels by instruction set. */
#pragma once

#include "operators/host/kernels.h"

extern const sp_host_kernels sp_host_kernels_generic;
extern const sp_host_kernels sp_host_kernels_avx2;
extern const sp_host_kernels sp_host_kernels_avx512;

enum { SP_HOST_KERNEL_SETS = 3 };

/* List the built tables (CMake: SP_HOST_KERNEL_SETS) that this processor can run, widest vectors
 * first. Returns their number. Local. */
int sp_host_usable_kernels(const sp_host_kernels *usable[SP_HOST_KERNEL_SETS]);

/* The first of them, used by the backend; NULL if none. Local. */
const sp_host_kernels *sp_host_best_kernels(void);

/* The largest number of points per direction for which an operator prefetches its stored factors,
 * with these kernels on this processor. It changes no result. Local. */
int sp_host_prefetched_points(const sp_host_kernels *kernels, sp_operator_kind kind);
