/* Z^T for any order as lists: for each DOF its element nodes, in the order of elements, so that the
 * sum has the same bits in every run. Slower than the assembly of operators (assembly.h), but
 * without its assumptions about the order of DOFs. */
#pragma once

#include "operators/cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sp_cuda_gather_lists {
  int dofs;
  int *nodes;   /* [elements][Np]: the DOF of every element node */
  int *start;   /* [dofs + 1] */
  int *entries; /* [start[dofs]]: indices into an E-vector [elements][Np]; none for a DOF whose
                   value is zero */
} sp_cuda_gather_lists;

/* Make the lists of `space`. DOFs with zero[dof] have no entries; `zero` may be NULL. The caller
 * frees *out with the function below, also after a failure. Errors: SP_ERR_INPUT for more than 2^31
 * element nodes. Local. */
sp_status sp_cuda_gather_lists_create(const struct sp_space *space, const bool *zero,
                                      sp_cuda_gather_lists *out);
void sp_cuda_gather_lists_free(sp_cuda_gather_lists *lists);

#ifdef __cplusplus
}
#endif
