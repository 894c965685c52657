#include "operators/host/sets.h"

int sp_host_usable_kernels(const sp_host_kernels *usable[SP_HOST_KERNEL_SETS]) {
  int count = 0;
#ifdef SP_HOST_HAS_avx512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    usable[count++] = &sp_host_kernels_avx512;
#endif
#ifdef SP_HOST_HAS_avx2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    usable[count++] = &sp_host_kernels_avx2;
#endif
#ifdef SP_HOST_HAS_generic
  usable[count++] = &sp_host_kernels_generic;
#endif
  return count;
}

/* No prefetches for large elements with 64-byte vectors on Intel processors, where they cost time
 * (README.md, "Measured"). */
int sp_host_prefetched_points(const sp_host_kernels *kernels, sp_operator_kind kind) {
#ifdef SP_HOST_HAS_avx512
  if (kernels == &sp_host_kernels_avx512 && __builtin_cpu_is("intel"))
    return sp_operator_rows[kind].collocated ? 9 : 6;
#endif
  (void)kernels;
  (void)kind;
  return SP_MAX_M;
}

const sp_host_kernels *sp_host_best_kernels(void) {
  const sp_host_kernels *usable[SP_HOST_KERNEL_SETS];
  return sp_host_usable_kernels(usable) > 0 ? usable[0] : NULL;
}
