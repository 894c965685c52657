/* Tetrahedra and prisms in the arrays of hexahedra, and their division into hexahedra.
 *
 * With reference coordinates r, s, t >= 0 a cell of geometric order g is one of
 *
 *     tetrahedron   r + s + t <= 1
 *     prism         r + s <= 1, t <= 1
 *     hexahedron    r <= 1, s <= 1, t <= 1
 *
 * Until sp_divide, an element of sp_hexes may be any of them. It uses only the positions inside:
 * lattice nodes (i, j, k) / g, corners (mesh/hexes.h) 0 1 2 4 of a tetrahedron and 0 1 2 4 5 6 of a
 * prism. Other corners have vertex -1. Faces 0, 2 and 4 lie at r, s and t = 0, and face 1 of a
 * tetrahedron or prism opposite to corner or edge 0, at r + s + t = 1 or r + s = 1. A tetrahedron
 * has no faces 3 and 5, a prism no face 3. */
#pragma once

#include "mesh/hexes.h"

typedef enum sp_cell_shape {
  SP_TETRAHEDRON,
  SP_PRISM,
  SP_HEXAHEDRON,
  SP_CELL_SHAPES
} sp_cell_shape;

/* The shape of an element, by its vertices. Local. */
sp_cell_shape sp_cell_shape_of(const sp_gid vertices[SP_CORNERS]);

/* Number of nodes of a cell of order g. Local. */
int sp_cell_nodes(sp_cell_shape shape, int g);

/* The corners of face f; returns their number: 3, 4, or 0 if there is no such face. Local. */
int sp_cell_face(sp_cell_shape shape, int face, int corners[4]);

/* Divide the elements of all ranks into hexahedra, if any of them is a tetrahedron or prism: a
 * tetrahedron becomes 4, a prism 6, a hexahedron 8, one at each corner. Its opposite corner is the
 * centre of the cell; the others are mid-points of edges and centres of faces. These are means of
 * corners in reference coordinates, so the hexahedra have exactly the shape of the cell, also if it
 * is curved, and conform with the next cell's. They keep the order g, and the surface, volume and
 * tag of the cell; `octants` is the corner. Vertices get new numbers. file.divided counts the cells
 * of all ranks. After an error *hexes is NULL. Collective. */
sp_status sp_divide(MPI_Comm comm, sp_hexes **hexes);
