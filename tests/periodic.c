/* Periodic pairs of groups: two element nodes have the same DOF if and only if they are the same
 * point modulo the periods, also with one and two elements across. Solutions on such meshes, with
 * the argument `cuda` on a GPU. */
#include "mesh/periodic.h"

#include "mesh/numbering.h"
#include "mesh/refine.h"
#include "tests/folders.h"
#include "tests/boxes.h"
#include "tests/dof_points.h"
#include "tests/rates.h"

/* Pairs with the two groups in either order. */
static int make_pairs(const bool *periodic, unsigned seed, sp_periodic_pair *pairs) {
  int count = 0;
  for (int d = 0; d < 3; d++) {
    const int low = 2 * d, high = 2 * d + 1, swap = seed >> d & 1;
    if (periodic[d]) pairs[count++] = (sp_periodic_pair){{swap ? high : low, swap ? low : high}};
  }
  return count;
}

static void check_faces(const sp_mesh *mesh, const int n[3], const bool *periodic) {
  sp_gid exterior = 0, kept = 0, expected = 0, identified = 0;
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int surface = mesh->hexes->surfaces[e][f];
      exterior +=
          sp_topology_is_exterior(mesh->topology, mesh->topology->slots[e][SP_FACE_SLOT + f]);
      kept += surface >= 0 && periodic[surface / 2];
    }
  for (int d = 0; d < 3; d++) {
    const sp_gid faces = 2 * (sp_gid)n[0] * n[1] * n[2] / n[d];
    *(periodic[d] ? &identified : &expected) += faces;
  }
  MPI_Allreduce(MPI_IN_PLACE, &exterior, 1, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &kept, 1, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  CHECK(exterior == expected, "%lld exterior faces, expected %lld", (long long)exterior,
        (long long)expected);
  CHECK(kept == identified, "%lld faces on periodic groups, expected %lld", (long long)kept,
        (long long)identified);
}

static void check_box(const int n[3], unsigned mask, unsigned seed) {
  if (n[0] * n[1] * n[2] < world_size) return;
  const bool periodic[3] = {mask & 1, mask & 2, mask & 4};
  const sp_box box = {.elements = {n[0], n[1], n[2]}, .upper = {1, 1, 1}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, seed);
  sp_periodic_pair pairs[3];
  const int count = make_pairs(periodic, seed, pairs);
  require(sp_mesh_identify(mesh, count, pairs));
  int fine[3] = {n[0], n[1], n[2]};
  for (int level = 0; level < 2; level++) {
    check_faces(mesh, fine, periodic);
    for (int order = 1; order <= 4; order += level + 1) {
      sp_gid expected = 1;
      for (int d = 0; d < 3; d++) expected *= (sp_gid)fine[d] * order + !periodic[d];
      AUTO(sp_numbering) numbering = NULL;
      require(sp_numbering_create(mesh, order, &numbering));
      CHECK(numbering->global == expected, "%d %d %d elements, periods %u, order %d: %lld DOFs",
            fine[0], fine[1], fine[2], mask, order, (long long)numbering->global);
      check_dof_points(mesh, numbering, periodic);
    }
    if (level == 0) require(sp_mesh_refine(&mesh));
    for (int d = 0; d < 3; d++) fine[d] *= 2;
  }
}

/* Two unit cubes that share an edge, at the origin and at (1, 1, 0). Their left faces are
 * identified with their right ones, so that three edges along z become one, through the middle one.
 * Classes are transitive for any order of the faces and of the vertex numbers. */
static void check_chain(bool descending) {
  sp_hexes *hexes;
  AUTO(sp_mesh) mesh = NULL;
  AUTO(sp_numbering) numbering = NULL;
  require(sp_hexes_create(2, 1, &hexes));
  require(sp_family_resize(&hexes->surface, 2, 2));
  for (int g = 0; g < 2; g++) {
    require(sp_family_set_group(&hexes->surface, g, g ? "right" : "left", g + 1));
    require(sp_group_add(&hexes->surface.groups[g], g));
  }
  for (int e = 0; e < 2; e++) {
    for (int c = 0; c < SP_CORNERS; c++) {
      const int x = e + (c & 1), y = e + (c >> 1 & 1), z = c >> 2, number = x + 3 * (y + 3 * z);
      const double point[3] = {x, y, z};
      memcpy(&hexes->lattice[(e * SP_CORNERS + c) * 3], point, sizeof point);
      hexes->vertices[e][c] = descending ? 17 - number : number;
    }
    for (int f = 0; f < SP_FACES; f++) hexes->surfaces[e][f] = f < 2 ? f : SP_SURFACE_INTERIOR;
  }
  require(sp_mesh_create(MPI_COMM_SELF, &hexes, &mesh));
  require(sp_mesh_identify(mesh, 1, &(sp_periodic_pair){{0, 1}}));
  require(sp_numbering_create(mesh, 1, &numbering));
  CHECK(numbering->global == 6, "%lld DOFs", (long long)numbering->global);
}

#define ALL_PERIODIC                                                                               \
  "boundary.xmin=periodic xmax", "boundary.ymax=periodic ymin", "boundary.zmin=periodic zmax"

/* Between 6 and 12 elements per period; with lambda = 0 on the torus there is a null space. */
static void check_waves(const char *kind, int order, const char *const *own) {
  const char *const common[] = {kind,
                                "mesh.elements=3 3 3; "
                                "problem.solution=sin(2*pi*x+0.3)*cos(2*pi*y)+0.5*sin(2*pi*(z-x)); "
                                "problem.kappa=1+0.3*sin(2*pi*y); problem.lambda=1",
                                RATES_SOLVER, NULL};
  check_rates(order, 1, common, own);
}

