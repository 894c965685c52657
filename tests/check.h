/* Checks for tests. A failed check prints one line and is counted. The program continues, so that
 * no rank skips a collective call in which others wait. Common test frameworks jump out of a test
 * and cannot be used. A main function begins with test_begin and ends with `return check_end()`. */
#pragma once

#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/error.h"

static int check_failures = 0;
static int check_count = 0;
static int world_rank, world_size; /* of MPI_COMM_WORLD, after test_begin */

/* Begin MPI as the programs do. */
static inline void test_begin(int *argc, char ***argv) {
  int level;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
  world_rank = sp_comm_rank(MPI_COMM_WORLD);
  world_size = sp_comm_size(MPI_COMM_WORLD);
}

/* Texts as a list that ends with NULL, and the length of an array. */
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* AUTO(sp_mesh) mesh = NULL; is destroyed at the end of its scope, like AUTO_VALUE(sp_vector) x. */
#define AUTO SP_AUTO
#define AUTO_VALUE SP_AUTO_VALUE

/* Printf-style description after the condition: CHECK(n == 3, "n is %d", n). */
#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    check_count++;                                                                                 \
    if (!(condition)) {                                                                            \
      check_failures++;                                                                            \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                       \
      printf(__VA_ARGS__);                                                                         \
      printf("\n");                                                                                \
      fflush(stdout);                                                                              \
    }                                                                                              \
  } while (0)

/* |a - b| <= tolerance; fails on NaN. */
#define CHECK_CLOSE(a, b, tolerance)                                                               \
  do {                                                                                             \
    const double check_a = (a), check_b = (b), check_tolerance = (tolerance);                      \
    CHECK(fabs(check_a - check_b) <= check_tolerance, "%.17g against %.17g, off by %.3g > %.3g",   \
          check_a, check_b, fabs(check_a - check_b), check_tolerance);                             \
  } while (0)

/* The call succeeds; or it fails with this status and a message that has `words`. */
#define CHECK_OK(call) CHECK((call) == SP_OK, "%s", sp_error_message())
#define CHECK_FAILS(call, status, words)                                                           \
  CHECK((call) == (status) && strstr(sp_error_message(), words), "'%s'", sp_error_message())

/* Equal texts, or both NULL. */
#define CHECK_TEXT(a, b)                                                                           \
  do {                                                                                             \
    const char *check_a = (a), *check_b = (b);                                                     \
    CHECK(check_a &&check_b ? strcmp(check_a, check_b) == 0 : check_a == check_b,                  \
          "'%s' instead of '%s'", check_a ? check_a : "NULL", check_b ? check_b : "NULL");         \
  } while (0)

/* A set-up without which nothing is left to test. */
static inline void require(sp_status status) {
  CHECK_OK(status);
  if (status) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Wrong input was refused with one line, the same on all ranks, in which each of `parts` occurs,
 * whose list ends with NULL. Collective over MPI_COMM_WORLD. */
static inline void check_refusal(const char *what, sp_status status, const char *const *parts) {
  char first[1024] = "";
  CHECK(status == SP_ERR_INPUT, "%s: status %d", what, (int)status);
  for (; *parts; parts++)
    CHECK(strstr(sp_error_message(), *parts), "%s: '%s' is not in '%s'", what, *parts,
          sp_error_message());
  CHECK(!strchr(sp_error_message(), '\n'), "two lines: %s", sp_error_message());
  snprintf(first, sizeof first, "%s", sp_error_message());
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(strcmp(first, sp_error_message()) == 0, "'%s', on rank 0 '%s'", sp_error_message(), first);
}

static void **test_arrays = NULL;
static size_t test_array_count = 0;

/* Zeroed memory, until test_release with an earlier mark, or check_end. */
static inline void *test_array(size_t count, size_t size) {
  void *array = calloc(count + 1, size);
  test_arrays = (void **)realloc(test_arrays, (test_array_count + 1) * sizeof *test_arrays);
  if (!array || !test_arrays) MPI_Abort(MPI_COMM_WORLD, 1);
  test_arrays[test_array_count++] = array;
  return array;
}

static inline size_t test_mark(void) {
  return test_array_count;
}

/* Free the arrays made since test_mark returned `mark`. */
static inline void test_release(size_t mark) {
  while (test_array_count > mark) free(test_arrays[--test_array_count]);
}

static inline void test_release_at(const size_t *mark) {
  test_release(*mark);
}

/* The arrays made after this line are freed at the end of its scope. */
#define ARRAYS_OF_SCOPE                                                                            \
  __attribute__((cleanup(test_release_at), unused)) const size_t arrays_of_scope = test_mark()

/* A text by printf's format, an array as above. */
__attribute__((format(printf, 1, 2))) static inline const char *test_text(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = (char *)test_array((size_t)length, 1);
  va_start(arguments, format);
  vsnprintf(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}

/* Sum the counts over all ranks, print them on rank 0, and end MPI; 0 if all checks passed and
 * there was one. CTest sets SP_TEST_RANKS to the number of ranks: the launcher of another MPI would
 * start as many programs of one rank. Collective. */
static inline int check_end(void) {
  const char *wanted = getenv("SP_TEST_RANKS");
  int all[2];
  if (wanted && atoi(wanted) != world_size)
    CHECK(0, "%d of %s ranks: does mpiexec belong to this MPI?", world_size, wanted);
  test_release(0);
  free(test_arrays);
  const int local[2] = {check_count, check_failures};
  MPI_Allreduce(local, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) printf("%d checks, %d failed\n", all[0], all[1]);
  MPI_Finalize();
  return all[0] == 0 || all[1] > 0;
}
