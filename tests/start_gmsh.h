/* Start the gmsh SDK without output to the terminal; gmshFinalize ends it. */
#ifndef SP_TESTS_START_GMSH_H
#define SP_TESTS_START_GMSH_H

#include <gmshc.h>

static inline void start_gmsh(void) {
  int error;
#if GMSH_API_VERSION_MAJOR > 4 || (GMSH_API_VERSION_MAJOR == 4 && GMSH_API_VERSION_MINOR >= 9)
  gmshInitialize(0, NULL, 0, 0, &error);
#else
  gmshInitialize(0, NULL, 0, &error);
#endif
  gmshOptionSetNumber("General.Terminal", 0, &error);
}

#endif
