/* Tetrahedra, prisms and hexahedra become hexahedra: the same domain, groups and elements from
 * every format, exactly the shape of curved cells, solutions that converge as on any mesh. Rank 0
 * makes the files with the SDK from fixtures/cells.geo: three cubes of side 1, one of each shape.
 */
#include "mesh/divide.h"

#include "io/rendezvous.h"
#include "mesh/numbering.h"
#include "tests/mesh_files.h"
#include "tests/rates.h"
#include "tests/start_gmsh.h"

static const double PI = 3.14159265358979323846;

/* Cells of a file by shape, and the volume of its tetrahedra, from the SDK on rank 0. */
typedef struct cells {
  long long count[SP_CELL_SHAPES], hexahedra;
  double volume;
} cells;

/* |J| of a tetrahedron of order g is of degree 3 (g - 1). */
static void count_cells(int order, cells *out) {
  static const char *const families[] = {"Tetrahedron", "Prism", "Hexahedron"};
  static const int children[] = {4, 6, 8};
  int error;
  *out = (cells){0};
  const char *rule = test_text("Gauss%d", 3 * order - 2);
  for (int s = 0; s < SP_CELL_SHAPES; s++) {
    size_t count, nodes, n, jacobians, points;
    size_t *tags = NULL, *node_tags = NULL;
    double *at = NULL, *weights = NULL, *j = NULL, *det = NULL, *xyz = NULL;
    const int type = gmshModelMeshGetElementType(families[s], order, 0, &error);
    gmshModelMeshGetElementsByType(type, &tags, &count, &node_tags, &nodes, -1, 0, 1, &error);
    out->count[s] = (long long)count;
    out->hexahedra += children[s] * (long long)count;
    gmshFree(tags);
    gmshFree(node_tags);
    if (s != SP_TETRAHEDRON) continue;
    gmshModelMeshGetIntegrationPoints(type, rule, &at, &n, &weights, &points, &error);
    gmshModelMeshGetJacobians(type, at, n, &j, &jacobians, &det, &n, &xyz, &nodes, -1, 0, 1,
                              &error);
    for (size_t p = 0; p < n && !error; p++) out->volume += det[p] * weights[p % points];
    gmshFree(at);
    gmshFree(weights);
    gmshFree(j);
    gmshFree(det);
    gmshFree(xyz);
  }
}

/* Rank 0 meshes a fixture, or a ball of radius 1 if `geometry` is NULL, with cells of at most this
 * size (0: as the fixture says), and writes it. */
