#include "operators/exchange.h"

#include <stdlib.h>
#include <string.h>

struct sp_exchange {
  MPI_Comm comm;
  sp_exchange_plan plan;
  void *sent, *received; /* doubles or floats */
  MPI_Request *requests; /* [2 neighbours] */
  double waited;         /* seconds in sp_exchange_end */
};

typedef struct contribution {
  sp_lid dof;
  int rank;
  sp_lid source;
} contribution;

static int compare_contributions(const void *left, const void *right) {
  const contribution *a = left, *b = right;
  if (a->dof != b->dof) return a->dof < b->dof ? -1 : 1;
  return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Sort the received values, and the rank's own value once per DOF, by DOF and rank. */
static sp_status plan_targets(int rank, sp_exchange_plan *plan) {
  const size_t shared = (size_t)plan->start[plan->neighbours];
  SP_OWNED contribution *list = NULL;
  SP_TRY(sp_allocate(2 * shared, sizeof *list, "exchange", &list));
  size_t n = 0;
  for (int b = 0; b < plan->neighbours; b++)
    for (sp_lid s = plan->start[b]; s < plan->start[b + 1]; s++) {
      list[n++] = (contribution){plan->dofs[s], plan->ranks[b], s};
      list[n++] = (contribution){plan->dofs[s], rank, SP_OWN_VALUE};
    }
  if (n > 0) qsort(list, n, sizeof *list, compare_contributions);
  SP_TRY(SP_ALLOCATE("exchange", SP_ARRAY(plan->target, shared),
                     SP_ARRAY(plan->source_start, shared + 1), SP_ARRAY(plan->sources, n)));
  sp_lid sources = 0;
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && compare_contributions(&list[i], &list[i - 1]) == 0)
      continue; /* own value, repeated */
    if (i == 0 || list[i].dof != list[i - 1].dof) plan->target[plan->targets++] = list[i].dof;
    plan->sources[sources++] = list[i].source;
    plan->source_start[plan->targets] = sources;
  }
  return SP_OK;
}

static sp_status allocate_neighbours(size_t neighbours, sp_exchange *exchange) {
  exchange->plan.neighbours = (int)neighbours;
  return SP_ALLOCATE("exchange", SP_ARRAY(exchange->plan.ranks, neighbours),
                     SP_ARRAY(exchange->plan.start, neighbours + 1),
                     SP_ARRAY(exchange->requests, 2 * neighbours));
}

static sp_status allocate_buffers(size_t shared, sp_exchange *exchange) {
  SP_TRY(sp_allocate(shared, sizeof(sp_lid), "exchange", &exchange->plan.dofs));
  SP_TRY(sp_allocate(shared, sizeof(double), "exchange", &exchange->sent));
  return sp_allocate(shared, sizeof(double), "exchange", &exchange->received);
}

static sp_status build_plan(const sp_numbering *numbering, sp_exchange *exchange) {
  const size_t neighbours = (size_t)numbering->neighbours;
  const size_t shared = (size_t)numbering->shared_start[neighbours];
  SP_TRY(allocate_neighbours(neighbours, exchange));
  SP_TRY(allocate_buffers(shared, exchange));
  memcpy(exchange->plan.ranks, numbering->neighbour_ranks, neighbours * sizeof(int));
  memcpy(exchange->plan.start, numbering->shared_start, (neighbours + 1) * sizeof(sp_lid));
  memcpy(exchange->plan.dofs, numbering->shared, shared * sizeof(sp_lid));
  return plan_targets(sp_comm_rank(exchange->comm), &exchange->plan);
}

/* Each entry of another rank is a target with one source. Send and receive counts are equal: the
 * larger count of the two ranks. A rank that receives more than it has pads its message with entry
 * 0. */
static sp_status build_gather(const int *counts, sp_exchange *exchange) {
  const int rank = sp_comm_rank(exchange->comm), ranks = sp_comm_size(exchange->comm);
  sp_exchange_plan *plan = &exchange->plan;
  sp_lid own = 0, others = 0;
  size_t shared = 0;
  SP_TRY(allocate_neighbours((size_t)ranks - 1, exchange));
  for (int r = 0, b = 0; r < ranks; r++) {
    own += r < rank ? counts[r] : 0;
    if (r == rank) continue;
    others += counts[r];
    plan->ranks[b] = r;
    shared += (size_t)(counts[r] > counts[rank] ? counts[r] : counts[rank]);
    if (shared > INT32_MAX)
      return sp_fail(SP_ERR_SYSTEM, "exchange: more than %d values per rank", INT32_MAX);
    plan->start[++b] = (sp_lid)shared;
  }
  SP_TRY(allocate_buffers(shared, exchange));
  SP_TRY(SP_ALLOCATE("exchange", SP_ARRAY(plan->target, others),
                     SP_ARRAY(plan->source_start, (size_t)others + 1),
                     SP_ARRAY(plan->sources, others)));
  for (int r = 0, b = 0, first = 0; r < ranks; first += counts[r++]) {
    if (r == rank) continue;
    for (sp_lid n = 0, s = plan->start[b]; s < plan->start[b + 1]; n++, s++) {
      plan->dofs[s] = n < counts[rank] ? own + n : 0;
      if (n >= counts[r]) continue;
      plan->target[plan->targets] = first + n;
      plan->sources[plan->targets++] = s;
      plan->source_start[plan->targets] = plan->targets;
    }
    b++;
  }
  return SP_OK;
}

