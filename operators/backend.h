/* The interface between numerics and hardware: one const table of functions per backend.
 *
 * Required groups: device, vectors, exchange, local operators, transfer, Schwarz and passes of
 * conjugate gradients. Optional groups: applications with a step, matrices, recorded work, and
 * iterations of conjugate gradients in one sweep or without the host.
 *
 * Memory of a backend is accessed only through its table. Vectors are L-vectors (mesh/numbering.h):
 * the rank's owned DOFs, then its copies, which always hold the same bits as their owners.
 * Functions are Local unless they say otherwise.
 *
 * Order: the device does its work in the order of the calls. These return when their work is done:
 * upload, download, dot, sums, sweep, iterate, finish, and functions that create or destroy. All
 * others may return earlier. If such work fails, a later call returns the failure, at the latest
 * the next of upload, download, dot, sums, sweep, iterate and finish. Arguments in host memory may
 * be changed or freed as soon as the function returns.
 *
 * Overlap: a vector that a call writes shares no entry with its other vectors, except where the
 * function allows it. Vectors that a call only reads may be the same. Parts of one vector that do
 * not overlap count as different vectors.
 *
 * Failures: a function that exchanges with neighbours sends even if it fails. The caller passes the
 * returned status to the next reduction (operators/reduction.h), which makes it known to all ranks.
 *
 * Precision: vectors and operators are double or single (operators/kinds.h). Vectors have the
 * precision of the operator, or of the function's argument `precision`. CG works only in double
 * precision, so its vectors are double *. Here vectors are addresses; callers use sp_vector
 * (operators/vector.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mesh/mesh.h"
#include "operators/exchange.h"
#include "operators/kinds.h"

struct sp_space;

/* Definition of an operator. `space` and `alike` are borrowed and must outlive the operator; all
 * else is not used after creation. */
typedef struct sp_operator_setup {
  const struct sp_space *space;
  sp_operator_kind kind;
  sp_geometry_kind geometry; /* stored or trilinear */
  sp_precision precision;
  /* Store factors as bfloat16 (operators/factors.h). In single precision, not for mass, on a
   * backend with rounded_factors. */
  bool rounded;
  double lambda;           /* scales the mass term of bp3.5 and bp3.0 */
  const bool *constrained; /* [local DOFs], Dirichlet DOFs; NULL: none */
  /* For multigrid: transfers, Schwarz or an `alike` will use this operator. */
  bool for_level;
  /* NULL, or an operator created for_level on the same space, with the same `constrained` and
   * coefficients: its lists of DOFs and its factors may be shared. */
  struct sp_local_operator *alike;
  /* Coefficients, not for mass; NULL: one. Shape [elements] with `by_element`, else
   * [elements][points] at the operator's quadrature points, which needs stored geometry. With
   * lambda_values, `lambda` is 1 (operators/factors.h). With is_tensor, kappa is a symmetric
   * positive definite tensor, xx, yy, zz, xy, xz, yz: [elements][6] or [elements][6][points]. */
  const double *kappa, *lambda_values;
  bool by_element, is_tensor;
  /* This rank's part of a diagonal to add to A (Robin conditions): diagonal_values[i] at local DOF
   * diagonal_dofs[i]. DOFs are distinct and not inside elements. The exchange adds other ranks'
   * parts. */
  sp_lid diagonal_count;
  const sp_lid *diagonal_dofs;
  const double *diagonal_values;
  /* Make sp_backend.sweep possible. Only in double precision, on a backend that has a sweep. */
  bool one_sweep;
} sp_operator_setup;

/* The most terms of a combination of vectors. */
enum { SP_TERMS_MOST = 4 };

/* Definition of a transfer between two orders, or between order 1 on two meshes
 * (operators/transfer.h). The spaces and the operator are borrowed; all else is not used after
 * creation. */
