#include "operators/reduction.h"

#include <stdlib.h>
#include <string.h>

/* MOST: values per message. */
enum { STATUS, REQUEST, RIDERS, MOST = 7, WIDTH = MOST + RIDERS };

struct sp_reduction {
  MPI_Comm comm; /* a duplicate */
  int rank, size;
  int power;              /* largest power of two <= size */
  int request, requested; /* of this rank; the largest of all ranks */
  double seconds;         /* in sums and gathers */
};

sp_status sp_reduction_create(MPI_Comm comm, sp_reduction **out) {
  *out = NULL;
  sp_reduction *reduction;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof *reduction, "reduction", &reduction)));
  MPI_Comm_dup(comm, &reduction->comm);
  reduction->rank = sp_comm_rank(comm);
  reduction->size = sp_comm_size(comm);
  for (reduction->power = 1; reduction->power <= reduction->size / 2;) reduction->power *= 2;
  *out = reduction;
  return SP_OK;
}

void sp_reduction_destroy(sp_reduction **reduction) {
  if (!*reduction) return;
  MPI_Comm_free(&(*reduction)->comm);
  free(*reduction);
  *reduction = NULL;
}

/* Take the maximum of riders, the first entries, and add values. */
static void combine_values(int width, double *mine, const double *other) {
  for (int i = 0; i < RIDERS; i++)
    if (other[i] > mine[i]) mine[i] = other[i];
  for (int i = RIDERS; i < width; i++) mine[i] += other[i];
}

/* Addition is commutative to the bit, so both ranks of a pair form the same sum. */
static void sum_over_tree(const sp_reduction *r, int width, double *mine) {
  double other[WIDTH];
  const int folded = r->rank + r->power; /* the rank that adds to this one first */
  if (r->rank >= r->power) {
    MPI_Send(mine, width, MPI_DOUBLE, r->rank - r->power, 0, r->comm);
    MPI_Recv(mine, width, MPI_DOUBLE, r->rank - r->power, 0, r->comm, MPI_STATUS_IGNORE);
    return;
  }
  if (folded < r->size) {
    MPI_Recv(other, width, MPI_DOUBLE, folded, 0, r->comm, MPI_STATUS_IGNORE);
    combine_values(width, mine, other);
  }
  for (int bit = 1; bit < r->power; bit *= 2) {
    const int partner = r->rank ^ bit;
    MPI_Sendrecv(mine, width, MPI_DOUBLE, partner, 0, other, width, MPI_DOUBLE, partner, 0, r->comm,
                 MPI_STATUS_IGNORE);
    combine_values(width, mine, other);
  }
  if (folded < r->size) MPI_Send(mine, width, MPI_DOUBLE, folded, 0, r->comm);
}

sp_status sp_reduction_sum(sp_reduction *reduction, int count, double *values, sp_status status) {
  int first = 0;
  do {
    const int some = count - first < MOST ? count - first : MOST;
    double mine[WIDTH] = {[STATUS] = status, [REQUEST] = reduction->request};
    for (int i = 0; i < some; i++) mine[RIDERS + i] = values[first + i];
    if (reduction->size > 1) {
      const double start = MPI_Wtime();
      sum_over_tree(reduction, RIDERS + some, mine);
      reduction->seconds += MPI_Wtime() - start;
    }
    reduction->requested = (int)mine[REQUEST];
    for (int i = 0; i < some; i++) values[first + i] = mine[RIDERS + i];
    if (mine[STATUS] > 0) return sp_agree(reduction->comm, status);
    first += some;
  } while (first < count);
  return SP_OK;
}

void sp_reduction_request(sp_reduction *reduction, int request) {
  reduction->request = request;
}

int sp_reduction_requested(const sp_reduction *reduction) {
  return reduction->requested;
}

double sp_reduction_seconds(const sp_reduction *reduction) {
  return reduction->seconds;
}

void sp_reduction_gather(sp_reduction *reduction, int count, const double *mine, double *all) {
  /* Receive with a stride of `size`, so that all[i] is a row of ranks. */
  MPI_Datatype column, spaced;
  if (count == 0) return; /* else MPICH waits for messages that no rank sends */
  if (reduction->size == 1) {
    memcpy(all, mine, (size_t)count * sizeof *all);
    return;
  }
  const double start = MPI_Wtime();
  MPI_Type_vector(count, 1, reduction->size, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof *all, &spaced);
  MPI_Type_commit(&spaced);
  MPI_Gather(mine, count, MPI_DOUBLE, all, 1, spaced, 0, reduction->comm);
  MPI_Type_free(&spaced);
  MPI_Type_free(&column);
  reduction->seconds += MPI_Wtime() - start;
}
