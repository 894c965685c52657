/* The host's block kernels: Z, the local operator and Z^T for blocks of elements, one element in
 * each lane of a vector: 8 doubles or 16 floats. "real" below is double or float, the precision of
 * the operator.
 *
 * vectors.c is compiled once per instruction set; kernels.c, local.c, interpolate.c and boxes.c
 * once per instruction set and precision (vector.h). The build gives the names of their tables.
 * backend.c chooses the instruction set that the processor can run. */
#ifndef SP_OPERATORS_HOST_KERNELS_H
#define SP_OPERATORS_HOST_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "mesh/geometry.h"
#include "mesh/numbering.h"
#include "mesh/reference.h"
#include "operators/backend.h"
#include "operators/host/boxes.h"
#include "operators/host/interpolate.h"
#include "operators/kinds.h"
#include "operators/precision.h"

enum {
  SP_VECTOR_BYTES = 64, /* the widest vector; narrower machines split it */
  SP_MAX_NODES = (SP_MAX_ORDER + 1) * (SP_MAX_ORDER + 1) * (SP_MAX_ORDER + 1)
};

/* Lanes of a vector, elements of a block. Local. */
static inline int sp_host_lanes(sp_precision precision) {
  return SP_VECTOR_BYTES / (int)sp_precision_bytes(precision);
}

typedef sp_even_odd sp_host_even_odd_double;
typedef struct sp_host_even_odd_float {
  float even[SP_MAX_HALF * SP_MAX_HALF], odd[SP_MAX_HALF * SP_MAX_HALF];
} sp_host_even_odd_float;

/* D or D~ and its transpose, on the quadrature points; I and its transpose, unused by bp3.5; the
 * quadrature rule. The structs of both precisions hold the same numbers in the same order. */
#define SP_HOST_MATRICES(real)                                                                     \
  typedef struct sp_host_matrices_##real {                                                         \
    sp_host_even_odd_##real differentiate, differentiate_t;                                        \
    sp_host_even_odd_##real interpolate, interpolate_t;                                            \
    real nodes[SP_MAX_M], weights[SP_MAX_M];                                                       \
  } sp_host_matrices_##real;
SP_HOST_MATRICES(double)
SP_HOST_MATRICES(float)

typedef struct sp_host_tables {
  union {
    sp_host_matrices_double in_double;
    sp_host_matrices_float in_float;
  } matrices;             /* of the operator's precision */
  int n, points, surface; /* nodes per direction, of an element, and on its surface */
  /* Indices of an element's nodes: those on the surface, then those inside, each lexicographic. */
  unsigned short node[SP_MAX_NODES];
} sp_host_tables;

typedef struct sp_host_block {
  unsigned char elements; /* in the first lanes; the other lanes repeat the last element */
  bool plain;             /* all lanes have elements, none has constrained DOFs */
} sp_host_block;

/* Blocks [0, halo_blocks) hold the elements that touch other ranks. Each array has [blocks] times:
 */
typedef struct sp_host_layout {
  sp_precision precision;
  int lanes; /* of this precision */
  sp_lid blocks, halo_blocks;
  sp_lid owned, local; /* DOFs (mesh/numbering.h); block 0 touches copies first */
  sp_host_block *block;
  /* [surface][lanes] local DOFs on the surface: d, or ~d if the DOF is constrained. Interiors
   * need no index: those of a block are contiguous from touched[b][SP_INTERIORS] on. */
  sp_lid *dofs;
  /* [blocks + 1]: blocks before b touch exactly the owned DOFs of class c below touched[b][c]. */
  sp_lid (*touched)[SP_DOF_CLASSES];
  /* real. stored: [points][SP_FACTORS][lanes] (mass: [points][lanes]), mesh/geometry.h;
   * trilinear: [24][lanes], coefficient c of component d at 3 c + d:
   * x_d = sum of c_0 + c_1 r + c_2 s + c_3 t + c_4 rs + c_5 st + c_6 rt + c_7 rst; scaled: the same
   * with kappa at 0 and lambda at 1. */
  void *factors;
  ptrdiff_t block_factors; /* numbers per block */
} sp_host_layout;

