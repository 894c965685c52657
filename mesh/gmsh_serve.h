/* The work of sp_mesh_reader. */
#ifndef SP_MESH_GMSH_SERVE_H
#define SP_MESH_GMSH_SERVE_H

#include "mesh/gmsh_wire.h"

/* Read `path` by sp_gmsh_read (mesh/gmsh_model.h), as a whole mesh with `size` parts or as one of
 * `size` files, and send the answer. For a .msh this process may allocate 1 GB plus 300 times the
 * size of the file. It leaves no core file. Local. */
void sp_gmsh_serve(sp_gmsh_wire *wire, bool whole, int size, const char *path);

#endif
