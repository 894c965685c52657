/* Inverses of boxes (operators/separable.h) on blocks of elements, one element in each lane of a
 * vector; compiled once per instruction set and precision. */
#ifndef SP_OPERATORS_HOST_BOXES_H
#define SP_OPERATORS_HOST_BOXES_H

#include <stdbool.h>

#include "mesh/types.h"

/* In the precision of the kernels, with sp_host_lanes of it (kernels.h); lanes without an element
 * hold anything finite with positive values. */
typedef struct sp_host_boxes {
  int n; /* nodes per direction */
  sp_lid elements;
  const sp_lid *nodes; /* [elements][n^3] */
  const void *basis;   /* [blocks][3][n][n][lanes] */
  const void *values;  /* [blocks][3][n][lanes] */
  const void *weights; /* [local DOFs] */
  void *work;          /* two arrays of a block, [n^3] vectors, aligned to 64 bytes */
} sp_host_boxes;

/* z += sum over elements of R^T A_e^-1 R W r. */
typedef void sp_host_boxes_function(const sp_host_boxes *, const void *r, void *z);

#endif
