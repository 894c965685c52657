/* The interface between numerics and hardware: one const table of functions per backend.
 *
 * Groups, as in SUNDIALS' required and optional operations: device, vectors, exchange, local
 * operators, transfer, Schwarz and passes of conjugate gradients, which every backend has; and
 * applications with a step, matrices, recorded work, and iterations of conjugate gradients in one
 * sweep or without the host, which it may have.
 *
 * Memory of a backend is reached only through its table. Vectors are L-vectors (mesh/numbering.h):
 * the rank's owned DOFs, then its copies, which always hold the same bits as their owners.
 * Functions are Local unless they say otherwise.
 *
 * Order: the device does its work in the order of the calls. These return when their work is done:
 * upload, download, dot, sums, sweep, iterate, finish, and functions that create or destroy. All
 * others may return before that: copy, convert, fill, axpby, multiply, correct, assemble, apply,
 * apply_unassembled, apply_step, prolong, restrict_residual, schwarz_apply, schwarz_step,
 * matrix_apply, replay, direction, update. If such work fails, a later call returns the failure, at
 * the latest the next of upload, download, dot, sums, sweep, iterate and finish. Arguments in host
 * memory may be changed or freed as soon as the function returns.
 *
 * Overlap: a vector that a call writes shares no entry with its other vectors, except where the
 * function allows it. Vectors that a call only reads may be the same. This is about the entries
 * that the call names: parts of one vector that do not overlap are different vectors.
 *
 * Failures: a function that exchanges with neighbours always sends what they wait for, even if it
 * fails. The caller keeps the status it returns and hands it to the next reduction
 * (operators/reduction.h), which makes it known to all ranks.
 *
 * Precision: vectors and operators are double or single (operators/precision.h). A vector passed to
 * an operator or a space has the precision that the function is told or that the operator was
 * created with. CG works only in double precision, so its vectors are double *. Here vectors are
 * addresses; numerics use sp_vector (operators/vector.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "mesh/mesh.h"
#include "operators/exchange.h"
#include "operators/kinds.h"
#include "operators/precision.h"
#include "operators/transport.h"

struct sp_space;

/* Definition of an operator. Everything except `space` and `alike` stays with the caller and is not
 * used after creation; these two are borrowed and must outlive the operator. */
typedef struct sp_operator_setup {
  const struct sp_space *space;
  sp_operator_kind kind;
  sp_geometry_kind geometry; /* stored or trilinear */
  sp_precision precision;
  /* Stored factors have 16 bits (operators/factors.h). In single precision, not for mass, on a
   * backend with rounded_factors. */
  bool rounded;
  double lambda;           /* scales the mass term of bp3.5 and bp3.0 */
  const bool *constrained; /* [local DOFs], Dirichlet DOFs; NULL: none */
  /* For multigrid: transfers and Schwarz will be created with this operator, or it will be the
   * `alike` of another one. */
  bool for_level;
  /* NULL, or an operator created for_level on the same space, with the same entries of
   * `constrained` and coefficients: its lists of DOFs and its factors may be used. */
  struct sp_local_operator *alike;
  /* Coefficients, not for mass; NULL: one. At the operator's quadrature points, [elements][points],
   * which needs stored geometry; or with `by_element` one number per element, [elements]. With
   * lambda_values, `lambda` is 1 (operators/factors.h). With is_tensor, kappa is a symmetric
   * positive definite tensor, xx, yy, zz, xy, xz, yz: [elements][6][points] or [elements][6]. */
  const double *kappa, *lambda_values;
  bool by_element, is_tensor;
  /* A diagonal to add to A, of this rank's faces only (Robin conditions): A gains
   * diagonal_values[i] at local DOF diagonal_dofs[i], which is listed once and not inside an
   * element; other ranks' parts come by the exchange. */
  sp_lid diagonal_count;
  const sp_lid *diagonal_dofs;
  const double *diagonal_values;
  /* Keep what sp_backend.sweep needs. Only in double precision, on a backend that has a sweep. */
  bool one_sweep;
} sp_operator_setup;

