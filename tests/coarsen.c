/* Coarser meshes: parents are the elements that were refined and have the vertices and faces of
 * their children; directions are the strongly coupled ones; ranks with a cut between children have
 * no coarser mesh. Systems on them keep the energies of linear functions. */
#include "mesh/coarsen.h"

#include "mesh/refine.h"
#include "operators/system.h"
#include "tests/boxes.h"
#include "tests/deformed_box.h"
#include "tests/nodal.h"
#include "tests/operator_bench.h"

static bench tested;

static sp_mesh *coarser(const sp_mesh *mesh) {
  sp_mesh *coarse;
  require(sp_mesh_coarser(mesh, &coarse));
  return coarse;
}

/* Each element has one parent. Points of the parent's lattice are vertices of children: at corners
 * with the same number, and between them at the same place, if children are of one size (`even`).
 */
static void check_parents(const sp_mesh *fine, const sp_mesh *coarse, bool even) {
  static const double at[3] = {-1, 0, 1};
  const sp_hexes *h = coarse->hexes, *children = fine->hexes;
  int *seen = test_array((size_t)children->count, sizeof *seen);
  for (sp_lid e = 0; e < h->count; e++) {
    sp_lid nodes[27];
    double xyz[81];
    for (int c = 0; c < SP_CORNERS; c++)
      if (h->children[e][c] >= 0) seen[h->children[e][c]]++;
    sp_coarse_nodes(h, e, nodes);
    sp_hexes_coordinates(h, e, 3, at, xyz);
    for (int n = 0; n < 27; n++) {
      if (nodes[n] < 0) continue;
      const sp_lid child = nodes[n] / SP_CORNERS;
      const int corner = nodes[n] % SP_CORNERS;
      const double *point = &sp_hexes_lattice(children, child)[3 * corner];
      const bool is_corner = n % 3 != 1 && n / 3 % 3 != 1 && n / 9 != 1;
      for (int d = 0; d < 3 && (even || is_corner); d++)
        CHECK_CLOSE(xyz[27 * d + n], point[d], 1e-14);
      if (is_corner) {
        const int c = (n % 3) / 2 + n / 3 % 3 + 2 * (n / 9);
        CHECK(h->vertices[e][c] == children->vertices[child][corner], "another vertex");
      }
    }
  }
  for (sp_lid e = 0; e < children->count; e++) CHECK(seen[e] == 1, "%d parents", seen[e]);
}

/* The numbers of elements of the coarser meshes of a box, until there is none. */
static void check_box(sp_box box, int refine, const sp_gid *elements) {
  sp_mesh *mesh = box_mesh(MPI_COMM_WORLD, &box, 0);
  for (int r = 0; r < refine; r++) require(sp_mesh_refine(&mesh));
  for (int level = 0;; level++) {
    sp_mesh *coarse = coarser(mesh);
    CHECK((coarse ? coarse->global_elements : 0) == elements[level],
          "%d x %d x %d, level %d: %lld elements, expected %lld", box.elements[0], box.elements[1],
          box.elements[2], level, (long long)(coarse ? coarse->global_elements : 0),
          (long long)elements[level]);
    if (coarse) check_parents(mesh, coarse, level == 0 || box.elements[0] % 2 == 0);
    sp_mesh_destroy(&mesh);
    if (!coarse || elements[level] == 0) {
      sp_mesh_destroy(&coarse);
      return;
    }
    mesh = coarse;
  }
}

/* Planes with ratios of 2: coarser meshes join neighbours. */
static void check_planes(void) {
  double planes[] = {0, 1, 3, 4, 6, 7, 9, 10, 12};
  const sp_box box = {
      .elements = {8, 8, 8}, .upper = {12, 12, 12}, .planes = {planes, planes, planes}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0), *coarse = coarser(mesh);
  CHECK(coarse && coarse->global_elements == 64, "no coarse mesh of 64 elements");
  if (!coarse) return;
  check_parents(mesh, coarse, false);
  for (sp_lid e = 0; e < coarse->hexes->count; e++)
    CHECK_CLOSE(sp_hexes_shortest_distance(coarse->hexes, e), 3, 1e-14);
}

