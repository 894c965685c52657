/* Interface of a preconditioner for conjugate gradients: z = B r, with B an approximate inverse of
 * A.
 *
 * B must be symmetric and positive definite on the unconstrained DOFs (if A has a null space, on
 * its complement), linear, and the same from one application to the next. CG detects only r.z <= 0
 * and NaN, which it reports as a breakdown. B uses spaces, operators and vectors, never a
 * backend's internals. Inside, it may work in single precision; r and z are double.
 *
 * A preconditioner is a struct that begins with an sp_preconditioner; its create function fills
 * that. */
#pragma once

#include "operators/operator.h"

/* Size and time of one level of a preconditioner. */
typedef struct sp_level_time {
  int order;
  int64_t dofs;           /* over all ranks */
  double seconds;         /* per application of B, on the slowest rank */
  double messages, bytes; /* largest traffic of a rank, per application */
} sp_level_time;
enum { SP_LEVELS_MOST = 32 };

typedef struct sp_preconditioner sp_preconditioner;
struct sp_preconditioner {
  const char *name; /* as in a case: "jacobi" */

  /* Advice if B is not positive definite, for example "solver.precision = double"; NULL if there is
   * none. */
  const char *cure;

  /* If B is a diagonal: D^-1, an L-vector. CG then fuses it into its passes
   * and never calls `apply`. Else NULL. */
  const sp_vector *inverse_diagonal;

  /* z = B r: two L-vectors that do not overlap, zero at constrained DOFs,
   * with the owners' bits on copies. `norm` is ||r|| > 0 over all ranks; a B in single precision
   * scales by it. No sum over all ranks inside. Returns this rank's failure, which the caller hands
   * to the next reduction. Collective among neighbours. */
  sp_status (*apply)(sp_preconditioner *self, double norm, const sp_vector *r, sp_vector *z);

  /* Release everything, `self` included. Collective. */
  void (*destroy)(sp_preconditioner *self);

  /* Write details besides the name: "orders 7 4 2 1, ...", or nothing. Local. */
  void (*describe)(const sp_preconditioner *self, size_t room, char *text);

  /* Return the times of the levels, finest first; *count is 0 if there are none. On a device that
   * queues its work, B is applied once more to its last input, and the host waits after each level.
   * Elsewhere the times are means over all applications. NULL if B has no levels. Collective. */
  sp_status (*time_levels)(sp_preconditioner *self, sp_level_time times[SP_LEVELS_MOST],
                           int *count);
};

/* NULL-safe; sets *preconditioner to NULL. Collective. */
static inline void sp_preconditioner_destroy(sp_preconditioner **preconditioner) {
  if (*preconditioner) (*preconditioner)->destroy(*preconditioner);
  *preconditioner = NULL;
}

/* *out = Jacobi's preconditioner (jacobi.c), B = D^-1, for `op`, which was built from `setup` and
 * must outlive it. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_jacobi_create(sp_operator *op, const sp_operator_setup *setup,
                           sp_preconditioner **out);
