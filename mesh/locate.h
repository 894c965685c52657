/* The inverse of an element's map: which reference point is at a place. */
#ifndef SP_MESH_LOCATE_H
#define SP_MESH_LOCATE_H

#include "mesh/hexes.h"

/* Find r = (r, s, t) with x(r) = point by Newton's method, and whether the element holds it:
 * |r_d| <= 1 + 1e-8, so that a point on a face that two elements share, or on the boundary, is not
 * lost to rounding; reference[d] is then cut to [-1, 1]. Local. */
bool sp_locate_in_element(const sp_hexes *hexes, sp_lid element, const double point[3],
                          double reference[3]);

/* The first local element that holds the point, and the reference point there; -1 if there is
 * none. Local. */
sp_lid sp_locate(const sp_hexes *hexes, const double point[3], double reference[3]);

#endif