/* Curved faces match only if all their points do: one point of the side x = 0 is moved, inside a
 * face or on an edge, with or without its copy. */
static void check_bent(double y, double z, bool both) {
  enum { SIDE = 2 };
  static const sp_periodic_pair pair = {{0, 1}};
  sp_hexes *hexes = quadratic_box(SIDE);
  AUTO(sp_mesh) mesh = NULL;
  for (sp_lid p = 0; p < 27 * hexes->count; p++) {
    double *point = &hexes->lattice[3 * (size_t)p];
    const bool there = point[0] < 1e-9 || (both && point[0] > 1 - 1e-9);
    if (there && fabs(point[1] - y) < 1e-9 && fabs(point[2] - z) < 1e-9) point[0] += 0.01;
  }
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh));
  const sp_status status = sp_mesh_identify(mesh, 1, &pair);
  CHECK(both ? status == SP_OK
             : status == SP_ERR_INPUT && strstr(sp_error_message(), "has no partner"),
        "moved at (0, %g, %g): %s", y, z, sp_error_message());
}

/* A pipe wall with curved elements, periodic along its axis, not in x; and a hexagonal prism of
 * three blocks whose opposite sides are copies of each other, a honeycomb. Its edges along the axis
 * are identified in threes, with the pairs in any order. Errors fall by 2^(N + 1) from 2 to 4
 * elements per period, to within a factor of two so far from the limit. */
static void check_files(void) {
  const struct {
    const char *file, *own;
    int order;
  } cases[] = {{test_text("mesh.file=%s/pipe.geo", test_fixtures()),
                "problem.solution=sin(2*pi*z+x)*y; boundary.bottom=periodic top; "
                "boundary.cuts=neumann",
                5},
               {test_text("mesh.file=%s/blocks.geo", test_inputs()),
                "problem.solution=cos(2*pi/3*x)*cos(2*pi/sqrt(3)*y+1)*cos(z); "
                "boundary.side 1=periodic side 4; boundary.side 5=periodic side 2; "
                "boundary.side 3=periodic side 6; boundary.bottom=neumann",
                4}};
  for (int c = 0; c < 2; c++) {
    double l2[2];
    for (int refine = 0; refine < 2; refine++)
      l2[refine] = rates_solve(TEXTS(cases[c].file, cases[c].own, "problem.lambda=1", RATES_SOLVER),
                               TEXTS(test_text("discretization.order=%d; mesh.refine=%d",
                                               cases[c].order, refine)))
                       .l2;
    const double rate = log2(l2[0] / l2[1]) - cases[c].order - 1;
    CHECK(fabs(rate) < 1, "%s: errors %g and %g", cases[c].file, l2[0], l2[1]);
  }
}

static void check_refused(void) {
  static const char *const cases[][5] = {
      {"mesh.map=sine", "boundary.xmin=periodic xmax", "mesh.elements=2 4 3",
       "in group 'xmin' has no partner", "boundary.xmin"},
      {"mesh.map=none", "boundary.xmin=periodic ymax", "mesh.elements=2 2 3", "the face of element",
       "'ymax' under the translation (0.5, 0.5, 0)"},
      {"mesh.map=none", "boundary.xmin=periodic zmax", "mesh.elements=2 4 3",
       "have 12 and 8 exterior faces", "boundary.xmin"},
      {"mesh.map=none", "boundary.xmin=periodic xmin", "mesh.elements=2 4 3",
       "periodic with itself", "boundary.xmin"},
      {"mesh.map=none", "boundary.xmin=periodic left", "mesh.elements=2 4 3",
       "no boundary group 'left'", "xmin, xmax, ymin"},
      {"mesh.map=none", "boundary.xmin=periodic xmax", "boundary.xmax=neumann",
       "a surface in common with group 'xmin'", "boundary.xmax"},
      {"mesh.map=none", "boundary.xmin=periodic xmax", "boundary.xmax=periodic xmin",
       "a face in two periodic groups", "element"},
  };
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const char *const common[] = {"problem.solution=1; discretization.order=2; mesh.elements=2 4 3",
                                  NULL};
    run_case_refused(common, TEXTS(cases[c][0], cases[c][1], cases[c][2]),
                     TEXTS(cases[c][3], cases[c][4]));
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  static const int shapes[][3] = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {1, 2, 3}, {4, 1, 1}, {2, 1, 4}};
  for (size_t s = 0; s < COUNT_OF(shapes); s++)
    for (unsigned mask = 1; mask < 8; mask++)
      for (unsigned seed = 0; seed < 3; seed++) check_box(shapes[s], mask, 5 * seed);

  check_chain(false);
  check_chain(true);
  for (int both = 0; both < 2; both++) {
    check_bent(0.25, 0.75, both); /* inside a face */
    check_bent(0.25, 0.5, both);  /* on an edge */
    check_bent(0.75, 0, both);    /* on an edge of the cube */
  }

  static const char *const torus[] = {ALL_PERIODIC, "problem.lambda=0", NULL};
  static const char *const slab[] = {"boundary.xmax=periodic xmin; boundary.ymin=periodic ymax; "
                                     "boundary.zmin=neumann; boundary.zmax=robin 2",
                                     NULL};
  for (int k = 0; k < 2; k++) {
    for (int order = 2; order <= 3; order++) {
      check_waves(KINDS[k], order, torus);
      check_waves(KINDS[k], order, slab);
    }
  }
  check_files();
  check_refused();
  return check_end();
}
