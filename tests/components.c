/* Connected components of distributed meshes, of scattered cubes that meet in faces, edges,
 * vertices or not at all, on random ranks, compared with a plain search through all elements. */
#include "mesh/components.h"

#include "mesh/refine.h"
#include "tests/boxes.h"

enum { CUBES_SIDE = 5, CUBES_MOST = CUBES_SIDE * CUBES_SIDE * CUBES_SIDE };

typedef struct cubes {
  int count;                 /* on all ranks; cube n has the tag n + 1 */
  int place[CUBES_MOST][3];  /* position in the lattice of CUBES_SIDE^3 */
  int rank[CUBES_MOST];      /* rank that has the cube */
  int component[CUBES_MOST]; /* numbered from 0 in the order of the cubes */
  int components;
} cubes;

static uint64_t cubes_draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Two cubes have a vertex in common. */
static bool cubes_touch(const int a[3], const int b[3]) {
  bool touch = true;
  for (int d = 0; d < 3; d++) touch = touch && abs(a[d] - b[d]) <= 1;
  return touch;
}

/* Each lattice position has a cube with probability `percent`, on one of the first `ranks` ranks.
 */
static void cubes_choose(uint64_t seed, int percent, int ranks, cubes *all) {
  *all = (cubes){0};
  for (int place = 0; place < CUBES_MOST; place++) {
    if ((int)(cubes_draw(&seed) % 100) >= percent) continue;
    const int n = all->count++;
    all->place[n][0] = place % CUBES_SIDE;
    all->place[n][1] = place / CUBES_SIDE % CUBES_SIDE;
    all->place[n][2] = place / (CUBES_SIDE * CUBES_SIDE);
    all->rank[n] = (int)(cubes_draw(&seed) % (uint64_t)ranks);
    all->component[n] = -1;
  }
  int waiting[CUBES_MOST];
  for (int first = 0; first < all->count; first++) {
    if (all->component[first] >= 0) continue;
    int length = 1;
    waiting[0] = first;
    all->component[first] = all->components;
    while (length > 0) {
      const int from = waiting[--length];
      for (int to = 0; to < all->count; to++) {
        if (all->component[to] >= 0 || !cubes_touch(all->place[from], all->place[to])) continue;
        all->component[to] = all->components;
        waiting[length++] = to;
      }
    }
    all->components++;
  }
}

/* The cubes of `rank` as elements; the caller destroys *out. */
static sp_status cubes_hexes(const cubes *all, int rank, sp_hexes **out) {
  sp_gid mine = 0;
  for (int n = 0; n < all->count; n++) mine += all->rank[n] == rank;
  SP_TRY(sp_hexes_create(mine, 1, out));
  sp_lid e = 0;
  for (int n = 0; n < all->count; n++) {
    if (all->rank[n] != rank) continue;
    for (int c = 0; c < SP_CORNERS; c++) {
      int corner[3];
      for (int d = 0; d < 3; d++) {
        corner[d] = all->place[n][d] + (c >> d & 1);
        (*out)->lattice[((size_t)e * SP_CORNERS + (size_t)c) * 3 + (size_t)d] = corner[d];
      }
      (*out)->vertices[e][c] =
          corner[0] + (CUBES_SIDE + 1) * (corner[1] + (CUBES_SIDE + 1) * corner[2]);
    }
    for (int f = 0; f < SP_FACES; f++) (*out)->surfaces[e][f] = SP_SURFACE_INTERIOR;
    (*out)->tags[e++] = n + 1;
  }
  return SP_OK;
}

/* True if `found`, a number for each local element, is the same partition as the components of
 * `all`, with the same numbers in [0, components) on all ranks. Collective over `comm`. */
static bool cubes_agree(MPI_Comm comm, const cubes *all, const sp_hexes *hexes, const int *found) {
  int of_cube[CUBES_MOST], number[CUBES_MOST], owner[CUBES_MOST];
  for (int n = 0; n < all->count; n++) of_cube[n] = owner[n] = number[n] = -1;
  for (sp_lid e = 0; e < hexes->count; e++) of_cube[hexes->tags[e] - 1] = found[e];
  MPI_Allreduce(MPI_IN_PLACE, of_cube, all->count, MPI_INT, MPI_MAX, comm);
  bool same = true;
  for (int n = 0; n < all->count; n++) {
    const int mine = of_cube[n], expected = all->component[n];
    if (mine < 0 || mine >= all->components) return false;
    if (number[expected] < 0) number[expected] = mine;
    if (owner[mine] < 0) owner[mine] = expected;
    same = same && number[expected] == mine && owner[mine] == expected;
  }
  return same;
}

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

/* Bodies that meet in a vertex are one component. The first rank has a bent chain of cubes and a
 * lone cube. On the second, one cube touches the start of the chain, and one connects the end of
 * the chain, in seven vertices, with the lone cube, in the eighth: all its vertices are shared. */
static void check_meeting_cubes(void) {
  const cubes all = {.count = 12,
                     .place = {{1, 0, 0},
                               {2, 0, 0},
                               {3, 0, 0},
                               {4, 0, 1},
                               {4, 1, 2},
                               {4, 2, 3},
                               {4, 3, 3},
                               {3, 4, 3},
                               {3, 3, 4},
                               {2, 2, 2},
                               {0, 0, 0},
                               {3, 3, 3}},
                     .rank = {[10] = 1 % world_size, [11] = 1 % world_size},
                     .components = 1};
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
  check_meeting_cubes();
  check_periodic();
  return check_end();
}
