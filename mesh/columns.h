/* Columns of elements along strongly coupled directions: across layers that are thin, or conduct
 * much better across than along.
 *
 * The coupling of an element in direction d is a_d = the integral of |J| kappa |grad r_d|^2 / 8. An
 * element needs a column if its ratio, sqrt(largest a / smallest a), is at least 2. The element
 * with the largest ratio starts, in the direction of its largest a. The direction spreads over
 * faces to all neighbours that need a column, if their a in it is at least half their largest one,
 * or if it runs along a contact (ratio at least 1e7). Then the next element without a direction
 * starts. Elements whose common face is across the direction of both form a column. They have a
 * common frame: direction 0 runs along the column, directions 1 and 2 are lateral. */
#pragma once

#include "mesh/topology.h"

/* The column's frame in an element: direction d is the element's direction axis[d], and reversed if
 * flip[d] is 1. */
typedef struct sp_frame {
  unsigned char axis[3], flip[3];
} sp_frame;

typedef struct sp_columns {
  sp_lid count;     /* columns: two or more elements, or closed */
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

/* across[elements][6] = 6 * the element beyond each face + its face there; -1 for none, or if the
 * face has more than two elements. Of `topology` it uses elements, entities, and the faces of
 * slots. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_columns_neighbours(const sp_topology *topology, sp_lid (*across)[SP_FACES]);

/* The element's node of n^3 at index i along the column and j, k in the lateral directions. Local.
 */
size_t sp_frame_node(const sp_frame *frame, int n, int i, int j, int k);

/* The element's face at a side of the column's direction t. Local. */
static inline int sp_frame_face(const sp_frame *frame, int t, int side) {
  return 2 * frame->axis[t] + (side ^ frame->flip[t]);
}

/* cuts = number of faces at which two ranks cut a column of the mesh: the direction across the face
 * is the only possible column (sp_columns_couple) of both elements. Elements [0, halo) have all
 * such faces. Collective over `comm`, the communicator of `topology`. */
sp_status sp_columns_count_cuts(MPI_Comm comm, sp_lid halo, const sp_hexes *hexes,
                                const sp_topology *topology, sp_gid *cuts);

/* NULL-safe; sets *columns to NULL. Local. */
void sp_columns_destroy(sp_columns **columns);
