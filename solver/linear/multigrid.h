/* p-multigrid as a preconditioner: one symmetric V-cycle over spaces of falling order on the same
 * mesh,
 *
 *     smooth;  r = b - A x;  b_coarse = P^T r;  ...;  x += P x_coarse;  smooth
 *
 * The first level has the operator itself, the others are this program's own matrix-free bp3.5 at
 * their order, with the coefficients and conditions of the problem; P interpolates between GLL
 * nodes (operators/transfer.h); the smoother is Chebyshev's (chebyshev.h), the same before and
 * after, so that the cycle is symmetric; the last level, order 1, is assembled and solved directly
 * or by a cycle of algebraic multigrid (coarse.h), or only smoothed.
 *
 * The cycle may work in single precision inside CG in double. */
#ifndef SP_SOLVER_LINEAR_MULTIGRID_H
#define SP_SOLVER_LINEAR_MULTIGRID_H

#include "operators/separable.h"
#include "solver/linear/coarse.h"
#include "solver/linear/preconditioner.h"

enum { SP_MULTIGRID_MOST = SP_LEVELS_MOST };

/* S of the smoother, on levels of order 2 or more; order 1 has its diagonal. */
typedef enum sp_smoother_kind {
  SP_SMOOTHER_AUTO, /* schwarz where elements are stretched more than SP_SMOOTHER_STRETCH */
  SP_SMOOTHER_JACOBI,
  SP_SMOOTHER_SCHWARZ
} sp_smoother_kind;

/* All names as in a case, by sp_smoother_kind; ends in NULL. */
extern const char *const sp_smoother_names[];

#define SP_SMOOTHER_STRETCH 4.0 /* the largest ratio of two lengths of an element */

/* In single precision a cycle moves half the bytes, and CG, in double, takes as many iterations. */
typedef enum sp_cycle_precision {
  SP_CYCLE_AUTO, /* single where the backend has such operators, unless volumes leave its range */
  SP_CYCLE_SINGLE,
  SP_CYCLE_DOUBLE
} sp_cycle_precision;

/* All names as in a case, by sp_cycle_precision; ends in NULL. */
extern const char *const sp_cycle_precision_names[];

typedef struct sp_multigrid_options {
  int levels;
  int orders[SP_MULTIGRID_MOST]; /* falling; the first is the operator's, the last 1 */
  sp_smoother_kind smoother;
  int degree;                   /* of the smoother, 1 .. SP_CHEBYSHEV_MOST */
  sp_cycle_precision precision; /* of the cycle; hypre on the host is always in double */
  sp_coarse_kind coarse;
} sp_multigrid_options;

/* The problem on the space of one level. Arrays belong to whoever fills it. */
typedef struct sp_multigrid_level_data {
  sp_operator_setup setup; /* on the space that was asked for; `precision` is not used */
  sp_constants constants;
  void *owned; /* for `release` */
} sp_multigrid_level_data;

/* The source of the problem on each level: for each space, `discretize` fills *data, and `release`
 * frees what that allocated, also after a failure. Collective. */
typedef struct sp_multigrid_problem {
  sp_status (*discretize)(void *context, const sp_space *space, sp_multigrid_level_data *data);
  void (*release)(void *context, sp_multigrid_level_data *data);
  void *context;
} sp_multigrid_problem;

/* The orders that suit `order` where the user gives none: about two thirds from level to level
 * above 8, half from there on (7 4 2 1; 15 11 7 4 2 1). Local. */
void sp_multigrid_choose_orders(int order, sp_multigrid_options *options);

/* Decide smoother and precision where they are auto, for the extents of the mesh. Local. */
void sp_multigrid_decide(const sp_backend *backend, const sp_extents *extents,
                         sp_multigrid_options *options);

/* SP_ERR_INPUT unless the orders fall from the operator's, `order`, to 1. Local. */
sp_status sp_multigrid_check(int order, const sp_multigrid_options *options);

/* A preconditioner for an operator on `space`, whose order is options->orders[0]; both must outlive
 * *out, which sp_preconditioner_destroy frees. Errors: SP_ERR_INPUT for orders that do not fall
 * from the operator's to 1, and for amg or direct in a program without hypre; those of
 * discretize; SP_ERR_SYSTEM, SP_ERR_BREAKDOWN. Collective. */
sp_status sp_multigrid_create(const sp_space *space, const sp_multigrid_options *options,
                              const sp_multigrid_problem *problem, sp_preconditioner **out);

/* The same in two steps. The first one makes the last level, for which hypre then works beside what
 * comes next, as sp_coarse_create says: nothing else may call hypre until the second one is done.
 * Between them the multigrid may only be destroyed. What `problem` points to must live until then.
 * If the second one fails, the caller destroys the multigrid. Errors: as above. Collective. */
sp_status sp_multigrid_begin(const sp_space *space, const sp_multigrid_options *options,
                             const sp_multigrid_problem *problem, sp_preconditioner **out);
sp_status sp_multigrid_complete(sp_preconditioner *multigrid);

#endif
