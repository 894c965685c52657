/* The folders that tests read from, which may be elsewhere than when this was built (tests/gpu). */
#ifndef SP_TESTS_FOLDERS_H
#define SP_TESTS_FOLDERS_H

#include <stdlib.h>

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

#endif
