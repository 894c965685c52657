/* The operators, geometries, precisions and transports: their names, and a row of facts per
 * operator. Code outside the backends tests facts, never which operator it is.
 *
 *     name    operator         quadrature                       solves
 *     mass    M                GL, N + 2 points per direction   the L2 projection M u = f (BP1.0)
 *     bp3.5   S + lambda M     GLL, at the N + 1 nodes          screened Poisson
 *     bp3.0   S + lambda M     GL, N + 2 points per direction   screened Poisson
 *
 * with the stiffness S, which holds kappa, and the mass M. To add an operator, besides its kernels
 * (operators/host/local.c, operators/cuda/order.cu) and its line in the manual:
 *
 *     1. its constant in sp_operator_kind,
 *     2. its name and its row in operators/kinds.c,
 *     3. its bilinear form in tests/reference_operator.c,
 *     4. its flops and bytes, computed by hand, in tests/counts.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum sp_operator_kind { SP_MASS, SP_BP35, SP_BP30, SP_OPERATORS } sp_operator_kind;

typedef struct sp_operator_row {
  bool collocated;     /* quadrature at the GLL nodes themselves; else GL with N + 2 points */
  bool has_stiffness;  /* S + lambda M; else M, without kappa and lambda */
  bool has_boundary;   /* takes boundary conditions */
  int factors;         /* doubles per point of stored geometry: the last of SP_FACTORS */
  int point_flops;     /* per quadrature point, besides interpolation and differentiation */
  bool boundary_layer; /* for even N, errors are larger along the boundary (solver/results/rates.h)
                        */
} sp_operator_row;

extern const sp_operator_row sp_operator_rows[SP_OPERATORS];

/* Source of the geometric factors: stored at every quadrature point, or recomputed from the eight
 * corners of the element. `auto` is resolved by operators/factors.h. */
typedef enum sp_geometry_kind {
  SP_GEOMETRY_AUTO,
  SP_GEOMETRY_STORED,
  SP_GEOMETRY_TRILINEAR
} sp_geometry_kind;

/* Data from which a kernel computes its factors (operators/factors.h). */
typedef enum sp_factor_kind {
  SP_FACTORS_STORED,    /* numbers at every point */
  SP_FACTORS_TRILINEAR, /* coefficients of the trilinear map */
  SP_FACTORS_SCALED,    /* the same with the element's kappa and lambda; not for mass */
  SP_FACTORS_ROUNDED,   /* bfloat16 numbers at every point; in single precision, not for mass */
  SP_FACTORS_AFFINE,    /* numbers per element, if all are parallelepipeds; for bp3.5 */
  SP_FACTOR_KINDS
} sp_factor_kind;

/* Precision of a vector or an operator. Problems are solved in double; a preconditioner may work in
 * single. Functions that take a precision take `void *` for arrays of it: double * or float *. */
typedef enum sp_precision { SP_DOUBLE, SP_SINGLE, SP_PRECISIONS } sp_precision;

/* Bytes per number. Local. */
static inline size_t sp_precision_bytes(sp_precision precision) {
  return precision == SP_SINGLE ? sizeof(float) : sizeof(double);
}

/* Transport of the values of shared DOFs between GPUs of different ranks; between CPUs it is MPI.
 */
typedef enum sp_transport {
  SP_TRANSPORT_AUTO,       /* the first possible one, in this order */
  SP_TRANSPORT_PEER,       /* GPUs write to each other's memory */
  SP_TRANSPORT_CUDA_AWARE, /* MPI reads and writes GPU memory */
  SP_TRANSPORT_NCCL,
  SP_TRANSPORT_STAGED /* through pinned host memory */
} sp_transport;

/* Names in a case, by sp_operator_kind, sp_geometry_kind and sp_transport; each list ends in NULL.
 */
extern const char *const sp_operator_names[], *const sp_geometry_names[],
                                                  *const sp_transport_names[];
