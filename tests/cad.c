/* Geometries from CAD: bodies, faces and names become groups, bodies that touch share nodes,
 * volumes are exact or converge. Rank 0 makes the files with the SDK. */
#include "tests/mesh_files.h"
#include "tests/rates.h"
#include "tests/start_gmsh.h"

/* Rank 0 writes two boxes that touch at x = 1, the second one taller, as separate bodies; or, of
 * `hole`, a block of 2 x 1 x 1 with a hole of radius 0.3. */
static void write_part(const char *name, bool hole) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    int error, block[2] = {3, 1}, tool[2] = {3, 2}, *out = NULL, **map = NULL;
    size_t out_count, *map_counts = NULL, map_count;
    start_gmsh();
    gmshModelOccAddBox(0, 0, 0, hole ? 2 : 1, 1, 1, 1, &error);
    if (hole) {
      gmshModelOccAddCylinder(1, 0.5, -1, 0, 0, 3, 0.3, 2, 2 * acos(-1), &error);
      gmshModelOccCut(block, 2, tool, 2, &out, &out_count, &map, &map_counts, &map_count, 3, 1, 1,
                      &error);
    } else {
      gmshModelOccAddBox(1, 0, 0, 2, 1, 2, 2, &error);
    }
    gmshModelOccSynchronize(&error);
    CHECK(write_mesh(name) == 0, "gmsh could not make %s", name);
    gmshFinalize(&error);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static sp_mesh *read_cad(const char *name, double size) {
  sp_hexes *hexes;
  sp_mesh *mesh = NULL;
  CHECK(sp_gmsh_is_cad(name), "%s is from CAD", name);
  const sp_gmsh_sizes of_cad = {.largest = size, .per_circle = 12};
  require(sp_gmsh_cad_hexes(MPI_COMM_WORLD, name, &of_cad, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  return mesh;
}

/* The face at x = 1 of the first box is a part of one of the second: 6 + 6 faces become 12, of
 * which one is between the boxes. */
static void check_boxes(const char *name) {
  write_part(name, false);
  sp_mesh *mesh = read_cad(name, 0.5);
  const sp_hexes *hexes = mesh->hexes;
  CHECK(hexes->map_order == 1, "order %d", hexes->map_order);
  CHECK(hexes->volume.group_count == 2 && hexes->surface.group_count == 12, "%d and %d groups",
        hexes->volume.group_count, hexes->surface.group_count);
  for (int v = 0; v < hexes->volume.group_count; v++) {
    const char *expected = test_text("volume %d", v + 1);
    CHECK_TEXT(hexes->volume.groups[v].name, expected);
  }
  for (int g = 0; g < hexes->surface.group_count; g++) {
    const char *expected = test_text("surface %d", hexes->surface.groups[g].number);
    CHECK_TEXT(hexes->surface.groups[g].name, expected);
  }
  CHECK_CLOSE(measure(mesh).volume, 5, 5 * TOLERANCE);
  int buried = 0;
  for (int s = 0; s < hexes->surface.count; s++) buried += mesh->buried[s];
  CHECK(buried == 1, "%d surfaces between elements", buried);
  CHECK(mesh->unnamed_faces == 0, "%lld unnamed faces", (long long)mesh->unnamed_faces);
  sp_mesh_destroy(&mesh);
  const char *const common[] = {test_text("mesh.file=%s", name),
                                "mesh.size=0.7; problem.solution=x-2*y+3*z", RATES_SOLVER,
                                "discretization.order=1; discretization.operator=bp3.0", NULL};
  const sp_error_norms norms = rates_solve(common, NULL);
  CHECK(norms.max < 1e-8, "a linear solution is off by %.3g", norms.max); /* tests/rates.h */
}

/* Order 2 interpolates the cylinder to h^3; half the size leaves a quarter of the error, or less.
 */
static void check_hole(void) {
  const double exact = 2 - acos(-1) * 0.09;
  double error[2];
  write_part("hole.step", true);
  for (int level = 0; level < 2; level++) {
    AUTO(sp_mesh) mesh = read_cad("hole.step", level ? 0.1 : 0.2);
    CHECK(mesh->hexes->map_order == 2, "order %d", mesh->hexes->map_order);
    CHECK(mesh->hexes->surface.group_count == 7, "%d faces", mesh->hexes->surface.group_count);
    error[level] = fabs(measure(mesh).volume - exact);
  }
  CHECK(error[1] < error[0] / 4, "errors of the volume %.3g and %.3g", error[0], error[1]);
}

static void check_refusals(void) {
  static const char text[] = "ISO-10303-21;\nHEADER;\nnothing of use\n";
  check_refused(write_text("bad.step", text), "bad.step: ");
  check_refused(write_text("bad.brep", text), "bad.brep: ");
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  check_boxes("boxes.step");
  check_boxes("boxes.brep");
  check_hole();
  check_refusals();
  leave_folder(TEXTS("boxes.step", "boxes.brep", "hole.step", "bad.step", "bad.brep"));
  return check_end();
}
