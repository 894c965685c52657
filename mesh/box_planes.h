/* The planes between the elements of an undeformed box. */
#pragma once

#include "mesh/box.h"

/* How the elements of a box follow its regions. */
typedef struct sp_box_sizes {
  double largest;  /* of an element, > 0 */
  double smallest; /* with grading: no element is divided if its halves are smaller */
  int grading;     /* 1: neighbours differ at most by a factor of 2 */
} sp_box_sizes;

/* Fill elements and planes, which the caller frees: the grid's planes are the sides of the box and
 * of its regions (closer than 1e-9 of the box they are one). Each interval between them has the
 * fewest equal elements. Then, with grading, elements larger than twice a neighbour are halved
 * until there are none. Errors: SP_ERR_INPUT for too many elements, with `where`; SP_ERR_SYSTEM.
 * Local. */
sp_status sp_box_divide(const char *where, const sp_box_sizes *sizes, sp_box *box);

/* The undeformed grid: coordinate d of a plane; and the index of a point, between integers between
 * planes. Local. */
double sp_box_plane(const sp_box *box, int d, int index);
double sp_box_index(const sp_box *box, int d, double point);
