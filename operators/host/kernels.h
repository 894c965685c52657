/* The host's block kernels: Z, the local operator and Z^T for blocks of elements, one element per
 * lane of the instruction set's vectors. "real" is double or float, the precision of the operator.
 *
 * vectors.c is compiled once per instruction set; kernels.c, local.c and blocks.c
 * once per instruction set and precision (vector.h). The build names their tables, and
 * backend.c chooses among them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mesh/geometry.h"
#include "mesh/numbering.h"
#include "mesh/reference.h"
#include "operators/backend.h"
#include "operators/host/blocks.h"
#include "operators/host/seams.h"
#include "operators/kinds.h"

enum { SP_VECTOR_BYTES = 64 }; /* the widest vector of all instruction sets */

typedef sp_even_odd sp_host_even_odd_double;
typedef struct sp_host_even_odd_float {
  float even[SP_MAX_HALF * SP_MAX_HALF], odd[SP_MAX_HALF * SP_MAX_HALF];
} sp_host_even_odd_float;

/* D or D~ and its transpose, on the quadrature points; I and its transpose (not for bp3.5); the
 * quadrature rule. Both precisions have the same layout. */
#define SP_HOST_MATRICES(real)                                                                     \
  typedef struct sp_host_matrices_##real {                                                         \
    sp_host_even_odd_##real differentiate, differentiate_t;                                        \
    sp_host_even_odd_##real interpolate, interpolate_t;                                            \
    real nodes[SP_MAX_M], weights[SP_MAX_M];                                                       \
  } sp_host_matrices_##real;
SP_HOST_MATRICES(double)
SP_HOST_MATRICES(float)

enum { SP_HOST_ENTITIES = 18 }; /* faces, then edges */

typedef struct sp_host_tables {
  union {
    sp_host_matrices_double in_double;
    sp_host_matrices_float in_float;
  } matrices;             /* of the operator's precision */
  int n, points, surface; /* nodes per direction, per element, and on its surface */
  /* Node indices of an element, by class: inside faces, on edges, at vertices, interior. Each face,
   * each edge and the interior are in lexicographic order. */
  unsigned short node[SP_MAX_NODES];
  /* Number of faces and edges with enough nodes to be read as runs; entity e ends before
   * node[entity_end[e]]. */
  int entities;
  short entity_end[SP_HOST_ENTITIES];
  int prefetched; /* prefetch stored factors up to this number of points per direction */
} sp_host_tables;

typedef struct sp_host_block {
  unsigned char elements; /* number of elements; further lanes repeat the last element */
  bool plain;             /* true if all lanes have elements and none has constrained DOFs */
  /* Bit e: the DOFs of entity e are contiguous in each lane, and none is constrained. */
  uint32_t runs;
} sp_host_block;

/* Contiguous DOFs. */
typedef struct sp_host_run {
  sp_lid begin, end;
} sp_host_run;

/* Runs by block: block b has runs[start[b]] up to runs[start[b + 1] - 1]. */
typedef struct sp_host_lists {
  sp_lid *start;
  sp_host_run *runs;
} sp_host_lists;

/* Blocks [0, halo_blocks) hold the elements that touch other ranks. Each array has [blocks] times:
 */
typedef struct sp_host_layout {
  sp_precision precision;
  int lanes;   /* of this precision */
  int threads; /* of a sweep: first over the blocks of the halo, then over the others */
  sp_lid blocks, halo_blocks;
  sp_lid owned, local; /* numbers of DOFs (mesh/numbering.h); copies are touched before block 0 */
  sp_host_block *block;
  /* [surface][lanes] local DOFs on the surface: d, or ~d if the DOF is constrained. Interiors need
   * no index: in a block they are contiguous from touched[b][SP_INTERIORS] on. */
  sp_lid *dofs;
  /* [blocks + 1]: blocks before b touch exactly the owned DOFs of class c below touched[b][c]. */
  sp_lid (*touched)[SP_DOF_CLASSES];
  /* real. stored: [points][SP_FACTORS][lanes] (mass: [points][lanes]), mesh/geometry.h. trilinear:
   * [24][lanes], coefficient c of component d at 3 c + d (sp_geometry_trilinear). scaled: the same
   * with kappa at 0 and lambda at 1. */
  void *factors;
  ptrdiff_t block_factors; /* numbers per block */
  /* With one_sweep: the owned DOFs on surfaces that are complete after block b, because no later
   * block adds to them. List number `blocks` has the DOFs completed by the exchange, the setup's
   * diagonal or the sums of seams. */
  sp_host_lists last;
  /* With several threads: the seams, and the owned DOFs on surfaces first touched by block b. List
   * number `blocks` has the DOFs on seams, touched before all blocks. */
  sp_host_seams seams;
  sp_host_lists first;
} sp_host_layout;

