/* Gathered records: in rank order, also from ranks that have none; too many are refused. */
#include "io/rendezvous.h"

#include <limits.h>

#include "tests/check.h"

typedef struct record {
  int rank, index;
  char text[5]; /* an odd width */
} record;

/* Rank r has r + 1 records, or none if r is odd and `gaps` is set. */
static size_t count_of(int rank, bool gaps) {
  return gaps && rank % 2 ? 0 : (size_t)rank + 1;
}

static void check_records(bool gaps) {
  const size_t count = count_of(world_rank, gaps);
  size_t total = 0, at = 0;
  record *mine = calloc(count + 1, sizeof *mine), *all;
  if (!mine) abort();
  for (size_t n = 0; n < count; n++) {
    mine[n] = (record){world_rank, (int)n, "abcd"};
    mine[n].text[0] = (char)('0' + world_rank);
  }
  CHECK_OK(sp_gather_records(MPI_COMM_WORLD, mine, count, sizeof *mine, "records", &all, &total));
  for (int r = 0; r < world_size && all; r++)
    for (size_t n = 0; n < count_of(r, gaps) && at < total; n++, at++)
      CHECK(all[at].rank == r && all[at].index == (int)n && all[at].text[0] == '0' + r &&
                strcmp(all[at].text + 1, "bcd") == 0,
            "record %zu is record %d of rank %d", at, all[at].index, all[at].rank);
  size_t expected = 0;
  for (int r = 0; r < world_size; r++) expected += count_of(r, gaps);
  CHECK(total == expected && at == expected, "%zu records, expected %zu", total, expected);
  SP_FREE(mine, all);
}

/* The records are not read, so they need not exist. */
static void check_too_many(void) {
  const size_t count = (size_t)INT_MAX / (size_t)world_size + 1;
  size_t total = 1;
  record *all = (record *)&total;
  CHECK_FAILS(sp_gather_records(MPI_COMM_WORLD, NULL, count, sizeof *all, "records", &all, &total),
              SP_ERR_INPUT, "records: more than 2147483647");
  CHECK(!all && total == 0, "something is left after a failure");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_records(false);
  check_records(true);
  check_too_many();
  return check_end();
}
