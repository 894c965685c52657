/* Kernels on blocks of elements, one element in each lane of a vector: interpolation, and inverses
 * of boxes (operators/schwarz/separable.h). Compiled once per instruction set and precision. */
#pragma once

#include "mesh/columns.h"
#include "operators/host/seams.h"

/* The data of a transfer for its kernels. `matrix` J is [nf][nc] in the precision of the kernels;
 * nodes are the numberings', [elements][n^3]. */
typedef struct sp_host_interpolation {
  int nc, nf;
  const sp_lid *coarse_nodes, *fine_nodes;
  void *matrix;
  /* Seams between threads, with elements as items; none with one thread. */
  sp_host_seams coarse_seams, fine_seams;
} sp_host_interpolation;

/* Bytes of workspace per thread: four arrays of a block, for coarse nodes, two intermediate
 * results, and fine nodes. Local. */
static inline size_t sp_host_interpolation_work(int nf) {
  return 4 * (size_t)(nf * nf * nf) * 64;
}

/* Columns (operators/schwarz/column_factors.h). Arrays of sp_schwarz_setup in the precision of the
 * kernels, and scratch between the passes. */
typedef struct sp_host_columns {
  const sp_columns *list;       /* count = 0: none, and no arrays */
  const sp_lid *interface;      /* [elements] */
  void *conductances;           /* [blocks][lanes], 0 outside of columns */
  void *end_couplings;          /* [2][n] */
  void *inverse, *ratio, *ring; /* [interfaces][n][n]; ring: NULL if no column is closed */
  /* Scratch: coefficients [blocks][n^3][lanes]; contributions of the element above and below an
   * interface to its right-hand side, [interfaces][n][n]. The solution overwrites `above`. */
  void *modal, *above, *below;
} sp_host_columns;

/* All arrays are in the precision of the kernels, with sp_host_lanes lanes (kernels.h). Lanes
 * without an element hold any finite positive values. */
typedef struct sp_host_boxes {
  int n;               /* nodes per direction */
  const sp_lid *nodes; /* [elements][n^3]; in a column's frame, like the weights */
  void *basis;         /* [blocks][3][n][n][lanes] */
  void *values;        /* [blocks][3][n][lanes] */
  void *weights;       /* [blocks][n^3][lanes] */
  sp_host_seams seams; /* seams between threads, with elements as items; none with one thread */
  sp_host_columns columns;
} sp_host_boxes;

typedef struct sp_host_block_kernels {
  /* fine[i], or the slots of i, = the interpolant of `coarse`. */
  void (*prolong)(const sp_host_interpolation *, const sp_host_elements *, const void *coarse,
                  void *fine);

  /* coarse += Z_c^T J^T Z_f fine, on seams into slots. */
  void (*restrict_add)(const sp_host_interpolation *, const sp_host_elements *, const void *fine,
                       void *coarse);

  /* z += sum of R^T W A^-1 W R r over elements and columns, in three passes; sums at seams go into
   * slots. Passes are collective among the threads, with a barrier after each. */

  /* Add the blocks without columns; reduce the others to their interfaces. Workspace: two arrays of
   * a block, [n^3] vectors. The first element must begin a block. */
  void (*solve)(const sp_host_boxes *, const sp_host_elements *, const void *r, void *z);
  /* Solve the columns first .. last - 1. */
  void (*sweep)(const sp_host_boxes *, sp_lid first, sp_lid last);
  /* Add the blocks with columns. */
  void (*finish)(const sp_host_boxes *, const sp_host_elements *, void *z);
} sp_host_block_kernels;
