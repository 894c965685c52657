/* Sums over ranks: the bits of the tree, on every rank; the status and the requests that travel
 * with them; gathered values. On communicators of 1, 2, ... of the program's ranks, in order and in
 * reverse order; sizes that are no power of two take another path. */
#include "operators/reduction.h"

#include "tests/check.h"
#include "tests/deformed_box.h"

/* A communicator, and sums on it. */
typedef struct ring {
  MPI_Comm comm;
  int rank, size;
  sp_reduction *reduction;
} ring;

/* The values of a rank: of very different magnitudes, so that another order of summation gives
 * other bits. */
static double contribution(int from, int seed, int number) {
  static const double magnitudes[] = {1, 1e8, 1e-5, 3e3};
  return magnitudes[from % 4] * random_value(100 * seed + from, number);
}

/* Ranks [first, first + count), count a power of two: the sums of both halves are added last, so
 * that ranks which differ in bit 0 are added first. */
static double sum_of_pairs(int first, int count, const double *values) {
  return count == 1 ? values[first]
                    : sum_of_pairs(first, count / 2, values) +
                          sum_of_pairs(first + count / 2, count / 2, values);
}

/* The sum of one value per rank in the order of operators/reduction.h. Changes `values`. */
static double sum_in_order(int size, double *values) {
  int power = 1;
  while (2 * power <= size) power *= 2;
  for (int r = power; r < size; r++) values[r - power] += values[r];
  return sum_of_pairs(0, power, values);
}

static void check_sums(const ring *g) {
  enum { most = 20 };
  double *all = test_array((size_t)g->size, sizeof *all);
  for (int seed = 0; seed < 8; seed++)
    for (int count = 0; count <= most; count++) {
      double values[most], first[most];
      /* Entries beyond `count` are not touched. */
      for (int c = 0; c < most; c++) values[c] = contribution(g->rank, seed, c);
      CHECK_OK(sp_reduction_sum(g->reduction, count, count ? values : NULL, SP_OK));
      for (int c = 0; c < most; c++) {
        const double mine = contribution(g->rank, seed, c);
        MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, g->comm);
        const double want = c < count ? sum_in_order(g->size, all) : mine;
        CHECK(memcmp(&values[c], &want, sizeof want) == 0, "value %d of %d: %.17g, not %.17g", c,
              count, values[c], want);
      }
      memcpy(first, values, sizeof first);
      MPI_Bcast(first, count, MPI_DOUBLE, 0, g->comm);
      CHECK(memcmp(first, values, sizeof first) == 0, "rank %d has other bits than rank 0",
            g->rank);
    }
}

