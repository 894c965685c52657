/* Global degrees of freedom, compared with the geometry: two element nodes have the same DOF if and
 * only if they are the same point. On elements with random local axes, straight and curved, before
 * and after refinement, for bricks of a box. */
#include "mesh/numbering.h"
#include "mesh/geometry.h"
#include "mesh/refine.h"
#include "tests/boxes.h"
#include "tests/dof_points.h"
#include "tests/mesh_files.h"

static const double EPSILON = DBL_EPSILON;

static int class_of(const sp_numbering *numbering, sp_lid dof) {
  int c = 0;
  while (dof >= numbering->class_start[c + 1]) c++;
  return c;
}

/* Elements [0, e) touch exactly the owned DOFs of class c below touched[e][c]; the class of a DOF
 * is the number of sides of an element on which its nodes lie. */
static void check_touched(const sp_mesh *mesh, const sp_numbering *numbering) {
  const int order = numbering->order, nq = order + 1, ni = order - 1;
  const sp_lid *start = numbering->class_start;
  const size_t np = (size_t)(nq * nq * nq), elements = (size_t)mesh->hexes->count;
  char *seen = test_array((size_t)numbering->local, 1);
  sp_lid touched[SP_DOF_CLASSES], copies = 0, wrong = 0;
  memcpy(touched, start, sizeof touched);
  CHECK(start[0] == 0 && start[SP_DOF_CLASSES] == numbering->owned, "classes are [%d, %d)",
        start[0], start[SP_DOF_CLASSES]);
  CHECK(memcmp(numbering->touched[0], start, sizeof touched) == 0, "touched before any element");
  for (size_t e = 0; e < elements; e++) {
    for (int q = 0; q < (int)np; q++) {
      const int ijk[3] = {q % nq, q / nq % nq, q / (nq * nq)};
      const sp_lid dof = numbering->nodes[e * np + (size_t)q];
      int sides = 0;
      for (int d = 0; d < 3; d++) sides += ijk[d] == 0 || ijk[d] == order;
      if (dof < numbering->owned) wrong += class_of(numbering, dof) != sides;
      if (sides == 0)
        wrong += dof != ((sp_lid)e * ni + ijk[2] - 1) * ni * ni + (ijk[1] - 1) * ni + ijk[0] - 1;
      if (seen[dof]++) continue;
      if (dof < numbering->owned)
        touched[sides]++;
      else
        copies++;
    }
    CHECK(memcmp(numbering->touched[e + 1], touched, sizeof touched) == 0,
          "element %zu touches other DOFs", e);
  }
  CHECK(wrong == 0, "%d DOFs of another class or range", wrong);
  CHECK(copies == numbering->local - numbering->owned, "%d copies touched", copies);
}