static void generate(const char *geometry, double version, int binary, int order, double size,
                     const char *name, cells *all) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    int error, failed;
    start_gmsh();
    if (geometry) {
      gmshOpen(fixture(geometry), &error);
    } else {
      gmshModelOccAddSphere(0, 0, 0, 1, 7, -PI / 2, PI / 2, 2 * PI, &error);
      gmshModelOccSynchronize(&error);
    }
    if (size > 0) gmshOptionSetNumber("Mesh.MeshSizeMax", size, &error);
    if (size > 0) gmshOptionSetNumber("Mesh.MeshSizeMin", size, &error);
    gmshOptionSetNumber("Mesh.HighOrderOptimize", 1, &error);
    failed = make_mesh(NULL, version, binary, order, 0) + write_mesh(name);
    count_cells(order, all);
    gmshFinalize(&error);
    CHECK(failed == 0, "gmsh could not make %s", name);
  }
  MPI_Bcast(all, (int)sizeof *all, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Volumes of the three groups of cells.geo, if the mesh has them, and of the whole mesh. */
static void find_volumes(const sp_mesh *mesh, double volumes[4]) {
  static const char *const names[] = {"prisms", "hexahedra", "tetrahedra"};
  static double wj[SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE], xyz[3 * COUNT_OF(wj)];
  const sp_hexes *hexes = mesh->hexes;
  sp_rule rule;
  sp_rule_gl(2 * hexes->map_order, &rule);
  for (int n = 0; n < 4; n++) volumes[n] = 0;
  for (sp_lid e = 0; e < hexes->count; e++) {
    double volume = 0;
    CHECK_OK(sp_geometry_volume(hexes, e, &rule, xyz, wj));
    for (int q = 0; q < rule.n * rule.n * rule.n; q++) volume += wj[q];
    volumes[3] += volume;
    for (int g = 0; g < hexes->volume.group_count; g++)
      for (int n = 0; n < 3; n++)
        if (strcmp(hexes->volume.groups[g].name, names[n]) == 0 &&
            sp_group_has(&hexes->volume.groups[g], hexes->volumes[e]))
          volumes[n] += volume;
  }
  MPI_Allreduce(MPI_IN_PLACE, volumes, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Each (tag, corner) occurs once. */
static void check_names(const sp_hexes *hexes) {
  sp_row_name *names = test_array((size_t)hexes->count, sizeof *names);
  int64_t *numbers = test_array((size_t)hexes->count, sizeof *numbers), largest = -1;
  sp_gid count = hexes->count;
  for (sp_lid e = 0; e < hexes->count; e++)
    names[e] = (sp_row_name){{hexes->tags[e], hexes->octants[e]}};
  CHECK_OK(sp_rendezvous_number(MPI_COMM_WORLD, hexes->count, names, numbers));
  for (sp_lid e = 0; e < hexes->count; e++) largest = numbers[e] > largest ? numbers[e] : largest;
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  CHECK(largest + 1 == count, "%lld names of %lld elements", (long long)largest + 1,
        (long long)count);
}

static void check_cubes(const char *path, const cells *all) {
  double volumes[4];
  AUTO(sp_mesh) mesh = read_mesh(path);
  if (!mesh) return;
  const sp_hexes *hexes = mesh->hexes;
  for (int s = 0; s < SP_CELL_SHAPES; s++)
    CHECK(hexes->file.divided[s] == all->count[s], "shape %d: %lld cells", s,
          (long long)hexes->file.divided[s]);
  CHECK(mesh->global_elements == all->hexahedra, "%lld elements", (long long)mesh->global_elements);
  find_volumes(mesh, volumes);
  for (int n = 0; n < 3; n++) CHECK_CLOSE(volumes[n], 1, TOLERANCE);
  check_names(hexes);
  const sizes size = measure(mesh);
  CHECK_CLOSE(size.area[find_group(hexes, "bottom", 0)], 1, TOLERANCE);
  CHECK_CLOSE(size.area[find_group(hexes, "top", 0)], 2, TOLERANCE);
  CHECK_CLOSE(size.area[find_group(hexes, "sides", 0)], 11, 4 * TOLERANCE);
  CHECK(mesh->unnamed_faces == 0, "%lld unnamed faces", (long long)mesh->unnamed_faces);
}

/* Linear solutions are exact if N is at least the geometric order g and the quadrature is exact for
 * the products of cofactors of J, of degree 2 g, and of a derivative, N - 1: N + 2 GL points are up
 * to 2 N + 3. */
static void check_linear(const char *path, int order) {
  const char *const common[] = {
      test_text("mesh.file=%s; discretization.order=%d", path, order),
      "problem.solution=x-2*y+3*z+1", RATES_SOLVER,
      "discretization.operator=bp3.0; problem.lambda=0; boundary.top=neumann", NULL};
  const sp_error_norms norms = rates_solve(common, NULL);
  /* The solver's error by tests/rates.h, for a solution of size 10. */
  CHECK(norms.max < 1e-8, "a linear solution is off by %.3g", norms.max);
}

static void check_formats(void) {
  cells all;
  for (int format = 0; format < 8; format++) {
    const int order = 1 + format / 4;
    generate("cells.geo", format & 2 ? 2.2 : 4.1, format & 1, order, 0, "cells.msh", &all);
    CHECK(all.count[SP_TETRAHEDRON] && all.count[SP_PRISM] && all.count[SP_HEXAHEDRON],
          "the mesh has all shapes");
    check_cubes("cells.msh", &all);
    if (format & 1) check_linear("cells.msh", order);
  }
  generate("cells.geo", 4.1, 1, 1, 0, "cells.msh", &all);
  check_cubes(fixture("cells.geo"), &all); /* meshed by the program */
}

/* Errors on a divided mesh and its refinements have the usual rates. */
static void check_convergence(void) {
  cells all;
  generate("cells.geo", 4.1, 1, 1, 0, "cells.msh", &all);
  const char *const common[] = {"mesh.file=cells.msh", RATES_SMOOTH, RATES_SOLVER,
                                "problem.lambda=1", NULL};
  for (int order = 1; order <= 2; order++) check_rates(order, 0, common, NULL);
}

/* The hexahedra of curved tetrahedra have their volume. With order 2 it converges to the volume of
 * the ball: the sphere is interpolated to h^3, and errors of odd order cancel, which gives h^4.
 * Sizes of unstructured meshes are halved only on average, so h^3 is required. */
static void check_ball(int order) {
  const double exact = 4.0 / 3 * PI;
  double error[2], volumes[4];
  for (int level = 0; level < 2; level++) {
    cells all;
    generate(NULL, 4.1, 1, order, level ? 0.4 : 0.8, "ball.msh", &all);
    AUTO(sp_mesh) mesh = read_mesh("ball.msh");
    if (!mesh) return;
    CHECK(mesh->hexes->map_order == order, "order %d", mesh->hexes->map_order);
    CHECK(mesh->global_elements == 4 * all.count[SP_TETRAHEDRON], "%lld elements",
          (long long)mesh->global_elements);
    find_volumes(mesh, volumes);
    CHECK_CLOSE(volumes[3], all.volume, 1e-10); /* gmsh's weights have eleven digits */
    error[level] = fabs(volumes[3] - exact);
  }
  CHECK(order > 2 || log2(error[0] / error[1]) > 3, "errors of the volume %.3g and %.3g", error[0],
        error[1]);
}

#define NODES                                                                                      \
  "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 0\n" \
  "6 1 0 1\n$EndNodes\n$Elements\n"

static void check_refusals(void) {
  static const struct {
    const char *elements, *phrase;
  } files[] = {
      {"1\n7 7 2 1 1 1 2 5 3 4\n$EndElements\n", "'Pyramid 5' (the first is element 7)"},
      {"1\n7 7 2 1 1 1 2 5 3 4\n$EndElements\n", "take Recombine and Transfinite off the surfaces"},
      {"1\n7 18 2 1 1 1 2 3 4 5 6 1 2 3 4 5 6 1 2 3\n$EndElements\n",
       "set Mesh.SecondOrderIncomplete = 0"},
      {"2\n5 4 2 1 1 1 2 3 4\n7 4 2 1 1 2 3 5 6\n$EndElements\n", "element 7 has a Jacobian of"},
      {"1\n7 4 2 1 1 1 2 2 4\n$EndElements\n", "is degenerate"},
      {"1\n7 4 2 1 1 1 2 3 9\n$EndElements\n", "element 7 refers to node 9, which does not exist"},
      {"2\n7 4 2 1 1 1 2 3 4\n$EndElements\n", "says 2 elements, but only 1 follow"},
      {"1\n7 4 2 1 1 1 2 3\n$EndElements\n", "expected element 7 to have 2 tags and 4 nodes"},
      {"1\n7 99 2 1 1 1 2 3 4\n$EndElements\n", "expected element 7 to have"},
      {"2\n7 4 2 1 1 1 2 3 4\n7 4 2 1 1 2 5 3 6\n$EndElements\n",
       "element 7 is in line 15 already"},
  };
  for (size_t f = 0; f < COUNT_OF(files) && world_size == 1; f++)
    check_refused(write_text("bad.msh", test_text("%s%s", NODES, files[f].elements)),
                  files[f].phrase);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  check_formats();
  check_convergence();
  for (int order = 2; order <= 3; order++) check_ball(order);
  check_refusals();
  leave_folder(TEXTS("cells.msh", "ball.msh", "bad.msh"));
  return check_end();
}
