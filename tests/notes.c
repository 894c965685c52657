/* Notes on a case: parts that are in contact, and boundary data that jump. */
#include "solver/problem/contacts.h"
#include "solver/problem/dirichlet.h"
#include "tests/stage.h"

/* A box of 4 x 3 x 2 elements; if it is cut, the halves at x = 1/2 share no nodes, and 3 x 2 pairs
 * of faces coincide but for rounding of the coordinates. A gap of 1e-4 is no contact. */
static void check_contacts(void) {
  static const double gaps[] = {-1, 0, 1e-13, 1e-4};
  for (int g = 0; g < 4; g++) {
    sp_hexes *hexes = make_box(4, 3, 2, SP_MAP_NONE);
    for (sp_lid e = 0; e < hexes->count && gaps[g] >= 0; e++) {
      double *lattice = &hexes->lattice[(size_t)e * SP_CORNERS * 3];
      if (lattice[0] < 0.4) continue;
      for (int c = 0; c < SP_CORNERS; c++) hexes->vertices[e][c] += 1000;
      for (int c = 0; c < SP_CORNERS; c++) lattice[3 * c] += gaps[g];
    }
    AUTO_VALUE(stage) s = {0};
    sp_gid pairs;
    stage_create(hexes, 1, &s);
    stage_problem(&s, TEXTS("problem.solution=x"));
    require(sp_problem_count_contacts(s.problem, s.mesh, &pairs));
    CHECK(pairs == (g == 1 || g == 2 ? 6 : 0), "gap %g: %lld pairs", gaps[g], (long long)pairs);
  }
}
#define XMIN "boundary.xmin=dirichlet "
#define XMAX "boundary.xmax=dirichlet "
#define YMIN "boundary.ymin=dirichlet "

/* Data of parts that meet at an edge: the largest difference at a node, and the two parts. */
static void check_data_jumps(void) {
  static const struct {
    const char *lines[3];
    double size, largest;
    int parts[2];
  } cases[] = {{{XMIN "1", YMIN "x+z", "boundary.default=neumann 0"}, 1, 2, {0, 1}},
               {{YMIN "3+x", XMAX "-z", "boundary.default=dirichlet 3"}, 5, 4, {0, 1}},
               {{XMIN "y", XMAX "2", "boundary.default=neumann 0"}, 0, 2, {0, 0}},
               {{XMIN, YMIN, "boundary.default=dirichlet"}, 0, 2, {0, 0}},
               {{XMIN "x+y", YMIN, "boundary.default=dirichlet"}, 0, 2, {0, 0}}};
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(4, 3, 2, SP_MAP_NONE), 3, &s);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *const *lines = cases[i].lines;
    sp_data_jump jump;
    stage_problem(&s, TEXTS("problem.solution=x+y", lines[0], lines[1], lines[2]));
    require(sp_problem_constraints(s.problem, s.space, s.constrained, s.values, &jump));
    CHECK_CLOSE(jump.size, cases[i].size, 1e-14);
    CHECK_CLOSE(jump.largest, cases[i].largest, 1e-14);
    if (cases[i].size > 0)
      CHECK(jump.parts[0] == cases[i].parts[0] && jump.parts[1] == cases[i].parts[1],
            "case %d: parts %d and %d", (int)i, jump.parts[0], jump.parts[1]);
  }
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  check_contacts();
  check_data_jumps();
  sp_platform_close(&platform);
  return check_end();
}