typedef struct sp_transfer_setup {
  const struct sp_space *fine, *coarse;
  /* For two meshes: the fine DOFs at the nodes of degree 2 of each coarse element, [coarse
   * elements][27]; the number of fine local DOFs marks a node without DOF. Else NULL. */
  const sp_lid *nodes;
  /* An operator on the fine space, created for_level; it must outlive the transfer. */
  struct sp_local_operator *local;
  sp_precision precision; /* the operator's */
  /* [fine local DOFs]: 1 / coarse elements that share it, 0 where constrained; NULL unless the
   * backend has a weighted_transfer. */
  const double *weights;
  const bool *fine_constrained, *coarse_constrained; /* [local DOFs]; NULL: none */
  bool exact_copies;                                 /* operators/transfer.h */
} sp_transfer_setup;

/* Additive Schwarz (operators/schwarz/schwarz.h). The space, the columns and the interfaces outlive
 * it; the arrays are not used after creation. */
typedef struct sp_schwarz_setup {
  const struct sp_space *space;
  /* The operator on this space, created for_level; it must outlive Schwarz. */
  struct sp_local_operator *local;
  sp_precision precision; /* the operator's */
  const double *basis;    /* [elements][3][n][n], V of each direction; columns are eigenvectors */
  const double *values;   /* [elements][3][n]; their sums are the eigenvalues */
  const double *weights;  /* W_e, [elements][n][n][n], 0 at constrained nodes */
  /* In a column, directions follow the element's frame. Along the column the basis has the
   * eigenvectors of the interior nodes and a unit vector for each end
   * (operators/schwarz/column_factors.h). An interface belongs to the element below: the element
   * above has weights 0 there. */
  const struct sp_columns *columns;
  const sp_lid *interface;     /* [elements], index of the lower one; -1: not in a column */
  const double *conductances;  /* kappa_k, [columns->start[columns->count]] */
  const double *end_couplings; /* b, [2][n] */
  /* [interfaces][n][n]; column c begins at start[c] + c. ring: NULL if no column is closed. */
  const double *inverse, *ratio, *ring;
} sp_schwarz_setup;

/* The arrays of sp_cg_vectors (operators/operator.h). */
typedef struct sp_cg_arrays {
  double *x, *r, *z, *p, *next_p, *ap;
  const double *inverse_diagonal;
} sp_cg_arrays;

/* The sums of a CG iteration in one sweep, over owned DOFs; v = A p. Without D, the last three
 * equal RR, R_AP, AP_AP. */
typedef enum sp_cg_sum {
  SP_CG_P_AP,    /* p.v */
  SP_CG_RR,      /* r.r */
  SP_CG_R_AP,    /* r.v */
  SP_CG_AP_AP,   /* v.v */
  SP_CG_RZ,      /* r.D^-1 r */
  SP_CG_Z_AP,    /* r.D^-1 v */
  SP_CG_AP_D_AP, /* v.D^-1 v */
  SP_CG_SUMS
} sp_cg_sum;

/* Record of one CG iteration on a device. */
typedef struct sp_cg_record {
  double p_ap, rr, rz; /* p.Ap; r.r and r.z after the update */
  double seconds;      /* of pass 1, by the device's clock */
} sp_cg_record;

/* Scalars at the start of a batch of iterations. */
typedef struct sp_cg_state {
  double beta, rz; /* r.z of the current residual */
  /* Iterations end when r.r <= target, or when alpha r.z <= share * (energy + the sum of alpha r.z
   * of this batch so far, in this order). A negative share disables the second test. */
  double target, energy, share;
} sp_cg_state;

/* A step of Chebyshev's iteration, in one pass over its vectors:
 *
 *     r = t - q,  d = a d + b s r,  x = x + c d
 *
 * If q is NULL, t is the residual and r is not used; r may be t. s = NULL means one. With a = 0,
 * the old d is not read; with `first`, the old x is not read and x becomes c d. If d is NULL, only
 * r is computed, and q is not NULL. */
typedef struct sp_correction {
  double a, b, c;
  bool first;
  const void *s, *t, *q;
  void *r, *d, *x;
} sp_correction;

