/* Interpolation on blocks of elements, one element in each lane of a vector; compiled once per
 * instruction set and precision. */
#ifndef SP_OPERATORS_HOST_INTERPOLATE_H
#define SP_OPERATORS_HOST_INTERPOLATE_H

#include <stdbool.h>

#include "mesh/types.h"
#include "operators/precision.h"

/* A transfer as its kernels see it. `matrix` J is [nf][nc] and `weights` are in the precision of
 * the kernels; nodes are those of the numberings, [elements][n^3]. */
typedef struct sp_host_interpolation {
  int nc, nf;
  sp_lid elements;
  const sp_lid *coarse_nodes, *fine_nodes;
  const void *matrix, *weights;
  void *work; /* sp_host_interpolation_work bytes, aligned to 64 */
} sp_host_interpolation;

/* Bytes of workspace: four arrays of a block, for coarse nodes, two intermediate results, and fine
 * nodes. Local. */
static inline size_t sp_host_interpolation_work(int nf) {
  return 4 * (size_t)(nf * nf * nf) * 64;
}

typedef struct sp_host_interpolate {
  /* fine[i] = the interpolant of `coarse`, or 0 if weights[i] is zero. */
  void (*prolong)(const sp_host_interpolation *, const void *coarse, void *fine);
  /* coarse += Z_c^T J^T W Z_f fine. */
  void (*restrict_add)(const sp_host_interpolation *, const void *fine, void *coarse);
} sp_host_interpolate;

#endif