/* Sums do not interfere with messages on the caller's communicator. */
static void check_apart(const ring *g) {
  const int next = (g->rank + 1) % g->size, before = (g->rank + g->size - 1) % g->size;
  double mine = 100 + g->rank, received = 0, value = 1;
  MPI_Request request;
  MPI_Irecv(&received, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, g->comm, &request);
  CHECK_OK(sp_reduction_sum(g->reduction, 1, &value, SP_OK));
  CHECK_CLOSE(value, g->size, 0);
  MPI_Send(&mine, 1, MPI_DOUBLE, next, 0, g->comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_CLOSE(received, 100 + before, 0);
}

/* The request of any rank reaches all, with a sum of any length, and ends when it is withdrawn. */
static void check_requests(const ring *g) {
  double values[4] = {1, 1, 1, 1};
  CHECK(sp_reduction_requested(g->reduction) == 0, "a request that nobody has");
  for (int requesting = 0; requesting < g->size; requesting++) {
    sp_reduction_request(g->reduction, g->rank == requesting ? 2 : g->rank == 0);
    CHECK(sp_reduction_requested(g->reduction) == (requesting > 0 ? 2 : 0),
          "a request is known before the sum");
    CHECK_OK(sp_reduction_sum(g->reduction, requesting % 5, values, SP_OK));
    CHECK(sp_reduction_requested(g->reduction) == 2, "rank %d's request is %d", requesting,
          sp_reduction_requested(g->reduction));
  }
  /* It stays until it is changed. */
  CHECK(sp_reduction_sum(g->reduction, 0, NULL, SP_OK) == SP_OK &&
            sp_reduction_requested(g->reduction) == 2,
        "a request is lost");
  sp_reduction_request(g->reduction, 0);
  CHECK(sp_reduction_sum(g->reduction, 0, NULL, SP_OK) == SP_OK &&
            sp_reduction_requested(g->reduction) == 0,
        "a request stays");
}

/* Rank `failing` and higher ranks in `others` fail; all ranks get the error of the lowest. */
static void check_failure(const ring *g, int failing, bool others) {
  sp_status status = SP_OK;
  sp_fail(SP_ERR_INPUT, "an old message of rank %d", g->rank);
  if (g->rank == failing) status = sp_fail(SP_ERR_BREAKDOWN, "rank %d has failed", g->rank);
  if (g->rank > failing && others) status = sp_fail(SP_ERR_SYSTEM, "rank %d, too", g->rank);
  double value = 1;
  status = sp_reduction_sum(g->reduction, 1, &value, status);
  char want[64];
  snprintf(want, sizeof want, "rank %d has failed", failing);
  CHECK(status == SP_ERR_BREAKDOWN, "status %d", (int)status);
  CHECK_TEXT(sp_error_message(), want);
}

static void check_statuses(const ring *g) {
  for (int failing = 0; failing < g->size; failing++) {
    check_failure(g, failing, false);
    check_failure(g, failing, true);
    double value = 1;
    CHECK(sp_reduction_sum(g->reduction, 1, &value, SP_OK) == SP_OK, "a failure is remembered");
    CHECK_CLOSE(value, g->size, 0);
  }
}

/* On rank 0, [count][ranks]; nothing behind it is touched, and other ranks need no room. */
static void check_gather(const ring *g) {
  enum { MOST = 64, UNTOUCHED = -7 };
  for (int count = 0; count <= MOST; count = count < 3 ? count + 1 : count + 61) {
    double mine[MOST], *all = NULL;
    const size_t room = (size_t)count * (size_t)g->size + 1;
    for (int i = 0; i < count; i++) mine[i] = contribution(g->rank, i, 0);
    if (g->rank == 0) {
      all = test_array(room, sizeof *all);
      for (size_t i = 0; i < room; i++) all[i] = UNTOUCHED;
    }
    sp_reduction_gather(g->reduction, count, mine, all);
    if (!all) continue;
    for (int i = 0; i < count; i++)
      for (int r = 0; r < g->size; r++) CHECK_CLOSE(all[i * g->size + r], contribution(r, i, 0), 0);
    CHECK_CLOSE(all[room - 1], UNTOUCHED, 0);
  }
}

static void check_ring(MPI_Comm comm) {
  ring g = {.comm = comm, .rank = sp_comm_rank(comm), .size = sp_comm_size(comm)};
  CHECK_OK(sp_reduction_create(comm, &g.reduction));
  check_requests(&g);
  check_sums(&g);
  check_apart(&g);
  check_statuses(&g);
  check_gather(&g);
  sp_reduction_destroy(&g.reduction);
  CHECK(!g.reduction, "destroyed");
  sp_reduction_destroy(&g.reduction);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  for (int part = 1; part <= world_size; part++)
    for (int sign = -1; sign <= 1; sign += 2) {
      MPI_Comm comm; /* the first `part` ranks, and the others */
      MPI_Comm_split(MPI_COMM_WORLD, world_rank < part, sign * world_rank, &comm);
      check_ring(comm);
      MPI_Comm_free(&comm);
    }
  check_ring(MPI_COMM_WORLD);
  return check_end();
}
