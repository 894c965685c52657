/* How a mesh is divided among ranks, also among ranks that do not exist: the sizes of each part on
 * the refined mesh, and on the coarser meshes below it. */
#ifndef SP_MESH_PARTS_H
#define SP_MESH_PARTS_H

#include "mesh/box.h"
#include "mesh/mesh.h"
#include "mesh/sizes.h"

enum { SP_PARTS_MOST = 65536 };

typedef struct sp_parts {
  int count;       /* parts */
  int refinements; /* to come after the census */
  sp_census all;   /* the whole mesh */
  sp_census *of;   /* [count] */
  /* One of the two that follow. */
  struct sp_box_parts *box;
  const sp_mesh *mesh; /* borrowed */
} sp_parts;

/* The parts of a box that is divided among `count` ranks and then refined. The bricks are those of
 * sp_box_hexes. True in periodic[d] joins the ends in direction d. The caller destroys *out.
 * Errors: SP_ERR_INPUT if there are more ranks than elements; SP_ERR_SYSTEM. Local. */
sp_status sp_parts_of_box(const sp_box *box, const bool periodic[3], int refinements, int count,
                          sp_parts **out);

/* The parts of a mesh from a file, which must outlive *out, with refinements to come. With as many
 * parts as ranks, these are the ranks' parts. Any other number is for one rank: METIS would divide
 * the elements of the file, which is not done here; as a stand-in each part is a piece of the curve
 * that elements follow, with somewhat more neighbours and shared DOFs. The caller destroys *out.
 * Errors: SP_ERR_INPUT if there are more parts than elements; SP_ERR_SYSTEM. Collective. */
sp_status sp_parts_of_mesh(const sp_mesh *mesh, int refinements, int count, sp_parts **out);

/* NULL-safe; sets *parts to NULL. Local. */
void sp_parts_destroy(sp_parts **parts);

/* Go to the next coarser mesh, as sp_mesh_coarser; *found is false if there is none, and `parts`
 * can then only be destroyed. Collective. */
sp_status sp_parts_coarsen(sp_parts *parts, bool *found);

#endif
