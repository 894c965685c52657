/* The inverse of an element's map: the reference point at a given point. */
#ifndef SP_MESH_LOCATE_H
#define SP_MESH_LOCATE_H

#include "mesh/hexes.h"

/* Find r = (r, s, t) with x(r) = point by Newton's method. True if the element contains the point:
 * |r_d| <= 1 + 1e-8 + the rounding of the coordinates. The margin keeps points on faces that
 * rounding moves outside; reference[d] is clamped to [-1, 1]. Local. */
bool sp_locate_in_element(const sp_hexes *hexes, sp_lid element, const double point[3],
                          double reference[3]);

/* The first local element that contains the point, and the reference point in it; -1 if there is
 * none. Local. */
sp_lid sp_locate(const sp_hexes *hexes, const double point[3], double reference[3]);

#endif
