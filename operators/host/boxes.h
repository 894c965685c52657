/* Inverses of boxes (operators/schwarz/separable.h) on blocks of elements, one element in each lane
 * of a vector; compiled once per instruction set and precision. */
#pragma once

#include "mesh/columns.h"
#include "operators/host/seams.h"

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
  const void *basis;   /* [blocks][3][n][n][lanes] */
  const void *values;  /* [blocks][3][n][lanes] */
  const void *weights; /* [blocks][n^3][lanes] */
  sp_host_seams seams; /* seams between threads, with elements as items; none with one thread */
  sp_host_columns columns;
} sp_host_boxes;

/* z += sum of R^T W A^-1 W R r over elements and columns; sums at seams go into slots. Passes are
 * collective among the threads, with a barrier after each. */
typedef struct sp_host_box_kernels {
  /* Add the blocks without columns; reduce the others to their interfaces. Workspace: two arrays of
   * a block, [n^3] vectors. The first element must begin a block. */
  void (*solve)(const sp_host_boxes *, const sp_host_elements *, const void *r, void *z);
  /* Solve the columns first .. last - 1. */
  void (*sweep)(const sp_host_boxes *, sp_lid first, sp_lid last);
  /* Add the blocks with columns. */
  void (*finish)(const sp_host_boxes *, const sp_host_elements *, void *z);
} sp_host_box_kernels;
