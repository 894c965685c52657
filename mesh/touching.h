/* Find exterior faces that lie on each other: touching parts of a mesh that do not share all nodes,
 * so no heat flows between them. */
#pragma once

#include "mesh/mesh.h"

/* Set in mesh->hexes->file:
 *
 * - bodies: the parts of the mesh whose elements are connected by faces (mesh/components.h).
 * - coincident: pairs of exterior faces with the same corners. If there is one body, faces in
 * groups do not count: they are the sides of an intended gap.
 * - misfits: exterior faces whose centre lies on an exterior face with other corners.
 *
 * The tolerance is 1e-6 of the shortest distance between two corners of an element, as for
 * conformity; for curved faces a twentieth of their height, at most a tenth of that distance. The
 * search sorts faces into cells of a grid per size of faces; a rank gets some of the cells at a
 * time. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_touching_find(sp_mesh *mesh);
