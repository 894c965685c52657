/* The inverse of an element's map: the reference point at a given point. */
#ifndef SP_MESH_LOCATE_H
#define SP_MESH_LOCATE_H

#include "mesh/hexes.h"

/* Find r = (r, s, t) with x(r) = point by Newton's method; true if the element contains the point,
 * |r_d| <= 1 + 1e-8. The margin keeps points on faces from being lost to rounding; reference[d] is
 * then clamped to [-1, 1]. Local. */
bool sp_locate_in_element(const sp_hexes *hexes, sp_lid element, const double point[3],
                          double reference[3]);

/* The first local element that contains the point, and its reference point there; -1 if none does.
 * Local. */
sp_lid sp_locate(const sp_hexes *hexes, const double point[3], double reference[3]);

#endif
