/* Geometries from CAD: bodies, faces and names become groups, bodies that touch share nodes,
 * volumes are exact or converge, and meshes are the same in every run. Rank 0 makes the files with
 * the SDK. */
#include <sys/personality.h>

#include "mesh/divide.h"
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

static sp_mesh *read_cad(const char *name, double size, double per_circle) {
  sp_hexes *hexes;
  sp_mesh *mesh = NULL;
  CHECK(sp_gmsh_is_cad(name), "%s is from CAD", name);
  const sp_gmsh_sizes of_cad = {.largest = size, .per_circle = per_circle};
  require(sp_gmsh_hexes(MPI_COMM_WORLD, name, &of_cad, NULL, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  return mesh;
}

/* The face at x = 1 of the first box is a part of one of the second: 6 + 6 faces become 12, of
 * which one is between the boxes. */
static void check_boxes(const char *name) {
  write_part(name, false);
  sp_mesh *mesh = read_cad(name, 0.5, 12);
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
    AUTO(sp_mesh) mesh = read_cad("hole.step", level ? 0.1 : 0.2, 12);
    CHECK(mesh->hexes->map_order == 2, "order %d", mesh->hexes->map_order);
    CHECK(mesh->hexes->surface.group_count == 7, "%d faces", mesh->hexes->surface.group_count);
    error[level] = fabs(measure(mesh).volume - exact);
  }
  CHECK(error[1] < error[0] / 4, "errors of the volume %.3g and %.3g", error[0], error[1]);
}

/* A script of gmsh becomes a STEP file. */
static void write_script(const char *name, const char *text) {
  write_text("part.geo", test_text("SetFactory(\"OpenCASCADE\");\n%s", text));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    int error;
    start_gmsh();
    gmshOpen("part.geo", &error);
    CHECK(!error && write_mesh(name) == 0, "gmsh could not make %s", name);
    gmshFinalize(&error);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t hash_of(MPI_Comm comm, const char *name, double size) {
  sp_hexes *hexes;
  const sp_gmsh_sizes of_cad = {.largest = size};
  require(sp_gmsh_hexes(comm, name, &of_cad, NULL, &hexes));
  const uint64_t hash = hexes->file.hash;
  sp_hexes_destroy(&hexes);
  return hash;
}

/* Return the volume in the mesh over the volume of the CAD kernel; both are exact. */
static double check_volumes(const sp_mesh *mesh, double kernel) {
  const sp_hexes_cad *cad = &mesh->hexes->file.cad;
  CHECK_TEXT(cad->body, "volume 1");
  CHECK_CLOSE(cad->volume, measure(mesh).volume, TOLERANCE * cad->volume);
  CHECK(fabs(cad->kernel_volume - kernel) < 1e-5 * kernel, "%.9g, expected %.9g",
        cad->kernel_volume, kernel);
  return cad->volume / cad->kernel_volume;
}

/* A coarse torus of radii 5 and 0.7, four elements around it. The mesh of gmsh has inverted
 * elements, so sides leave the surface, by at most the height of a circle through the corners: an
 * edge of length h = 1.5 lies h^2 / (8 r) below a circle of radius r. */
static void check_torus(void) {
  write_script("torus.step", "Torus(1) = {0, 0, 0, 5, 0.7};\n");
  AUTO(sp_mesh) mesh = read_cad("torus.step", 3, 4);
  const sp_hexes_cad *cad = &mesh->hexes->file.cad;
  static const double outer[] = {11.4, 11.4, 1.4};
  const double ratio = check_volumes(mesh, 2 * acos(-1) * 5 * acos(-1) * 0.49);
  CHECK(ratio > 0.95 && ratio < 1.02, "volume off by %.3g", ratio - 1);
  CHECK(cad->curved > 0 && cad->flattened > 0 && cad->flattened <= cad->curved,
        "%lld of %lld elements leave the surface", (long long)cad->flattened,
        (long long)cad->curved);
  CHECK(cad->distance > 0 && cad->distance < 1.5 * 1.5 / (8 * 0.7), "distance %.3g", cad->distance);
  for (int d = 0; d < 3; d++)
    CHECK(fabs(cad->extent[d] - outer[d]) < 0.05 * outer[d], "extent %.4g", cad->extent[d]);
}

/* A coarse ring, swept: where a wall bends by more than its thickness, 0.1, sides of prisms become
 * straight. Eight edges around it bend by 3 (1 - cos 22.5 degrees) = 0.228. */
static void check_ring(void) {
  write_script("ring.step", "Cylinder(1) = {0, 0, 0, 0, 0, 1, 3};\n"
                            "Cylinder(2) = {0, 0, 0, 0, 0, 1, 2.9};\n"
                            "BooleanDifference(3) = {Volume{1}; Delete;}{Volume{2}; Delete;};\n");
  AUTO(sp_mesh) mesh = read_cad("ring.step", 3, 4);
  const sp_hexes_cad *cad = &mesh->hexes->file.cad;
  CHECK(cad->flattened > 0 && cad->flattened <= cad->curved, "%lld of %lld sides leave the surface",
        (long long)cad->flattened, (long long)cad->curved);
  CHECK(cad->distance > 0 && cad->distance < 0.228, "distance %.3g", cad->distance);
  CHECK(mesh->hexes->file.divided[SP_PRISM] > 0, "not swept");
}

/* A thin pipe: edges inside bend with the walls. Sides that leave the surface by the sagitta of
 * 7 % of the radius would change the volume by more than 1e-3. The mesh is the same, read by any
 * ranks and at any addresses. */
static void check_pipe(void) {
  write_script("pipe.step", "Cylinder(1) = {0, 0, 0, 0, 0, 4, 3};\n"
                            "Cylinder(2) = {0, 0, 0, 0, 0, 4, 2.8};\n"
                            "BooleanDifference(3) = {Volume{1}; Delete;}{Volume{2}; Delete;};\n");
  AUTO(sp_mesh) mesh = read_cad("pipe.step", 3, 12);
  const double ratio = check_volumes(mesh, 4 * acos(-1) * (9 - 2.8 * 2.8));
  CHECK(fabs(ratio - 1) < 1e-3, "volume off by %.3g", ratio - 1);
  CHECK(mesh->hexes->file.cad.distance < 0.01, "distance %.3g", mesh->hexes->file.cad.distance);
  const uint64_t hash = hash_of(MPI_COMM_WORLD, "pipe.step", 3);
  CHECK(hash_of(MPI_COMM_WORLD, "pipe.step", 0.8) != hash, "hashes do not depend on the mesh");
  if (world_rank != 0) return;
  const int before = personality(0xffffffff);
  personality((unsigned long)before | ADDR_NO_RANDOMIZE); /* may be forbidden: nothing changes */
  for (int read = 0; read < 2; read++) {
    const uint64_t again = hash_of(MPI_COMM_SELF, "pipe.step", 3);
    CHECK(again == hash, "another mesh: %016llx for %016llx", (unsigned long long)again,
          (unsigned long long)hash);
    personality((unsigned long)before);
  }
}

/* Solve the part with source 1, 0 on one face, and the others insulated. Returns the iterations. */
static int count_iterations(const char *name) {
  const char *const keys[] = {test_text("mesh.file=%s", name),
                              "discretization.order=2; problem.forcing=1",
                              "boundary.surface 1=dirichlet 0; boundary.default=neumann 0", NULL};
  return (int)run_good(keys, NULL).cg.iterations;
}

/* A sheet with holes is swept, also in a skew direction. A pin and the block below it are swept;
 * the block has two faces above. The same for chips on round glue on a plate, where gmsh's mesh of
 * the plate must end in the edge of the prisms, and a stack of three at one edge. A block with a
 * bore gets tetrahedra. Two sheets below it are swept in either order of the bodies: tetrahedra in
 * one of them would be as small as it is thin. Arcs of order 2 are exact to 1e-3 of the volumes. */
static void check_sweeps(void) {
  static const struct {
    const char *script;
    double block, circles; /* volume = block + circles * pi */
    bool tetrahedra;
  } cases[] = {{"Box(1) = {0, 0, 0, 100, 60, 1};\n"
                "Cylinder(2) = {15, 15, -1, 0, 0, 4, 4};\n"
                "Cylinder(3) = {85, 45, -1, 0, 0, 4, 4};\n"
                "BooleanDifference(4) = {Volume{1}; Delete;}{Volume{2, 3}; Delete;};\n",
                6000, -32, false},
               {"Rectangle(1) = {0, 0, 0, 30, 20};\nDisk(2) = {10, 10, 0, 4};\n"
                "BooleanDifference{Surface{1}; Delete;}{Surface{2}; Delete;}\n"
                "Extrude{1, 0.6, 2} {Surface{1};}\n",
                1200, -32, false},
               {"Box(1) = {0, 0, 0, 40, 30, 8};\nCylinder(2) = {20, 15, 8, 0, 0, 9, 5};\n", 9600,
                225, false},
               {"Box(1) = {0, 0, 0, 60, 60, 4};\nCylinder(2) = {35, 30, 4, 0, 0, 0.1, 15};\n"
                "Box(3) = {26, 26, 4.1, 8, 9, 1.5};\nBox(4) = {36, 26, 4.1, 8, 9, 1.5};\n",
                14616, 22.5, false},
               {"Box(1) = {0, 0, 0, 60, 60, 4};\nBox(2) = {0, 0, 4, 30, 20, 0.1};\n"
                "Box(3) = {0, 5, 4.1, 20, 10, 2};\n",
                14860, 0, false},
               {"Box(1) = {0, 0, 0, 60, 60, 4};\nBox(2) = {10, 10, 4, 30, 20, 0.1};\n"
                "Box(3) = {10, 10, 4.1, 30, 20, 2};\nBox(4) = {10, 15, 6.1, 20, 10, 2};\n",
                16060, 0, true},
               {"Box(1) = {0, 0, 0, 30, 30, 0.5};\nBox(2) = {0, 0, 0.5, 30, 30, 1};\n"
                "Box(3) = {-10, -10, 1.5, 50, 50, 10};\n"
                "Cylinder(4) = {-10, 0, 7, 50, 0, 0, 2};\n"
                "BooleanDifference(5) = {Volume{3}; Delete;}{Volume{4}; Delete;};\n",
                26350, -200, true},
               {"Box(3) = {-10, -10, 1.5, 50, 50, 10};\n"
                "Cylinder(4) = {-10, 0, 7, 50, 0, 0, 2};\n"
                "BooleanDifference(1) = {Volume{3}; Delete;}{Volume{4}; Delete;};\n"
                "Box(5) = {0, 0, 0.5, 30, 30, 1};\nBox(6) = {0, 0, 0, 30, 30, 0.5};\n",
                26350, -200, true}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    write_script("plate.step", cases[i].script);
    AUTO(sp_mesh) mesh = read_cad("plate.step", 0, 12);
    const sp_hexes_file *file = &mesh->hexes->file;
    const double exact = cases[i].block + cases[i].circles * acos(-1);
    CHECK_CLOSE(measure(mesh).volume, exact, 1e-3 * exact);
    CHECK_CLOSE(file->cad.volume, file->cad.kernel_volume, 1e-3 * file->cad.kernel_volume);
    CHECK(file->divided[SP_PRISM] > 0 && (file->divided[SP_TETRAHEDRON] > 0) == cases[i].tetrahedra,
          "%lld tetrahedra, %lld prisms", (long long)file->divided[SP_TETRAHEDRON],
          (long long)file->divided[SP_PRISM]);
    CHECK(file->divided[SP_TETRAHEDRON] < 10000, "%lld tetrahedra",
          (long long)file->divided[SP_TETRAHEDRON]);
    CHECK(cases[i].tetrahedra || mesh->shape.quality > 0.3, "quality %.3g", mesh->shape.quality);
    CHECK(mesh->unnamed_faces == 0 && file->misfits == 0 && file->coincident == 0,
          "%lld unnamed faces, %lld misfits, %lld pairs", (long long)mesh->unnamed_faces,
          (long long)file->misfits, (long long)file->coincident);
    const int iterations = count_iterations("plate.step");
    CHECK(iterations <= 20, "%d iterations", iterations);
  }
}

/* Two sides of a cube are bulged between straight edges, and the volume is still 1: no extrusion.
 */
static void check_bulge(void) {
  write_script("bulge.brep",
               "For k In {0:1}\n"
               "  Point(4*k+1) = {0, 0, k};\n  Point(4*k+2) = {1, 0, k};\n"
               "  Point(4*k+3) = {1, 1, k};\n  Point(4*k+4) = {0, 1, k};\nEndFor\n"
               "For i In {1:4}\n"
               "  Line(i) = {i, i % 4 + 1};\n  Line(4+i) = {4 + i, 4 + i % 4 + 1};\n"
               "  Line(8+i) = {i, 4 + i};\nEndFor\n"
               "Point(20) = {1.15, 0.5, 0.25};\nPoint(21) = {0.85, 0.5, 0.75};\n"
               "Point(22) = {0.15, 0.5, 0.25};\nPoint(23) = {-0.15, 0.5, 0.75};\n"
               "Curve Loop(1) = {1, 2, 3, 4};\nCurve Loop(2) = {5, 6, 7, 8};\n"
               "Curve Loop(3) = {1, 10, -5, -9};\nCurve Loop(4) = {3, 12, -7, -11};\n"
               "Curve Loop(5) = {2, 11, -6, -10};\nCurve Loop(6) = {4, 9, -8, -12};\n"
               "For i In {1:4}\n  Plane Surface(i) = {i};\nEndFor\n"
               "Surface(5) = {5} Using Point{20, 21};\nSurface(6) = {6} Using Point{22, 23};\n"
               "Surface Loop(1) = {1, 2, 3, 4, 5, 6};\nVolume(1) = {1};\n");
  AUTO(sp_mesh) mesh = read_cad("bulge.brep", 0.3, 0);
  CHECK(mesh->hexes->file.divided[SP_PRISM] == 0, "%lld prisms",
        (long long)mesh->hexes->file.divided[SP_PRISM]);
  CHECK_CLOSE(mesh->hexes->file.cad.kernel_volume, 1, 1e-3);
}

/* A block with a groove: its elements are about as small as the gap between its edges. */
static void check_gap(void) {
  write_script("gap.step", "Box(1) = {0, 0, 0, 40, 30, 10};\n"
                           "Box(2) = {10, 14, 9.5, 10, 0.5, 1};\n"
                           "BooleanDifference(3) = {Volume{1}; Delete;}{Volume{2}; Delete;};\n");
  AUTO(sp_mesh) mesh = read_cad("gap.step", 0, 12);
  AUTO(sp_mesh) coarse = read_cad("gap.step", 5.1, 12);
  CHECK(mesh->shape.quality > 2 * coarse->shape.quality, "quality %.3g, with one size %.3g",
        mesh->shape.quality, coarse->shape.quality);
  CHECK_CLOSE(measure(mesh).volume, 11997.5, 1e-9 * 11997.5);
  const int iterations = count_iterations("gap.step");
  CHECK(iterations <= 20, "%d iterations", iterations);
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
  check_torus();
  check_ring();
  check_pipe();
  check_sweeps();
  check_gap();
  check_bulge();
  check_refusals();
  leave_folder(TEXTS("boxes.step", "boxes.brep", "hole.step", "bad.step", "bad.brep", "torus.step",
                     "pipe.step", "ring.step", "plate.step", "gap.step", "bulge.brep", "part.geo"));
  return check_end();
}
