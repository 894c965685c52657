/* The local operators on the GPU, one translation unit an order (order.cu), behind plain functions.
 */
#ifndef SP_OPERATORS_CUDA_LAUNCH_H
#define SP_OPERATORS_CUDA_LAUNCH_H

#include <cuda_runtime.h>
#include <stdbool.h>

#include "mesh/reference.h"

/* What is known of a surface node, one unsigned: its local DOF and two flags. */
#define SP_CUDA_DOF 0x3fffffffu         /* mask of the DOF */
#define SP_CUDA_FIRST 0x40000000u       /* no node before this one has the DOF */
#define SP_CUDA_CONSTRAINED 0x80000000u /* Dirichlet */

/* Scalars of an iteration, on the device. */
typedef struct sp_cuda_scalars {
  double p_ap, rr, rz;        /* sums of the last passes */
  double alpha, beta;         /* for the next ones */
  double target;              /* iterations end when rr <= target */
  unsigned long long started; /* ns, %globaltimer at the start of pass 1 */
  int iterations, limit;      /* done since the launch of the batch, and how many may be done */
  int stop;                   /* no further pass does anything */
  unsigned arrived[2];        /* blocks of a sum that are done: pass 1, pass 2 */
} sp_cuda_scalars;

/* Pass 1 of CG as a local operator sees it: p_new = D^-1 z + beta p on the way in (z is the
 * residual or a preconditioned one), and x += alpha p with the old p and the step of the iteration
 * before, at the first node of each DOF. */
typedef struct sp_cuda_step {
  const double *z, *p, *inverse_diagonal; /* the last may be NULL: D = 1 */
  double *next_p;
  double *x; /* NULL: x is updated elsewhere */
  sp_cuda_scalars *scalars;
  double *partial; /* sums of p_e.A_e p_e, this launch's first block at first_block */
  int first_block;
  bool stamps; /* notes when it starts */
} sp_cuda_step;

/* Arguments of a local operator, by value to the kernel. All pointers are to device memory.
 *
 * Z^T: interior nodes are stored to y. Nodes inside faces are added to y, which was cleared: an
 * entry gets two contributions at most, and a + b is b + a to the bit; what Robin faces add follows
 * in a kernel of its own. Nodes on edges and at vertices go to `edges`, to be summed in a fixed
 * order later (assembly.h). */
typedef struct sp_cuda_arguments {
  int first, last; /* elements */
  /* stored: [elements][7][points] (mass: [elements][points]); trilinear: [elements][24],
   * coefficient m of component d at 3 m + d: x_d = c_0 + c_1 r + c_2 s + c_3 t + c_4 rs + c_5 st +
   * c_6 rt + c_7 rst. */
  const double *factors;
  const unsigned *nodes; /* [elements][sp_cuda_surface_nodes(order)] */
  const double *x;
  double *y;
  double *edges; /* [elements][sp_cuda_edge_nodes(order)] */
  double lambda;
  bool forks;       /* first on another stream than the kernels before (queue.cuh) */
  bool constrained; /* constrained DOFs count as zero in x and get nothing in y */
  sp_cuda_step step;
} sp_cuda_arguments;

/* Nodes of an element in the order of their codes: vertices, edges (N - 1 each), faces ((N -
 * 1)^2 each) and the interior. places[q] is where node q stands in lexicographic order, [Nq^3]. */
void sp_cuda_node_order(int order, unsigned short *places);

/* Nodes of an element on its surface, and of these on edges or at vertices: the first of the order.
 */
static inline int sp_cuda_surface_nodes(int order) {
  return 6 * order * order + 2;
}
static inline int sp_cuda_edge_nodes(int order) {
  return 12 * order - 4;
}

/* E-vectors, L-vectors, or L-vectors in pass 1 of CG. */
typedef enum sp_cuda_mode { SP_CUDA_LOCAL, SP_CUDA_ASSEMBLED, SP_CUDA_CG } sp_cuda_mode;

typedef struct sp_cuda_kernel {
  cudaError_t (*launch)(const sp_cuda_arguments *arguments, sp_cuda_mode mode, cudaStream_t stream);
  /* Blocks of pass 1 over so many elements: the partial sums it makes. 0 for none. */
  int (*blocks)(int elements);
  size_t shared_bytes; /* of shared memory a block, at most */
} sp_cuda_kernel;

typedef struct sp_cuda_order {
  /* Send matrices, nodes and weights to the constant memory of the current device. */
  cudaError_t (*prepare)(const sp_reference *reference);
  sp_cuda_kernel kernels[3][2]; /* [problem kind][stored, trilinear] */
} sp_cuda_order;

/* The architecture that the code running on the current device was compiled for, 90 for sm_90: less
 * than the device's own where the driver compiles older PTX. After sp_cuda_open(). Local. */
int sp_cuda_architecture(void);

/* The table for `order` (1..15). */
const sp_cuda_order *sp_cuda_order_get(int order);

#endif
