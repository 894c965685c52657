/* The distributed mesh: hexahedra in the order in which operators process them, and their topology.
 */
#ifndef SP_MESH_MESH_H
#define SP_MESH_MESH_H

#include "mesh/hexes.h"
#include "mesh/topology.h"

typedef struct sp_mesh {
  MPI_Comm comm;
  /* Elements [0, halo_elements) touch another rank (a shared vertex is enough), the rest do not, so
   * that an exchange can overlap with the rest. Both parts follow a Morton curve. */
  sp_hexes *hexes;
  sp_topology *topology;
  sp_periodic *periodic; /* NULL, or what sp_mesh_identify identifies; topology holds it already */
  sp_lid halo_elements;
  sp_gid global_elements;
  sp_gid unnamed_faces; /* exterior faces that no group contains, over all ranks */
  /* [surface_count], the same on all ranks: surfaces that have faces between elements; none in a
   * refined mesh, which has forgotten them. */
  bool *buried;
  /* hexes->surfaces tells the surface of exterior faces, and of those that are identified with
   * others: they are interior to the topology and keep their surface. */
} sp_mesh;

/* Take over *hexes (NULL afterwards, whatever happens), find the topology, order the elements, mark
 * exterior faces, and check every element's Jacobian at its corners, edge mid-points, face centres
 * and centre. The caller destroys *out; `comm` must outlive it. Errors: SP_ERR_INPUT for degenerate
 * or inverted elements (number, where, how to mend), for faces of more than two elements, for
 * elements that do not meet as their vertices say (mesh/conformity.h), and for a mesh without
 * elements. Collective over `comm`. */
sp_status sp_mesh_create(MPI_Comm comm, sp_hexes **hexes, sp_mesh **out);

/* Make the mesh periodic: identify the faces of pairs of groups (mesh/periodic.h), once. Elements
 * may change their order. After an error the mesh can only be destroyed. Errors: those of
 * sp_periodic_create. Collective. */
sp_status sp_mesh_identify(sp_mesh *mesh, int count, const sp_periodic_pair *pairs);

/* Replace *mesh by its uniform refinement: every element becomes the eight images of the octants of
 * its reference cube, on the same rank; a periodic mesh stays so. Meshes refined from one mesh are
 * nested. Errors leave *mesh NULL. Collective. */
sp_status sp_mesh_refine(sp_mesh **mesh);

/* The same without touching `coarse`: *out is a mesh of its own that the caller destroys. NULL
 * after an error. Collective. */
sp_status sp_mesh_refined(const sp_mesh *coarse, sp_mesh **out);

/* NULL-safe; sets *mesh to NULL. Local. */
void sp_mesh_destroy(sp_mesh **mesh);

#endif
