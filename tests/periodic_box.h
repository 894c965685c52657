/* A box whose elements have random orientations, with periods in its first directions; without a
 * period it is deformed. Face pairs of direction d are the groups 2 d and 2 d + 1. */
#ifndef SP_TESTS_PERIODIC_BOX_H
#define SP_TESTS_PERIODIC_BOX_H

#include "mesh/box.h"
#include "mesh/mesh.h"
#include "tests/check.h"
#include "tests/rotate.h"

/* Aborts on errors; the caller destroys the mesh. Collective over MPI_COMM_WORLD. */
static inline sp_mesh *periodic_box(const int elements[3], int periods, int seed) {
  const sp_box shape = {.elements = {elements[0], elements[1], elements[2]},
                        .upper = {1.5, 1, 0.8},
                        .map = periods == 0 ? SP_MAP_SINE : SP_MAP_NONE};
  sp_hexes *hexes;
  sp_mesh *mesh = NULL;
  sp_periodic_pair pairs[3];
  for (int d = 0; d < periods; d++) pairs[d] = (sp_periodic_pair){{2 * d, 2 * d + 1}};
  sp_status status = sp_box_hexes(MPI_COMM_WORLD, &shape, &hexes);
  if (!status) rotate_elements(hexes, (unsigned)seed);
  if (!status) status = sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh);
  if (!status && periods > 0) status = sp_mesh_identify(mesh, periods, pairs);
  CHECK(!status, "%s", sp_error_message());
  if (status) MPI_Abort(MPI_COMM_WORLD, 1);
  return mesh;
}

#endif