/* out = A_e u for one block: u and out are real [points][lanes]. */
typedef void sp_host_local_function(const sp_host_tables *, const void *factors, double lambda,
                                    const void *u, void *out, void *work);

/* One sweep over blocks [first, last): y += Z^T A Z x. Entries of y are set to zero when they are
 * touched first. */
typedef struct sp_host_sweep {
  sp_host_local_function *local;
  sp_lid first, last;
  const void *x; /* real, and so is y */
  void *y;
  bool constrained; /* constrained DOFs count as zero in x and are not changed in y */
  double lambda;
  double energy; /* out: sum over elements of x_e^T A_e x_e */
  /* In double precision alone. If `direction` is set, it is x, and is formed when it is touched
   * first: p = d z + beta p with z = `residual` and d = inverse_diagonal, or 1 if that is NULL. */
  double *direction;
  const double *residual, *inverse_diagonal;
  double beta;
  bool unassembled; /* x and y are E-vectors, [blocks][Np][lanes]: neither Z nor Z^T */
  void *work;       /* SP_HOST_WORK doubles in both precisions, 64-byte aligned */
} sp_host_sweep;

enum { SP_HOST_WORK = 5 * SP_MAX_M * SP_MAX_M * SP_MAX_M * SP_VECTOR_BYTES / sizeof(double) };

typedef void sp_host_sweep_function(const sp_host_layout *, const sp_host_tables *,
                                    sp_host_sweep *);

/* x += alpha p, r -= alpha Ap over n entries; sums[0] = r.r and sums[1] = r.D^-1 r over the first
 * `owned` of them (inverse_diagonal NULL: D = 1). */
typedef void sp_host_update_function(sp_lid owned, sp_lid n, double alpha, const double *p,
                                     const double *ap, const double *inverse_diagonal, double *x,
                                     double *r, double sums[2]);

/* Vector operations as in operators/backend.h, by precision, and pass 2 of CG, in double. */
typedef struct sp_host_vectors {
  sp_host_update_function *update;
  void (*axpby[SP_PRECISIONS])(size_t n, double a, const void *x, double b, void *y);
  void (*multiply[SP_PRECISIONS])(size_t n, const void *x, const void *y, void *z);
  double (*dot[SP_PRECISIONS])(size_t n, const void *x, const void *y);
  void (*convert[SP_PRECISIONS][SP_PRECISIONS])(size_t n, double scale, const void *from, void *to);
  void (*correct[SP_PRECISIONS])(size_t n, const sp_correction *step);
} sp_host_vectors;

/* The local operators, [operator][sp_factor_kind], and the sweep, in one precision. */
typedef struct sp_host_operators {
  sp_host_local_function *const (*local)[SP_FACTOR_KINDS];
  sp_host_sweep_function *sweep;
} sp_host_operators;

typedef struct sp_host_kernels {
  const char *instruction_set;
  const sp_host_operators *operators[SP_PRECISIONS];
  const sp_host_vectors *vectors;
  const sp_host_interpolate *interpolate[SP_PRECISIONS];
  sp_host_boxes_function *solve_boxes[SP_PRECISIONS];
} sp_host_kernels;

extern const sp_host_kernels sp_host_kernels_generic;
extern const sp_host_kernels sp_host_kernels_avx2;
extern const sp_host_kernels sp_host_kernels_avx512;

enum { SP_HOST_KERNEL_SETS = 3 };

/* The tables that were built (CMake: SP_HOST_KERNEL_SETS) and that this processor can run, widest
 * vectors first. Returns their number. Local. */
int sp_host_usable_kernels(const sp_host_kernels *usable[SP_HOST_KERNEL_SETS]);

#endif
