/* The local operators on the GPU, one translation unit per order (order.cu), behind plain
 * functions.
 */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>

#include "mesh/reference.h"
#include "operators/kinds.h"

/* Packed node index: local DOF plus two flags, in one unsigned. For nodes on the surface of an
 * element; with patches for all nodes. */
#define SP_CUDA_DOF 0x3fffffffu         /* mask of the DOF */
#define SP_CUDA_FIRST 0x40000000u       /* first node with this DOF */
#define SP_CUDA_CONSTRAINED 0x80000000u /* Dirichlet */

/* Numbers per parallelepiped: sp_operator_affine's and one for alignment. */
#define SP_CUDA_AFFINE 8

/* Scalars of an iteration, on the device. */
typedef struct sp_cuda_scalars {
  double p_ap, rr, rz;        /* sums of the last passes */
  double alpha, beta;         /* for the next ones */
  double target;              /* iterations end when rr <= target, */
  double energy, share;       /* or when alpha rz <= share * (energy += alpha rz) */
  unsigned long long started; /* ns, %globaltimer at the start of pass 1 */
  int iterations, limit;      /* iterations done since the launch of the batch, and their limit */
  int stop;                   /* true: later passes do nothing */
  unsigned arrived[2]; /* blocks that have finished their part of the sum, in pass 1 and pass 2 */
} sp_cuda_scalars;

/* Arguments of pass 1 of CG in a local operator: p_new = D^-1 z + beta p at every node (z is the
 * residual, or the preconditioned one). The first node of each DOF stores it, and does x += alpha p
 * with the old p and the previous iteration's alpha. */
typedef struct sp_cuda_step {
  const double *z, *p, *inverse_diagonal; /* the last may be NULL: D = 1 */
  double *next_p;
  double *x; /* NULL: another kernel updates x */
  sp_cuda_scalars *scalars;
  double *partial; /* sums of p_e.A_e p_e; block 0 of this launch writes at first_block */
  int first_block;
  bool stamps; /* true: store the start time */
} sp_cuda_step;

/* Patches (patches.h): the highest order, elements per patch, results per element (at least its
 * nodes; odd, to avoid bank conflicts), and the list entry for no result. */
#define SP_CUDA_PATCH_MOST_ORDER 2
#define SP_CUDA_PATCH(order) ((order) == 1 ? 512 : 128)
#define SP_CUDA_PATCH_RESULTS(order) (((order) + 1) * ((order) + 1) * ((order) + 1) | 1)
#define SP_CUDA_PATCH_NONE(order) (SP_CUDA_PATCH(order) * SP_CUDA_PATCH_RESULTS(order))

/* A patch: its first element, node, slot, group and word in the arrays of sp_patches, and its
 * numbers of elements, nodes, complete nodes and words. */
typedef struct sp_cuda_patch {
  int element, elements;
  int nodes, complete, words;
  unsigned node, slot, group, word;
} sp_cuda_patch;

/* Patches on the device, arrays as in sp_patches, in double precision. */
typedef struct sp_cuda_patch_arrays {
  int count, most_nodes, most_words; /* number of patches, and the largest numbers of one patch */
  const sp_cuda_patch *list;
  const unsigned *codes;
  const unsigned *pairs;
  const unsigned *start, *entries;
} sp_cuda_patch_arrays;

/* Arguments of a local operator, passed to the kernel by value. All pointers are to device memory;
 * void * is to numbers of the operator's precision.
 *
 * Z^T: interior nodes are stored to y. Nodes inside faces are added to y, which was cleared; an
 * entry gets at most two contributions, so their order does not matter. A separate kernel later
 * adds the part of Robin faces. Nodes on edges and at vertices go to `edges` and are summed in a
 * fixed order later (assembly.h). With patches, complete nodes are stored to y, and the others go
 * to `edges`, [slots]. */
