/* The distributed mesh: hexahedra in the order in which operators process them, and their topology.
 */
#ifndef SP_MESH_MESH_H
#define SP_MESH_MESH_H

#include "mesh/hexes.h"
#include "mesh/topology.h"

typedef struct sp_mesh {
  MPI_Comm comm;
  /* Elements [0, halo_elements) share at least a vertex with another rank. The others do not, so
   * work on them can overlap an exchange. Both parts follow a Morton curve. */
  sp_hexes *hexes;
  sp_topology *topology;
  sp_periodic *periodic; /* NULL if not periodic; `topology` includes it */
  sp_lid halo_elements;
  sp_gid global_elements;
  sp_gid unnamed_faces; /* exterior faces that no group contains, over all ranks */
  /* [surface_count], the same on all ranks: whether the surface has faces between elements. In a
   * refined mesh this is not known, and all are false. */
  bool *buried;
  /* hexes->surfaces holds the surfaces of exterior faces, and of periodic faces, which `topology`
   * regards as interior. */
} sp_mesh;

/* NULL-safe; sets *mesh to NULL. Local. */
void sp_mesh_destroy(sp_mesh **mesh);

#endif
