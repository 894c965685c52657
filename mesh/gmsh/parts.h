/* Meshes that gmsh has split into files NAME_1.msh, NAME_2.msh ... in place of NAME.msh;
 * mesh/gmsh/gmsh.h has the functions for their names. */
#pragma once

#include "mesh/hexes.h"

/* Refuse parts in formats before 4, on which gmsh 4.8 fails or crashes. Errors: SP_ERR_INPUT.
 * Local. */
sp_status sp_gmsh_check_part(const char *path);

/* Give all ranks, after each has read a part, the same groups (matched by number), surfaces,
 * volumes and map order (also without elements), and the sum of left_out. Errors: SP_ERR_INPUT for
 * parts of different order, and if no part has elements. Collective over `comm`. */
sp_status sp_gmsh_unify(MPI_Comm comm, const char *path, sp_hexes *hexes);