/* out = A_e u for one block: u and out are real [points][lanes]; work has 3 arrays of
 * [SP_MAX_M^3][lanes]. */
typedef void sp_host_local_function(const sp_host_tables *, const void *factors, double lambda,
                                    const void *u, void *out, void *work);

/* An operation on runs of entries of L-vectors. */
typedef void sp_host_run_function(void *context, sp_lid count, const sp_host_run *runs);

/* One sweep over blocks [first, last): y += Z^T A Z x, but sums at seams go into slots. Owned
 * entries of y on surfaces are set to zero at first touch; interiors are stored. */
typedef struct sp_host_sweep {
  sp_host_local_function *local;
  sp_lid first, last;
  const void *x; /* real, and so is y */
  void *y;
  bool constrained; /* constrained DOFs are zero in x and unchanged in y */
  double lambda;
  bool sums_energy;
  double energy; /* out, if sums_energy is set: the sum over elements of x_e^T A_e x_e */
  /* Hooks; may be NULL. The hook touch is called for entries just before their first use. It may
   * change x there; y still has its old values. The hook complete is called for owned entries of y
   * with their final values. The caller handles list `blocks` of `last` later. */
  sp_host_run_function *touch, *complete;
  void *context;    /* context of the hooks */
  double seconds;   /* out, if `complete` is set: time in both hooks */
  bool unassembled; /* x and y are E-vectors, [blocks][Np][lanes]: skip Z and Z^T */
  void *work;       /* SP_HOST_WORK doubles in both precisions, 64-byte aligned */
} sp_host_sweep;

enum { SP_HOST_WORK = 5 * SP_MAX_M * SP_MAX_M * SP_MAX_M * SP_VECTOR_BYTES / sizeof(double) };

typedef void sp_host_sweep_function(const sp_host_layout *, const sp_host_tables *,
                                    sp_host_sweep *);

/* First touch of entries before a sweep: the hook `touch`, then y = 0. */
typedef void sp_host_touch_function(const sp_host_sweep *, sp_lid count, const sp_host_run *runs);

enum { SP_HOST_DOUBLES = SP_VECTOR_BYTES / sizeof(double) };

/* The vectors and sums of CG during a sweep that applies the operator to its direction. */
typedef struct sp_host_cg {
  double alpha, beta;
  const double *z, *inverse_diagonal; /* inverse_diagonal NULL: D = 1 */
  double *x, *r, *p, *ap;
  sp_lid owned; /* number of entries that count in sums */
  double sums[SP_CG_SUMS][SP_HOST_DOUBLES];
} sp_host_cg;

/* Vector operations as in operators/backend.h, by precision, and pass 2 of CG, in double. */
typedef struct sp_host_vectors {
  /* On entries of an sp_host_cg. update: x += alpha p, r -= alpha ap with sums of r. direct: p =
   * D^-1 z + beta p. step: update, then direct with z = r. add_products: sums of ap. */
  sp_host_run_function *update, *direct, *step, *add_products;
  void (*combine[SP_PRECISIONS])(size_t n, int terms, const double *weights, const void *const *x,
                                 void *y);
  void (*multiply[SP_PRECISIONS])(size_t n, const void *x, const void *y, void *z);
  double (*dot[SP_PRECISIONS])(size_t n, const void *x, const void *y);
  void (*convert[SP_PRECISIONS][SP_PRECISIONS])(size_t n, double scale, const void *from, void *to);
  void (*correct[SP_PRECISIONS])(size_t n, const sp_correction *step);
} sp_host_vectors;

/* The local operators, [operator][sp_factor_kind], and sweeps, in one precision. */
typedef struct sp_host_operators {
  sp_host_local_function *const (*local)[SP_FACTOR_KINDS];
  sp_host_sweep_function *sweep;
  sp_host_touch_function *touch;
} sp_host_operators;

typedef struct sp_host_kernels {
  const char *instruction_set;
  int vector_bytes;
  const sp_host_operators *operators[SP_PRECISIONS];
  const sp_host_vectors *vectors;
  const sp_host_block_kernels *blocks[SP_PRECISIONS];
} sp_host_kernels;

/* Lanes of a vector = elements of a block. Local. */
static inline int sp_host_lanes(const sp_host_kernels *kernels, sp_precision precision) {
  return kernels->vector_bytes / (int)sp_precision_bytes(precision);
}
