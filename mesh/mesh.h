/* The distributed mesh: hexahedra in the order in which operators process them, and their topology.
 */
#ifndef SP_MESH_MESH_H
#define SP_MESH_MESH_H

#include "mesh/hexes.h"
#include "mesh/sizes.h"
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

/* Bytes that a mesh of these sizes holds on this rank, besides groups and periodic entities. Local.
 */
double sp_mesh_predicted_bytes(const sp_sizes *sizes, int map_order);

/* NULL-safe; sets *mesh to NULL. Local. */
void sp_mesh_destroy(sp_mesh **mesh);

#endif
