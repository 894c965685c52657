/* Curved hexahedra from gmsh, orders 2 to 9, on the shell between two spheres (inputs/shell.geo):
 * nodes are on the geometry, refinement divides the elements' own maps, and solutions converge. */
#include "mesh/numbering.h"
#include "mesh/refine.h"
#include "tests/mesh_files.h"
#include "tests/rates.h"

/* Read a geometry of inputs/ with elements of a given order. */
static sp_hexes *read_geometry(const char *name, int order) {
  sp_hexes *hexes;
  write_text("curved.geo", test_text("Include \"%s/%s\";\nMesh.ElementOrder = %d;\n", test_inputs(),
                                     name, order));
  require(sp_gmsh_hexes(MPI_COMM_WORLD, "curved.geo", NULL, NULL, &hexes));
  CHECK(hexes->map_order == order, "map order %d", hexes->map_order);
  return hexes;
}

/* The largest distance of an exterior lattice point from its sphere. */
static double off_spheres(const sp_mesh *mesh) {
  const sp_hexes *hexes = mesh->hexes;
  const int g = hexes->map_order, points = (int)sp_hexes_lattice_size(hexes);
  double worst = 0;
  int on_face[SP_MAX_NQ * SP_MAX_NQ];
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (hexes->surfaces[e][f] < 0) continue;
      sp_face_nodes(g, f, on_face);
      for (int q = 0; q < (g + 1) * (g + 1); q++) {
        const double *x = &hexes->lattice[((ptrdiff_t)e * points + on_face[q]) * 3];
        const double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        worst = fmax(worst, fmin(fabs(r - 1), fabs(r - 2)));
      }
    }
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

/* Refinement keeps the map: the volume is the same up to rounding. Determinants and sums are right
 * to 1000 epsilons (tests/geometry.c); equispaced interpolation of degree g amplifies by up to 2^g
 * / g^2.
 */
static void check_refinement(sp_mesh **mesh) {
  const int order = (*mesh)->hexes->map_order;
  const sp_gid elements = (*mesh)->global_elements;
  const double coarse = measure(*mesh).volume;
  require(sp_mesh_refine(mesh));
  CHECK((*mesh)->hexes->map_order == order && (*mesh)->global_elements == 8 * elements,
        "%lld elements", (long long)(*mesh)->global_elements);
  CHECK_CLOSE(measure(*mesh).volume / coarse, 1,
              1000 * DBL_EPSILON * (1 + ldexp(1, order) / order / order));
}

/* With maps of degree g through nodes on the spheres, the error of the volume is O(h^(g+1)) or
 * better: at most `relative`, compared with 0.23 for trilinear elements. Not beyond degree 4, where
 * the nodes of gmsh 4.8.4 inside curved faces are so inaccurate that elements get worse. */
static void check_shell(int order, double relative) {
  static const double exact = 4.0 / 3 * 3.14159265358979323846 * 7;
  AUTO(sp_mesh) mesh = NULL;
  sp_hexes *hexes = read_geometry("shell.geo", order);
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  const double error = fabs(measure(mesh).volume / exact - 1), off = off_spheres(mesh);
  CHECK(error <= relative, "order %d: the volume is off by %.3g", order, error);
  /* A few roundings at radius 2 in gmsh's parametrization of a sphere. */
  CHECK(off <= 1e-12, "order %d: a node is %.3g off its sphere", order, off);
  check_refinement(&mesh);
  CHECK(mesh->unnamed_faces == 0, "%lld unnamed faces", (long long)mesh->unnamed_faces);
  /* New points are on the old elements, not on gmsh's geometry. */
  CHECK(off_spheres(mesh) > 1e-7, "refinement follows the spheres");
}

/* Blocks in different orientations: in a straight mesh every node is at its trilinear position;
 * gmsh computes points on curves to about 1e-12. Then a smooth map curves the mesh, and neighbours
 * still match. */
static void check_lattice(int order) {
  AUTO(sp_mesh) mesh = NULL;
  sp_hexes *hexes = read_geometry("blocks.geo", order);
  const int g = order, n = g + 1, points = n * n * n;
  double worst = 0;
  for (sp_lid e = 0; e < hexes->count; e++) {
    double *lattice = &hexes->lattice[(ptrdiff_t)e * points * 3], corners[SP_CORNERS][3];
    for (int c = 0; c < SP_CORNERS; c++)
      memcpy(corners[c], &lattice[3 * (((c >> 2) * n + (c >> 1 & 1)) * n + (c & 1)) * g],
             sizeof corners[c]);
    for (int p = 0; p < points; p++)
      for (int d = 0; d < 3; d++) {
        const double at[3] = {(double)(p % n) / g, (double)(p / n % n) / g,
                              (double)(p / (n * n)) / g};
        double x = 0;
        for (int c = 0; c < SP_CORNERS; c++)
          x += (c & 1 ? at[0] : 1 - at[0]) * (c & 2 ? at[1] : 1 - at[1]) *
               (c & 4 ? at[2] : 1 - at[2]) * corners[c][d];
        worst = fmax(worst, fabs(x - lattice[3 * p + d]));
      }
    for (int p = 0; p < points; p++) {
      double *x = &lattice[3 * p];
      const double y[3] = {x[0], x[1], x[2]};
      for (int d = 0; d < 3; d++) x[d] += 0.1 * sin(2 * y[(d + 1) % 3] + d) * cos(y[(d + 2) % 3]);
    }
  }
  CHECK(worst <= 1e-11, "order %d: a node is %.3g off", order, worst);
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  check_refinement(&mesh);
}

/* Nested meshes of one curved domain, whose map is smooth in each element, have the same rates as
 * straight meshes: from 384 to 3072 elements, with all kinds of boundary data. */
static void check_nested(const char *kind, int order, const char *const *own) {
  const char *file = test_text("mesh.file=%s/shell.geo", test_inputs());
  const char *const common[] = {kind, file, "problem.solution=1/sqrt(x^2+y^2+z^2)", RATES_SOLVER,
                                NULL};
  check_rates(order, 1, common, own);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  check_shell(2, 0.006);
  check_shell(3, 0.0013);
  check_shell(4, 1e-4);
  const bool all = device_sweeps(argc, argv);
  for (int order = 2; order <= (all ? 9 : 4); order++) check_lattice(order);

  static const char *const poisson[] = {
      "problem.lambda=0; problem.forcing=0; boundary.inside=dirichlet; "
      "boundary.outside=neumann",
      NULL};
  static const char *const variable[] = {
      "problem.kappa=3+x; problem.lambda=1+y^2; boundary.inside=robin 1; "
      "boundary.outside=neumann",
      NULL};
  for (int order = 1; order <= 3; order += all ? 1 : 2) {
    check_nested("discretization.operator=bp3.5", order, poisson);
    check_nested("discretization.operator=bp3.0", order, variable);
  }
  leave_folder(TEXTS("curved.geo"));
  return check_end();
}
