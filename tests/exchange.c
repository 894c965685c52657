/* The exchange against values gathered from all ranks and combined one after another. */
#include "operators/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "tests/deformed_box.h"

static MPI_Comm comm;
static int rank, size;

/* What a rank contributes: magnitudes far apart, so that sums in another order have other bits. */
static double contribution(int from, int seed, sp_gid number) {
  static const double magnitudes[] = {1, 1e8, 1e-5, 3e3};
  return magnitudes[from % 4] * random_value(100 * seed + from, number);
}

/* Which ranks hold the DOFs of the whole box: [ranks][DOFs]. */
static unsigned char *gather_holders(const deformed_box *box) {
  const sp_lid n = box->whole_numbering->local;
  unsigned char *mine = test_allocate((size_t)n, 1);
  unsigned char *all = test_allocate((size_t)n * (size_t)size, 1);
  for (sp_lid i = 0; i < box->numbering->local; i++) mine[box->whole_dof[i]] = 1;
  MPI_Allgather(mine, n, MPI_UNSIGNED_CHAR, all, n, MPI_UNSIGNED_CHAR, comm);
  free(mine);
  return all;
}

/* The combined value of a DOF, and how many ranks hold it. */
static double combine_all(const deformed_box *box, const unsigned char *holders, sp_combine combine,
                          int seed, sp_lid whole, int *count) {
  double result = 0;
  *count = 0;
  for (int r = 0; r < size; r++) {
    if (!holders[(size_t)r * (size_t)box->whole_numbering->local + (size_t)whole]) continue;
    const double value = contribution(r, seed, whole);
    if ((*count)++ == 0)
      result = value;
    else
      result = combine == SP_SUM ? result + value : fmin(result, value);
  }
  return result;
}

/* Odd rounds hide other work between beginning and end: unshared values may change meanwhile. */
static void check_combine(const deformed_box *box, sp_exchange *exchange,
                          const unsigned char *holders, sp_combine combine, int round) {
  const sp_lid n = box->numbering->local;
  double *values = test_allocate((size_t)n, sizeof *values);
  for (sp_lid i = 0; i < n; i++) values[i] = contribution(rank, round, box->whole_dof[i]);
  int count, most = 0;
  if (round % 2) {
    sp_exchange_begin(exchange, values);
    for (sp_lid i = 0; i < n; i++) {
      combine_all(box, holders, combine, round, box->whole_dof[i], &count);
      if (count == 1) values[i] *= 2;
    }
    sp_exchange_end(exchange, combine, values);
  } else {
    sp_exchange_now(exchange, combine, values);
  }
  sp_lid wrong = 0;
  for (sp_lid i = 0; i < n; i++) {
    double want = combine_all(box, holders, combine, round, box->whole_dof[i], &count);
    if (count == 1 && round % 2) want *= 2;
    if (count > most) most = count;
    wrong += memcmp(&values[i], &want, sizeof want) != 0;
  }
  CHECK(wrong == 0, "%d of %d values differ from the sum in rank order", wrong, n);
  CHECK(count_different_bits(comm, box, values) == 0, "holders differ");
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, comm);
  CHECK(most == size, "the box should have DOFs that all %d ranks hold, not only %d", size, most);
  free(values);
}

static void check_box(const int elements[3], int order) {
  deformed_box box;
  deformed_box_create(comm, elements, 1, order, &box);
  CHECK(box.conflicts == 0, "%d nodes are numbered inconsistently", box.conflicts);
  sp_exchange *exchange;
  CHECK(sp_exchange_create(comm, box.numbering, &exchange) == SP_OK, "%s", sp_error_message());
  unsigned char *holders = gather_holders(&box);
  for (int round = 0; round < 4; round++) {
    check_combine(&box, exchange, holders, SP_SUM, round);
    check_combine(&box, exchange, holders, SP_MIN, round);
  }
  free(holders);
  sp_exchange_destroy(&exchange);
  CHECK(exchange == NULL, "destroyed");
  sp_exchange_destroy(&exchange);
  deformed_box_destroy(&box);
}

