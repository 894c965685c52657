/* Division of a mesh among ranks, also among ranks that do not exist: the sizes of each part on
 * the refined mesh, and on the coarser meshes below it. */
#pragma once

#include "mesh/box.h"
#include "mesh/mesh.h"
#include "mesh/sizes.h"

enum { SP_PARTS_MOST = 65536 };

typedef struct sp_parts {
  int count;       /* parts */
  int refinements; /* to come after the census */
  sp_census all;   /* the whole mesh */
  sp_census *of;   /* [count] */
  /* One of these two is set. */
  struct sp_boxes *boxes;
  const sp_mesh *mesh; /* borrowed */
} sp_parts;

/* The parts of a box that is divided among `count` ranks and then refined, with at most `levels`
 * coarser meshes. The bricks are those of sp_box_hexes; no elements are made. True in periodic[d]
 * joins the ends in direction d. The caller destroys *out. Errors: SP_ERR_INPUT if there are more
 * ranks than elements; SP_ERR_SYSTEM. Local. */
sp_status sp_parts_of_box(const sp_box *box, const bool periodic[3], int refinements, int levels,
                          int count, sp_parts **out);

/* The parts of a mesh's ranks, with refinements to come. `mesh` must outlive *out, which the caller
 * destroys. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_parts_of_mesh(const sp_mesh *mesh, int refinements, sp_parts **out);

/* NULL-safe; sets *parts to NULL. Local. */
void sp_parts_destroy(sp_parts **parts);

/* Go to the next coarser mesh, as sp_mesh_coarser; *found is false if there is none, and `parts`
 * can then only be destroyed. The shapes of a box's elements are judged by a sample, which has all
 * shapes of a box without a map. Collective. */
sp_status sp_parts_coarsen(sp_parts *parts, bool *found);
