#include "mesh/mesh.h"

#include <stdlib.h>

void sp_mesh_destroy(sp_mesh **mesh) {
  if (!*mesh) return;
  free((*mesh)->buried);
  sp_hexes_destroy(&(*mesh)->hexes);
  sp_topology_destroy(&(*mesh)->topology);
  sp_periodic_destroy(&(*mesh)->periodic);
  free(*mesh);
  *mesh = NULL;
}