/* The ranks that have each DOF, as bits of a word: owners, copies, and the lists of shared DOFs. */
static void check_shared(const sp_numbering *numbering) {
  const size_t global = (size_t)numbering->global;
  unsigned char *holders = test_array(global, 1), *owners = test_array(global, 1);
  for (sp_lid dof = 0; dof < numbering->local; dof++) {
    const sp_gid number = sp_numbering_global(numbering, dof);
    CHECK(number >= 0 && number < numbering->global, "DOF %lld", (long long)number);
    const bool mine = number >= numbering->first && number < numbering->first + numbering->owned;
    CHECK(mine == (dof < numbering->owned), "DOF %d of %d owned is global %lld", dof,
          numbering->owned, (long long)number);
    holders[number] = (unsigned char)(holders[number] | 1u << world_rank);
    owners[number] = (unsigned char)(owners[number] + mine);
  }
  MPI_Allreduce(MPI_IN_PLACE, holders, (int)global, MPI_UNSIGNED_CHAR, MPI_BOR, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, owners, (int)global, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
  for (size_t i = 0; i < global; i++) CHECK(owners[i] == 1, "DOF %zu has %d owners", i, owners[i]);

  sp_lid *expected = test_array((size_t)world_size, sizeof *expected);
  for (sp_lid dof = 0; dof < numbering->local; dof++) {
    const unsigned mask = holders[sp_numbering_global(numbering, dof)];
    for (int r = 0; r < world_size; r++) expected[r] += r != world_rank && mask >> r & 1;
    /* The owner is the lowest rank that has it. */
    const bool lowest = (mask & ((1u << world_rank) - 1)) == 0;
    CHECK(lowest == (dof < numbering->owned), "DOF %d is held by %#x", dof, mask);
  }

  int b = 0;
  for (int r = 0; r < world_size; r++) {
    if (!expected[r]) continue;
    CHECK(b < numbering->neighbours && numbering->neighbour_ranks[b] == r, "no neighbour %d", r);
    if (b == numbering->neighbours) break;
    const sp_lid begin = numbering->shared_start[b], count = numbering->shared_start[b + 1] - begin;
    CHECK(count == expected[r], "%d DOFs shared with rank %d, expected %d", count, r, expected[r]);
    sp_gid *mine = test_array((size_t)count, sizeof *mine),
           *theirs = test_array(global, sizeof *theirs);
    for (sp_lid n = 0; n < count; n++)
      mine[n] = sp_numbering_global(numbering, numbering->shared[begin + n]);
    MPI_Status status;
    int received;
    MPI_Sendrecv(mine, count, SP_MPI_GID, r, 0, theirs, (int)global, SP_MPI_GID, r, 0,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, SP_MPI_GID, &received);
    CHECK(received == count, "rank %d lists %d DOFs, here are %d", r, received, count);
    int differ = 0;
    for (sp_lid n = 0; n < count && n < received; n++) differ += mine[n] != theirs[n];
    CHECK(differ == 0, "%d of %d DOFs differ from rank %d's list", differ, count, r);
    b++;
  }
  CHECK(b == numbering->neighbours, "%d neighbours, expected %d", numbering->neighbours, b);
}

/* The nodes of a face have the points that the geometry gives for the face. */
static void check_face_nodes(const sp_mesh *mesh, int order) {
  const sp_rule *gll = &sp_reference_get(order)->gll;
  const int nq = gll->n;
  double *xyz = test_array(3 * (size_t)(nq * nq * nq), sizeof *xyz);
  double *face_xyz = test_array(6 * (size_t)(nq * nq), sizeof *face_xyz);
  int *on_face = test_array((size_t)(nq * nq), sizeof *on_face);
  sp_hexes_coordinates(mesh->hexes, 0, nq, gll->nodes, xyz);
  for (int f = 0; f < SP_FACES; f++) {
    sp_face_nodes(order, f, on_face);
    sp_geometry_face(mesh->hexes, 0, f, gll, face_xyz, face_xyz + 3 * nq * nq);
    for (int q = 0; q < nq * nq; q++)
      for (int d = 0; d < 3; d++)
        CHECK_CLOSE(xyz[d * nq * nq * nq + on_face[q]], face_xyz[d * nq * nq + q], 40 * EPSILON);
  }
}

static void check_numbering(const sp_mesh *mesh, const int n[3], int order) {
  ARRAYS_OF_SCOPE;
  sp_numbering *numbering;
  CHECK_OK(sp_numbering_create(mesh, order, &numbering));
  if (!numbering) return;
  sp_gid global = 1;
  for (int d = 0; d < 3; d++) global *= (sp_gid)n[d] * order + 1;
  CHECK(numbering->order == order, "order %d", numbering->order);
  CHECK(numbering->global == global, "order %d: %lld DOFs, expected %lld", order,
        (long long)numbering->global, (long long)global);
  check_dof_points(mesh, numbering, (const bool[3]){false});
  check_touched(mesh, numbering);
  check_shared(numbering);
  check_face_nodes(mesh, order);
  sp_numbering_destroy(&numbering);
  CHECK(!numbering, "not destroyed");
}

static void bend(double point[3]) {
  sp_box_deform(&(sp_box){.map = SP_MAP_SINE}, point);
}

/* A box with random local axes; map_order > 1 curves its elements by a smooth map. */
static sp_mesh *make_mesh(const int n[3], int map_order, unsigned seed) {
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {1, 1, 1}};
  sp_hexes *hexes = box_hexes(MPI_COMM_WORLD, &box, seed);
  sp_mesh *mesh;
  if (map_order > 1) curve_elements(map_order, bend, &hexes);
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  return mesh;
}

