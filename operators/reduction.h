/* Sums over all ranks in a fixed order; a status and a request travel with them.
 *
 * The order is a binary tree over rank numbers. With 2^k <= size < 2^(k+1), rank 2^k + i first adds
 * to rank i; then pairs of ranks that differ in bit 0, 1, ... k - 1 are added. So each rank sends
 * about log2(size) messages, and all ranks get the same bits, run after run.
 *
 * With each sum, a failure or a signal on one rank becomes known to all, without a message of its
 * own. */
#pragma once

#include "io/error.h"

typedef struct sp_reduction sp_reduction;

/* One per communicator; uses a duplicate of `comm`. The caller destroys *out. Collective. */
sp_status sp_reduction_create(MPI_Comm comm, sp_reduction **out);

/* NULL-safe; sets *reduction to NULL. Collective. */
void sp_reduction_destroy(sp_reduction **reduction);

/* values[count] become their sums over ranks. Returns sp_agree's failure on all ranks if any rank
 * passes a status that is not SP_OK; values are then undefined. Collective. */
sp_status sp_reduction_sum(sp_reduction *reduction, int count, double *values, sp_status status);

/* Set this rank's request for all later sums: a number >= 0 whose meaning the caller defines.
 * Local. */
void sp_reduction_request(sp_reduction *reduction, int request);

/* Return the largest request of all ranks at the last sum; 0 before the first. Local. */
int sp_reduction_requested(const sp_reduction *reduction);

/* Seconds that this rank has spent here so far, with waiting for other ranks; 0 on one rank. Local.
 */
double sp_reduction_seconds(const sp_reduction *reduction);

/* all[count][size] on rank 0 = mine[count] of all ranks; other ranks do not use `all`. Collective.
 */
void sp_reduction_gather(sp_reduction *reduction, int count, const double *mine, double *all);
