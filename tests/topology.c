/* Entities and sharers of distributed meshes, compared with the elements of all ranks gathered on
 * each; and the order of elements in a mesh. Elements have random local axes. */
#include "mesh/topology.h"

#include "io/threads.h"
#include "mesh/partition.h"
#include "tests/boxes.h"

/* The vertices of all elements of all ranks. */
typedef struct everything {
  int count; /* elements */
  sp_gid (*vertices)[SP_CORNERS];
  int *ranks; /* that hold them */
} everything;

static everything gather(const sp_hexes *hexes) {
  everything all = {0};
  int *counts = test_array(2 * (size_t)world_size, sizeof *counts), *starts = counts + world_size;
  const int mine = hexes->count * SP_CORNERS;
  MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
  int total = 0;
  for (int r = 0; r < world_size; r++) {
    starts[r] = total;
    total += counts[r];
  }
  all.count = total / SP_CORNERS;
  all.vertices = test_array((size_t)all.count, sizeof *all.vertices);
  all.ranks = test_array((size_t)all.count, sizeof *all.ranks);
  MPI_Allgatherv(hexes->vertices, mine, SP_MPI_GID, all.vertices, counts, starts, SP_MPI_GID,
                 MPI_COMM_WORLD);
  for (int r = 0; r < world_size; r++)
    for (int e = 0; e < counts[r] / SP_CORNERS; e++) all.ranks[starts[r] / SP_CORNERS + e] = r;
  return all;
}

static int key_vertices(const sp_gid key[4]) {
  int n = 0;
  while (n < 4 && key[n] >= 0) n++;
  return n;
}

/* In a mesh of hexahedra an element that has all vertices of an entity has the entity. */
static int has_vertices(const sp_gid vertices[SP_CORNERS], const sp_gid key[4]) {
  const int n = key_vertices(key);
  int found = 0;
  for (int k = 0; k < n; k++)
    for (int c = 0; c < SP_CORNERS; c++) found += vertices[c] == key[k];
  return found == n;
}

static void check_slots(const sp_hexes *hexes, const sp_topology *topology) {
  CHECK(topology->elements == hexes->count, "%d elements", topology->elements);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int slot = 0; slot < SP_SLOTS; slot++) {
      const sp_lid entity = topology->slots[e][slot];
      CHECK(entity >= 0 && entity < topology->entities, "entity %d", entity);
      sp_gid key[4];
      int corners[4];
      sp_topology_key(topology, entity, key);
      const int n = sp_slot_corners(slot, corners);
      CHECK(key_vertices(key) == n, "slot %d has %d vertices", slot, key_vertices(key));
      for (int k = 1; k < n; k++) CHECK(key[k] > key[k - 1], "slot %d: key not ascending", slot);
      for (int c = 0; c < n; c++) {
        int found = 0;
        for (int k = 0; k < n; k++) found += key[k] == hexes->vertices[e][corners[c]];
        CHECK(found == 1, "slot %d: corner %d is not in the key", slot, corners[c]);
      }
    }
}

/* Vertices, then edges, then faces, each in the order in which elements first touch them. */
static void check_order(const sp_topology *topology) {
  static const int first_slots[4] = {0, SP_EDGE_SLOT, SP_FACE_SLOT, SP_SLOTS};
  CHECK(topology->start[0] == 0 && topology->start[3] == topology->entities, "%d entities",
        topology->entities);
  for (int kind = 0; kind < 3; kind++) {
    sp_lid next = topology->start[kind];
    for (sp_lid e = 0; e < topology->elements; e++)
      for (int slot = first_slots[kind]; slot < first_slots[kind + 1]; slot++) {
        const sp_lid entity = topology->slots[e][slot];
        CHECK(entity >= topology->start[kind] && entity <= next, "entity %d, expected at most %d",
              entity, next);
        next += entity == next;
      }
    CHECK(next == topology->start[kind + 1], "%d entities of kind %d, %d are touched",
          topology->start[kind + 1] - topology->start[kind], kind, next - topology->start[kind]);
  }
}

static void check_same(const char *what, const sp_topology *a, const sp_topology *b) {
  const size_t entities = (size_t)a->entities;
  CHECK(a->entities == b->entities && !memcmp(a->start, b->start, sizeof a->start), "%s: %d, %d",
        what, a->entities, b->entities);
  if (a->entities != b->entities) return;
  CHECK(!memcmp(a->slots, b->slots, (size_t)a->elements * sizeof *a->slots), "%s: slots", what);
  CHECK(!memcmp(a->touching, b->touching, entities * sizeof *a->touching), "%s: touching", what);
  CHECK(!memcmp(a->sharer_start, b->sharer_start, (entities + 1) * sizeof *a->sharer_start) &&
            !memcmp(a->sharers, b->sharers, (size_t)a->sharer_start[entities] * sizeof *a->sharers),
        "%s: sharers", what);
}

