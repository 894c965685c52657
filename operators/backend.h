/* The interface between numerics and hardware: one const table of functions a backend.
 *
 * Memory of a backend is reached only through its table. Vectors are L-vectors (mesh/numbering.h):
 * the rank's owned DOFs, then its copies, which always hold the same bits as their owners.
 * Functions that compute may return before the work is done; `download` and `sums` wait for what
 * they return. All functions are Local: ranks meet in operators/operator.c alone, but for `open`,
 * `close`, `connect`, `iterate`, `pack` and `unpack`, and `operator_destroy` of an operator that is
 * connected. */
#ifndef SP_OPERATORS_BACKEND_H
#define SP_OPERATORS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "io/config.h"
#include "mesh/mesh.h"
#include "mesh/numbering.h"
#include "operators/exchange.h"

/* What an operator is made of. Everything stays with the caller and is not used after creation. */
typedef struct sp_operator_setup {
  const sp_mesh *mesh;
  const sp_numbering *numbering;
  sp_operator_kind kind;
  sp_geometry_kind geometry; /* stored or trilinear */
  double lambda;             /* scales the mass term of bp3.5 and bp3.0 */
  const bool *constrained;   /* [numbering->local], Dirichlet DOFs; NULL: none */
  /* Coefficients at the operator's quadrature points, [elements][points], not for mass; NULL: one.
   * They need stored geometry. With lambda_values, `lambda` is 1 (operators/factors.h). */
  const double *kappa, *lambda_values;
  /* A diagonal to add to A, of this rank's faces alone (Robin conditions): A gains
   * diagonal_values[i] at local DOF diagonal_dofs[i], which is listed once; other ranks' parts come
   * by the exchange. */
  sp_lid diagonal_count;
  const sp_lid *diagonal_dofs;
  const double *diagonal_values;
  sp_transport exchange; /* how a backend that can choose sums over ranks */
} sp_operator_setup;

/* Elements to work on: those that touch other ranks, or the rest. */
typedef enum sp_part { SP_HALO, SP_INNER } sp_part;

/* Vectors of a conjugate gradient iteration, in the backend's memory; `inverse_diagonal` may be
 * NULL (no preconditioner). On copies all of them hold the owner's bits. The new direction goes to
 * next_p, which is p itself on a backend without two_directions. ap belongs to the iteration: zero
 * before the first pass 1, then left to the passes. */
typedef struct sp_cg_vectors {
  double *x, *r, *p, *next_p, *ap;
  const double *inverse_diagonal;
} sp_cg_vectors;

/* One CG iteration as a device did it. */
typedef struct sp_cg_record {
  double p_ap, rr, rz; /* p.Ap; r.r and r.D^-1 r after the update */
  double seconds;      /* of pass 1, by the device's clock */
} sp_cg_record;

/* Scalars that a batch of iterations starts from. */
typedef struct sp_cg_state {
  double beta, rz; /* r.D^-1 r of the current residual */
  double target;   /* iterations end when r.r <= target */
} sp_cg_state;

typedef struct sp_device sp_device;                 /* one for each backend that is open */
typedef struct sp_local_operator sp_local_operator; /* Z^T A Z without the sum over ranks */

