/* The second pass of Z^T on the GPU: values that elements left at their surface nodes are summed
 * DOF by DOF, in the order of elements, so that the result does not depend on scheduling. */
#ifndef SP_OPERATORS_CUDA_ASSEMBLY_H
#define SP_OPERATORS_CUDA_ASSEMBLY_H

#include "operators/cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DOFs that are not interior to an element; those shared with other ranks come first. */
typedef struct sp_cuda_assembly {
  int shared, count; /* targets [0, shared) and [shared, count) */
  int *targets;      /* DOF d, or ~d where it is constrained */
  unsigned *start;   /* [count + 1] */
  unsigned *entries; /* places in the surface array [elements][Np] */
} sp_cuda_assembly;

/* Build the lists on the host and copy them to the device. *out is freed by sp_cuda_assembly_free,
 * also after a failure. Local. */
sp_status sp_cuda_assembly_create(const sp_operator_setup *setup, sp_cuda_assembly *out);
void sp_cuda_assembly_free(sp_cuda_assembly *assembly);
size_t sp_cuda_assembly_bytes(const sp_operator_setup *setup, const sp_cuda_assembly *assembly);

#ifdef __cplusplus
}
#endif

#endif
