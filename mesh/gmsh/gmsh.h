/* Meshes from files: .msh by our own reader, others through the gmsh SDK. */
#pragma once

#include "io/terminal.h"
#include "mesh/hexes.h"

/* Sizes of the tetrahedra and prisms into which a geometry from CAD is meshed, in its unit of
 * length. */
typedef struct sp_gmsh_sizes {
  double largest;    /* 0: a tenth of the diagonal of the bounding box, less in gaps */
  double smallest;   /* 0: no limit */
  double per_circle; /* elements along a full circle; 0: sizes do not depend on curvature */
} sp_gmsh_sizes;

/* Read the hexahedra of `path` on rank 0, divide them among the ranks of `comm` (sp_metis_divide),
 * and send each rank its part. The file is .msh 2.2 or 4.1, ASCII or binary; or .geo or from CAD,
 * which is meshed first. While rank 0 waits, `terminal` shows a progress line; NULL: none. The
 * caller destroys *out.
 *
 * - Volume elements are hexahedra, prisms and tetrahedra of one order with all their nodes. If not
 *   all are hexahedra, they are divided into hexahedra (mesh/divide.h). Surfaces come from
 *   two-dimensional physical groups. An element that is listed twice is read once.
 * - If there are physical volumes, only their elements are read, and left_out counts the other
 *   volume elements. A .geo with groups only of other dimensions gives no hexahedra, as with `gmsh
 *   -3`.
 * - CAD: bodies that touch share nodes. Extrusions may become prisms, other bodies tetrahedra, of
 *   order 2 if a face is curved. Each body is a group of volumes, each face a group of surfaces,
 *   with the file's names or else "volume N" and "surface N", counted from 1. The mesh is the same
 *   in every run. Only CAD has `sizes`; NULL: all 0.
 * - If NAME.msh does not exist but NAME_1.msh does, gmsh has split the mesh (gmsh -part N
 *   -part_split). Then rank r reads only NAME_(r+1).msh, without ghost elements. There must be one
 *   file per rank, in format 4.1. Elements, vertex numbers and groups are as in the unsplit file;
 *   only the elements' ranks and order may differ.
 *
 * Errors: SP_ERR_INPUT or SP_ERR_SYSTEM with the path, for a missing file or part, gmsh's own
 * message, no elements, pyramids, elements without all their nodes, more ranks than elements, or a
 * split for another number of ranks. Collective over `comm`. */
sp_status sp_gmsh_hexes(MPI_Comm comm, const char *path, const sp_gmsh_sizes *sizes,
                        sp_terminal *terminal, sp_hexes **out);

/* The unit of length of a CAD file: "mm" for STEP and IGES, which OpenCASCADE converts; "" if
 * unknown. Local. */
const char *sp_gmsh_unit(const char *path);

/* True for the name of a CAD file: .step, .stp, .brep, .iges, .igs, also in capitals. Local. */
bool sp_gmsh_is_cad(const char *path);

/* True if sp_gmsh_hexes would read parts. Local. */
bool sp_gmsh_is_split(const char *path);

/* The number of files NAME_1.msh, NAME_2.msh ... that replace `path` NAME.msh: 0 if `path` exists
 * or is no .msh. Local. */
sp_status sp_gmsh_count_parts(const char *path, int *count);

/* out = NAME_part.msh for NAME.msh; the caller frees it. Local. */
sp_status sp_gmsh_part_path(const char *path, int part, char **out);

/* Version of the library, "4.8.4". Do not call it while a mesh is read. Local. */
const char *sp_gmsh_version(void);