typedef struct sp_cuda_arguments {
  int first, last; /* elements */
  /* stored: [elements][7][points] (mass: [elements][points]). trilinear: [elements][24],
   * coefficient m of component d at 3 m + d: x_d = c_0 + c_1 r + c_2 s + c_3 t + c_4 rs + c_5 st +
   * c_6 rt + c_7 rst. scaled: the same with kappa at 0 and lambda / kappa at 1. rounded:
   * [elements][words]. affine: [elements][SP_CUDA_AFFINE] (operators/factors.h). With patches: the
   * geometry of sp_patches, and if scaled, in `scales`, kappa and lambda / kappa, [elements][2]. */
  const void *factors;
  const double *scales;
  sp_cuda_patch_arrays patches;
  const unsigned *nodes; /* [elements][sp_cuda_surface_nodes(order)] */
  const void *x;
  void *y;
  void *edges; /* [elements][sp_cuda_edge_nodes(order)], or slots */
  double lambda;
  bool forks;       /* first kernel on a newly forked stream (queue.cuh) */
  bool constrained; /* constrained DOFs are zero in x and unchanged in y */
  sp_cuda_step step;
} sp_cuda_arguments;

/* Nodes of an element in the order of their codes: vertices, edges (N - 1 each), faces ((N - 1)^2
 * each) and the interior. places[q] is the lexicographic index of node q, [Nq^3]. */
void sp_cuda_node_order(int order, unsigned short *places);

/* Numbers of an element's nodes on its surface, and on edges or at vertices, which come first in
 * the order. */
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
  /* Number of blocks, and so of partial sums, of pass 1 over `elements` elements; 0 for none. */
  int (*blocks)(int elements);
  size_t shared_bytes; /* shared memory per block, at most */
} sp_cuda_kernel;

/* Additive Schwarz (operators/backend.h), arrays on the device in the operator's precision. */
/* Passes of Schwarz over the elements: the whole, or the halves before and after the columns. */
typedef enum sp_cuda_box_pass { SP_CUDA_SOLVE, SP_CUDA_REDUCE, SP_CUDA_EXPAND } sp_cuda_box_pass;

typedef struct sp_cuda_boxes {
  const void *basis;   /* [elements][3][Nq][Nq] */
  const void *values;  /* [elements][3][Nq] */
  const void *weights; /* [elements][Nq^3], in sp_cuda_node_order */
  /* Arrays of columns (sp_schwarz_setup). */
  sp_cuda_box_pass pass;
  const int *interface;      /* [elements] */
  const int *frames;         /* [elements][4]: offset of node 0 in the cube, steps along r, s, t */
  const void *conductances;  /* [elements], 0 for an element in no column */
  const void *end_couplings; /* [2][Nq] */
  /* Scratch: coefficients [elements][Nq][Nq^2]; contributions of the element above and below an
   * interface to its right-hand side, [interfaces][Nq^2]. The solution overwrites `above`. */
  void *modal, *above, *below;
} sp_cuda_boxes;

typedef struct sp_cuda_order {
  /* Send matrices, nodes and weights to the constant memory of the current device. */
  cudaError_t (*prepare)(const sp_reference *reference);
  sp_cuda_kernel kernels[SP_OPERATORS][SP_FACTOR_KINDS];
  /* BP3.5 with patches, and the shared memory per block for at most `nodes` nodes and `words` words
   * per patch. The functions are NULL if there is no such kernel. */
  sp_cuda_kernel patched[SP_FACTOR_KINDS];
  size_t (*patch_shared_bytes)(int nodes, int words);
  /* Apply Schwarz to the elements of `arguments`: with boxes in place of A, from x to y and
   * `edges`. */
  cudaError_t (*boxes)(const sp_cuda_arguments *arguments, const sp_cuda_boxes *boxes,
                       cudaStream_t stream);
} sp_cuda_order;

/* The architecture of the code that runs on the current device, 90 for sm_90. Lower than the
 * device's own if the driver compiles older PTX. Call it after sp_cuda_open(). Local. */
int sp_cuda_architecture(void);

/* The table for `order` (1..15). In single precision there is no SP_CUDA_CG. */
const sp_cuda_order *sp_cuda_order_get(int order, sp_precision precision);