/* A sparse matrix by rows: row i has entries start[i] .. start[i + 1] - 1. */
typedef struct sp_csr {
  int rows, columns;
  int *start;     /* [rows + 1] */
  int *column;    /* [start[rows]] */
  double *values; /* [start[rows]] */
} sp_csr;

/* Largest number of iterations between two checks by the host. */
enum { SP_CG_BATCH = 64 };

typedef struct sp_device sp_device;             /* one per open backend */
typedef struct sp_device_space sp_device_space; /* a space's data on the device for the exchange */
typedef struct sp_local_operator sp_local_operator; /* Z^T A Z */
typedef struct sp_device_transfer sp_device_transfer;
typedef struct sp_device_schwarz sp_device_schwarz;
typedef struct sp_device_matrix sp_device_matrix;
typedef struct sp_recording sp_recording;

typedef struct sp_backend {
  const char *name; /* "host", "cuda" */
  bool on_host;     /* computes on the host's processors, not on a separate device */

  /* ---- Device ---- */

  /* Open the device. `comm` shows which ranks share a machine. Errors: SP_ERR_SYSTEM. Collective.
   */
  sp_status (*open)(MPI_Comm comm, sp_device **out);
  void (*close)(sp_device **device);                /* Collective. */
  const char *(*describe)(const sp_device *device); /* "AVX-512, AMD EPYC ..." */

  /* Wait until all queued work is done; returns its failure. */
  sp_status (*finish)(sp_device *device);

  /* NULL on a backend that works in host memory. *here: `pointer` is memory of this device, for
   * `copy`; otherwise it is in host memory. Waits for the default stream, whose work may still
   * write there. Errors: SP_ERR_INPUT for memory of another device, SP_ERR_SYSTEM. */
  sp_status (*find_memory)(sp_device *device, const void *pointer, bool *here);

  /* The geometry that this backend applies faster if both are exact. */
  sp_geometry_kind (*faster_geometry)(sp_operator_kind kind, int order, bool affine);

  /* ---- Vectors ---- */

  /* *out (a double ** or float **) becomes a zeroed vector of `count` numbers, 0 or more, which
   * vector_destroy frees. Errors: SP_ERR_SYSTEM for memory or a failed device; *out is NULL then.
   */
  sp_status (*vector_create)(sp_device *device, sp_precision precision, size_t count, void *out);

  /* Takes the pointer's address and sets it to NULL; NULL-safe. Queued work may still use the
   * vector. */
  void (*vector_destroy)(sp_device *device, void *vector);

  /* vector = host; host = vector; to = from: the first `count` numbers, bit for bit. */
  sp_status (*upload)(sp_device *device, sp_precision precision, size_t count, const void *host,
                      void *vector);
  sp_status (*download)(sp_device *device, sp_precision precision, size_t count, const void *vector,
                        void *host);
  sp_status (*copy)(sp_device *device, sp_precision precision, size_t count, const void *from,
                    void *to);

  /* to = scale from, between precisions, or within one. */
  sp_status (*convert)(sp_device *device, size_t count, double scale, sp_precision from_precision,
                       const void *from, sp_precision to_precision, void *to);

  /* Every entry of `vector` = value. */
  sp_status (*fill)(sp_device *device, sp_precision precision, size_t count, double value,
                    void *vector);

  /* y = the sum of weights[k] x[k], k < terms, from 1 to SP_TERMS_MOST; y may be one of x. */
  sp_status (*combine)(sp_device *device, sp_precision precision, size_t count, int terms,
                       const double *weights, const void *const *x, void *y);

  /* z = x y, entry by entry. z may be x or y, or both. */
  sp_status (*multiply)(sp_device *device, sp_precision precision, size_t count, const void *x,
                        const void *y, void *z);

  /* *sum = x.y of this rank's `count` entries, in double precision and a fixed order. */
  sp_status (*dot)(sp_device *device, sp_precision precision, size_t count, const void *x,
                   const void *y, double *sum);

  /* A step of Chebyshev's iteration (sp_correction), on `count` entries. */
  sp_status (*correct)(sp_device *device, sp_precision precision, size_t count,
                       const sp_correction *step);

  /* ---- Exchange: the sum over ranks in Z^T ---- */

  /* Prepare sums over ranks on the device by `exchange`, which must outlive it. *how describes the
   * transport; *resident is true if values and sums over all ranks travel without the host. Errors:
   * SP_ERR_SYSTEM if `transport` is not possible. Collective over `comm`. */
  sp_status (*space_create)(sp_device *device, MPI_Comm comm, sp_exchange *exchange,
                            sp_transport transport, sp_device_space **out, const char **how,
                            bool *resident);
  void (*space_destroy)(sp_device_space **space); /* Collective. NULL-safe. */

  /* Sum the shared entries of `vector` over ranks. Collective among neighbours. */
  sp_status (*assemble)(sp_device_space *space, sp_precision precision, void *vector);

  /* ---- Local operators ---- */

  /* True if operators may be in single precision; else sp_operator_create refuses them. */
  bool single_operators;

  /* True if operators in single precision may store factors as bfloat16. */
  bool rounded_factors;

  sp_status (*operator_create)(sp_device *device, const sp_operator_setup *setup,
                               sp_local_operator **out);
  void (*operator_destroy)(sp_local_operator **local);

  /* Copy the factors of an element, [SP_FACTORS][points] (operators/factors.h), from the setup's
   * `alike`. False if `alike` does not store them, or rounds them. May be NULL. */
  bool (*read_factors)(const sp_operator_setup *setup, sp_lid element, double *factors);

  /* y = Z^T A Z x with the sum over ranks and the setup's diagonal. With `constrained`, constrained
   * DOFs count as zero in x and become zero in y; without it, all DOFs are free. Collective among
   * neighbours. */
  sp_status (*apply)(sp_local_operator *local, bool constrained, const void *x, void *y);

  /* The local operator between E-vectors of `e_vector_size` numbers in the backend's own layout, as
   * measured in the paper. Ignores Dirichlet DOFs and the setup's diagonal. */
  size_t (*e_vector_size)(const sp_local_operator *local);
  sp_status (*apply_unassembled)(sp_local_operator *local, const void *x, void *y);

  /* ---- Transfer between two orders or meshes ---- */

  bool weighted_transfer; /* uses the setup's weights */
  sp_status (*transfer_create)(sp_device *device, const sp_transfer_setup *setup,
                               sp_device_transfer **out);
  void (*transfer_destroy)(sp_device_transfer **transfer);

  /* fine += P coarse; coarse = P^T fine. Collective among neighbours. */
  sp_status (*prolong)(sp_device_transfer *transfer, const void *coarse, void *fine);
  sp_status (*restrict_residual)(sp_device_transfer *transfer, const void *fine, void *coarse);

  /* ---- Additive Schwarz ---- */

  sp_status (*schwarz_create)(sp_device *device, const sp_schwarz_setup *setup,
                              sp_device_schwarz **out);
  void (*schwarz_destroy)(sp_device_schwarz **schwarz);

  /* z = sum of R_e^T W_e A_e^-1 W_e R_e r with the setup's weights W_e; z is not r. Collective
   * among neighbours. */
  sp_status (*schwarz_apply)(sp_device_schwarz *schwarz, const void *r, void *z);

  /* ---- Optional: an application and a step of Chebyshev's iteration with its result ----
   * Both are NULL on a backend that gains nothing by them. The vectors q and z are scratch, zero
   * before their first use here and written only here; one vector may serve as both. Collective
   * among neighbours. */

  /* q = A x with constrained A, then the step, in which step->q is q. x may also be step->d or
   * step->x. */
  sp_status (*apply_step)(sp_local_operator *local, const void *x, void *q,
                          const sp_correction *step);

  /* z = S r, then the step, in which step->t is z and step->q is NULL. */
  sp_status (*schwarz_step)(sp_device_schwarz *schwarz, const void *r, void *z,
                            const sp_correction *step);

  /* ---- Matrices of this rank only, for the coarsest problem of multigrid ---- */

  /* Copy a matrix in host memory in `precision`; or invert a symmetric positive definite one, as a
   * dense matrix. `matrix` is not used afterwards. */
  sp_status (*matrix_create)(sp_device *device, sp_precision precision, const sp_csr *matrix,
                             sp_device_matrix **out);
  sp_status (*inverse_create)(sp_device *device, sp_precision precision, const sp_csr *matrix,
                              sp_device_matrix **out);
  void (*matrix_destroy)(sp_device_matrix **matrix);

  /* y = a M x + b z; z may be y; with b = 0 it may be NULL. */
  sp_status (*matrix_apply)(sp_device_matrix *matrix, double a, const void *x, double b,
                            const void *z, void *y);

  /* ---- Optional: queued work as one launch ----
   * All four are NULL on a backend that gains nothing by them. */

  /* Between record and end_recording, calls are recorded and not done. Only calls that may return
   * early (above) and exchange only in a resident space are allowed. Then replay queues the
   * recorded work again, on the same vectors and with the same numbers. Call end_recording also
   * after a failure: with its `status`, which it returns, and *out = NULL. */
  sp_status (*record)(sp_device *device);
  sp_status (*end_recording)(sp_device *device, sp_status status, sp_recording **out);
  sp_status (*replay)(sp_recording *recording);
  void (*recording_destroy)(sp_recording **recording);

  /* ---- Passes of conjugate gradients, in double precision ----
   * Only for operators in double precision (checked in operator.c). */

  /* True if p and next_p must differ, because neighbours still read the old direction. */
  bool two_directions;

  /* Pass 1: next_p = z + beta p (D^-1 z + beta p with an inverse diagonal), formed where elements
   * first touch it; then ap = Z^T A Z next_p with the sum over ranks. For `sums` this rank's part
   * of p.Ap: the sum of p_e^T A_e p_e and the diagonal's part. Collective among neighbours. */
  sp_status (*direction)(sp_local_operator *local, double beta, const sp_cg_arrays *vectors);

  /* Pass 2: x += alpha p, r -= alpha ap, and r.r, r.D^-1 r over owned DOFs for `sums`; p is pass
   * 1's next_p; next_p is not used. */
  sp_status (*update)(sp_local_operator *local, double alpha, const sp_cg_arrays *vectors);

  /* This rank's sums of the last pass: after `direction`, sums[0] = p.Ap; after `update`, sums[0] =
   * r.r and sums[1] = r.D^-1 r. */
  sp_status (*sums)(sp_local_operator *local, double sums[2]);

  /* ---- Optional: an iteration of conjugate gradients in one sweep ----
   * `sweep` is NULL on a backend without it. Without a preconditioner or with a diagonal one. */

  int sweep_order; /* a sweep is faster than the two passes from this order on */

  /* Pass 2 of the previous iteration and pass 1 of this one: x += alpha p, r -= alpha ap, p = r +
   * beta p (or D^-1 r + beta p), where elements first touch them; ap = Z^T A Z p with the sum over
   * ranks; and this rank's sums. *seconds: spent in vector updates and sums. For operators with
   * one_sweep. Collective among neighbours. */
  sp_status (*sweep)(sp_local_operator *local, double alpha, double beta,
                     const sp_cg_arrays *vectors, double sums[SP_CG_SUMS], double *seconds);

  /* ---- Optional: whole iterations without the host ---- */

  /* Do up to `count` <= SP_CG_BATCH iterations; a backend may do fewer. They end early if a
   * criterion of sp_cg_state is met, a sum is not finite or p.Ap <= 0. Only in a resident space,
   * without a preconditioner or with a diagonal one. May be NULL. *done = iterations begun; records
   * has room for `count`. Afterwards vectors->p is the last direction. All ranks get the same
   * records except `seconds`. Collective. */
  sp_status (*iterate)(sp_local_operator *local, sp_cg_arrays *vectors, const sp_cg_state *state,
                       int count, sp_cg_record *records, int *done);
} sp_backend;

extern const sp_backend sp_backend_host;

/* The CUDA backend, or NULL in a program built without it. */
extern const sp_backend *const sp_backend_cuda;