/* The same topology for 1 and 3 threads, and for vertex numbers that are far apart. */
static void check_threads(sp_hexes *hexes) {
  AUTO(sp_topology) one = NULL, *three = NULL, *apart = NULL;
  CHECK_OK(sp_topology_create(MPI_COMM_WORLD, hexes, NULL, &one));
  sp_threads_set(3);
  CHECK_OK(sp_topology_create(MPI_COMM_WORLD, hexes, NULL, &three));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int c = 0; c < SP_CORNERS; c++) hexes->vertices[e][c] *= 1000003;
  CHECK_OK(sp_topology_create(MPI_COMM_WORLD, hexes, NULL, &apart));
  sp_threads_set(1);
  if (one && three && apart) {
    check_order(one);
    check_same("3 threads", one, three);
    CHECK(!memcmp(one->first, three->first, (size_t)one->entities * sizeof *one->first), "first");
    check_same("numbers far apart", one, apart);
  }
  sp_hexes_destroy(&hexes);
}

/* The same mesh for 1 and 3 threads: order of elements, points and surfaces. */
static void check_mesh_threads(const int n[3], unsigned seed,
                               sp_hexes *(*make)(const int[3], unsigned)) {
  sp_mesh *meshes[2];
  for (int i = 0; i < 2; i++) {
    sp_threads_set(1 + 2 * i);
    sp_hexes *hexes = make(n, seed);
    CHECK_OK(sp_mesh_create(MPI_COMM_WORLD, &hexes, &meshes[i]));
  }
  sp_threads_set(1);
  if (meshes[0] && meshes[1]) {
    const sp_hexes *a = meshes[0]->hexes, *b = meshes[1]->hexes;
    const size_t count = (size_t)a->count;
    check_order(meshes[1]->topology);
    check_same("mesh", meshes[0]->topology, meshes[1]->topology);
    CHECK(meshes[0]->halo_elements == meshes[1]->halo_elements, "halo");
    CHECK(!memcmp(a->vertices, b->vertices, count * sizeof *a->vertices), "vertices");
    CHECK(!memcmp(a->surfaces, b->surfaces, count * sizeof *a->surfaces), "surfaces");
    CHECK(!memcmp(a->tags, b->tags, count * sizeof *a->tags), "tags");
    CHECK(
        !memcmp(a->lattice, b->lattice, count * 3 * sp_hexes_lattice_size(a) * sizeof *a->lattice),
        "points");
  }
  sp_mesh_destroy(&meshes[0]);
  sp_mesh_destroy(&meshes[1]);
}

/* Numbers of touching elements, and sharers, compared with all elements of all ranks. */
static void check_sharers(const sp_topology *topology, const everything *all) {
  int *holds = test_array((size_t)world_size, sizeof *holds);
  for (sp_lid i = 0; i < topology->entities; i++) {
    memset(holds, 0, (size_t)world_size * sizeof *holds);
    int elements = 0;
    sp_gid key[4];
    sp_topology_key(topology, i, key);
    for (int e = 0; e < all->count; e++)
      if (has_vertices(all->vertices[e], key)) {
        holds[all->ranks[e]]++;
        elements++;
      }
    CHECK(topology->touching[i] == holds[world_rank], "entity %d: %d elements, expected %d", i,
          topology->touching[i], holds[world_rank]);
    sp_lid s = topology->sharer_start[i];
    for (int r = 0; r < world_size; r++) {
      if (r == world_rank || !holds[r]) continue;
      CHECK(s < topology->sharer_start[i + 1] && topology->sharers[s] == r,
            "entity %d: rank %d is missing", i, r);
      s++;
    }
    CHECK(s == topology->sharer_start[i + 1], "entity %d: too many sharers", i);
    if (key_vertices(key) == 4)
      CHECK(sp_topology_is_exterior(topology, i) == (elements == 1), "face of %d elements",
            elements);
  }
}

