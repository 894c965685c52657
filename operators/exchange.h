/* The sum over ranks in Z^T between neighbours: values of DOFs that several ranks hold are
 * combined, and all holders end with the same bits. Every holder sends its own value to every other
 * holder, so one round of messages is enough; contributions are added in the order of ranks, never
 * in the order of arrival. For vectors in host memory; backends with memory of their own follow the
 * same plan. */
#pragma once

#include "mesh/numbering.h"
#include "operators/precision.h"

typedef enum sp_combine { SP_SUM, SP_MIN } sp_combine;

typedef struct sp_exchange sp_exchange;

/* Neighbours, and the DOFs shared with each. Arrays belong to the exchange. */
enum { SP_OWN_VALUE = -1 };
typedef struct sp_exchange_plan {
  int neighbours;
  const int *ranks;    /* [neighbours], ascending */
  const sp_lid *start; /* [neighbours + 1]: entries for neighbour b, as many both ways */
  const sp_lid *dofs;  /* [start[neighbours]]: what is sent; the other rank may need less */
  /* DOF target[t] becomes the sum of sources source_start[t], ..., source_start[t + 1] - 1 in this
   * order, the order of ranks: indices of entries received, or SP_OWN_VALUE. */
  sp_lid targets;
  const sp_lid *target, *source_start, *sources;
} sp_exchange_plan;

/* Traffic of a rank: what it sends. */
typedef struct sp_traffic {
  double messages, bytes;
} sp_traffic;

/* Buffers for the DOFs that `numbering` shares; it may be destroyed afterwards. The caller destroys
 * *out. Collective over `comm`, which must outlive it. */
sp_status sp_exchange_create(MPI_Comm comm, const sp_numbering *numbering, sp_exchange **out);

/* For a vector that every rank holds whole: counts[r] entries of each rank r, in the order of
 * ranks. The sum then is a gather: entries of another rank become what they are there. The caller
 * destroys *out. Errors: SP_ERR_SYSTEM. Collective over `comm`, which must outlive it. */
sp_status sp_exchange_create_gather(MPI_Comm comm, const int *counts, sp_exchange **out);

/* NULL-safe; sets *exchange to NULL. Local. */
void sp_exchange_destroy(sp_exchange **exchange);

sp_exchange_plan sp_exchange_plan_of(const sp_exchange *exchange);

/* Send the shared values of the L-vector `values` and post the receives. The shared values must not
 * change until sp_exchange_end; others may. Collective among neighbours, does not wait. */
void sp_exchange_begin(sp_exchange *exchange, sp_precision precision, const void *values);

/* Wait, then add what has come to the shared values of `values`, the vector that was begun with.
 * Collective among neighbours. */
void sp_exchange_end(sp_exchange *exchange, sp_precision precision, void *values);

/* Begin and end likewise, for values that the caller packs into `sent`, the plan's dofs one after
 * another, and combines from `received`; memory that the MPI library can access. Collective among
 * neighbours. */
void sp_exchange_begin_packed(sp_exchange *exchange, sp_precision precision, const void *sent,
                              void *received);
void sp_exchange_end_packed(sp_exchange *exchange);

/* Seconds so far in which this rank has waited for neighbours in sp_exchange_end. Local. */
double sp_exchange_waited(const sp_exchange *exchange);

/* Combine the shared values of `values` at once, in double precision. Collective among neighbours.
 */
void sp_exchange_now(sp_exchange *exchange, sp_combine combine, double *values);
