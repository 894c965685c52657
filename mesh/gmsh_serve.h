/* The work of sp_mesh_reader. */
#ifndef SP_MESH_GMSH_SERVE_H
#define SP_MESH_GMSH_SERVE_H

#include "mesh/gmsh_wire.h"

/* Read `path` by sp_gmsh_read (mesh/gmsh_model.h), the whole with parts or one of `size` files, and
 * send the answer. For a .msh this process may take 1 GB and 300 times the size of the file beyond
 * what it has; it leaves no core file. Local. */
void sp_gmsh_serve(sp_gmsh_wire *wire, bool whole, int size, const char *path);

#endif
