/* Periodic boundaries: pairs of groups whose faces are one another's copies under a translation.
 *
 *     face of the first group + t = face of the second,    t found from the faces themselves
 *
 * Vertices, edges and faces on these groups are identified one by one: each gets the vertices of
 * one representative of its class. Vertices alone would not do: with one or two elements across a
 * period different edges have the same end points once those are identified. Since an edge off the
 * periodic boundary keeps its own vertices, one element across is enough, in any number of
 * directions. Coordinates and vertex numbers of elements stay as they are. */
#ifndef SP_MESH_PERIODIC_H
#define SP_MESH_PERIODIC_H

#include "mesh/hexes.h"

/* Two different groups of the mesh, as indices into sp_hexes.groups. */
typedef struct sp_periodic_pair {
  int groups[2];
} sp_periodic_pair;

typedef struct sp_periodic sp_periodic;

/* Match the faces of `count` pairs of groups, which must be on the boundary. A face fits another if
 * all points of its lattice are within 1e-6 of the shortest distance between two corners of the
 * pair's faces. For the duration of the call every rank holds the faces of all pairs, afterwards
 * their entities. Errors: SP_ERR_INPUT for groups without faces, with unlike numbers of faces or
 * with faces in common, and for a face without a partner, with its place. The caller destroys *out.
 * Collective over `comm`. */
sp_status sp_periodic_create(MPI_Comm comm, const sp_hexes *hexes, int count,
                             const sp_periodic_pair *pairs, sp_periodic **out);

/* NULL-safe; sets *periodic to NULL. Local. */
void sp_periodic_destroy(sp_periodic **periodic);

/* The pairs that it was made from. Local. */
int sp_periodic_pairs(const sp_periodic *periodic, const sp_periodic_pair **pairs);

/* Whether a surface belongs to one of the pairs; false if `periodic` is NULL. Local. */
bool sp_periodic_has_surface(const sp_periodic *periodic, const sp_hexes *hexes, int surface);

/* Vertices of a slot of an element (mesh/entity.h) in the order of sp_slot_corners: those of its
 * representative on a periodic boundary, else the element's own (always if `periodic` is NULL). All
 * elements that touch the entity get the same vertices for the same points. Returns their number.
 * Local. */
int sp_periodic_vertices(const sp_periodic *periodic, const sp_gid vertices[SP_CORNERS], int slot,
                         sp_gid out[4]);

#endif
