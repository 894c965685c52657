/* Replaces the paper's kernels in a build without them. */
#include "operators/paper/paper.h"

const sp_paper_kernel *sp_paper_kernels(int *count) {
  *count = 0;
  return NULL;
}

sp_status sp_paper_prepare(sp_device *device, int order) {
  (void)device, (void)order;
  return sp_fail(SP_ERR_INPUT, "this program has none of the paper's kernels: build it with "
                               "-DSP_ENABLE_CUDA=ON -DSP_PAPER_KERNELS=ON");
}
