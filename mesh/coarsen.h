/* Coarser meshes for multigrid, by undoing refinement.
 *
 * Eight elements of a refined file (mesh/refine.h) form one. In a box, refined or not, two elements
 * form one along some directions; if their number is odd, a parent at an end has one child.
 * Children are on the rank of their parent. The parent's octant c = a + 2 b + 4 c' holds
 * hexes->children[parent][c], and -1 in octants of side 1 along directions in which it has only one
 * child.
 *
 * In a box with odd numbers of elements a parent at the end may have unequal children.
 *
 * A box is coarsened in the directions in which all elements are strongly coupled, because a
 * smoother leaves smooth errors only there. With G = J^-1 J^-T at an element's centre, d is strong
 * if G_dd >= S max G, and no element may be skew: det G >= S' G_11 G_22 G_33. */
#pragma once

#include "mesh/mesh.h"

/* out = the next coarser mesh; NULL if the mesh is not refined, no direction of a box is strong in
 * all elements, elements are skew, ranks divide the children of a parent, or a parent would be
 * inverted. Vertices keep their numbers, and the coarse mesh is
 * periodic if `fine` is. The caller destroys *out. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_mesh_coarser(const sp_mesh *fine, sp_mesh **out);

/* The 27 points of a parent's lattice of degree 2: nodes[k][j][i] = 8 child + corner, a child's
 * vertex at the point; -1 for a mid-point in a direction with one child. Local. */
void sp_coarse_nodes(const sp_hexes *coarse, sp_lid parent, sp_lid nodes[27]);