static void check_sums(void) {
  deformed_box box;
  deformed_box_create(comm, (const int[3]){2, 2, 2}, 1, 2, &box);
  sp_exchange *exchange;
  CHECK(sp_exchange_create(comm, box.numbering, &exchange) == SP_OK, "%s", sp_error_message());

  for (int count = 1; count <= 4; count++) {
    double values[4];
    for (int c = 0; c < count; c++) values[c] = contribution(rank, 7, c);
    CHECK(sp_exchange_sum(exchange, count, values, 0.5 + rank, SP_OK) == SP_OK, "%s",
          sp_error_message());
    for (int c = 0; c < count; c++) {
      double want = contribution(0, 7, c);
      for (int r = 1; r < size; r++) want += contribution(r, 7, c);
      CHECK_CLOSE(values[c], want, 0);
    }
    for (int r = 0; r < size; r++) CHECK_CLOSE(sp_exchange_seconds(exchange)[r], 0.5 + r, 0);
  }

  double seconds[SP_EXCHANGE_TIMES];
  for (int count = 0; count <= SP_EXCHANGE_TIMES; count += 32) {
    for (int i = 0; i < count; i++) seconds[i] = contribution(rank, i, 0);
    CHECK(sp_exchange_times(exchange, count, seconds, SP_OK) == SP_OK, "%s", sp_error_message());
    for (int i = 0; i < count; i++)
      for (int r = 0; r < size; r++)
        CHECK_CLOSE(sp_exchange_seconds(exchange)[i * size + r], contribution(r, i, 0), 0);
  }

  /* The wish of any rank reaches all, and goes when it is taken back. */
  CHECK(sp_exchange_wish(exchange) == 0, "a wish that nobody has");
  for (int wishing = 0; wishing < size; wishing++) {
    sp_exchange_set_wish(exchange, rank == wishing ? 2 : rank == 0);
    CHECK(sp_exchange_sum(exchange, 0, NULL, 0, SP_OK) == SP_OK, "%s", sp_error_message());
    CHECK(sp_exchange_wish(exchange) == 2, "rank %d's wish is %d", wishing,
          sp_exchange_wish(exchange));
  }
  sp_exchange_set_wish(exchange, 0);
  CHECK(sp_exchange_sum(exchange, 0, NULL, 0, SP_OK) == SP_OK && sp_exchange_wish(exchange) == 0,
        "a wish stays");

  for (int failing = 0; failing < size; failing++) {
    sp_status status = SP_OK;
    sp_fail(SP_ERR_INPUT, "an old message of rank %d", rank);
    if (rank == failing) status = sp_fail(SP_ERR_BREAKDOWN, "rank %d has failed", rank);
    double value = 1;
    status = sp_exchange_sum(exchange, 1, &value, 0, status);
    char want[64];
    snprintf(want, sizeof want, "rank %d has failed", failing);
    CHECK(status == SP_ERR_BREAKDOWN, "status %d", (int)status);
    CHECK(sp_exchange_times(exchange, 1, seconds, rank == failing ? status : SP_OK) ==
              SP_ERR_BREAKDOWN,
          "a failure that travels with times is lost");
    CHECK(strcmp(sp_error_message(), want) == 0, "message '%s'", sp_error_message());
  }
  double value = 1;
  CHECK(sp_exchange_sum(exchange, 1, &value, 0, SP_OK) == SP_OK, "a failure is not remembered");
  CHECK_CLOSE(value, size, 0);
  sp_exchange_destroy(&exchange);
  deformed_box_destroy(&box);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int elements[3] = {2, 2, 3};
  for (int order = 1; order <= 4; order++) check_box(elements, order);
  check_box((const int[3]){2, 2, 1}, 9);
  check_sums();
  const int result = check_end(comm);
  MPI_Finalize();
  return result;
}
