/* The distributed mesh: hexahedra in the order in which operators process them, and their topology.
 */
#pragma once

#include "mesh/hexes.h"
#include "mesh/shape.h"
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
  sp_gid unnamed_faces; /* exterior faces in no group, over all ranks */
  sp_gid cut_columns;   /* see sp_columns_count_cuts */
  sp_mesh_shape shape;
  /* [surface.count], the same on all ranks: true if the surface has faces between elements. */
  bool *buried;
  /* In hexes->surfaces, faces between elements have SP_SURFACE_INTERIOR or SP_SURFACE_INNER - s;
   * periodic faces, which `topology` regards as interior, have their surface. */
} sp_mesh;

/* Make a mesh of *hexes, which it owns then (NULL afterwards, also after an error): find the
 * topology, order the elements, mark exterior faces, check and measure the elements, and identify
 * periodic pairs. The caller destroys *out; `comm` must outlive it. Errors: as sp_mesh_shape_find;
 * SP_ERR_INPUT for faces of more than two elements, for elements that share an edge or face but not
 * its lattice points (sp_mesh_check_conformity), and for a mesh without elements. Collective over
 * `comm`.
 */
sp_status sp_mesh_create(MPI_Comm comm, sp_hexes **hexes, sp_mesh **out);

/* Make the mesh periodic: identify the faces of pairs of groups (mesh/periodic.h). At most once for
 * a mesh; does nothing without pairs. The order of the elements may change. After an error the mesh
 * can only be destroyed. Errors: as sp_periodic_create. Collective. */
sp_status sp_mesh_identify(sp_mesh *mesh, int count, const sp_periodic_pair *pairs);

/* Elements that share a vertex, edge or face must agree on its lattice points, to within rounding
 * and 1e-6 of the shortest distance between two corners of an element. The mesh must not be
 * periodic (yet). Errors: SP_ERR_INPUT with two elements that disagree. Collective. */
sp_status sp_mesh_check_conformity(const sp_mesh *mesh);

/* NULL-safe; sets *mesh to NULL. Local. */
void sp_mesh_destroy(sp_mesh **mesh);
