#include "operators/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Riders: status and wish. */
enum { MAX_SUMS = 4, RIDERS = 2, MOST = SP_EXCHANGE_TIMES + RIDERS };

struct sp_exchange {
  MPI_Comm comm;
  int size;           /* of comm */
  double *gathered;   /* [size][MOST] at most */
  double *seconds;    /* [SP_EXCHANGE_TIMES][size] */
  int own_wish, wish; /* the latter the largest of all ranks */
  int neighbours;
  int *ranks;    /* [neighbours] */
  sp_lid *start; /* [neighbours + 1] into the buffers */
  sp_lid *dofs;  /* [start[neighbours]], what is sent from where */
  double *sent, *received;
  MPI_Request *requests;
  /* Distinct shared DOFs, and for each its contributions in the order of ranks: places in
   * `received`, or SP_OWN_VALUE. */
  sp_lid targets;
  sp_lid *target;       /* [targets] */
  sp_lid *source_start; /* [targets + 1] */
  sp_lid *sources;
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

/* Sort what arrives, and the rank's own value once for every DOF, by DOF and rank. */
static sp_status plan_targets(sp_exchange *exchange) {
  const size_t shared = (size_t)exchange->start[exchange->neighbours];
  int rank;
  MPI_Comm_rank(exchange->comm, &rank);
  contribution *list;
  SP_TRY(sp_allocate(2 * shared, sizeof *list, "exchange", &list));
  size_t n = 0;
  for (int b = 0; b < exchange->neighbours; b++)
    for (sp_lid s = exchange->start[b]; s < exchange->start[b + 1]; s++) {
      list[n++] = (contribution){exchange->dofs[s], exchange->ranks[b], s};
      list[n++] = (contribution){exchange->dofs[s], rank, SP_OWN_VALUE};
    }
  if (n > 0) qsort(list, n, sizeof *list, compare_contributions);
  sp_status status = sp_allocate(shared, sizeof(sp_lid), "exchange", &exchange->target);
  if (!status)
    status = sp_allocate(shared + 1, sizeof(sp_lid), "exchange", &exchange->source_start);
  if (!status) status = sp_allocate(n, sizeof(sp_lid), "exchange", &exchange->sources);
  sp_lid sources = 0;
  for (size_t i = 0; i < n && !status; i++) {
    if (i > 0 && compare_contributions(&list[i], &list[i - 1]) == 0) continue; /* own, repeated */
    if (i == 0 || list[i].dof != list[i - 1].dof)
      exchange->target[exchange->targets++] = list[i].dof;
    exchange->sources[sources++] = list[i].source;
    exchange->source_start[exchange->targets] = sources;
  }
  free(list);
  return status;
}

static sp_status build(const sp_numbering *numbering, sp_exchange *exchange) {
  const size_t neighbours = (size_t)numbering->neighbours;
  const size_t shared = (size_t)numbering->shared_start[neighbours];
  exchange->neighbours = numbering->neighbours;
  MPI_Comm_size(exchange->comm, &exchange->size);
  const size_t size = (size_t)exchange->size;
  SP_TRY(sp_allocate(size, MOST * sizeof(double), "sums", &exchange->gathered));
  SP_TRY(sp_allocate(size, SP_EXCHANGE_TIMES * sizeof(double), "sums", &exchange->seconds));
  SP_TRY(sp_allocate(neighbours, sizeof(int), "exchange", &exchange->ranks));
  SP_TRY(sp_allocate(neighbours + 1, sizeof(sp_lid), "exchange", &exchange->start));
  SP_TRY(sp_allocate(shared, sizeof(sp_lid), "exchange", &exchange->dofs));
  SP_TRY(sp_allocate(shared, sizeof(double), "exchange", &exchange->sent));
  SP_TRY(sp_allocate(shared, sizeof(double), "exchange", &exchange->received));
  SP_TRY(sp_allocate(2 * neighbours, sizeof(MPI_Request), "exchange", &exchange->requests));
  memcpy(exchange->ranks, numbering->neighbour_ranks, neighbours * sizeof(int));
  memcpy(exchange->start, numbering->shared_start, (neighbours + 1) * sizeof(sp_lid));
  memcpy(exchange->dofs, numbering->shared, shared * sizeof(sp_lid));
  return plan_targets(exchange);
}

sp_status sp_exchange_create(MPI_Comm comm, const sp_numbering *numbering, sp_exchange **out) {
  *out = NULL;
  sp_exchange *exchange;
  sp_status status = sp_allocate(1, sizeof *exchange, "exchange", &exchange);
  if (!status) {
    exchange->comm = comm;
    status = build(numbering, exchange);
  }
  status = sp_agree(comm, status);
  if (status)
    sp_exchange_destroy(&exchange);
  else
    *out = exchange;
  return status;
}

void sp_exchange_destroy(sp_exchange **exchange) {
  if (!*exchange) return;
  free((*exchange)->gathered);
  free((*exchange)->seconds);
  free((*exchange)->ranks);
  free((*exchange)->start);
  free((*exchange)->dofs);
  free((*exchange)->sent);
  free((*exchange)->received);
  free((*exchange)->requests);
  free((*exchange)->target);
  free((*exchange)->source_start);
  free((*exchange)->sources);
  free(*exchange);
  *exchange = NULL;
}

sp_exchange_plan sp_exchange_plan_of(const sp_exchange *exchange) {
  return (sp_exchange_plan){.neighbours = exchange->neighbours,
                            .ranks = exchange->ranks,
                            .start = exchange->start,
                            .dofs = exchange->dofs,
                            .targets = exchange->targets,
                            .target = exchange->target,
                            .source_start = exchange->source_start,
                            .sources = exchange->sources};
}

void sp_exchange_begin_packed(sp_exchange *exchange, const double *sent, double *received) {
  const int neighbours = exchange->neighbours;
  for (int b = 0; b < neighbours; b++) {
    const sp_lid begin = exchange->start[b], n = exchange->start[b + 1] - begin;
    MPI_Irecv(received + begin, n, MPI_DOUBLE, exchange->ranks[b], 0, exchange->comm,
              &exchange->requests[b]);
  }
  for (int b = 0; b < neighbours; b++) {
    const sp_lid begin = exchange->start[b], n = exchange->start[b + 1] - begin;
    MPI_Isend(sent + begin, n, MPI_DOUBLE, exchange->ranks[b], 0, exchange->comm,
              &exchange->requests[neighbours + b]);
  }
}

void sp_exchange_end_packed(sp_exchange *exchange) {
  MPI_Waitall(2 * exchange->neighbours, exchange->requests, MPI_STATUSES_IGNORE);
}

void sp_exchange_begin(sp_exchange *exchange, const double *values) {
  const sp_lid shared = exchange->start[exchange->neighbours];
  for (sp_lid s = 0; s < shared; s++) exchange->sent[s] = values[exchange->dofs[s]];
  sp_exchange_begin_packed(exchange, exchange->sent, exchange->received);
}

void sp_exchange_end(sp_exchange *exchange, sp_combine combine, double *values) {
  sp_exchange_end_packed(exchange);
  for (sp_lid t = 0; t < exchange->targets; t++) {
    const double own = values[exchange->target[t]];
    double result = 0;
    for (sp_lid s = exchange->source_start[t]; s < exchange->source_start[t + 1]; s++) {
      const sp_lid source = exchange->sources[s];
      const double value = source == SP_OWN_VALUE ? own : exchange->received[source];
      if (s == exchange->source_start[t])
        result = value;
      else if (combine == SP_SUM)
        result += value;
      else if (value < result)
        result = value;
    }
    values[exchange->target[t]] = result;
  }
}

void sp_exchange_now(sp_exchange *exchange, sp_combine combine, double *values) {
  sp_exchange_begin(exchange, values);
  sp_exchange_end(exchange, combine, values);
}

/* Every rank's `count` values and what travels with them, [size][count + RIDERS]. */
static sp_status gather(sp_exchange *exchange, int count, double *mine, sp_status status) {
  const int width = count + RIDERS;
  double *all = exchange->gathered;
  mine[count] = status;
  mine[count + 1] = exchange->own_wish;
  MPI_Allgather(mine, width, MPI_DOUBLE, all, width, MPI_DOUBLE, exchange->comm);
  bool failed = false;
  exchange->wish = 0;
  for (int r = 0; r < exchange->size; r++) {
    const int wish = (int)all[r * width + count + 1];
    if (wish > exchange->wish) exchange->wish = wish;
    failed = failed || all[r * width + count] > 0;
  }
  return failed ? sp_agree(exchange->comm, status) : SP_OK;
}

sp_status sp_exchange_sum(sp_exchange *exchange, int count, double *values, double seconds,
                          sp_status status) {
  assert(count <= MAX_SUMS);
  double mine[MAX_SUMS + 1 + RIDERS];
  const int width = count + 1 + RIDERS;
  for (int c = 0; c < count; c++) mine[c] = values[c];
  mine[count] = seconds;
  SP_TRY(gather(exchange, count + 1, mine, status));
  for (int c = 0; c < count; c++) values[c] = 0;
  for (int r = 0; r < exchange->size; r++) {
    for (int c = 0; c < count; c++) values[c] += exchange->gathered[r * width + c];
    exchange->seconds[r] = exchange->gathered[r * width + count];
  }
  return SP_OK;
}

sp_status sp_exchange_times(sp_exchange *exchange, int count, const double *seconds,
                            sp_status status) {
  assert(count <= SP_EXCHANGE_TIMES);
  double mine[SP_EXCHANGE_TIMES + RIDERS];
  const int width = count + RIDERS;
  memcpy(mine, seconds, (size_t)count * sizeof *mine);
  SP_TRY(gather(exchange, count, mine, status));
  for (int i = 0; i < count; i++)
    for (int r = 0; r < exchange->size; r++)
      exchange->seconds[i * exchange->size + r] = exchange->gathered[r * width + i];
  return SP_OK;
}

void sp_exchange_set_wish(sp_exchange *exchange, int wish) {
  exchange->own_wish = wish;
}

int sp_exchange_wish(const sp_exchange *exchange) {
  return exchange->wish;
}

const double *sp_exchange_seconds(const sp_exchange *exchange) {
  return exchange->seconds;
}