/* Definition of a transfer between two orders, or between order 1 on two meshes
 * (operators/transfer.h). Everything except the spaces and the operator stays with the caller and
 * is not used after creation. */
typedef struct sp_transfer_setup {
  const struct sp_space *fine, *coarse;
  /* For two meshes: the fine DOFs at the nodes of degree 2 of each coarse element, [coarse
   * elements][27], or the number of fine local DOFs at a node without one. Else NULL. */
  const sp_lid *nodes;
  /* Part of an operator on the fine space, created for_level; it must outlive the transfer. */
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
  /* Part of the operator on this space, created for_level; it must outlive Schwarz too. */
  struct sp_local_operator *local;
  sp_precision precision; /* the operator's */
  const double *basis;    /* [elements][3][n][n], V of each direction; columns are eigenvectors */
  const double *values;   /* [elements][3][n], whose sums are the eigenvalues */
  const double *weights;  /* W_e, [elements][n][n][n], 0 at constrained nodes */
  /* In a column, directions are those of the element's frame. Along the column the basis is that of
   * the interior nodes, and a unit vector for each end; the rest is as in
   * operators/schwarz/column_factors.h. An interface belongs to the element below: the one above
   * has weights 0 there. */
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

/* The sums of a CG iteration in one sweep, over owned DOFs; v = A p. Without an inverse diagonal D,
 * the last three are the three before. */
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

/* One CG iteration as a device did it. */
typedef struct sp_cg_record {
  double p_ap, rr, rz; /* p.Ap; r.r and r.z after the update */
  double seconds;      /* of pass 1, by the device's clock */
} sp_cg_record;

/* Scalars that a batch of iterations starts from. */
typedef struct sp_cg_state {
  double beta, rz; /* r.z of the current residual */
  /* Iterations end when r.r <= target, or when alpha r.z <= share * (energy + the sum of alpha r.z
   * of this batch so far, in this order). A negative share is never met. */
  double target, energy, share;
} sp_cg_state;

/* A step of Chebyshev's iteration, in one pass over its vectors:
 *
 *     r = t - q,  d = a d + b s r,  x = x + c d
 *
 * Without q, which may be NULL, t is the residual and r is not used; r may be t. s may be NULL:
 * one. With a = 0, d may hold anything before; with `first`, x may too, and becomes c d. With d =
 * NULL there is a q, and r alone is computed. */
typedef struct sp_correction {
  double a, b, c;
  bool first;
  const void *s, *t, *q;
  void *r, *d, *x;
} sp_correction;

/* A sparse matrix by rows: entries start[i] .. start[i + 1] - 1 are those of row i. */
typedef struct sp_csr {
  int rows, columns;
  int *start;     /* [rows + 1] */
  int *column;    /* [start[rows]] */
  double *values; /* [start[rows]] */
} sp_csr;

/* Largest number of iterations between two checks by the host. */
enum { SP_CG_BATCH = 64 };

typedef struct sp_device sp_device;                 /* one for each backend that is open */
typedef struct sp_device_space sp_device_space;     /* what a device keeps to exchange */
typedef struct sp_local_operator sp_local_operator; /* Z^T A Z */
typedef struct sp_device_transfer sp_device_transfer;
typedef struct sp_device_schwarz sp_device_schwarz;
typedef struct sp_device_matrix sp_device_matrix;
typedef struct sp_recording sp_recording;

typedef struct sp_backend {
  const char *name; /* "host", "cuda" */
  bool on_host;     /* it computes on the host's processors; others on a device beside them */

  /* ---- Device ---- */

  /* Take the hardware into use. `comm` tells which ranks share a machine. Errors: SP_ERR_SYSTEM.
   * Collective. */
  sp_status (*open)(MPI_Comm comm, sp_device **out);
  void (*close)(sp_device **device);                /* Collective. */
  const char *(*describe)(const sp_device *device); /* "AVX-512, AMD EPYC ..." */

  /* Wait until all queued work is done; returns what failed meanwhile. */
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

  /* `vector` is the address of the pointer too; the pointer becomes NULL, and may be NULL before.
   * Queued work may still use the vector. */
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

  /* y = a x + b y; with b = 0, y may hold anything before. */
  sp_status (*axpby)(sp_device *device, sp_precision precision, size_t count, double a,
                     const void *x, double b, void *y);

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

  /* Create what the device needs to sum over ranks by `exchange`, which must outlive it. *how
   * describes how values travel; *resident is true if they and sums over all ranks travel without
   * the host. Errors: SP_ERR_SYSTEM if `transport` is not possible. Collective over `comm`. */
  sp_status (*space_create)(sp_device *device, MPI_Comm comm, sp_exchange *exchange,
                            sp_transport transport, sp_device_space **out, const char **how,
                            bool *resident);
  void (*space_destroy)(sp_device_space **space); /* Collective. NULL-safe. */

  /* Sum the shared entries of `vector` over ranks. Collective among neighbours. */
  sp_status (*assemble)(sp_device_space *space, sp_precision precision, void *vector);

  /* ---- Local operators ---- */

  /* True if there are operators in single precision, with all functions of this group; else
   * sp_operator_create refuses them. */
  bool single_operators;

  /* True if those may store their factors as bfloat16. */
  bool rounded_factors;

  sp_status (*operator_create)(sp_device *device, const sp_operator_setup *setup,
                               sp_local_operator **out);
  void (*operator_destroy)(sp_local_operator **local);

  /* NULL, or: copy the factors of an element, [SP_FACTORS][points] (operators/factors.h), from the
   * setup's `alike`. False if that does not store them, or rounds them. */
  bool (*read_factors)(const sp_operator_setup *setup, sp_lid element, double *factors);

  /* y = Z^T A Z x with the sum over ranks and the setup's diagonal. With `constrained`, constrained
   * DOFs count as zero in x and become zero in y; without, the operator is that of the
   * unconstrained space. Collective among neighbours. */
  sp_status (*apply)(sp_local_operator *local, bool constrained, const void *x, void *y);

  /* The local operator alone, between E-vectors of `e_vector_size` numbers in the backend's own
   * layout: what the paper measures. Dirichlet DOFs and the setup's diagonal do not matter. */
  size_t (*e_vector_size)(const sp_local_operator *local);
  sp_status (*apply_unassembled)(sp_local_operator *local, const void *x, void *y);

  /* ---- Transfer between two orders or meshes ---- */

  bool weighted_transfer; /* it reads the setup's weights */
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
   * NULL, both, on a backend that gains nothing by it. q and z are scratch: zero before their first
   * use by one of these functions, of unspecified contents afterwards, and written by nothing else;
   * one vector may serve both. Collective among neighbours. */

  /* q = A x with constrained A, then the step, in which step->q is q. x may also be step->d or
   * step->x. */
  sp_status (*apply_step)(sp_local_operator *local, const void *x, void *q,
                          const sp_correction *step);

  /* z = S r, then the step, in which step->t is z and step->q is NULL. */
  sp_status (*schwarz_step)(sp_device_schwarz *schwarz, const void *r, void *z,
                            const sp_correction *step);

  /* ---- Matrices of this rank only, for the coarsest problem of multigrid ---- */

  /* From a matrix in the host's memory, which is not used afterwards: a copy in `precision`; or the
   * inverse of one that is symmetric positive definite, as a dense matrix. */
  sp_status (*matrix_create)(sp_device *device, sp_precision precision, const sp_csr *matrix,
                             sp_device_matrix **out);
  sp_status (*inverse_create)(sp_device *device, sp_precision precision, const sp_csr *matrix,
                              sp_device_matrix **out);
  void (*matrix_destroy)(sp_device_matrix **matrix);

  /* y = a M x + b z; z may be y, and with b = 0 NULL. */
  sp_status (*matrix_apply)(sp_device_matrix *matrix, double a, const void *x, double b,
                            const void *z, void *y);

  /* ---- Optional: queued work as one launch ----
   * NULL, all four, on a backend that gains nothing by it. */

  /* Between record and end_recording, calls that may return before their work is done (above) are
   * noted and not done; no other calls may be made, nor calls that exchange in a space that is not
   * resident. replay queues that work once more, on the same
   * vectors and with the same numbers. end_recording is called also after a failure, `status`, and
   * returns it with *out = NULL. */
  sp_status (*record)(sp_device *device);
  sp_status (*end_recording)(sp_device *device, sp_status status, sp_recording **out);
  sp_status (*replay)(sp_recording *recording);
  void (*recording_destroy)(sp_recording **recording);

  /* ---- Passes of conjugate gradients, in double precision ---- Only for operators in double
   * precision: sp_operator_direction and sp_operator_update refuse others, and sp_operator.iterates
   * is false for them. */

  /* Neighbours still read the old direction while the new one is formed. */
  bool two_directions;

  /* Pass 1: next_p = z + beta p, or with an inverse diagonal D^-1 z + beta p, where elements touch
   * it first; ap = Z^T A Z next_p with the sum over ranks; and this rank's part of p.Ap, the sum of
   * p_e^T A_e p_e and the diagonal's part, for `sums`. Collective among neighbours. */
  sp_status (*direction)(sp_local_operator *local, double beta, const sp_cg_arrays *vectors);

  /* Pass 2: x += alpha p, r -= alpha ap, and r.r, r.D^-1 r over owned DOFs for `sums`; p is what
   * pass 1 made, next_p is not used. */
  sp_status (*update)(sp_local_operator *local, double alpha, const sp_cg_arrays *vectors);

  /* This rank's sums of the last pass: after `direction`, sums[0] = p.Ap; after `update`, sums[0] =
   * r.r and sums[1] = r.D^-1 r. */
  sp_status (*sums)(sp_local_operator *local, double sums[2]);

  /* ---- Optional: an iteration of conjugate gradients in one sweep ----
   * NULL, both, on a backend that has none. For preconditioners that are none or a diagonal. */

  /* True if it is faster than the two passes. */
  bool (*faster_in_one_sweep)(sp_operator_kind kind, sp_geometry_kind geometry, int order);

  /* Pass 2 of the iteration before and pass 1 of this one: x += alpha p, r -= alpha ap, p = r +
   * beta p, or D^-1 r + beta p, where elements touch them first; ap = Z^T A Z p with the sum over
   * ranks; and this rank's sums. *seconds: of the vector updates and sums among elements. For
   * operators with one_sweep. Collective among neighbours. */
  sp_status (*sweep)(sp_local_operator *local, double alpha, double beta,
                     const sp_cg_arrays *vectors, double sums[SP_CG_SUMS], double *seconds);

  /* ---- Optional: whole iterations without the host ---- */

  /* NULL, or where the space is resident: up to `count` <= SP_CG_BATCH iterations, ended early by
   * r.r <= target or by sums that are not finite or p.Ap <= 0. For preconditioners that are none or
   * a diagonal. *done is how many were begun; records has room for `count`. A backend may do fewer
   * than `count`. Afterwards vectors->p is the last direction. All ranks get the same records
   * except `seconds`. Collective. */
  sp_status (*iterate)(sp_local_operator *local, sp_cg_arrays *vectors, const sp_cg_state *state,
                       int count, sp_cg_record *records, int *done);
} sp_backend;

extern const sp_backend sp_backend_host;

/* The CUDA backend, or NULL in a program built without it. */
extern const sp_backend *const sp_backend_cuda;
