/* Folders that tests read from, which may be elsewhere than when this was built (tests/gpu), and
 * one to write in, with files. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include "tests/check.h"

/* tests/fixtures: small meshes. Local. */
static inline const char *test_fixtures(void) {
  const char *given = getenv("SP_TEST_FIXTURES");
  return given ? given : SP_FIXTURES;
}

/* inputs/: the cases to copy. Local. */
static inline const char *test_inputs(void) {
  const char *given = getenv("SP_TEST_INPUTS");
  return given ? given : SP_INPUTS;
}
/* A new folder becomes the working directory of all ranks; after test_begin. Collective. */
static char test_folder[] = "/tmp/sp_test_XXXXXX";

static inline void enter_folder(void) {
  const bool made = world_rank > 0 || mkdtemp(test_folder);
  MPI_Bcast(test_folder, sizeof test_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!made || chdir(test_folder)) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Remove these files, if they exist, and the folder. It must have no others. Collective. */
static inline void leave_folder(const char *const *names) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (; *names && world_rank == 0; names++) (void)unlink(*names);
  CHECK(chdir("/") == 0 && (world_rank > 0 || rmdir(test_folder) == 0), "%s is left", test_folder);
}

/* Rank 0 writes a file, whose name is returned, after all have read the last one. */
static inline const char *write_file(const char *name, const void *bytes, size_t size) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) abort();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return name;
}

static inline const char *write_text(const char *name, const char *text) {
  return write_file(name, text, strlen(text));
}
