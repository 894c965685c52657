/* Multigrid as a preconditioner: one symmetric V-cycle over spaces of falling order on the same
 * mesh, then of order 1 on coarser meshes if there are any,
 *
 *     smooth;  r = b - A x;  b_coarse = P^T r;  ...;  x += P x_coarse;  smooth
 *
 * The first level has the operator itself. The others have a matrix-free bp3.5 at their order, with
 * averages of kappa, lambda and alpha (sp_system_average) and the conditions of the problem. P
 * interpolates between GLL nodes (operators/transfer.h). The smoother is Chebyshev's (chebyshev.h),
 * the same before and after, so that the cycle is symmetric. The last level, of order 1, is
 * assembled and solved directly or by a cycle of algebraic multigrid (coarse.h), or only smoothed.
 *
 * The cycle may work in single precision inside CG in double. */
#pragma once

#include "solver/linear/coarse.h"
#include "solver/linear/preconditioner.h"

enum { SP_MULTIGRID_MOST = SP_LEVELS_MOST };

typedef struct sp_multigrid_options {
  int levels;
  int orders[SP_MULTIGRID_MOST]; /* falling; the first is the operator's, the last 1 */
  sp_smoother_kind smoother;
  int degree;                   /* of the smoother, 1 .. SP_CHEBYSHEV_MOST; 0: chosen */
  sp_cycle_precision precision; /* of the cycle; hypre always works in double */
  sp_coarse_kind coarse;
  sp_coarse_place place; /* of the coarse solver: SP_COARSE_CHOOSE, except in tests */
} sp_multigrid_options;

/* Choose orders if the user gives none: each level has about two thirds of the previous order if
 * that is above 8, else half (7 4 2 1; 15 11 7 4 2 1). Local. */
void sp_multigrid_choose_orders(int order, sp_multigrid_options *options);

/* Replace an auto smoother, precision or degree for an operator on elements of that shape; kappa
 * may be a tensor. Local. */
void sp_multigrid_decide(const sp_backend *backend, sp_operator_kind kind, bool is_tensor,
                         const sp_mesh_shape *shape, sp_multigrid_options *options);

/* If the decided options allow it and the mesh has bars (operators/schwarz/bars.h), make the
 * system of the bars systems[1], the only level below systems[0]; else it stays NULL. The options
 * come from sp_multigrid_choose_orders. Errors: as sp_bars_create. Collective. */
sp_status sp_multigrid_find_bars(sp_multigrid_options *options, sp_system *systems[]);

/* Return the number of orders without a second system of order 1, which only the coarse solver uses
 * and coarser meshes replace. Local. */
int sp_multigrid_smoothed(const sp_multigrid_options *options);

/* Return the number of rows up to which the coarse solver is better than a coarser mesh. On a GPU
 * the inverse of 7000 is faster than one more level, above all on several ranks. Local. */
int sp_multigrid_few_rows(const sp_backend *backend);

/* Add systems of order 1 on coarser meshes to systems[options->levels], the last of which has order
 * 1, while they help and exist. The caller destroys them, also after an error. Errors:
 * SP_ERR_SYSTEM. Collective. */
sp_status sp_multigrid_add_meshes(sp_geometry_kind geometry, sp_multigrid_options *options,
                                  sp_system *systems[]);

/* Return the traffic of a rank in a cycle on level `index` of the decided options. The rank shares
 * `shared` DOFs with `neighbours` other ranks, counted once per rank (operators/exchange.h). The
 * traffic of the coarse solver is in sp_coarse_traffic. Local. */
sp_traffic sp_multigrid_traffic(const sp_multigrid_options *options, int index, double neighbours,
                                double shared);

/* Start the coarse solver on the last system; *out is NULL if the options smooth there instead. On
 * a device its set-up continues in the background (coarse.h). Errors: as sp_coarse_create.
 * Collective. */
sp_status sp_multigrid_start_coarse(const sp_system *last, const sp_multigrid_options *options,
                                    sp_coarse **out);

/* Create a preconditioner for systems[0], whose operator exists, with decided options. `systems`
 * [options->levels], finest first, are borrowed and must outlive *out, which
 * sp_preconditioner_destroy frees; their coefficients are not used afterwards. *coarse comes from
 * sp_multigrid_start_coarse; the preconditioner takes it, and it becomes NULL. Errors:
 * SP_ERR_SYSTEM, SP_ERR_BREAKDOWN. Collective. */
sp_status sp_multigrid_create(const sp_multigrid_options *options, sp_system *const systems[],
                              sp_coarse **coarse, sp_preconditioner **out);
