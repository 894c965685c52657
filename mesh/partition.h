/* Distribution of elements over ranks. */
#pragma once

#include "mesh/hexes.h"

/* Elements with indices first[d] <= index[d] < last[d] of a structured box. */
typedef struct sp_brick {
  int first[3], last[3];
} sp_brick;

/* The brick of `rank` when a box of elements[0..2] is divided among `size` ranks. Every element
 * belongs to exactly one brick and no brick is empty.
 *
 * If possible, bricks form a grid with at most 1.1 times the surface of cubes and sides of at most
 * 1.03 times the mean. Directions with several cuts are cut at multiples of the largest power of
 * two that keeps this, because coarser meshes join pairs of elements (mesh/coarsen.h). Otherwise
 * (small boxes, large prime factors) the longest side is bisected recursively, in proportion to the
 * number of ranks on either side.
 *
 * Errors: SP_ERR_INPUT if there are more ranks than elements. Local. */
sp_status sp_partition_brick(const int elements[3], int size, int rank, sp_brick *brick);

/* SP_ERR_INPUT: more ranks than elements. Local. */
sp_status sp_partition_fail(int size, double elements);

/* Send elements from rank 0 to their ranks: element e of *hexes goes to rank parts[e]. Surfaces,
 * volumes and groups are copied to all ranks. Rank 0 passes *hexes and parts[(*hexes)->count]; on
 * other ranks *hexes is NULL and `parts` is not used. On success *hexes holds this rank's elements,
 * in the order of rank 0; on failure it is destroyed. Collective over `comm`. */
sp_status sp_partition_distribute(MPI_Comm comm, sp_hexes **hexes, const int *parts);

/* ---- metis.c ---- */

/* Divide `hexes` into `size` parts with few faces between them: parts[hexes->count] becomes the
 * part of each element. An element's weight is its number of corners (vertex not -1).
 *
 * Columns (mesh/columns.h), found from the shapes of the elements, are not cut if no part becomes
 * empty or larger than twice the mean. Otherwise, in a mesh of few long columns, METIS divides
 * single elements.
 *
 * Errors: SP_ERR_INPUT for fewer elements than parts, or too many elements for METIS;
 * SP_ERR_SYSTEM. Local. */
sp_status sp_metis_divide(const sp_hexes *hexes, int size, int *parts);
