/* Inverses of boxes (operators/separable.h) on blocks of elements, one element in each lane of a
 * vector; compiled once per instruction set and precision. */
#ifndef SP_OPERATORS_HOST_BOXES_H
#define SP_OPERATORS_HOST_BOXES_H

#include <stdbool.h>

#include "mesh/types.h"
#include "operators/host/seams.h"

/* All arrays are in the precision of the kernels, with sp_host_lanes of it (kernels.h). Lanes
 * without an element hold any finite positive values. */
typedef struct sp_host_boxes {
  int n;               /* nodes per direction */
  const sp_lid *nodes; /* [elements][n^3] */
  const void *basis;   /* [blocks][3][n][n][lanes] */
  const void *values;  /* [blocks][3][n][lanes] */
  const void *weights; /* [blocks][n^3][lanes] */
  sp_host_seams seams; /* seams between threads, with elements as items; none with one thread */
} sp_host_boxes;

/* z += sum over elements of R^T W A_e^-1 W R r; sums at seams go into slots. The workspace is two
 * arrays of a block, [n^3] vectors. The first element is the first one of a block. */
typedef void sp_host_boxes_function(const sp_host_boxes *, const sp_host_elements *, const void *r,
                                    void *z);

#endif
