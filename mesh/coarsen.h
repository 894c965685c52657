/* Coarser meshes for multigrid: elements that came from one element become that element again.
 *
 * Eight elements of a refined file (mesh/refine.h) form one. In a box, also a refined one, two
 * elements form one along some directions; if their number is odd, one at an end stays alone.
 * Children are on the rank of their parent. The parent's octant c = a + 2 b + 4 c' holds
 * hexes->children[parent][c], and -1 in octants of side 1 along directions in which it has one
 * child only.
 *
 * Midpoints of a parent's edges are vertices of children. They are in the middle, except in a box
 * with odd numbers of elements, where a parent at the end may have unequal children.
 *
 * Directions of a box: those in which all elements are strongly coupled, because a smoother leaves
 * smooth errors only there. With G = J^-1 J^-T at an element's centre, d is strong if G_dd >= S max
 * G, and no element may be skew: det G >= S' G_11 G_22 G_33. */
#pragma once

#include "mesh/mesh.h"

/* *out = the next coarser mesh; NULL if there is none, or if it would be a bad one: no direction of
 * a box is strong in all elements, elements are skew, parts of ranks end between children, or a
 * parent would be inverted. Its vertices keep their numbers, and it is periodic if `fine` is. The
 * caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_mesh_coarser(const sp_mesh *fine, sp_mesh **out);

/* The 27 points of a parent's lattice of degree 2: nodes[k][j][i] = 8 child + corner of the child,
 * at which the point is a vertex; -1 for a point between the ends of a direction with one child.
 * Local. */
void sp_coarse_nodes(const sp_hexes *coarse, sp_lid parent, sp_lid nodes[27]);
