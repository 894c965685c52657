/* Choose the kernels of formulas that this processor can run. */
#include "io/formula/kernel.h"

sp_expression_kernel sp_expression_kernel_generic;
#ifdef SP_EXPRESSION_HAS_avx2
sp_expression_kernel sp_expression_kernel_avx2;
#endif
#ifdef SP_EXPRESSION_HAS_avx512
sp_expression_kernel sp_expression_kernel_avx512;
#endif

int sp_expression_usable_kernels(sp_expression_kernel *usable[SP_EXPRESSION_SETS]) {
  int count = 0;
#ifdef SP_EXPRESSION_HAS_avx512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    usable[count++] = sp_expression_kernel_avx512;
#endif
#ifdef SP_EXPRESSION_HAS_avx2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    usable[count++] = sp_expression_kernel_avx2;
#endif
  usable[count++] = sp_expression_kernel_generic;
  return count;
}
