/* The global operator A = Z^T (S + lambda M) Z (or Z^T M Z; S holds kappa), plus a diagonal for
 * Robin conditions, on L-vectors, matrix-free. It consists of the backend's local kernels, the sum
 * over ranks and the Dirichlet mask. Rows and columns of constrained DOFs are zero, so A stays
 * symmetric. */
#pragma once

#include "operators/space.h"

typedef struct sp_operator {
  const sp_space *space; /* borrowed */
  /* Of the space's platform, which outlives the operator. */
  MPI_Comm comm;
  const sp_backend *backend;
  sp_device *device;
  sp_reduction *reduction;
  sp_local_operator *local;
  sp_operator_kind kind;
  sp_geometry_kind geometry;
  sp_precision precision;
  int order;
  sp_lid owned, dofs; /* entries of an L-vector: owned, and with copies */
  sp_gid global_dofs;
  /* Per application, over all ranks (operators/counts.h, assembled). */
  double flops, bytes;
  bool iterates; /* the backend does whole iterations without the host */
  bool sweeps;   /* sp_operator_sweep is possible */
} sp_operator;

/* Seconds of a pass on this rank, without its reduction. */
typedef struct sp_pass_times {
  double matvec; /* the operator with its exchange */
  double
      waited; /* part of it: waiting for neighbours' values on the host; 0 if a device exchanges */
  double updating; /* in a sweep: vector updates and sums */
} sp_pass_times;

/* Build the operator that `setup` describes. The caller destroys *out. Errors: SP_ERR_INPUT for an
 * element with a non-positive Jacobian, and for single precision or rounded factors if the backend
 * has no such operators; SP_ERR_SYSTEM for memory. Collective. */
sp_status sp_operator_create(const sp_operator_setup *setup, sp_operator **out);

/* NULL-safe; sets *op to NULL. Local. */
void sp_operator_destroy(sp_operator **op);

/* y = A x, in the operator's precision; x and y do not overlap. Copies in x and y hold the owners'
 * bits. Without `constrained`, all DOFs are free. Returns this rank's failure, which the caller
 * passes to the next reduction or to sp_agree. Collective among neighbours. */
sp_status sp_operator_apply(sp_operator *op, bool constrained, const sp_vector *x, sp_vector *y);

/* q = A x with constrained A, then a step of Chebyshev's iteration with step->q = q. x may be
 * step->d or step->x. q is scratch: zero before its first use, and written only here and in
 * sp_schwarz_step. Returns and Collective as above. */
sp_status sp_operator_apply_step(sp_operator *op, const sp_vector *x, sp_vector *q,
                                 const sp_smoothing *step);

/* Vectors of a conjugate gradient iteration, in double precision. `inverse_diagonal` is NULL if the
 * preconditioner is not a diagonal. `z` is r, or z = B r, another vector, if the preconditioner B
 * is no diagonal. On copies all vectors hold the owner's bits. Pass 1 writes the new direction to
 * next_p, which is p on a backend without two_directions, else another vector. ap is zero before
 * the first pass 1 and written only by the passes. No other vectors overlap. */
typedef struct sp_cg_vectors {
  sp_vector *x, *r, *z, *p, *next_p, *ap;
  const sp_vector *inverse_diagonal;
} sp_cg_vectors;

/* Pass 1 of a CG iteration: p = z + beta p (or D^-1 z + beta p), ap = A p, and *p_ap = p.Ap over
 * all ranks. On a backend with two_directions p and next_p are swapped. `status` is this rank's
 * earlier failure, which the reduction makes known to all ranks. SP_ERR_INPUT for an operator in
 * single precision, here and in pass 2. Collective. */
sp_status sp_operator_direction(sp_operator *op, double beta, sp_cg_vectors *vectors,
                                sp_status status, double *p_ap, sp_pass_times *times);

/* Pass 2: x += alpha p, r -= alpha ap, then *rr = r.r and *rz = r.D^-1 r over all ranks.
 * Collective. */
sp_status sp_operator_update(sp_operator *op, double alpha, const sp_cg_vectors *vectors,
                             double *rr, double *rz);

/* One sweep over memory for pass 2 of the previous iteration, with its alpha, and pass 1 of this
 * one. Only if op->sweeps: x += alpha p, r -= alpha ap, p = r + beta p (or D^-1 r + beta p), ap = A
 * p, and the sums over all ranks. With alpha = 0, x and r do not change. vectors->z is r.
 * Collective. */
sp_status sp_operator_sweep(sp_operator *op, double alpha, double beta,
                            const sp_cg_vectors *vectors, sp_status status, double sums[SP_CG_SUMS],
                            sp_pass_times *times);

/* *sum = x.y over the owned DOFs of all ranks; `status` as above. Collective. */
sp_status sp_operator_dot(sp_operator *op, const sp_vector *x, const sp_vector *y, sp_status status,
                          double *sum);

/* Whole iterations by sp_backend.iterate, only if op->iterates. The caller must agree on the
 * status. Collective. */
sp_status sp_operator_iterate(sp_operator *op, sp_cg_vectors *vectors, const sp_cg_state *state,
                              int count, sp_cg_record *records, int *done);

/* The diagonal of A for Jacobi's preconditioner, inverted: inverse[dofs] in host memory, zero on
 * constrained DOFs. Exact, except at nodes that are twice in an element across a period: there it
 * is the sum of the nodes' diagonals, which is positive. Collective. */
sp_status sp_operator_inverse_diagonal(const sp_operator_setup *setup, double *inverse);
