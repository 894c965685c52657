/* Whether elements meet as their vertex numbers say. */
#ifndef SP_MESH_CONFORMITY_H
#define SP_MESH_CONFORMITY_H

#include "mesh/mesh.h"

/* Elements that have a vertex, edge or face in common must have its points in the same places: all
 * points of the lattice there, to 1e-6 of the shortest distance between two corners of an element.
 * For a mesh that is not (yet) periodic. Errors: SP_ERR_INPUT with two elements that do not.
 * Collective. */
sp_status sp_mesh_check_conformity(const sp_mesh *mesh);

#endif
