/* Case files and arguments. An input is a case file, then, each after a byte 1, arguments.
 *
 * Reading any input gives a case or a message. A case can be written to a file that is read back as
 * the same case; the run log stores it. */
#define _GNU_SOURCE /* memfd_create */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "solver/config/config.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ARGUMENTS = 8, SEPARATOR = 1 };

static int file = -1; /* in memory, rewritten for each input */
static char path[32];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  start_mpi();
  file = memfd_create("case.ini", 0);
  require(file >= 0, "no file in memory");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return 0;
}

static void write_case(const void *text, size_t size) {
  require(ftruncate(file, 0) == 0 && pwrite(file, text, size, 0) == (ssize_t)size,
          "the file in memory cannot be written");
}

static void check_round_trip(const sp_config *config) {
  char *text = NULL, *again = NULL;
  sp_config *copy = NULL;
  require(sp_config_format(config, &text) == SP_OK, "a case that cannot be written");
  write_case(text, strlen(text));
  if (sp_config_read(MPI_COMM_SELF, path, 0, NULL, &copy)) {
    fprintf(stderr, "%s\n%s", sp_error_message(), text);
    require(false, "a case is refused when it is read again");
  }
  require(sp_config_format(copy, &again) == SP_OK, "a case that cannot be written again");
  if (strcmp(text, again) != 0) fprintf(stderr, "%s---- became\n%s", text, again);
  require(strcmp(text, again) == 0, "a case changes when it is written and read");
  sp_config_destroy(&copy);
  free(text);
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  const char *arguments[MAX_ARGUMENTS];
  int argument_count = 0;
  size_t end = size;
  require(text != NULL, "out of memory");
  memcpy(text, data, size);
  text[size] = '\0';
  for (size_t i = 0; i < size; i++) {
    if (text[i] != SEPARATOR) continue;
    if (end == size) end = i;
    text[i] = '\0';
    if (argument_count < MAX_ARGUMENTS) arguments[argument_count++] = &text[i + 1];
  }
  write_case(text, end);
  sp_config *config = NULL;
  const sp_status status = sp_config_read(MPI_COMM_SELF, path, argument_count, arguments, &config);
  if (status)
    require_message(status);
  else
    check_round_trip(config);
  sp_config_destroy(&config);
  free(text);
  return 0;
}
