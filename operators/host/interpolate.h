/* Interpolation on blocks of elements, one element in each lane of a vector, for the files that are
 * compiled once for each instruction set and precision. */
#ifndef SP_OPERATORS_HOST_INTERPOLATE_H
#define SP_OPERATORS_HOST_INTERPOLATE_H

#include <stdbool.h>

#include "mesh/types.h"
#include "operators/precision.h"

/* Elements per block, by precision: a vector has 64 bytes. */
enum { SP_DOUBLE_LANES = 8, SP_SINGLE_LANES = 16 };

/* A transfer as its kernels see it. `matrix` J is [nf][nc] and `weights` are in the precision of
 * the kernels; nodes are those of the numberings, [elements][n^3]. */
typedef struct sp_host_interpolation {
  int nc, nf;
  sp_lid elements;
  const sp_lid *coarse_nodes, *fine_nodes;
  const void *matrix, *weights;
  void *work; /* sp_host_interpolation_work bytes, aligned to 64 */
} sp_host_interpolation;

/* Three arrays of a block: coarse nodes, a half-way one, fine nodes; two half-way ones fit into the
 * last two. Local. */
static inline size_t sp_host_interpolation_work(int nf) {
  return 4 * (size_t)(nf * nf * nf) * 64;
}

typedef struct sp_host_interpolate {
  /* fine[i] = the interpolant of `coarse` where weights[i] is not zero, else 0. */
  void (*prolong)(const sp_host_interpolation *, const void *coarse, void *fine);
  /* coarse += Z_c^T J^T W Z_f fine. */
  void (*restrict_add)(const sp_host_interpolation *, const void *fine, void *coarse);
} sp_host_interpolate;

#endif