typedef struct sp_backend {
  const char *name; /* "host", "cuda" */

  /* Take the hardware into use. `comm` tells which ranks share a machine. Errors: SP_ERR_SYSTEM. */
  sp_status (*open)(MPI_Comm comm, sp_device **out);
  void (*close)(sp_device **device);
  const char *(*describe)(const sp_device *device); /* "AVX-512, AMD EPYC ..." */

  /* The geometry that this backend applies faster where both are exact. */
  sp_geometry_kind (*faster_geometry)(sp_operator_kind kind, int order);

  /* Neighbours still read the old direction while the new one is formed. */
  bool two_directions;

  /* Vectors of `count` doubles, zeroed. */
  sp_status (*vector_create)(sp_device *device, size_t count, double **out);
  void (*vector_destroy)(sp_device *device, double **vector);
  sp_status (*upload)(sp_device *device, size_t count, const double *host, double *vector);
  sp_status (*download)(sp_device *device, size_t count, const double *vector, double *host);
  sp_status (*copy)(sp_device *device, size_t count, const double *from, double *to);
  sp_status (*finish)(sp_device *device); /* wait until all queued work is done */

  sp_status (*operator_create)(sp_device *device, const sp_operator_setup *setup,
                               sp_local_operator **out);
  void (*operator_destroy)(sp_local_operator **local);
  size_t (*operator_bytes)(const sp_local_operator *local); /* held on the device */

  /* y += Z^T A Z x over the elements of one part, and the setup's diagonal; the parts of one
   * application are called in the order SP_HALO, SP_INNER, and y is cleared on the way. With
   * `constrained`, constrained DOFs count as zero in x and stay zero in y; without, the operator is
   * that of the unconstrained space. */
  sp_status (*apply)(sp_local_operator *local, sp_part part, bool constrained, const double *x,
                     double *y);

  /* The local operator alone, between E-vectors of `e_vector_size` doubles in the backend's own
   * layout: what the paper measures. Dirichlet DOFs and the setup's diagonal do not matter. */
  size_t (*e_vector_size)(const sp_local_operator *local);
  sp_status (*apply_unassembled)(sp_local_operator *local, const double *x, double *y);

  /* Pass 1 of a CG iteration over one part: next_p = z + beta p with z = D^-1 r where elements
   * touch it first, ap += Z^T A Z next_p, and the sum of p_e^T A_e p_e for `sums`, the
   * diagonal included. */
  sp_status (*direction)(sp_local_operator *local, sp_part part, double beta,
                         const sp_cg_vectors *vectors);

  /* Pass 2: x += alpha p, r -= alpha ap, and r.r, r.D^-1 r over owned DOFs for `sums`; p is what
   * pass 1 made, `next_p` does not matter. */
  sp_status (*update)(sp_local_operator *local, double alpha, const sp_cg_vectors *vectors);

  /* Sums of the last passes on this rank: after `direction`, sums[0] = p.Ap; after `update`,
   * sums[0] = r.r and sums[1] = r.D^-1 r. */
  sp_status (*sums)(sp_local_operator *local, double sums[2]);

  /* Optional, after connect(): the sum over ranks of a vector's shared entries where its memory is
   * not the host's. `pack` sets *sent and *received to buffers in the order of the plan, for MPI to
   * send and to receive, also if it fails; *sent = NULL: there is nothing for MPI to do. `unpack`
   * adds what was received, in the order of ranks. */
  sp_status (*pack)(sp_local_operator *local, const double *vector, double **sent,
                    double **received);
  sp_status (*unpack)(sp_local_operator *local, double *vector);

  /* Optional (NULL on the host): prepare for whole iterations without the host. *iterates tells
   * whether `iterate` works for this operator; *how says in words how it sums over ranks, or why it
   * does not. Errors: SP_ERR_SYSTEM where the setup's wish cannot be met. Collective. */
  sp_status (*connect)(sp_local_operator *local, MPI_Comm comm, const sp_exchange_plan *plan,
                       bool *iterates, const char **how);

  /* Optional, after connect(): up to `count` whole iterations without the host, ended early by r.r
   * <= target or by sums that are not finite or p.Ap <= 0. *done is how many were begun; records
   * has room for `count`. A backend may do fewer than `count`. Afterwards vectors->p is the last
   * direction. All ranks call it alike and get the same records but for `seconds`. */
  sp_status (*iterate)(sp_local_operator *local, sp_cg_vectors *vectors, const sp_cg_state *state,
                       int count, sp_cg_record *records, int *done);
} sp_backend;

extern const sp_backend sp_backend_host;

/* The CUDA backend, or NULL in a program built without it. */
extern const sp_backend *const sp_backend_cuda;

/* The backend that `kind` asks for, opened. SP_DEVICE_AUTO takes a GPU if there is one. An explicit
 * wish that cannot be met is an error. Collective over `comm`. */
sp_status sp_backend_open(MPI_Comm comm, sp_device_kind kind, const sp_backend **backend,
                          sp_device **device);

#endif
