/* The paper's 42 kernels (Swirydowicz, Chalmers, Karakus, Warburton, Sections "Optimizing Benchmark
 * Problem ..."), one row each, in the paper's order and with its names:
 *
 *     problem   thread blocks   kernels   orders
 *     mass      2D               1..8     1..15     BP1.0
 *     bp3.5     2D               1..10    1..15
 *     bp3.5     3D               1..6     1..9      Nq^3 threads, at most 1024
 *     bp3.0     2D               1..9     1..15
 *     bp3.0     3D               1..9     1..8      (N + 2)^3 threads
 *
 * Each has exactly the optimizations of the paper up to that step. They are for measuring and
 * reading; the program itself uses operators/cuda. All compute aq = A q between unassembled
 * vectors, with one thread block per element.
 *
 * With SP_PAPER_KERNELS=OFF (the default) the table is empty. All functions Local. */
#pragma once

#include "operators/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments of a kernel; all pointers are to device memory and stay with the caller. Np = (N + 1)^3
 * nodes; points = Np for bp3.5 and (N + 2)^3 Gauss points otherwise. */
typedef struct sp_paper_arguments {
  int elements;
  const double *factors; /* [elements][7][points] in the order of mesh/geometry.h (SP_G_RR ...);
                          * mass: [elements][points], weights times |J| */
  const double *q;       /* [elements][Np] */
  double *aq;            /* [elements][Np], overwritten */
  double *workspace;     /* sp_paper_kernel.workspace(order, elements) bytes; NULL if that is 0 */
  double lambda;         /* mass: ignored */
} sp_paper_arguments;

/* Resources of a compiled kernel; if a row is several launches, the largest of each. */
typedef struct sp_paper_resources {
  int registers;    /* per thread */
  int shared_bytes; /* per block, static */
  int local_bytes;  /* per thread: spills, and arrays indexed in loops without unrolling */
  int threads;      /* per block */
} sp_paper_resources;

/* A kernel at one order; both are NULL if the order does not fit or was not built. */
typedef struct sp_paper_instance {
  /* Queue the kernel on the device's stream; it may still run on return. Errors: SP_ERR_SYSTEM. */
  sp_status (*launch)(sp_device *device, const sp_paper_arguments *arguments);
  sp_status (*resources)(sp_paper_resources *out);
} sp_paper_instance;

typedef struct sp_paper_kernel {
  sp_operator_kind problem;
  int threads;                                  /* 2 or 3: dimensions of a thread block */
  int number;                                   /* as in the paper, from 1 */
  const char *adds;                             /* the change of this kernel, one line */
  size_t (*workspace)(int order, int elements); /* bytes */
  sp_paper_instance order[SP_MAX_ORDER + 1];    /* by N; [0] is empty */
} sp_paper_kernel;

/* The table, in the order above, and its number of rows: 42, or 0 in a program built without them.
 * (A ladder for which no order was built, see SP_PAPER_ORDERS, has no rows.) */
const sp_paper_kernel *sp_paper_kernels(int *count);

/* Send the matrices D, D~ and I of an order to the device: once, before the first launch of that
 * order. Errors: SP_ERR_INPUT in a program built without these kernels, SP_ERR_SYSTEM. */
sp_status sp_paper_prepare(sp_device *device, int order);

/* Bytes that a thread block (one element) reads from and writes to shared memory, s_r + s_w of the
 * paper's shared-memory roofline. As in the paper, a word read by several threads counts several
 * times. 0 for kernels without such a roofline in the paper, which has one for BP1.0 kernels 6, 7,
 * 8 and BP3.0 (2D) kernels 8, 9. */
size_t sp_paper_shared_bytes(const sp_paper_kernel *kernel, int order);

#ifdef __cplusplus
}
#endif
