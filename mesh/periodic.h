/* Periodic boundaries: pairs of groups whose faces are copies of each other under a translation t.
 *
 *     face of the first group + t = face of the second group,    t is computed from the faces
 *
 * Vertices, edges and faces on these groups are identified one by one: each class of identified
 * entities has one representative, whose vertices replace the vertices of the others. Identifying
 * only vertices is not enough: with one or two elements across a period, different edges would have
 * the same end points. An edge that is not on the periodic boundary keeps its own vertices. So one
 * element across a period is enough, in any number of directions. Coordinates and vertex numbers of
 * elements do not change. */
#pragma once

#include "mesh/hexes.h"

typedef struct sp_periodic sp_periodic;

/* Match the faces of the pairs of groups of `hexes`, which must be on the boundary. Two faces match
 * if all their lattice points do, to within 1e-6 of the shortest distance between two corners of
 * the pair's faces. Every rank holds the faces of all pairs during the call, and afterwards their
 * entities and the entities across its contacts. Errors: SP_ERR_INPUT for groups without faces,
 * with different numbers of faces or with common faces, and for a face without a partner (with its
 * location). The caller destroys *out. Collective over `comm`. */
sp_status sp_periodic_create(MPI_Comm comm, const sp_hexes *hexes, sp_periodic **out);

/* NULL-safe; sets *periodic to NULL. Local. */
void sp_periodic_destroy(sp_periodic **periodic);

/* True if a surface belongs to one of the pairs; false if `periodic` is NULL. Local. */
bool sp_periodic_has_surface(const sp_periodic *periodic, const sp_hexes *hexes, int surface);

/* If the entity with these vertices (1, 2 or 4, in any order) is on the periodic boundary: set
 * `images` to the corresponding vertices of its representative and return true; else false. Local.
 */
bool sp_periodic_image(const sp_periodic *periodic, int count, const sp_gid *vertices,
                       sp_gid *images);

/* Vertices of a slot of an element (mesh/hexes.h) in the order of sp_slot_corners: the
 * representative's on a periodic boundary, else (or if `periodic` is NULL) the element's own. All
 * elements get the same vertex for the same point of an entity. Returns their number. Local. */
int sp_periodic_vertices(const sp_periodic *periodic, const sp_gid vertices[SP_CORNERS], int slot,
                         sp_gid out[4]);
