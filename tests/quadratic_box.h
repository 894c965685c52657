/* Elements of degree 2 that fill the unit cube, side^3 of them, with random local axes and the
 * groups of a box. */
#ifndef SP_TESTS_QUADRATIC_BOX_H
#define SP_TESTS_QUADRATIC_BOX_H

#include <mpi.h>
#include <stddef.h>
#include <string.h>

#include "mesh/box.h"
#include "tests/rotate.h"

static inline sp_hexes *quadratic_box(int side) {
  static const double nodes[] = {-1, 0, 1};
  const sp_box box = {.elements = {side, side, side}, .upper = {1, 1, 1}};
  sp_hexes *straight, *hexes;
  if (sp_box_hexes(MPI_COMM_WORLD, &box, &straight)) MPI_Abort(MPI_COMM_WORLD, 1);
  rotate_elements(straight, 1);
  if (sp_hexes_create(straight->count, 2, straight->surface_count, straight->group_count, &hexes))
    MPI_Abort(MPI_COMM_WORLD, 1);
  for (int g = 0; g < hexes->group_count; g++) {
    const sp_group *group = &straight->groups[g];
    if (sp_hexes_set_group(hexes, g, group->name, group->number)) MPI_Abort(MPI_COMM_WORLD, 1);
    memcpy(hexes->groups[g].members, group->members,
           (size_t)hexes->surface_count * sizeof *group->members);
  }
  for (sp_lid e = 0; e < straight->count; e++) {
    double xyz[3][27];
    sp_hexes_coordinates(straight, e, 3, nodes, xyz[0]);
    for (int p = 0; p < 27; p++)
      for (int d = 0; d < 3; d++) hexes->lattice[(27 * (ptrdiff_t)e + p) * 3 + d] = xyz[d][p];
    memcpy(hexes->vertices[e], straight->vertices[e], sizeof hexes->vertices[e]);
    memcpy(hexes->surfaces[e], straight->surfaces[e], sizeof hexes->surfaces[e]);
    hexes->tags[e] = straight->tags[e];
  }
  sp_hexes_destroy(&straight);
  return hexes;
}

#endif