/* Entities by dimension, each counted by the lowest rank that has it, and exterior faces. */
static void count_entities(const sp_topology *topology, sp_gid counts[5]) {
  sp_gid local[5] = {0, 0, 0, topology->elements, 0};
  for (sp_lid i = 0; i < topology->entities; i++) {
    sp_gid key[4];
    sp_topology_key(topology, i, key);
    const int n = key_vertices(key);
    const sp_lid s = topology->sharer_start[i];
    if (s < topology->sharer_start[i + 1] && topology->sharers[s] < world_rank) continue;
    local[n / 2]++;
    local[4] += n == 4 && sp_topology_is_exterior(topology, i);
  }
  MPI_Allreduce(local, counts, 5, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
}

static void check_counts(const sp_topology *topology, const int n[3]) {
  const sp_gid x = n[0], y = n[1], z = n[2];
  sp_gid counts[5];
  count_entities(topology, counts);
  const sp_gid expected[5] = {(x + 1) * (y + 1) * (z + 1),
                              x * (y + 1) * (z + 1) + (x + 1) * y * (z + 1) + (x + 1) * (y + 1) * z,
                              (x + 1) * y * z + x * (y + 1) * z + x * y * (z + 1), x * y * z,
                              2 * (x * y + y * z + z * x)};
  for (int d = 0; d < 5; d++)
    CHECK(counts[d] == expected[d], "%lld entities of kind %d, expected %lld", (long long)counts[d],
          d, (long long)expected[d]);
}

/* Halo elements come first: exactly those with a vertex on another rank. */
static void check_halo(const sp_mesh *mesh, const everything *all) {
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    int touches = 0;
    for (int other = 0; other < all->count && !touches; other++)
      for (int c = 0; c < SP_CORNERS && all->ranks[other] != world_rank; c++) {
        const sp_gid vertex[4] = {mesh->hexes->vertices[e][c], -1, -1, -1};
        touches = touches || has_vertices(all->vertices[other], vertex);
      }
    CHECK(touches == (e < mesh->halo_elements), "element %d of %d halo ones", e,
          mesh->halo_elements);
  }
}

/* Faces on the sides of the box keep their surface, others have none. */
static void check_surfaces(const sp_mesh *mesh, const int n[3]) {
  sp_gid local[SP_FACES] = {0}, faces[SP_FACES];
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int surface = mesh->hexes->surfaces[e][f];
      const bool exterior =
          sp_topology_is_exterior(mesh->topology, mesh->topology->slots[e][SP_FACE_SLOT + f]);
      CHECK(exterior == (surface != SP_SURFACE_INTERIOR), "surface %d", surface);
      if (surface < 0) continue;
      local[surface]++;
      int corners[4];
      sp_slot_corners(SP_FACE_SLOT + f, corners);
      for (int c = 0; c < 4; c++)
        CHECK(mesh->hexes->lattice[((size_t)e * SP_CORNERS + (size_t)corners[c]) * 3 +
                                   (size_t)surface / 2] == surface % 2,
              "surface %d is not on its side of the unit cube", surface);
    }
  MPI_Allreduce(local, faces, SP_FACES, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  for (int f = 0; f < SP_FACES; f++)
    CHECK(faces[f] == (sp_gid)n[0] * n[1] * n[2] / n[f / 2], "%lld faces on side %d",
          (long long)faces[f], f);
  CHECK(mesh->unnamed_faces == 0, "%lld unnamed faces", (long long)mesh->unnamed_faces);
}

static sp_hexes *make_box(const int n[3], unsigned seed) {
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {1, 1, 1}};
  return box_hexes(MPI_COMM_WORLD, &box, seed);
}

/* Distribute elements round-robin: a partition in which many ranks touch. */
static sp_hexes *make_scattered(const int n[3], unsigned seed) {
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {1, 1, 1}};
  sp_hexes *hexes = NULL;
  int *parts = NULL;
  if (world_rank == 0) {
    hexes = box_hexes(MPI_COMM_SELF, &box, 0);
    parts = test_array((size_t)hexes->count, sizeof *parts);
    for (sp_lid e = 0; e < hexes->count; e++) parts[e] = (e * e + e / 3) % world_size;
  }
  require(sp_partition_distribute(MPI_COMM_WORLD, &hexes, parts));
  for (sp_lid e = 0; e < hexes->count; e++) {
    const sp_lid number = (sp_lid)hexes->tags[e] - 1;
    CHECK((number * number + number / 3) % world_size == world_rank, "element %d", number);
    CHECK(e == 0 || hexes->tags[e] > hexes->tags[e - 1], "order of element %d", number);
  }
  CHECK(hexes->surface.group_count == 6 && strcmp(hexes->surface.groups[5].name, "zmax") == 0 &&
            hexes->surface.groups[5].number == 6 && sp_group_has(&hexes->surface.groups[5], 5) &&
            !sp_group_has(&hexes->surface.groups[5], 4),
        "groups of %d", world_rank);
  if (seed) rotate_elements(hexes, seed);
  return hexes;
}

