/* The local operators on the GPU, one translation unit an order (order.cu), behind plain functions.
 */
#ifndef SP_OPERATORS_CUDA_LAUNCH_H
#define SP_OPERATORS_CUDA_LAUNCH_H

#include <cuda_runtime.h>

#include "io/config.h"
#include "mesh/reference.h"

/* Arguments of a local operator, by value to the kernel. All pointers are to device memory. */
typedef struct sp_cuda_arguments {
  int first, last; /* elements */
  /* stored: [elements][7][points] (mass: [elements][points]); trilinear: [elements][24],
   * coefficient m of component d at 3 m + d: x_d = c_0 + c_1 r + c_2 s + c_3 t + c_4 rs + c_5 st +
   * c_6 rt + c_7 rst. */
  const double *factors;
  /* [elements][Np], DOF d, or ~d where it is constrained. NULL: x and y are E-vectors
   * [elements][Np], and neither Z nor Z^T is applied. */
  const int *nodes;
  const double *x; /* L-vector */
  double *y;       /* L-vector: interior nodes are stored here, they belong to one element only */
  double *surface; /* [elements][Np]: the other nodes, to be summed in a second pass */
  double *energy;  /* [blocks of this launch], partial sums of x_e^T A_e x_e */
  double lambda;
  bool constrained; /* constrained DOFs count as zero in x */
} sp_cuda_arguments;

typedef cudaError_t sp_cuda_launch(const sp_cuda_arguments *arguments, cudaStream_t stream);

typedef struct sp_cuda_order {
  /* Send matrices, nodes and weights to the constant memory of the current device. */
  cudaError_t (*prepare)(const sp_reference *reference);
  sp_cuda_launch *apply[3][2]; /* [problem kind][stored, trilinear] */
  int block_elements[3][2];    /* elements a block: energy has ceil(elements / this) entries */
} sp_cuda_order;

/* The table for `order` (1..15). */
const sp_cuda_order *sp_cuda_order_get(int order);

#endif
