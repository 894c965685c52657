/* The error of conjugate gradients in the energy norm, estimated from its own scalars.
 *
 * Step k adds delta_k = alpha_k r_k.z_k to the energy of x_k - x_0, and with ||v||^2 = v.A v
 *
 *     ||x - x_k||^2 = delta_k + delta_(k+1) + ...          (M. Hestenes, E. Stiefel 1952)
 *
 * for every preconditioner. Later steps are estimated from earlier ones. S is the largest ratio
 * (delta_i + ... + delta_k) / delta_i over the last steps i < k, back to an error 100 times larger.
 * Then ||x - x_k||^2 is about S delta_k (G. Meurant, J. Papez, P. Tichy, Numer. Algorithms 88
 * (2021) 1337), and
 *
 *     error^2 = max(S - 1, 0.01) delta_k                   for x_(k+1), the iterate after step k.
 *
 * The bound 0.01 means that no step is trusted to reduce the error by more than a factor of 10: the
 * first step may only have removed the error in a stiff row. The tolerance must be met by
 * `in_a_row` steps in a row, and by one more for every 20 steps after the first 40, since a slow
 * solve has plateaus. If steps fall slowly (S - 1 >= 1), they also rise: add one, and another one
 * for each doubling of S - 1, at most 9 more. An error that hides on a longer one remains unseen: a
 * preconditioner whose quality depends on the mesh has plateaus. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"

#include "operators/operator.h"

typedef struct sp_energy {
  double tolerance; /* of the error relative to the root of sp_energy_reference */
  double sum;       /* of all steps since the start, plus `before` of sp_energy_begin */
  double limit;     /* sp_energy_limit */
  double share;     /* estimate only after a step of at most this share of `sum` */
  double error;     /* relative estimate for the current iterate; infinite until known */
  int in_a_row;     /* steps that must meet the tolerance, at least 1 */
  int missing;      /* steps in a row that must still meet the tolerance */
  double *steps;    /* delta since the last sp_energy_restart */
  size_t count;
} sp_energy;

/* Begin with a sum of `before`. The caller ends with sp_energy_free. Local. */
void sp_energy_begin(double tolerance, double before, int in_a_row, sp_energy *energy);

/* NULL-safe for a zeroed struct. Local. */
void sp_energy_free(sp_energy *energy);

/* Forget the steps, but not their sum: CG restarts from its iterate. Local. */
void sp_energy_restart(sp_energy *energy);

/* Count a step delta >= 0. Then, if it is at most `share` of the sum, estimate the error, and
 * renew `share` unless the tolerance is met. Errors: SP_ERR_SYSTEM for memory. Local. */
sp_status sp_energy_add(sp_energy *energy, double step);

/* The square that the error is relative to: `sum`, or `limit` if that is smaller. Local. */
double sp_energy_reference(const sp_energy *energy);

/* Set the limit, none if it is not positive. The error may then no longer meet the tolerance. After
 * at least two steps. Local. */
void sp_energy_limit(sp_energy *energy, double limit);

/* True if the estimated error has met the tolerance often enough. Local. */
bool sp_energy_is_met(const sp_energy *energy);

/* Return the relative error after the last step, also if sp_energy_add did not estimate it;
 * infinite before the second step. Local. */
double sp_energy_error(const sp_energy *energy);

/* An entry of A x is uncertain by eps times the root of the sum of (A_ij x_j)^2, which is the size
 * of (A v)_i for v = x with random signs. So r.z is about eps^2 v.A v for z = A^-1 r, and
 * eps^2 |A v|^2 for z = r.
 *
 * *rounding = r.z if r is only the rounding error of b - A x, for z = A^-1 r if `preconditioned`,
 * else for z = r. The signs are the same on all ranks that hold a DOF. Errors: SP_ERR_SYSTEM.
 * Collective. */
sp_status sp_rounding_estimate(sp_operator *op, bool preconditioned, const sp_vector *x,
                               double *rounding);
