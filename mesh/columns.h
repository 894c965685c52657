/* Columns of elements along directions in which the elements are strongly coupled: layers that are
 * thin, or conduct much better across than along.
 *
 * The coupling of an element in direction d is a_d = the integral of |J| kappa |grad r_d|^2 / 8.
 * An element wants a column if sqrt(largest a / smallest a) is at least 2. The element with the
 * largest such ratio takes the direction of its largest a. A neighbour over any face that wants a
 * column takes the corresponding direction if its a there is at least half its largest one, or if
 * the direction runs along a contact, an element with a ratio of at least 1e7. Then the neighbours
 * of that one follow, and then the next element without a direction begins. Elements that meet at
 * faces across the direction of both form a column. Its elements have a common frame: direction 0
 * runs along the column, directions 1 and 2 are lateral. */
#pragma once

#include "mesh/topology.h"

/* The column's frame in an element: direction d is the element's direction axis[d], and reversed if
 * flip[d] is 1. */
typedef struct sp_frame {
  unsigned char axis[3], flip[3];
} sp_frame;

typedef struct sp_columns {
  sp_lid count;     /* columns of two or more elements, or closed; other elements stand alone */
  sp_lid *start;    /* [count + 1] */
  sp_lid *elements; /* [start[count]], column by column, each from its lower end to its upper end */
  sp_frame *frames; /* [start[count]] */
  bool *closed;     /* [count]; true if the upper end is the lower end of the same column */
} sp_columns;

/* The couplings of an element for kappa = 1, by sp_hexes_mean_map. If kappa is a scalar, it changes
 * no direction. Returns |J| / (a_0 a_1 a_2), which is det G over the product of its diagonal: one
 * for a box, close to zero if the element is skew. Local. */
double sp_columns_couple(const sp_hexes *hexes, sp_lid element, double couplings[3]);

/* The columns of this rank's elements, given couplings[topology->elements][3]; of `topology` it
 * uses elements, entities, and the corners and faces of slots. A column ends where the rank's
 * elements end. The caller destroys *out. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_columns_create(const sp_topology *topology, double (*couplings)[3], sp_columns **out);

/* across[elements][6] = 6 * the element beyond each face + its face there; -1 for none, as for
 * elements beyond the second at a face. Of `topology` it uses elements, entities, and the faces of
 * slots. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_columns_neighbours(const sp_topology *topology, sp_lid (*across)[SP_FACES]);

/* The element's node of n^3 at index i along the column and j, k in the lateral directions. Local.
 */
size_t sp_frame_node(const sp_frame *frame, int n, int i, int j, int k);

/* *cuts = the number of places in which two ranks cut a column of the mesh: faces between ranks
 * across which both elements, by sp_columns_couple, want a column in no other direction.
 * Elements [0, halo) have all of these. Collective over `comm`, that of `topology`. */
sp_status sp_columns_count_cuts(MPI_Comm comm, sp_lid halo, const sp_hexes *hexes,
                                const sp_topology *topology, sp_gid *cuts);

/* NULL-safe; sets *columns to NULL. Local. */
void sp_columns_destroy(sp_columns **columns);
