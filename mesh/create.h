/* Build a mesh from hexahedra: connect, order and check them. */
#ifndef SP_MESH_CREATE_H
#define SP_MESH_CREATE_H

#include "mesh/mesh.h"

/* Take over *hexes (NULL afterwards, also after an error), find the topology, order the elements,
 * mark exterior faces, and check the Jacobian of each element at its corners, edge mid-points, face
 * centres and centre. The caller destroys *out; `comm` must outlive it. Errors: SP_ERR_INPUT for
 * degenerate or inverted elements (number, location, cure), for faces of more than two elements,
 * for elements that share an edge or face but not its lattice points (mesh/conformity.h), and for a
 * mesh without elements. Collective over `comm`. */
sp_status sp_mesh_create(MPI_Comm comm, sp_hexes **hexes, sp_mesh **out);

/* Make the mesh periodic: identify the faces of pairs of groups (mesh/periodic.h). Call it at most
 * once per mesh. The order of the elements may change. After an error the mesh can only be
 * destroyed. Errors: those of sp_periodic_create. Collective. */
sp_status sp_mesh_identify(sp_mesh *mesh, int count, const sp_periodic_pair *pairs);

#endif
