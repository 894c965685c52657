/* Meshes that gmsh has split: files NAME_1.msh, NAME_2.msh ... in place of NAME.msh, whose names
 * mesh/gmsh.h tells. Functions are Local unless they say otherwise. */
#ifndef SP_MESH_GMSH_PARTS_H
#define SP_MESH_GMSH_PARTS_H

#include "mesh/hexes.h"

/* Refuse parts in formats before 4, on which gmsh 4.8 fails or crashes. */
sp_status sp_gmsh_check_part(const char *path);

/* Give all ranks, each of which has read a part, the same groups (by number), surfaces and volumes,
 * the same order (also those without elements) and the sum of what they leave out. Errors:
 * SP_ERR_INPUT for parts of different order, and if no part has elements. Collective over `comm`.
 */
sp_status sp_gmsh_unify(MPI_Comm comm, const char *path, sp_hexes *hexes);

#endif
