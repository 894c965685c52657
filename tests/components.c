/* Connected components of distributed meshes, compared with a plain search through all elements. */
#include "mesh/components.h"

#include "mesh/refine.h"
#include "tests/boxes.h"
#include "tests/cubes.h"

static void check(const cubes *all, uint64_t seed) {
  AUTO(sp_hexes) hexes = NULL;
  AUTO(sp_topology) topology = NULL;
  sp_components *components;
  require(cubes_hexes(all, world_rank, &hexes));
  require(sp_topology_create(MPI_COMM_WORLD, hexes, NULL, &topology));
  require(sp_components_create(MPI_COMM_WORLD, topology, SP_BY_VERTICES, &components));
  CHECK(components->count == all->components, "seed %d: %d components, expected %d", (int)seed,
        components->count, all->components);
  CHECK(cubes_agree(MPI_COMM_WORLD, all, hexes, components->of_element), "seed %d", (int)seed);
  sp_components_destroy(&components);
  CHECK(!components, "destroyed");
}

static void check_cubes(uint64_t seed, int percent, int ranks) {
  cubes all;
  cubes_choose(seed, percent, ranks, &all);
  check(&all, seed);
}

/* One chain that winds through the whole lattice, its cubes assigned to the ranks in turn. */
static void check_chain(void) {
  cubes all = {.components = 1};
  for (int place = 0; place < CUBES_MOST; place++) {
    const int x = place % 5, y = place / 5 % 5, z = place / 25;
    const bool row = y % 2 == 0 || (y == 1 && x == 4) || (y == 3 && x == 0);
    const bool layer = z == 1 ? x == 4 && y == 4 : x == 0 && y == 0;
    if (z % 2 == 0 ? !row : !layer) continue;
    all.place[all.count][0] = x;
    all.place[all.count][1] = y;
    all.place[all.count][2] = z;
    all.rank[all.count] = all.count % world_size;
    all.count++;
  }
  check(&all, 0);
}

/* Two slabs that only a periodic pair of groups connects; and their refinement. */
static void check_periodic(void) {
  const sp_box box = {.elements = {1, 1, 4}, .upper = {1, 1, 4}};
  for (int pairs = 0; pairs < 2; pairs++) {
    sp_hexes *hexes = box_hexes(MPI_COMM_WORLD, &box, 0);
    AUTO(sp_mesh) mesh = NULL;
    sp_components *components;
    /* Cut in the middle: the upper half has vertices of its own. */
    for (sp_lid e = 0; e < hexes->count; e++)
      for (int c = 0; c < SP_CORNERS && hexes->tags[e] > 2; c++) hexes->vertices[e][c] += 1000;
    require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
    if (pairs) require(sp_mesh_identify(mesh, 1, &(sp_periodic_pair){.groups = {4, 5}}));
    for (int refined = 0; refined < 2; refined++) {
      if (refined) require(sp_mesh_refine(&mesh));
      require(sp_components_create(MPI_COMM_WORLD, mesh->topology, SP_BY_VERTICES, &components));
      CHECK(components->count == 2 - pairs, "%d components of two halves, periodic %d, refined %d",
            components->count, pairs, refined);
      sp_components_destroy(&components);
    }
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  /* From isolated cubes to one body; on all ranks, and with no cubes on the last ranks. */
  for (uint64_t seed = 1; seed <= 60; seed++)
    for (int percent = 3; percent < 60; percent *= 2)
      check_cubes(seed, percent, seed % 3 == 0 ? (world_size + 1) / 2 : world_size);
  check_cubes(1, 0, world_size);   /* no element at all */
  check_cubes(1, 100, world_size); /* all of them */
  check_chain();
  check_periodic();
  return check_end();
}
