/* The gmsh SDK in a process of its own. Damaged files crash it, and so do some geometries: there
 * its end must not be the end of the run. A check of the file beforehand could not promise that,
 * because what crashes the SDK is not known in general, and because a .geo is a program. The memory
 * that the SDK takes goes back when it is done; for a .msh it may take 1 GB and 300 times the size
 * of the file beyond what this process has, so that damaged counts end the child early. */
#ifndef SP_MESH_GMSH_CHILD_H
#define SP_MESH_GMSH_CHILD_H

#include "mesh/hexes.h"

/* Read `path` with the SDK: *hexes, and if `parts` is not NULL the part of each element, of `size`
 * parts. */
typedef sp_status (*sp_gmsh_reader)(const char *path, int size, sp_hexes **hexes, int **parts);

/* Call `reader` in a child process and take over what it returns, message included. The reader must
 * not use MPI. The caller destroys *hexes and frees *parts. Errors: those of `reader`; SP_ERR_INPUT
 * if the process dies, as it may where memory ends; SP_ERR_SYSTEM if there can be none. Local. */
sp_status sp_gmsh_in_child(sp_gmsh_reader reader, const char *path, int size, sp_hexes **hexes,
                           int **parts);

#endif
