/* Structured boxes. Each rank generates only its own brick. The groups of surfaces are
 *
 *     xmin xmax ymin ymax zmin zmax    numbers 1 to 6: the sides of the box
 *     NAME.xmin ... NAME.zmax          numbers 6 r + 1 to 6 r + 6: the sides of region r = 1, 2 ...
 *
 * A side without faces has no group. The volume groups are the regions that are not empty, with
 * numbers 1, 2 ... in the order of all regions. No surface has both exterior faces and others. */
#pragma once

#include "mesh/hexes.h"
#include "mesh/partition.h"

/* Deformations of the box, see sp_box_deform. */
typedef enum sp_map { SP_MAP_NONE, SP_MAP_SINE, SP_MAP_KERSHAW } sp_map;

/* Blend of the two gradings of Kershaw's map. */
typedef enum sp_step { SP_STEP_QUINTIC, SP_STEP_LINEAR } sp_step;

/* Names in a case, by sp_map and sp_step; both lists end with NULL. */
extern const char *const sp_map_names[], *const sp_step_names[];

/* Elements that are in no region. */
typedef enum sp_background { SP_BACKGROUND_FULL, SP_BACKGROUND_EMPTY } sp_background;
extern const char *const sp_background_names[]; /* ends with NULL */

/* The elements between two corners: a volume group. Each corner lies on planes of the undeformed
 * grid, to within a thousandth of an element's width, or outside the box. Where regions overlap,
 * the last one has the elements. */
typedef struct sp_box_region {
  const char *name;
  const char *where; /* begins messages */
  double lower[3], upper[3];
  int empty; /* 1: its elements are left out */
} sp_box_region;

typedef struct sp_box {
  int elements[3];
  double lower[3], upper[3];
  sp_map map;     /* moves corners in the unit cube, before it is scaled to lower..upper */
  double epsilon; /* of Kershaw's map */
  sp_step step;   /* likewise */
  int region_count;
  const sp_box_region *regions; /* [region_count] */
  sp_background background;
  /* [elements[d] + 1], the undeformed grid from lower[d] to upper[d]; NULL: elements are equal. */
  double *planes[3];
} sp_box;

/* The elements of this rank's brick (mesh/partition.h). Columns of strongly coupled elements
 * (mesh/columns.h) of the undeformed box are not cut if there are enough of them for the ranks. No
 * brick of a full box has more than twice the mean number of elements. The caller destroys *out.
 * Errors: SP_ERR_INPUT for more ranks than elements, a region without elements, and a region whose
 * sides cut elements (the message names the nearest planes). Collective over `comm`. */
sp_status sp_box_hexes(MPI_Comm comm, const sp_box *box, sp_hexes **out);

/* Deform a point of the unit cube in place, by the map, epsilon and step of `box`.
 *
 * sine, where x, y, z on the right are the undeformed coordinates:
 *     x += 0.05 sin(5.1 y + 0.4) sin(4.3 z + 0.7)
 *     y += 0.05 sin(4.7 z + 0.3) sin(5.3 x + 0.9)
 *     z += 0.05 sin(4.9 x + 0.5) sin(4.1 y + 0.2)
 * It is not periodic, so no two elements have the same shape.
 *
 * kershaw: D. Kershaw, J. Comput. Phys. 39 (1981) 375, in the three-dimensional form of the CEED
 * bake-off meshes. x is unchanged. y and z are graded towards their low end at x = 0 and towards
 * their high end at x = 1, blended over layers of x of width 1/6:
 *     high(y) = (2 - epsilon) y for y <= 1/2, 1 + epsilon (y - 1) above;  low(y) = 1 - high(1 - y)
 *     y = (1 - b) low(y) + b high(y),    b = q(6 x - 1) - q(3 x - 1) + q(6 x - 4)
 *     q(t) = 6 t^5 - 15 t^4 + 10 t^3, or t as in nekRS's example kershaw; 0 below 0, 1 above 1
 * epsilon = 1 is the identity; a smaller epsilon gives larger aspect ratios. Boxes with elements[0]
 * divisible by 6 and the other two by 2 resolve the layers. Local. */
void sp_box_deform(const sp_box *box, double point[3]);

/* ---- box_planes.c: the planes between the elements of an undeformed box ---- */

/* How the elements of a box follow its regions. */
typedef struct sp_box_sizes {
  double largest;  /* of an element, > 0 */
  double smallest; /* with grading: no element is divided if its halves are smaller */
  int grading;     /* 1: neighbours differ at most by a factor of 2 */
} sp_box_sizes;

/* Fill elements and planes, which the caller frees. The sides of the box and of its regions are
 * planes (closer than 1e-9 of the box they are one). Each interval between them has the fewest
 * equal elements; then, with grading, elements larger than twice a neighbour are halved. Errors:
 * SP_ERR_INPUT for too many elements, with `where`; SP_ERR_SYSTEM. Local. */
sp_status sp_box_divide(const char *where, const sp_box_sizes *sizes, sp_box *box);

/* The undeformed grid: coordinate d of a plane; and the index of a point, between integers between
 * planes. Local. */
double sp_box_plane(const sp_box *box, int d, int index);
double sp_box_index(const sp_box *box, int d, double point);