static void check_mesh(sp_hexes *hexes, const int n[3]) {
  ARRAYS_OF_SCOPE;
  everything all = gather(hexes);
  sp_topology *topology;
  CHECK_OK(sp_topology_create(MPI_COMM_WORLD, hexes, NULL, &topology));
  if (topology) {
    check_slots(hexes, topology);
    check_order(topology);
    check_counts(topology, n);
    check_sharers(topology, &all);
  }
  sp_topology_destroy(&topology);

  AUTO(sp_mesh) mesh = NULL;
  CHECK_OK(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  CHECK(!hexes, "elements were not taken over");
  if (mesh) {
    CHECK(mesh->global_elements == (sp_gid)n[0] * n[1] * n[2], "%lld elements",
          (long long)mesh->global_elements);
    check_slots(mesh->hexes, mesh->topology); /* still valid after the elements were reordered */
    check_halo(mesh, &all);
    check_surfaces(mesh, n);
  }
}

/* The same element three times, on up to three ranks; all ranks get the error. */
static void check_overlap(void) {
  const int n[3] = {4, 2, 2};
  sp_hexes *hexes = make_box(n, 5);
  sp_gid vertices[SP_CORNERS];
  memcpy(vertices, hexes->vertices[0], sizeof vertices);
  MPI_Bcast(vertices, SP_CORNERS, SP_MPI_GID, 0, MPI_COMM_WORLD);
  memcpy(hexes->vertices[hexes->count - 1], vertices, sizeof vertices);
  memcpy(hexes->vertices[hexes->count - 2], vertices, sizeof vertices);
  sp_mesh *mesh;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh), SP_ERR_INPUT,
              "more than two hexahedra share the face");
  CHECK(!hexes && !mesh, "something is left after a failure");
}

/* Two of the three elements at a face are on other ranks than the third. */
static void check_overlap_across_ranks(void) {
  const int n[3] = {4, 1, 1};
  if (world_size != 4) return;
  sp_hexes *hexes = make_box(n, 0);
  for (int c = 0; c < SP_CORNERS && world_rank == 3; c++)
    hexes->vertices[0][c] = (c & 1) + 5 * (c >> 1); /* the position of rank 0's element */
  AUTO(sp_mesh) mesh = NULL;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh), SP_ERR_INPUT,
              "more than two hexahedra share the face");
}

/* Rank 0 has all elements of a box except the last. The last rank has that one, at another
 * position: its corners in `mask` are corners of element 0, which keeps all its neighbours, the
 * others are new vertices. */
static void check_foreign_overlap(const int n[3], int mask) {
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {1, 1, 1}};
  const int count = n[0] * n[1] * n[2];
  sp_hexes *hexes = NULL;
  int parts[16] = {0};
  if (world_size < 2) return;
  if (world_rank == 0) {
    hexes = box_hexes(MPI_COMM_SELF, &box, 0);
    if (!hexes) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int c = 0; c < SP_CORNERS; c++)
      hexes->vertices[count - 1][c] = mask >> c & 1 ? hexes->vertices[0][c] : 1000 + c;
    parts[count - 1] = world_size - 1;
  }
  CHECK_OK(sp_partition_distribute(MPI_COMM_WORLD, &hexes, parts));
  AUTO(sp_mesh) mesh = NULL;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh), SP_ERR_INPUT, "overlap");
}

static void check_empty(void) {
  sp_hexes *hexes;
  sp_mesh *mesh;
  CHECK_OK(sp_hexes_create(0, 1, &hexes));
  CHECK_FAILS(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh), SP_ERR_INPUT, "no elements");
  CHECK(!hexes && !mesh, "something is left after a failure");
}

/* A failure on one rank fails on all ranks. */
static void check_one_rank_fails(void) {
  const int n[3] = {4, 2, 2};
  sp_hexes *hexes = make_box(n, 0);
  if (world_rank == world_size - 1) {
    hexes->tags[0] = 4711;
    for (int p = 0; p < 24; p += 3) hexes->lattice[p] = -hexes->lattice[p];
  }
  sp_mesh *mesh;
  CHECK_FAILS(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh), SP_ERR_INPUT, "element 4711");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  static const int shapes[][3] = {{4, 4, 4}, {3, 5, 2}, {4, 1, 1}, {1, 2, 7}};
  for (size_t s = 0; s < COUNT_OF(shapes); s++)
    for (unsigned seed = 0; seed < 3; seed++) {
      check_mesh(make_box(shapes[s], seed), shapes[s]);
      check_mesh(make_scattered(shapes[s], seed), shapes[s]);
      check_threads(make_scattered(shapes[s], seed));
      check_mesh_threads(shapes[s], seed, make_scattered);
      check_mesh_threads(shapes[s], seed, make_box);
    }
  check_overlap();
  check_overlap_across_ranks();
  /* The face at high x with all vertices on the boundary, and with one of them inside; only that
   * vertex. */
  const int high_x = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7;
  check_foreign_overlap((const int[]){4, 1, 1}, high_x);
  check_foreign_overlap((const int[]){4, 2, 2}, high_x);
  check_foreign_overlap((const int[]){4, 2, 2}, 1 << 7);
  check_empty();
  check_one_rank_fails();
  return check_end();
}