static void check_boxes(void) {
  const sp_box cube = {.elements = {8, 8, 8}, .upper = {1, 1, 1}};
  const sp_box flat = {.elements = {4, 4, 16}, .upper = {1, 1, 0.4}}, /* ratios 10, 5, 2.5, 1.25 */
      skew = {.elements = {12, 12, 12}, .upper = {1, 1, 1}, .map = SP_MAP_KERSHAW, .epsilon = 0.3};
  check_box(skew, 0, (const sp_gid[]){0});
  if (world_size == 1) {
    check_box(cube, 0, (const sp_gid[]){64, 8, 1, 0});
    check_box((sp_box){.elements = {7, 5, 1}, .upper = {7, 5, 1}}, 0, (const sp_gid[]){12, 4, 0});
    check_box((sp_box){.elements = {2, 1, 1}, .upper = {2, 1, 1}}, 2,
              (const sp_gid[]){16, 2, 1, 0});
    check_box(flat, 0, (const sp_gid[]){128, 64, 32, 4, 1, 0});
  } else { /* cuts remain */
    check_box(cube, 0, (const sp_gid[]){64, 8, world_size, 0});
  }
}

/* Children of a period stay children of one: no face of the coarse mesh is exterior. */
static void check_periodic(void) {
  static const sp_periodic_pair pairs[] = {{{0, 1}}, {{2, 3}}, {{4, 5}}};
  const sp_box box = {.elements = {8, 4, 4}, .upper = {2, 1, 1}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0);
  require(sp_mesh_identify(mesh, 3, pairs));
  AUTO(sp_mesh) coarse = coarser(mesh);
  CHECK(coarse && coarse->global_elements == 16, "no coarse mesh of 16 elements");
  for (sp_lid e = 0; coarse && e < coarse->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      CHECK(
          !sp_topology_is_exterior(coarse->topology, coarse->topology->slots[e][SP_FACE_SLOT + f]),
          "an exterior face");
}

static double linear(const double x[3], int varies) {
  return varies ? 1 + x[0] - 2 * x[1] + 3 * x[2] : 1;
}

/* x.A x for the values 1 + x - 2 y + 3 z, or 1. */
static double energy(const sp_system *s, bool varies) {
  const size_t n = sp_space_dofs(s->space);
  double *x = test_array(2 * n, sizeof *x), *y = x + n;
  AUTO(sp_operator) op = bench_operator(&s->setup);
  nodal_fill(s->space, linear, varies, x);
  bench_apply(&tested, op, false, x, y);
  return nodal_dot(s->space, x, y);
}

/* kappa, a number or a tensor, jumps from one element to the next; or lambda does, and some DOFs
 * have a diagonal. */
static void check_energies(bool by_kappa, bool is_tensor) {
  static const double shape[6] = {2, 3, 1, 0.5, -0.3, 0.2};
  const size_t components = is_tensor ? 6 : 1;
  const sp_box box = {.elements = {8, 5, 6}, .upper = {1, 1, 1}};
  AUTO(sp_mesh) mesh = box_mesh(MPI_COMM_WORLD, &box, 0), *coarse = coarser(mesh);
  sp_space *space = bench_space(&tested, mesh, 1);
  const size_t n = sp_space_dofs(space), elements = (size_t)mesh->hexes->count;
  double *values = test_allocate(elements, sizeof *values);
  double *kappa = test_allocate(elements * components, sizeof *kappa);
  bool *constrained = test_allocate(n, sizeof *constrained);
  sp_lid *dofs = test_allocate(n, sizeof *dofs);
  double *diagonal = test_allocate(n, sizeof *diagonal);
  for (size_t e = 0; e < elements; e++) {
    values[e] = exp(7 * random_value(1, mesh->hexes->tags[e]));
    for (size_t c = 0; c < components; c++)
      kappa[e * components + c] = shape[c] * (by_kappa ? values[e] : 1);
  }
  for (size_t i = 0; i < n; i++) {
    dofs[i] = (sp_lid)i;
    diagonal[i] = 1 + random_value(2, (sp_gid)i);
  }
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = by_kappa ? 0 : 1,
                                   .constrained = constrained,
                                   .kappa = kappa,
                                   .lambda_values = by_kappa ? NULL : values,
                                   .by_element = true,
                                   .is_tensor = is_tensor,
                                   .diagonal_count = by_kappa ? 0 : (sp_lid)n,
                                   .diagonal_dofs = dofs,
                                   .diagonal_values = diagonal};
  AUTO(sp_system) fine = NULL, *half = NULL;
  require(sp_system_create(&setup, space, NULL, &fine));
  if (by_kappa) free(values);
  require(sp_system_coarsen(fine, SP_GEOMETRY_AUTO, &coarse, &half));
  const double want = energy(fine, by_kappa), have = energy(half, by_kappa);
  CHECK_CLOSE(have, want, 1e-12 * want);
}

int main(int argc, char **argv) {
  bench_begin(&argc, &argv, &tested);
  check_boxes();
  check_planes();
  check_periodic();
  check_energies(true, false);
  check_energies(true, true);
  check_energies(false, false);
  return bench_end(&tested);
}
