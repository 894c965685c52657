/* The inverse of an element's map: the reference point at a given point. */
#pragma once

#include "mesh/hexes.h"

/* Point i of n >= 1 evenly spaced ones, (1 - t) a + t b with t = i / (n - 1). Local. */
void sp_locate_sample(const double a[3], const double b[3], int n, int i, double point[3]);

/* For each of them the local element of the least tag, then octants, that contains it, -1 if there
 * is none, and the reference point in it: elements[n], references[n]. Local. */
void sp_locate_line(const sp_hexes *hexes, const double a[3], const double b[3], int n,
                    sp_lid *elements, double (*references)[3]);

/* The derivatives of the map at a reference point, columns[b][a] = d x_a / d r_b. Local. */
void sp_locate_columns(const sp_hexes *hexes, sp_lid element, const double reference[3],
                       double columns[3][3]);
