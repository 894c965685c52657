/* The inverse of an element's map: the reference point at a given point. */
#pragma once

#include "mesh/hexes.h"

/* Point i of n >= 1 evenly spaced points, (1 - t) a + t b with t = i / (n - 1). Local. */
void sp_locate_sample(const double a[3], const double b[3], int n, int i, double point[3]);

/* Locate these points: elements[n], references[n], outside[n]. The element is the local one of the
 * least tag, then octants, that contains the point. If there is none, outside[i] is true. The
 * element is then chosen likewise among elements that the point misses by at most 1e-4 of their
 * width, or -1, with the reference point moved to the surface. Local. */
void sp_locate_line(const sp_hexes *hexes, const double a[3], const double b[3], int n,
                    sp_lid *elements, double (*references)[3], bool *outside);

/* The local element nearest to a point outside the mesh (ties: least tag, then octants), its
 * nearest point and the distance; -1 and infinity without elements. Finds a local minimum per
 * element. Local. */
sp_lid sp_locate_nearest(const sp_hexes *hexes, const double point[3], double nearest[3],
                         double *distance);

/* The map at a reference point: x, and its derivatives columns[b][a] = d x_a / d r_b. Local. */
void sp_locate_map(const sp_hexes *hexes, sp_lid element, const double reference[3], double x[3],
                   double columns[3][3]);
