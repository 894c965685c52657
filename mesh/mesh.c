#include "mesh/mesh.h"

#include <stdlib.h>

double sp_mesh_predicted_bytes(const sp_sizes *sizes, int map_order) {
  return sp_hexes_predicted_bytes(sizes->elements, map_order) +
         sp_topology_predicted_bytes(sizes->elements, sizes->entities, sizes->sharers);
}

void sp_mesh_destroy(sp_mesh **mesh) {
  if (!*mesh) return;
  free((*mesh)->buried);
  sp_hexes_destroy(&(*mesh)->hexes);
  sp_topology_destroy(&(*mesh)->topology);
  sp_periodic_destroy(&(*mesh)->periodic);
  free(*mesh);
  *mesh = NULL;
}
