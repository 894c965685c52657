/* Check that elements that share an edge or face also share its lattice points. */
#pragma once

#include "mesh/mesh.h"

/* Elements that share a vertex, edge or face must agree on its lattice points, to within rounding
 * and 1e-6 of the shortest distance between two corners of an element. The mesh must not be
 * periodic (yet). Errors: SP_ERR_INPUT with two elements that disagree. Collective. */
sp_status sp_mesh_check_conformity(const sp_mesh *mesh);