static void check_refinement(const int n[3], int map_order, unsigned seed) {
  ARRAYS_OF_SCOPE;
  AUTO(sp_mesh) mesh = make_mesh(n, map_order, seed);
  const sizes coarse = measure(mesh);
  int fine[3] = {n[0], n[1], n[2]};
  for (int level = 1; level <= 2; level++) {
    const sp_lid before = mesh->hexes->count;
    const sp_gid global = mesh->global_elements;
    CHECK_OK(sp_mesh_refine(&mesh));
    if (!mesh) MPI_Abort(MPI_COMM_WORLD, 1);
    CHECK(mesh->hexes->count == 8 * before && mesh->global_elements == 8 * global,
          "%d elements from %d", mesh->hexes->count, before);
    CHECK(mesh->hexes->map_order == map_order, "map order %d", mesh->hexes->map_order);
    /* Children add up to the same polynomial integrals; each Jacobian is right to 1000 EPSILON
     * (tests/geometry.c), and differences in smaller elements have larger relative errors. */
    const sizes now = measure(mesh);
    CHECK_CLOSE(now.volume, coarse.volume, 1000 * EPSILON);
    for (int f = 0; f < SP_FACES; f++) {
      CHECK(now.faces[f] == coarse.faces[f] << 2 * level, "%lld faces on side %d, from %lld",
            (long long)now.faces[f], f, (long long)coarse.faces[f]);
      CHECK(mesh->hexes->surface.groups[f].number == f + 1 &&
                sp_group_has(&mesh->hexes->surface.groups[f], f) &&
                !sp_group_has(&mesh->hexes->surface.groups[f], (f + 1) % SP_FACES),
            "group %d of the refined mesh", f);
    }
    CHECK(mesh->hexes->surface.group_count == SP_FACES &&
              strcmp(mesh->hexes->surface.groups[0].name, "xmin") == 0,
          "group '%s'", mesh->hexes->surface.groups[0].name);
    CHECK(mesh->unnamed_faces == 0, "%lld unnamed faces", (long long)mesh->unnamed_faces);
    for (int d = 0; d < 3; d++) fine[d] *= 2;
    check_numbering(mesh, fine, 1);
    if (level == 1) check_numbering(mesh, fine, 3);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  static const int orders[] = {1, 2, 3, 4, 7, 15};
  static const int shapes[][3] = {{3, 2, 2}, {4, 1, 1}};
  for (size_t o = 0; o < COUNT_OF(orders); o++)
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
      for (unsigned seed = 0; seed < 3; seed++) {
        AUTO(sp_mesh) mesh = make_mesh(shapes[s], 1 + (int)seed % 3, seed);
        check_numbering(mesh, shapes[s], orders[o]);
      }
  /* Many combinations of elements that meet at a vertex. */
  for (unsigned seed = 1; seed < 5; seed++) {
    const int n[3] = {5, 4, 4};
    AUTO(sp_mesh) mesh = make_mesh(n, 1, seed);
    check_numbering(mesh, n, 4);
  }
  for (int map_order = 1; map_order <= 3; map_order++) {
    check_refinement((const int[3]){2, 3, 2}, map_order, 0);
    check_refinement((const int[3]){2, 3, 2}, map_order, 7);
  }
  return check_end();
}
