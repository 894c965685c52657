/* Connected components of the mesh: two elements that have a vertex in common are in the same one,
 * and so are those that a chain of such pairs connects, over all ranks. A shared edge or face has
 * shared vertices, and what periodic pairs identify is one vertex (mesh/topology.h). */
#ifndef SP_MESH_COMPONENTS_H
#define SP_MESH_COMPONENTS_H

#include "mesh/topology.h"

typedef struct sp_components {
  int count;       /* over all ranks */
  int *of_element; /* [topology->elements], in [0, count); the same numbers on all ranks */
} sp_components;

/* Each rank finds the components of its own elements. Neighbours then compare the vertices that
 * they share, and all ranks gather the pairs of local components that meet in one: as many numbers
 * as ranks have neighbours, times the components that a rank has at its boundary. A fixed number of
 * collective calls, however the components wind through the ranks; a rank may have no elements. The
 * caller destroys *out. Errors: SP_ERR_INPUT for 2^31 components or pairs or more. Collective over
 * `comm`. */
sp_status sp_components_create(MPI_Comm comm, const sp_topology *topology, sp_components **out);

/* NULL-safe; sets *components to NULL. Local. */
void sp_components_destroy(sp_components **components);

#endif
