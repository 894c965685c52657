/* The blocks of a box: the planes of all regions' sides divide the box, and the elements of a block
 * all belong to one region, or to none. Where regions overlap, the last one has the elements. */
#pragma once

#include "mesh/box.h"

typedef struct sp_blocks {
  const sp_box *box;
  sp_brick *ranges;   /* [region_count], the elements between the corners of a region */
  int count[3];       /* blocks per direction */
  int *first[3];      /* [count[d] + 1], the element at which a block begins */
  int *of_element[3]; /* [elements[d]], its block */
  int *owner;         /* [count[2]][count[1]][count[0]]: region + 1, or 0 */
  bool has_holes;     /* some blocks have no elements */
} sp_blocks;

/* Find the blocks, the same on all ranks; they borrow `box`. Call sp_blocks_free, also after a
 * failure. Errors: SP_ERR_INPUT for a region outside the box, without elements, or whose sides cut
 * elements; SP_ERR_SYSTEM. Local. */
sp_status sp_blocks_find(const sp_box *box, sp_blocks *blocks);
void sp_blocks_free(sp_blocks *blocks);

/* Replace the groups of `hexes` by the groups of the box and its regions (mesh/box.h). A surface is
 * a side of a block. Local. */
sp_status sp_blocks_name(const sp_blocks *blocks, sp_hexes *hexes);

/* The volume of an element: its region + 1, or 0; -1 in a hole. Local. */
int sp_blocks_volume(const sp_blocks *blocks, const int ijk[3]);

/* The surface of an element's face, or -1. Local. */
int sp_blocks_surface(const sp_blocks *blocks, const int ijk[3], int face);

/* The number of elements of a brick. Local. */
sp_gid sp_blocks_elements(const sp_blocks *blocks, const sp_brick *brick);

/* Find the brick of `rank` if there are holes: bisect the elements recursively, in proportion to
 * the ranks on either side. Directions with keep[d] are cut only if the others cannot be. Errors:
 * SP_ERR_INPUT if there are more ranks than elements. Local. */
sp_status sp_blocks_brick(const sp_blocks *blocks, const bool keep[3], int size, int rank,
                          sp_brick *brick);
