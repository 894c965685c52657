/* Uniform refinement. */
#ifndef SP_MESH_REFINE_H
#define SP_MESH_REFINE_H

#include "mesh/mesh.h"

/* Replace *mesh by its uniform refinement: every element becomes the eight images of the octants of
 * its reference cube, on the same rank; a periodic mesh stays so. Meshes refined from one mesh are
 * nested. Errors leave *mesh NULL. Collective. */
sp_status sp_mesh_refine(sp_mesh **mesh);

/* The same without touching `coarse`: *out is a mesh of its own that the caller destroys. NULL
 * after an error. Collective. */
sp_status sp_mesh_refined(const sp_mesh *coarse, sp_mesh **out);

#endif
