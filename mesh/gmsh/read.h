/* The work of sp_mesh_reader: a file becomes hexahedra and parts. All functions are Local. */
#pragma once

#include "mesh/gmsh/gmsh.h"
#include "mesh/gmsh/wire.h"

/* Read `path`. If `parts` is not NULL, the file is the whole mesh, and (*parts)[e] is
 * the part of element e, of `size` parts. If `parts` is NULL, the file is one of `size` files. */
sp_status sp_gmsh_read(const char *path, const sp_gmsh_sizes *sizes, int size, sp_hexes **hexes,
                       int **parts);

/* Read `path` by sp_gmsh_read, as a whole mesh with `size` parts or as one of `size` files, and
 * send the answer. The process leaves no core file. */
void sp_gmsh_serve(sp_gmsh_wire *wire, bool whole, int size, const char *path,
                   const sp_gmsh_sizes *sizes);

/* Version of the SDK, "4.8.4". */
const char *sp_gmsh_sdk_version(void);
