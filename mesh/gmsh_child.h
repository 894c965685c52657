/* The gmsh SDK in a process of its own, the program sp_mesh_reader. Damaged files crash the SDK,
 * and so do some geometries: there its end must not be the end of the run. A check of the file
 * beforehand could not promise that, because what crashes the SDK is not known in general, and
 * because a .geo is a program. The memory that the SDK takes goes back when it is done; for a .msh
 * it may take 1 GB and 300 times the size of the file, so that damaged counts end it early. */
#ifndef SP_MESH_GMSH_CHILD_H
#define SP_MESH_GMSH_CHILD_H

#include "mesh/hexes.h"

/* sp_gmsh_read (mesh/gmsh_model.h) in the reader: *hexes, and if `parts` is not NULL the part of
 * each element, of `size` parts; with `parts` NULL the file is one of `size` files. The caller
 * destroys *hexes and frees *parts. Errors: those of sp_gmsh_read; SP_ERR_INPUT if the process
 * dies, as it may where memory ends; SP_ERR_SYSTEM if it cannot be started. Local. */
sp_status sp_gmsh_in_child(const char *path, int size, sp_hexes **hexes, int **parts);

#endif
