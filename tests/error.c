/* Agreement on errors: all ranks get the error of the lowest failing rank. */
#include "io/error.h"

#include <stdint.h>

#include "tests/check.h"

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  const int rank = world_rank, size = world_size;
  CHECK(sp_agree(MPI_COMM_WORLD, SP_OK) == SP_OK, "nobody failed");

  for (int first = 0; first < size; first++) {
    sp_status status = SP_OK;
    if (rank >= first)
      status = sp_fail(rank == first ? SP_ERR_BREAKDOWN : SP_ERR_INPUT, "rank %d fails", rank);
    status = sp_agree(MPI_COMM_WORLD, status);
    char expected[64];
    snprintf(expected, sizeof expected, "rank %d fails", first);
    CHECK(status == SP_ERR_BREAKDOWN, "status %d", (int)status);
    CHECK_TEXT(sp_error_message(), expected);
  }

  /* SP_ERR_ELSEWHERE has the lowest priority. */
  sp_status waited = sp_fail(rank == size - 1 ? SP_ERR_SYSTEM : SP_ERR_ELSEWHERE, "rank %d", rank);
  CHECK(sp_agree(MPI_COMM_WORLD, waited) == SP_ERR_SYSTEM, "the cause");
  CHECK(atoi(sp_error_message() + 5) == size - 1, "message '%s'", sp_error_message());
  waited = rank == 0 ? SP_OK : sp_fail(SP_ERR_ELSEWHERE, "rank %d", rank);
  const sp_status expected = size > 1 ? SP_ERR_ELSEWHERE : SP_OK;
  CHECK(sp_agree(MPI_COMM_WORLD, waited) == expected, "nobody knows the cause");
  CHECK(atoi(sp_error_message() + 5) == (size > 1 ? 1 : 0), "message '%s'", sp_error_message());

  sp_fail(SP_ERR_INPUT, "inner");
  sp_fail(SP_ERR_INPUT, "outer: %s", sp_error_message());
  CHECK_TEXT(sp_error_message(), "outer: inner");
  sp_fail(SP_ERR_INPUT, "a\tb \x7F\xC3\xA9\n");
  CHECK_TEXT(sp_error_message(), "a?b ?\xC3\xA9?");

  const int codes[] = {0, 1, 1, 2, 3, 4, 5, 1};
  for (int status = SP_OK; status <= SP_ERR_ELSEWHERE; status++)
    CHECK(sp_exit_code((sp_status)status) == codes[status], "exit code of %d", status);

  double *array = NULL;
  CHECK(sp_allocate(3, sizeof *array, "test", &array) == SP_OK && array && array[2] == 0, "zeroed");
  free(array);
  CHECK(sp_allocate(SIZE_MAX / 4, sizeof *array, "test", &array) == SP_ERR_SYSTEM, "overflow");
  CHECK(array == NULL, "no memory after a failure");

  return check_end();
}
