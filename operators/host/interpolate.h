/* Interpolation on blocks of elements, one element in each lane of a vector; compiled once per
 * instruction set and precision. */
#pragma once

#include "mesh/types.h"
#include "operators/host/seams.h"
#include "operators/kinds.h"

/* The data of a transfer for its kernels. `matrix` J is [nf][nc] in the precision of the kernels;
 * nodes are the numberings', [elements][n^3]. */
typedef struct sp_host_interpolation {
  int nc, nf;
  const sp_lid *coarse_nodes, *fine_nodes;
  const void *matrix;
  /* Seams between threads, with elements as items; none with one thread. */
  sp_host_seams coarse_seams, fine_seams;
} sp_host_interpolation;

/* Bytes of workspace per thread: four arrays of a block, for coarse nodes, two intermediate
 * results, and fine nodes. Local. */
static inline size_t sp_host_interpolation_work(int nf) {
  return 4 * (size_t)(nf * nf * nf) * 64;
}

typedef struct sp_host_interpolate {
  /* fine[i], or the slots of i, = the interpolant of `coarse`. */
  void (*prolong)(const sp_host_interpolation *, const sp_host_elements *, const void *coarse,
                  void *fine);

  /* coarse += Z_c^T J^T Z_f fine, on seams into slots. */
  void (*restrict_add)(const sp_host_interpolation *, const sp_host_elements *, const void *fine,
                       void *coarse);
} sp_host_interpolate;
