/* Meshes from files, through the gmsh SDK; only mesh/gmsh*.c know it. */
#ifndef SP_MESH_GMSH_H
#define SP_MESH_GMSH_H

#include "mesh/hexes.h"

/* Read the hexahedra of `path` (.msh 2.2 or 4.1, ASCII or binary, or .geo, which is meshed first)
 * on rank 0, divide them over the ranks of `comm` with the SDK's METIS, and send each rank its
 * part. Where there are physical volumes, only their hexahedra are read, and left_out counts the
 * other volume elements; a .geo with other groups alone gives none, as `gmsh -3` would. Where
 * `path` NAME.msh does not exist but NAME_1.msh does, gmsh has split the mesh (gmsh -part N
 * -part_split): rank r reads NAME_(r+1).msh and nothing else, ghost elements are ignored, and the
 * number of files must be that of the ranks. Elements, vertex numbers and groups are then those of
 * the unsplit file; only the elements' ranks and order may differ. Parts must have format 4.1.
 * Hexahedra of any one order with a full lattice of nodes are read (8, 27, 64 ... nodes); surfaces
 * come from two-dimensional physical groups. Elements listed twice are read once. Elements
 * whose nodes follow no smooth map are counted (mesh/roughness.h). Errors:
 * SP_ERR_INPUT or SP_ERR_SYSTEM with the path: no such file, gmsh's own message, no hexahedra,
 * other volume elements among them, more ranks than elements, a split for another number of ranks,
 * parts missing. The caller destroys *out. Collective over `comm`. */
sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, sp_hexes **out);

/* Whether sp_gmsh_hexes would read parts. Local. */
bool sp_gmsh_is_split(const char *path);

/* How many files NAME_1.msh, NAME_2.msh ... stand for `path` NAME.msh: 0 if that file exists or is
 * no .msh. Local. */
sp_status sp_gmsh_count_parts(const char *path, int *count);

/* NAME_part.msh for NAME.msh; the caller frees it. Local. */
sp_status sp_gmsh_part_path(const char *path, int part, char **out);

/* Version of the library, "4.8.4"; not while a mesh is read. Local. */
const char *sp_gmsh_version(void);

#endif
