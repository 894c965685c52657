/* The gmsh SDK in a process of its own, the program sp_mesh_reader. Damaged files and some
 * geometries crash the SDK, which must not end the run. Checking the file first is not enough: not
 * all causes are known, and a .geo is a program. A .msh is read there by our own reader
 * (mesh/gmsh/model.h). All memory is released when the process ends.
 *
 * posix_spawn starts it, because many network libraries do not survive a fork of a process that
 * uses MPI. The program is searched for relative to the running one: in the folder mesh/ of a build
 * tree, and the folder of `cmake --install`. It does not inherit the environment of MPI's launcher,
 * since gmsh may be built with MPI. */
#pragma once

#include "mesh/gmsh/gmsh.h"

/* Run sp_gmsh_read (mesh/gmsh/read.h) in the reader. If `parts` is not NULL, the file is the whole
 * mesh, and (*parts)[e] is the part of element e, of `size` parts. If `parts` is NULL, the file is
 * one of `size` files. The caller destroys *hexes and frees *parts. While it waits, `terminal`
 * shows a progress line; NULL: none. Errors: as sp_gmsh_read; SP_ERR_INPUT if the process crashes,
 * for example out of memory; SP_ERR_SYSTEM if it cannot be started. Local. */
sp_status sp_gmsh_in_child(const char *path, const sp_gmsh_sizes *sizes, int size,
                           sp_terminal *terminal, sp_hexes **hexes, int **parts);
