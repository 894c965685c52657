/* The sum over ranks in Z^T: values of DOFs that several ranks hold are combined, and all holders
 * end with the same bits. Every holder sends its own value to every other holder, so one round of
 * messages is enough; contributions are added in the order of ranks, never in the order of arrival.
 */
#ifndef SP_OPERATORS_EXCHANGE_H
#define SP_OPERATORS_EXCHANGE_H

#include "mesh/numbering.h"

typedef enum sp_combine { SP_SUM, SP_MIN } sp_combine;

typedef struct sp_exchange sp_exchange;

/* Who exchanges what, for a backend that does it by itself. Arrays belong to the exchange. */
enum { SP_OWN_VALUE = -1 };
typedef struct sp_exchange_plan {
  int neighbours;
  const int *ranks;    /* [neighbours], ascending */
  const sp_lid *start; /* [neighbours + 1]: entries for neighbour b, the same number both ways */
  const sp_lid *dofs;  /* [start[neighbours]]: what is sent */
  /* DOF target[t] becomes the sum of sources source_start[t], ..., source_start[t + 1] - 1 in this
   * order, the order of ranks: entries received, or SP_OWN_VALUE. */
  sp_lid targets;
  const sp_lid *target, *source_start, *sources;
} sp_exchange_plan;

/* Buffers for the DOFs that `numbering` shares; it may be destroyed afterwards. The caller destroys
 * *out. Collective over `comm`, which must outlive it. */
sp_status sp_exchange_create(MPI_Comm comm, const sp_numbering *numbering, sp_exchange **out);

/* NULL-safe; sets *exchange to NULL. Local. */
void sp_exchange_destroy(sp_exchange **exchange);

sp_exchange_plan sp_exchange_plan_of(const sp_exchange *exchange);

/* Send the shared values of the L-vector `values` and post the receives. The shared values must not
 * change until sp_exchange_end; others may. Collective among neighbours, does not wait. */
void sp_exchange_begin(sp_exchange *exchange, const double *values);

/* Wait, then combine into the shared values of `values` (the vector that was begun with).
 * Collective among neighbours. */
void sp_exchange_end(sp_exchange *exchange, sp_combine combine, double *values);

/* The same for values that the caller packs, sp_exchange_plan's dofs one after another, into
 * `sent`, and combines from `received` when they have come; memory that the MPI library can read.
 */
void sp_exchange_begin_packed(sp_exchange *exchange, const double *sent, double *received);
void sp_exchange_end_packed(sp_exchange *exchange);

/* Begin and end in one. Collective among neighbours. */
void sp_exchange_now(sp_exchange *exchange, sp_combine combine, double *values);

/* Sum `count` values (at most 4) over ranks in the order of ranks: all ranks get the same bits. A
 * rank that passes a failed status makes all of them return a failure (sp_agree's), so that a local
 * failure in an iteration needs no message of its own. `seconds` travels along and is not summed.
 * Collective over the exchange's communicator. */
sp_status sp_exchange_sum(sp_exchange *exchange, int count, double *values, double seconds,
                          sp_status status);

/* What this rank wishes from now on; a wish travels with every sum, beside the sums. The largest
 * wish of all ranks, as of the last sum: the same on all of them; 0 before. What a wish means is
 * the caller's business. Local. */
void sp_exchange_set_wish(sp_exchange *exchange, int wish);
int sp_exchange_wish(const sp_exchange *exchange);

/* Tell all ranks what `count` iterations took on this one (at most SP_EXCHANGE_TIMES), where a
 * device has summed by itself: one message in place of `count` sums. Status and wishes travel as
 * with a sum. Collective over the exchange's communicator. */
enum { SP_EXCHANGE_TIMES = 64 };
sp_status sp_exchange_times(sp_exchange *exchange, int count, const double *seconds,
                            sp_status status);

/* What each rank passed as `seconds` to the last sp_exchange_sum, [ranks], or sp_exchange_times,
 * [count][ranks]. Local. */
const double *sp_exchange_seconds(const sp_exchange *exchange);

#endif
