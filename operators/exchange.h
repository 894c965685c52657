/* The sum over ranks in Z^T: all holders of a DOF combine their values and get the same bits. Every
 * holder sends its value to every other holder, so one round of messages is enough. Contributions
 * are added in the order of ranks, never in the order of arrival. For vectors in host memory; other
 * backends follow the same plan. */
#pragma once

#include "mesh/numbering.h"
#include "operators/kinds.h"

typedef enum sp_combine { SP_SUM, SP_MIN } sp_combine;

typedef struct sp_exchange sp_exchange;

/* Neighbours, and the DOFs shared with each. Arrays belong to the exchange. */
enum { SP_OWN_VALUE = -1 };
typedef struct sp_exchange_plan {
  int neighbours;
  int *ranks;    /* [neighbours], ascending */
  sp_lid *start; /* [neighbours + 1]: entries for neighbour b; send and receive counts are equal */
  sp_lid *dofs;  /* [start[neighbours]]: DOFs to send; the other rank may need fewer */
  /* DOF target[t] becomes the sum of sources source_start[t], ..., source_start[t + 1] - 1 in this
   * order, the order of ranks: indices of entries received, or SP_OWN_VALUE. */
  sp_lid targets;
  sp_lid *target, *source_start, *sources;
} sp_exchange_plan;

/* Messages and bytes that a rank sends. */
typedef struct sp_traffic {
  double messages, bytes;
} sp_traffic;

/* Buffers for the DOFs that `numbering` shares; it may be destroyed afterwards. The caller destroys
 * *out. Collective over `comm`, which must outlive it. */
sp_status sp_exchange_create(MPI_Comm comm, const sp_numbering *numbering, sp_exchange **out);

/* Gather a vector to all ranks: it has counts[r] entries of each rank r, in the order of ranks,
 * which are copied to all other ranks. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective
 * over `comm`, which must outlive it. */
sp_status sp_exchange_create_gather(MPI_Comm comm, const int *counts, sp_exchange **out);

/* NULL-safe; sets *exchange to NULL. Local. */
void sp_exchange_destroy(sp_exchange **exchange);

sp_exchange_plan sp_exchange_plan_of(const sp_exchange *exchange);

/* Send the shared values of the L-vector `values` and post the receives. The shared values must not
 * change until sp_exchange_end; others may. Collective among neighbours, does not wait. */
void sp_exchange_begin(sp_exchange *exchange, sp_precision precision, const void *values);

/* Wait, then add the received values to `values`, the same vector as in sp_exchange_begin.
 * Collective among neighbours. */
void sp_exchange_end(sp_exchange *exchange, sp_precision precision, void *values);

/* The same for values that the caller packs into `sent`, in the order of the plan's dofs, and
 * combines from `received`. Both are memory that the MPI library can access. Collective among
 * neighbours. */
void sp_exchange_begin_packed(sp_exchange *exchange, sp_precision precision, const void *sent,
                              void *received);
void sp_exchange_end_packed(sp_exchange *exchange);

/* Seconds that this rank has waited in sp_exchange_end so far. Local. */
double sp_exchange_waited(const sp_exchange *exchange);

/* Combine the shared values of `values` at once, in double precision. Collective among neighbours.
 */
void sp_exchange_now(sp_exchange *exchange, sp_combine combine, double *values);
