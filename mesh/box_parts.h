/* The bricks of a box among any number of ranks, on paper: what each has and shares, and the same
 * on coarser meshes (mesh/coarsen.h), without making elements. All functions are Local. */
#ifndef SP_MESH_BOX_PARTS_H
#define SP_MESH_BOX_PARTS_H

#include "mesh/box.h"
#include "mesh/sizes.h"

typedef struct sp_box_parts sp_box_parts;

/* For a box that is divided among `count` ranks and then refined; its regions are not used. True in
 * periodic[d] joins its ends in direction d. The caller destroys *out. Errors: SP_ERR_INPUT if
 * there are more ranks than elements; SP_ERR_SYSTEM. */
sp_status sp_box_parts_create(const sp_box *box, const bool periodic[3], int refinements, int count,
                              sp_box_parts **out);

/* NULL-safe; sets *parts to NULL. */
void sp_box_parts_destroy(sp_box_parts **parts);

/* The part of a rank; -1: the whole box. */
void sp_box_parts_count(const sp_box_parts *parts, int part, sp_census *out);

/* Go to the next coarser mesh, by the rules of sp_mesh_coarser; *found is false if there is none,
 * and `parts` can then only be destroyed. The shapes of elements are judged by a sample, which has
 * all shapes of a box without a map. Errors: SP_ERR_SYSTEM. */
sp_status sp_box_parts_coarsen(sp_box_parts *parts, bool *found);

#endif
