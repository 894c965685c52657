/* Sums over all ranks in a fixed order, and what travels with them.
 *
 * The order is a binary tree over rank numbers: with 2^k <= size < 2^(k+1), rank 2^k + i adds to
 * rank i first, then pairs of ranks that differ in bit 0, 1, ... k - 1 are added. So each rank
 * sends about log2(size) messages, and all ranks get the same bits, run after run.
 *
 * A status and a request ride on every sum: a failure on one rank ends the phase on all of them
 * without a message of its own, and a signal on one rank becomes known to all.
 */
#pragma once

#include "io/error.h"

typedef struct sp_reduction sp_reduction;

/* One per communicator: it works on a duplicate of `comm`. The caller destroys *out. Collective. */
sp_status sp_reduction_create(MPI_Comm comm, sp_reduction **out);

/* NULL-safe; sets *reduction to NULL. Collective. */
void sp_reduction_destroy(sp_reduction **reduction);

/* values[count] become their sums over ranks. Returns sp_agree's failure on all ranks if any rank
 * passes a status that is not SP_OK; values are then undefined. Collective. */
sp_status sp_reduction_sum(sp_reduction *reduction, int count, double *values, sp_status status);

/* Set this rank's request from now on, >= 0; the caller gives the numbers a meaning. Local. */
void sp_reduction_request(sp_reduction *reduction, int request);

/* Return the largest request of all ranks at the last sum, the same on all of them; 0 before.
 * Local. */
int sp_reduction_requested(const sp_reduction *reduction);

/* Seconds so far of this rank in sp_reduction_sum and sp_reduction_gather, waiting for other ranks
 * included; 0 on one rank. Local. */
double sp_reduction_seconds(const sp_reduction *reduction);

/* all[count][size] on rank 0 become the ranks' mine[count]; elsewhere `all` is not used.
 * Collective.
 */
void sp_reduction_gather(sp_reduction *reduction, int count, const double *mine, double *all);
