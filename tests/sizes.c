/* Sizes counted on the coarse mesh equal the sizes after refinement and numbering. */

#include "tests/mesh_files.h"
#include "mesh/numbering.h"
#include "mesh/refine.h"
#include "tests/boxes.h"

static void check_mesh(const char *name, sp_mesh *mesh, int most) {
  static const int orders[] = {1, 2, 5};
  sp_sizes predicted[3][3];
  for (int r = 0; r <= most; r++)
    for (int o = 0; o < 3; o++) sp_sizes_count(mesh->topology, r, orders[o], &predicted[r][o]);
  for (int r = 0; r <= most; r++) {
    if (r > 0 && sp_mesh_refine(&mesh)) MPI_Abort(MPI_COMM_WORLD, 1);
    const sp_topology *topology = mesh->topology;
    for (int o = 0; o < 3; o++) {
      const sp_sizes *p = &predicted[r][o];
      AUTO(sp_numbering) numbering = NULL;
      CHECK_OK(sp_numbering_create(mesh, orders[o], &numbering));
      CHECK(p->elements == mesh->hexes->count, "%s refine %d: %g elements, not %d", name, r,
            p->elements, mesh->hexes->count);
      CHECK(p->entities == topology->entities, "%s refine %d: %g entities, not %d", name, r,
            p->entities, topology->entities);
      CHECK(p->dofs == numbering->local, "%s refine %d order %d: %g DOFs, not %d", name, r,
            orders[o], p->dofs, numbering->local);
      CHECK(p->shared == numbering->shared_start[numbering->neighbours],
            "%s refine %d order %d: %g shared DOFs, not %d", name, r, orders[o], p->shared,
            numbering->shared_start[numbering->neighbours]);
      double owned = p->owned; /* sums of thirds have rounding errors */
      MPI_Allreduce(MPI_IN_PLACE, &owned, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      CHECK_CLOSE(owned, (double)numbering->global, 1e-13 * owned);
    }
  }
  sp_mesh_destroy(&mesh);
}

/* Let one count at a time exceed its limit; counts at the limit are valid. */
static void test_limits(void) {
  sp_sizes limits = {
      .elements = SP_LID_MAX, .entities = SP_LID_MAX / 2, .dofs = SP_LID_MAX, .shared = SP_LID_MAX};
  CHECK_OK(sp_sizes_check(&limits, "here"));
  double *const counts[] = {&limits.elements, &limits.entities, &limits.dofs, &limits.shared};
  static const char *const words[] = {"elements on", "faces on", "degrees of freedom on",
                                      "shared degrees"};
  for (int c = 0; c < 4; c++) {
    *counts[c] += 1;
    CHECK(sp_sizes_check(&limits, "here") == SP_ERR_INPUT &&
              strncmp(sp_error_message(), "here: ", 6) == 0 && strstr(sp_error_message(), words[c]),
          "%s", sp_error_message());
    *counts[c] -= 1;
  }
  /* More than any integer holds: 2^30 times as many elements per direction. */
  AUTO(sp_mesh) mesh = periodic_box((int[]){4, 3, 3}, 0, 0);
  sp_sizes_count(mesh->topology, 30, 15, &limits);
  CHECK(sp_sizes_check(&limits, "here") == SP_ERR_INPUT && limits.dofs > 1e30, "%g", limits.dofs);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  check_mesh("box", periodic_box((int[]){4, 3, 3}, 0, 0), 2);
  check_mesh("periodic box", periodic_box((int[]){4, 3, 3}, 1, 0), 2);
  check_mesh("blocks", read_mesh(fixture("two_blocks.geo")), 1);
  test_limits();
  return check_end();
}