/* From `numbering` or, if that is NULL, as a gather of counts[rank]. */
static sp_status create_exchange(MPI_Comm comm, const sp_numbering *numbering, const int *counts,
                                 sp_exchange **out) {
  sp_status status = sp_allocate(1, sizeof **out, "exchange", out);
  if (!status) {
    (*out)->comm = comm;
    status = numbering ? build_plan(numbering, *out) : build_gather(counts, *out);
  }
  status = sp_agree(comm, status);
  if (status) sp_exchange_destroy(out);
  return status;
}

sp_status sp_exchange_create(MPI_Comm comm, const sp_numbering *numbering, sp_exchange **out) {
  return create_exchange(comm, numbering, NULL, out);
}

sp_status sp_exchange_create_gather(MPI_Comm comm, const int *counts, sp_exchange **out) {
  return create_exchange(comm, NULL, counts, out);
}

void sp_exchange_destroy(sp_exchange **exchange) {
  if (!*exchange) return;
  const sp_exchange_plan *plan = &(*exchange)->plan;
  SP_FREE(plan->ranks, plan->start, plan->dofs, plan->target, plan->source_start, plan->sources,
          (*exchange)->sent, (*exchange)->received, (*exchange)->requests, *exchange);
  *exchange = NULL;
}

sp_exchange_plan sp_exchange_plan_of(const sp_exchange *exchange) {
  return exchange->plan;
}

void sp_exchange_begin_packed(sp_exchange *exchange, sp_precision precision, const void *sent,
                              void *received) {
  const sp_exchange_plan *plan = &exchange->plan;
  const MPI_Datatype type = precision == SP_SINGLE ? MPI_FLOAT : MPI_DOUBLE;
  const size_t bytes = sp_precision_bytes(precision);
  for (int b = 0; b < plan->neighbours; b++) {
    const sp_lid begin = plan->start[b], n = plan->start[b + 1] - begin;
    MPI_Irecv((char *)received + (size_t)begin * bytes, n, type, plan->ranks[b], 0, exchange->comm,
              &exchange->requests[b]);
  }
  for (int b = 0; b < plan->neighbours; b++) {
    const sp_lid begin = plan->start[b], n = plan->start[b + 1] - begin;
    MPI_Isend((const char *)sent + (size_t)begin * bytes, n, type, plan->ranks[b], 0,
              exchange->comm, &exchange->requests[plan->neighbours + b]);
  }
}

void sp_exchange_end_packed(sp_exchange *exchange) {
  MPI_Waitall(2 * exchange->plan.neighbours, exchange->requests, MPI_STATUSES_IGNORE);
}

/* Pack the shared values, and combine the received ones, for one type of number. */
#define DEFINE_PACK_AND_COMBINE(real)                                                              \
  static void pack_##real(sp_exchange *exchange, const real *values) {                             \
    const sp_exchange_plan *plan = &exchange->plan;                                                \
    real *sent = exchange->sent;                                                                   \
    const sp_lid shared = plan->start[plan->neighbours];                                           \
    for (sp_lid s = 0; s < shared; s++) sent[s] = values[plan->dofs[s]];                           \
  }                                                                                                \
                                                                                                   \
  static void combine_##real(const sp_exchange *exchange, sp_combine combine, real *values) {      \
    const sp_exchange_plan *plan = &exchange->plan;                                                \
    const real *received = exchange->received;                                                     \
    for (sp_lid t = 0; t < plan->targets; t++) {                                                   \
      const real own = values[plan->target[t]];                                                    \
      const sp_lid begin = plan->source_start[t], end = plan->source_start[t + 1];                 \
      real result = 0;                                                                             \
      for (sp_lid s = begin; s < end; s++) {                                                       \
        const sp_lid source = plan->sources[s];                                                    \
        const real value = source == SP_OWN_VALUE ? own : received[source];                        \
        if (s == begin)                                                                            \
          result = value;                                                                          \
        else if (combine == SP_SUM)                                                                \
          result += value;                                                                         \
        else if (value < result)                                                                   \
          result = value;                                                                          \
      }                                                                                            \
      values[plan->target[t]] = result;                                                            \
    }                                                                                              \
  }

DEFINE_PACK_AND_COMBINE(double)
DEFINE_PACK_AND_COMBINE(float)

void sp_exchange_begin(sp_exchange *exchange, sp_precision precision, const void *values) {
  if (precision == SP_SINGLE)
    pack_float(exchange, values);
  else
    pack_double(exchange, values);
  sp_exchange_begin_packed(exchange, precision, exchange->sent, exchange->received);
}

void sp_exchange_end(sp_exchange *exchange, sp_precision precision, void *values) {
  if (exchange->plan.neighbours == 0) return;
  const double start = MPI_Wtime();
  sp_exchange_end_packed(exchange);
  exchange->waited += MPI_Wtime() - start;
  if (precision == SP_SINGLE)
    combine_float(exchange, SP_SUM, values);
  else
    combine_double(exchange, SP_SUM, values);
}

double sp_exchange_waited(const sp_exchange *exchange) {
  return exchange->waited;
}

void sp_exchange_now(sp_exchange *exchange, sp_combine combine, double *values) {
  sp_exchange_begin(exchange, SP_DOUBLE, values);
  sp_exchange_end_packed(exchange);
  combine_double(exchange, combine, values);
}
