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

/* The orders that suit `order` where the user gives none: about two thirds from level to level
 * above 8, half from there on (7 4 2 1; 15 11 7 4 2 1). Local. */
void sp_multigrid_choose_orders(int order, sp_multigrid_options *options);

/* Decide smoother and precision where they are auto, for the extents of the mesh. Local. */
void sp_multigrid_decide(const sp_backend *backend, const sp_extents *extents,
                         sp_multigrid_options *options);

/* SP_ERR_INPUT unless the orders fall from the operator's, `order`, to 1. Local. */
sp_status sp_multigrid_check(int order, const sp_multigrid_options *options);

/* Check the options for a fine space, and decide what is auto. Errors: as above. Collective. */
sp_status sp_multigrid_prepare(const sp_space *fine, sp_multigrid_options *options);

/* Start the coarse solver on the last system; *out is NULL if the options smooth there instead. On
 * a device hypre then continues in the background (coarse.h). Errors: SP_ERR_INPUT for amg or
 * direct in a program without hypre; those of sp_coarse_create. Collective. */
sp_status sp_multigrid_start_coarse(const sp_system *last, const sp_multigrid_options *options,
                                    sp_coarse **out);

/* A preconditioner for systems[0], whose operator exists, with options that are prepared. `systems`
 * [options->levels], finest first, are borrowed and must outlive *out, which
 * sp_preconditioner_destroy frees; their coefficients are not used afterwards. *coarse is what
 * sp_multigrid_start_coarse made; it becomes the preconditioner's, and NULL. Errors: SP_ERR_SYSTEM,
 * SP_ERR_BREAKDOWN. Collective. */
sp_status sp_multigrid_create(const sp_multigrid_options *options, sp_system *const systems[],
                              sp_coarse **coarse, sp_preconditioner **out);

#endif
