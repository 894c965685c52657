/* Uniform refinement. */
#pragma once

#include "mesh/mesh.h"

/* Replace *mesh by its uniform refinement: each element becomes eight, the images of the octants of
 * its reference cube, on the same rank, and a contact four. A periodic mesh stays periodic. The
 * coarse and the refined mesh are nested. After an error *mesh is NULL. Collective. */
sp_status sp_mesh_refine(sp_mesh **mesh);

/* Refine likewise, but keep `coarse`. The caller destroys *out, which is NULL after an error.
 * Collective. */
sp_status sp_mesh_refined(const sp_mesh *coarse, sp_mesh **out);
