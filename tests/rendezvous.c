/* Values by name: each rank gets the values of the names that it requests, bit for bit, from any
 * rank; duplicate and missing names are errors. */
#include "io/rendezvous.h"

#include "io/hash.h"
#include "tests/check.h"

/* Names spread over all 64 bits, some with an equal part. */
static sp_row_name name_of(int64_t row) {
  return (sp_row_name){{(int64_t)sp_hash((uint64_t)row / 3), row % 3 - 1}};
}

static int64_t value_of(int64_t row) {
  return (int64_t)sp_hash((uint64_t)row + 5);
}

/* True if this rank has row `row`. The last of several ranks has none. */
static bool is_mine(int64_t row) {
  const int holders = world_size > 1 ? world_size - 1 : 1;
  return (int)(sp_hash((uint64_t)row + 77) % (uint64_t)holders) == world_rank;
}

/* `count` rows on all ranks; this rank requests every (rank + 1)th, last first. Row `twice` (-1:
 * none) is on rank 0 a second time; with `missing` the last rank requests a name that no rank has.
 */
static sp_status look_up(int64_t count, int64_t twice, bool missing) {
  ARRAYS_OF_SCOPE;
  sp_row *rows = test_array(2 * (size_t)count + 2, sizeof *rows);
  size_t total = 0;
  for (int64_t row = 0; row < count; row++)
    for (int copy = 0; copy < is_mine(row) + (world_rank == 0 && row == twice); copy++)
      rows[total++] = (sp_row){name_of(row), false, value_of(row)};
  const size_t have = total;
  for (int64_t row = count - 1; row >= 0; row -= world_rank + 1)
    rows[total++] = (sp_row){name_of(row), true, 0};
  if (missing && world_rank == world_size - 1) rows[total++] = (sp_row){name_of(count), true, 0};
  const sp_status status = sp_rendezvous(MPI_COMM_WORLD, total, rows);
  for (size_t w = have; !status && w < total; w++) {
    const int64_t row = count - 1 - (int64_t)(w - have) * (world_rank + 1);
    CHECK(rows[w].value == value_of(row), "value of row %lld", (long long)row);
  }
  return status;
}

/* Every rank names the rows that are multiples of rank + 1, twice: a name has one number
 * everywhere, and the numbers are 0 to count - 1. */
static void number_names(int64_t count) {
  ARRAYS_OF_SCOPE;
  sp_row_name *names = test_array(2 * (size_t)count, sizeof *names);
  int64_t *numbers = test_array(2 * (size_t)count, sizeof *numbers), n = 0;
  int64_t *of_row = test_array(2 * (size_t)count, sizeof *of_row), *owners = of_row + count;
  for (int twice = 0; twice < 2; twice++)
    for (int64_t row = 0; row < count; row += world_rank + 1) names[n++] = name_of(row);
  CHECK_OK(sp_rendezvous_number(MPI_COMM_WORLD, n, names, numbers));
  for (int64_t row = 0; row < count; row++) of_row[row] = -1;
  for (int64_t i = 0; i < n; i++) of_row[i % (n / 2) * (world_rank + 1)] = numbers[i];
  MPI_Allreduce(MPI_IN_PLACE, of_row, (int)count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  for (int64_t i = 0; i < n; i++)
    CHECK(numbers[i] == of_row[i % (n / 2) * (world_rank + 1)], "a name has two numbers");
  for (int64_t row = 0; row < count; row++) {
    const bool in = of_row[row] >= 0 && of_row[row] < count;
    CHECK(in && owners[of_row[row]]++ == 0, "row %lld has the number %lld", (long long)row,
          (long long)of_row[row]);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  static const int64_t counts[] = {0, 1, 2, 100, 4099};
  for (size_t c = 0; c < COUNT_OF(counts); c++) CHECK_OK(look_up(counts[c], -1, false));
  for (size_t c = 0; c < COUNT_OF(counts); c++) number_names(counts[c]);
  CHECK_FAILS(look_up(100, 41, false), SP_ERR_INPUT, "two rows have the name");
  CHECK_FAILS(look_up(100, -1, true), SP_ERR_INPUT, "no row has the name");
  return check_end();
}
