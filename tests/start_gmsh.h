/* Meshes by the gmsh SDK, without output to the terminal; gmshFinalize ends it. */
#pragma once

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

/* Start, open a geometry (NULL: after start_gmsh, the caller's) and mesh it, to be written in a
 * format; `all`: elements in no group are also written. Returns the number of errors. */
static inline int make_mesh(const char *geometry, double version, int binary, int order, int all) {
  int opened = 0, meshed, error;
  if (geometry) start_gmsh();
  gmshOptionSetNumber("Mesh.MshFileVersion", version, &error);
  gmshOptionSetNumber("Mesh.Binary", binary, &error);
  gmshOptionSetNumber("Mesh.SaveAll", all, &error);
  if (geometry) gmshOpen(geometry, &opened);
  gmshOptionSetNumber("Mesh.ElementOrder", order, &error);
  gmshModelMeshGenerate(3, &meshed);
  return (opened != 0) + (meshed != 0);
}

/* Returns the number of errors. */
static inline int write_mesh(const char *path) {
  int error;
  gmshWrite(path, &error);
  return error != 0;
}
