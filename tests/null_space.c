/* Pure Neumann problems: the constants in the null space of the operator. */
#include "solver/results/errors.h"

#include "mesh/mesh.h"
#include "tests/folders.h"
#include "tests/rates.h"

#define BOX "mesh.elements=2 2 2", "problem.lambda=0", "solver.tolerance=1e-12"
#define SMOOTH "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)+5"

static sp_platform platform; /* stays open */
static int mesh_parts;       /* of the last sp_null_space_create */

/* Data that are not compatible are refused with these words; the others are accepted. Data derived
 * from a solution are compatible up to the quadrature error. */
static void check_compatibility(void) {
  static const char *const common[] = {BOX, NULL};
  static const struct {
    const char *own, *words[4];
  } cases[] = {
      /* The integral of 1 over the unit cube is 1, and all of it has one sign. */
      {"problem.forcing=1; boundary.default=neumann 0",
       {"not compatible", "add up to 1,", "relative 1;"}},
      {"problem.forcing=1; boundary.default=robin 1e300, 1", {"too large for that", "smaller"}},
      /* A flux of 2 through one face of area 1 against a forcing of -1: 1 of 3 is left over. */
      {"problem.forcing=-1; boundary.default=neumann 0; boundary.zmax=neumann 2", {"add up to 1,"}},
      {"problem.forcing=-1; boundary.default=neumann 0; boundary.zmax=neumann 1", {NULL}},
      {SMOOTH "; mesh.map=sine; discretization.order=2; boundary.default=neumann; "
              "boundary.xmin=neumann",
       {NULL}},
      /* One Dirichlet face, or lambda, and there is no null space. */
      {"problem.forcing=1; boundary.default=neumann 0; boundary.xmin=dirichlet 0", {NULL}},
      {"problem.forcing=1; boundary.default=neumann 0; problem.lambda=1", {NULL}}};
  for (size_t c = 0; c < COUNT_OF(cases); c++)
    if (cases[c].words[0])
      run_case_refused(common, TEXTS(cases[c].own), cases[c].words);
    else
      (void)run_good(common, TEXTS(cases[c].own));
  /* The solution's mean, 3, must be recovered; the errors at N = 9 are 1e-8. */
  const sp_error_norms norms =
      rates_solve(common, TEXTS("problem.forcing=pi^2*cos(pi*x); problem.solution=cos(pi*x)+3; "
                                "boundary.default=neumann 0; discretization.order=9"));
  CHECK(norms.max < 1e-7, "max %g", norms.max);
  CHECK(run_good(common, TEXTS("problem.forcing=0; boundary.default=neumann 0")).cg.iterations == 0,
        "iterations for the solution 0");
}

typedef struct parts {
  sp_mesh *mesh;
  sp_space *space;
  bool *free_dofs; /* [local DOFs], all false: constrained nowhere */
  sp_problem problem;
} parts;

/* `count` rows of elements along x, side by side with gaps between them. Element i of row r is on
 * rank (i + r) % size, so every row is spread over all ranks. */
static void parts_create(int count, parts *p) {
  enum { LENGTH = 9 };
  sp_hexes *hexes;
  sp_gid mine = 0;
  for (int r = 0; r < count; r++)
    for (int i = 0; i < LENGTH; i++) mine += (i + r) % world_size == world_rank;
  require(sp_hexes_create(mine, 1, &hexes));
  sp_lid e = 0;
  for (int r = 0; r < count; r++)
    for (int i = 0; i < LENGTH; i++) {
      if ((i + r) % world_size != world_rank) continue;
      for (int c = 0; c < SP_CORNERS; c++) {
        const int a = c & 1, b = c >> 1 & 1, d = c >> 2;
        double *point = &hexes->lattice[((size_t)e * SP_CORNERS + (size_t)c) * 3];
        /* Numbers run against x and the rows interleave. */
        hexes->vertices[e][c] = (LENGTH - i - a) * 4 * count + (b + 2 * d) * count + r;
        point[0] = i + a + 0.2 * b;
        point[1] = 2.5 * r + b;
        point[2] = d + 0.1 * (i + a);
      }
      for (int f = 0; f < SP_FACES; f++) hexes->surfaces[e][f] = SP_SURFACE_INTERIOR;
      hexes->tags[e++] = 1 + i + LENGTH * r;
    }
  *p = (parts){.problem = {.kind = SP_BP35}};
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &p->mesh));
  require(sp_space_create(&platform, p->mesh, 3, &p->space));
  p->free_dofs = test_array(sp_space_dofs(p->space), sizeof *p->free_dofs);
}

static void parts_destroy(parts *p) {
  sp_space_destroy(&p->space);
  sp_mesh_destroy(&p->mesh);
}

/* The row of an element, from its tag. */
static int row_of(const parts *p, sp_lid e) {
  return (int)((p->mesh->hexes->tags[e] - 1) / 9);
}

/* Of an operator that determines no mean, except by lambda and where it is constrained. Also set
 * mesh_parts. */
static void find_null_space(const parts *p, const bool *constrained, double lambda,
                            sp_null_space **exact, sp_null_space **weak) {
  const sp_operator_setup setup = {
      .space = p->space, .kind = SP_BP35, .constrained = constrained, .lambda = lambda};
  sp_constants constants;
  require(sp_null_space_create(&setup, exact, weak, &constants));
  mesh_parts = constants.parts;
  free((void *)constants.part_of_dof);
}

static void check_components(int count) {
  enum { NODES = 64 };
  AUTO_VALUE(parts) p = {0};
  sp_null_space *null_space, *weak;
  parts_create(count, &p);
  const sp_numbering *numbering = p.space->numbering;
  find_null_space(&p, p.free_dofs, 0, &null_space, &weak);
  CHECK(null_space->components == count && mesh_parts == count && !weak, "%d components",
        null_space->components);

  /* One number for all DOFs of a row, the same on all ranks, another one for every row. */
  int of_row[8][2];
  for (int r = 0; r < count; r++) of_row[r][0] = of_row[r][1] = -count;
  for (sp_lid e = 0; e < p.mesh->hexes->count; e++)
    for (int n = 0; n < NODES; n++) {
      const int component = null_space->of_dof[numbering->nodes[e * NODES + n]];
      int *range = of_row[row_of(&p, e)];
      if (component > range[0]) range[0] = component;
      if (-component > range[1]) range[1] = -component;
    }
  MPI_Allreduce(MPI_IN_PLACE, of_row, 2 * count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int r = 0; r < count; r++) {
    CHECK(of_row[r][0] == -of_row[r][1] && of_row[r][0] >= 0 && of_row[r][0] < count,
          "row %d has components %d to %d", r, -of_row[r][1], of_row[r][0]);
    for (int s = 0; s < r; s++)
      CHECK(of_row[r][0] != of_row[s][0], "rows %d and %d are one component", r, s);
  }

  /* A vector whose components have sums of opposite sign balances as a whole but not in each. */
  const size_t dofs = (size_t)numbering->local;
  double *b = test_array(dofs, sizeof *b), *x = test_array(dofs, sizeof *x);
  sp_defect defect;
  for (size_t i = 0; i < dofs; i++)
    b[i] =
        null_space->of_dof[i] % 2 ? -1 : 1 + sin((double)sp_numbering_global(numbering, (sp_lid)i));
  sp_material material = {.of[SP_KAPPA].value = 1};
  p.problem.materials = (sp_materials){.count = 1, .list = &material, .of_volume = (int[]){0}};
  AUTO(sp_expression) one = NULL;
  require(sp_expression_parse("1", "test", NULL, &one));
  material.forcing = one;
  CHECK(sp_null_space_project(null_space, &p.problem, p.space, b, &defect) == SP_ERR_INPUT,
        "an incompatible component passes");
  CHECK(!strstr(sp_error_message(), "of 9 elements") == (count == 1), "%s", sp_error_message());
  material.forcing = NULL;
  for (size_t i = 0; i < dofs; i++)
    b[i] = 1 + null_space->of_dof[i] + sin((double)sp_numbering_global(numbering, (sp_lid)i));
  require(sp_null_space_project(null_space, &p.problem, p.space, b, &defect));
  CHECK(defect.largest > 0.5 && defect.largest <= 1, "imbalance %g", defect.largest);
  /* Rounding: 1e-16 for each of 640 entries of size up to 10. */
  require(sp_null_space_project(null_space, &p.problem, p.space, b, &defect));
  CHECK(defect.largest < 1e-12, "imbalance %g after projection", defect.largest);
  for (size_t i = 0; i < dofs; i++) x[i] = b[i];
  sp_exchange_now(p.space->exchange, SP_MIN, x);
  CHECK(memcmp(x, b, dofs * sizeof *b) == 0, "holders of a DOF disagree");

  /* Means are matched in each component: constants become zero, or the solution's mean. */
  for (int with_solution = 0; with_solution < 2; with_solution++) {
    AUTO(sp_expression) solution = NULL;
    if (with_solution) require(sp_expression_parse("4 + floor(y / 2.5)", "test", NULL, &solution));
    material.solution = solution;
    for (size_t i = 0; i < dofs; i++) x[i] = 7 - 3 * null_space->of_dof[i];
    require(sp_null_space_match_means(null_space, &p.problem, p.space, x));
    for (sp_lid e = 0; e < p.mesh->hexes->count; e++)
      for (int n = 0; n < NODES; n++)
        CHECK_CLOSE(x[numbering->nodes[e * NODES + n]], with_solution ? 4 + row_of(&p, e) : 0,
                    1e-12);
  }
  sp_null_space_destroy(&null_space);
  CHECK(!null_space, "destroyed");
}

/* With lambda = `lambda` in the first row of two and half of it in the other: the weights are its
 * integrals over 9 unit cubes, and a correction gives each row its own mean. */
static void check_weights(double lambda, bool second_row) {
  enum { POINTS = 64 };
  AUTO_VALUE(parts) p = {0};
  sp_null_space *null_space, *exact;
  AUTO(sp_operator) op = NULL;
  AUTO_VALUE(sp_vector) x = {0}, y = {0};
  parts_create(2, &p);
  const sp_lid *nodes = p.space->numbering->nodes;
  const size_t dofs = sp_space_dofs(p.space), elements = (size_t)p.mesh->hexes->count;
  find_null_space(&p, p.free_dofs, 1, &exact, &null_space);
  CHECK(!exact, "a mean is determined");
  double *at_points = test_array(elements * POINTS, sizeof *at_points);
  double *host = test_array(dofs, sizeof *host);
  for (size_t i = 0; i < elements * POINTS; i++) {
    const int row = row_of(&p, (sp_lid)(i / POINTS));
    at_points[i] = row == 0 ? lambda : second_row ? lambda / 2 : 0;
  }
  require(sp_space_vector(p.space, SP_DOUBLE, &x));
  require(sp_space_vector(p.space, SP_DOUBLE, &y));
  const sp_operator_setup setup = {.space = p.space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = 1,
                                   .lambda_values = at_points};
  require(sp_operator_create(&setup, &op));
  const sp_status status = sp_null_space_weigh(null_space, op, &x, &y, host);
  if (second_row) {
    require(status);
    /* r is 1 in the first row and 2 in the second; a row has 28 * 16 DOFs. */
    const double mean[2] = {28 * 16 / (9 * lambda), 2 * 28 * 16 / (9 * lambda / 2)};
    const double rounding = 100 * 2.3e-16 * null_space->magnification;
    double *r = test_array(dofs, sizeof *r);
    int row_of_component[2] = {0, 0};
    for (size_t n = 0; n < elements * POINTS; n++) {
      const int row = row_of(&p, (sp_lid)(n / POINTS));
      row_of_component[null_space->of_dof[nodes[n]]] = row;
      r[nodes[n]] = 1 + row;
    }
    CHECK(null_space->magnification > 0.1 / lambda, "magnified %g-fold", null_space->magnification);
    for (size_t i = 0; i < dofs; i++) CHECK(host[i] == 0, "the work vector is not cleared");
    for (int c = 0; c < 2; c++)
      CHECK_CLOSE(null_space->weight[c], row_of_component[c] ? 9 * lambda / 2 : 9 * lambda,
                  rounding * 9 * lambda);
    require(sp_null_space_correct_means(null_space, p.space, r, host));
    for (size_t n = 0; n < elements * POINTS; n++) {
      const double expected = mean[row_of(&p, (sp_lid)(n / POINTS))];
      CHECK_CLOSE(host[nodes[n]] / expected, 1, 2 * rounding);
    }
  } else {
    CHECK_FAILS(status, SP_ERR_INPUT, "between (0, 2.5, 0) and (9.2, 3.5, 1.9)");
  }
  sp_null_space_destroy(&null_space);
}

/* A small lambda determines the mean, though it is far below the tolerance in the residual. The
 * rest of the solution has the mean zero by symmetry. Rounding, magnified by 6e10 in a mean of 5,
 * amounts to 7e-5. */
static void check_small_lambda(void) {
  static const char *const common[] = {
      "mesh.elements=2 2 2; problem.lambda=1e-9; boundary.default=neumann 0; "
      "discretization.order=9; problem.forcing=pi^2*cos(pi*x)+1e-9*(cos(pi*x)+5); "
      "problem.solution=cos(pi*x)+5",
      NULL};
  for (int jacobi = 0; jacobi < 2; jacobi++) {
    const char *const own[] = {jacobi ? "solver.preconditioner=jacobi" : NULL, NULL};
    const double error = rates_solve(common, own).max;
    CHECK(error < 1e-3, "max %g", error);
  }
}

/* With Dirichlet data at one end of every second row, the other rows' means are undetermined. */
static void check_determined_parts(int count) {
  enum { NODES = 64 };
  AUTO_VALUE(parts) p = {0};
  sp_null_space *null_space, *weak;
  parts_create(count, &p);
  const sp_numbering *numbering = p.space->numbering;
  const size_t dofs = (size_t)numbering->local;
  bool *constrained = test_array(dofs, sizeof *constrained);
  double *least = test_array(dofs, sizeof *least);
  for (sp_lid e = 0; e < p.mesh->hexes->count; e++)
    if (p.mesh->hexes->tags[e] % 9 == 1 && row_of(&p, e) % 2 == 1)
      for (int n = 0; n < NODES; n++) least[numbering->nodes[e * NODES + n]] = -1;
  sp_exchange_now(p.space->exchange, SP_MIN, least);
  for (size_t i = 0; i < dofs; i++) constrained[i] = least[i] < 0;
  find_null_space(&p, constrained, 0, &null_space, &weak);
  CHECK(!weak && null_space->components == (count + 1) / 2, "%d components",
        null_space->components);
  CHECK(null_space->of_parts == (count > 1), "of parts");
  for (sp_lid e = 0; e < p.mesh->hexes->count; e++)
    for (int n = 0; n < NODES; n++)
      CHECK((null_space->of_dof[numbering->nodes[e * NODES + n]] < 0) == (row_of(&p, e) % 2 == 1),
            "element %d", (int)e);
  sp_null_space_destroy(&null_space);
  for (size_t i = 0; i < dofs; i++) constrained[i] = true;
  find_null_space(&p, constrained, 0, &null_space, &weak);
  CHECK(!null_space && !weak, "all is determined");
}

/* Of four rows lambda is positive in one element of row 1 and alpha at one DOF of row 2; row 3 has
 * both. Only row 0 has a null space, on spaces of both orders. */
static void check_determined_by_coefficients(void) {
  AUTO_VALUE(parts) p = {0};
  sp_null_space *sets[2]; /* exact, weak */
  AUTO(sp_space) coarse = NULL;
  sp_constants parts_of_mesh, at_order_1 = {0};
  sp_lid dof;
  parts_create(4, &p);
  const size_t elements = (size_t)p.mesh->hexes->count;
  double *lambda = test_array(elements, sizeof *lambda);
  sp_operator_setup setup = {.space = p.space,
                             .kind = SP_BP35,
                             .constrained = p.free_dofs,
                             .lambda_values = lambda,
                             .by_element = true,
                             .lambda = 1,
                             .diagonal_dofs = &dof};
  for (size_t e = 0; e < elements; e++) {
    const sp_gid place = p.mesh->hexes->tags[e] - 1;
    if (place == 9 || place == 27) lambda[e] = 1e-300;
    if (place == 18) {
      dof = p.space->numbering->nodes[e * 64 + 21];
      setup.diagonal_count = 1;
    }
  }
  require(sp_null_space_create(&setup, &sets[0], &sets[1], &parts_of_mesh));
  require(sp_space_create(&platform, p.mesh, 1, &coarse));
  require(sp_null_space_constants(sets[0], coarse, &at_order_1));
  CHECK(at_order_1.components == 1, "%d components at order 1", at_order_1.components);
  for (int s = 0; s < 3; s++) {
    const sp_numbering *numbering = s < 2 ? p.space->numbering : coarse->numbering;
    const size_t nodes = s < 2 ? 64 : 8;
    const sp_null_space *set = sets[s % 2];
    const int *of_dof = s < 2 ? set->of_dof : at_order_1.of_dof;
    CHECK(set->components == (s == 1 ? 3 : 1) && set->of_parts, "%d components of set %d",
          set->components, s);
    for (size_t e = 0; e < elements; e++) {
      const bool inside = (row_of(&p, (sp_lid)e) == 0) == (s != 1);
      CHECK((set->of_element[e] >= 0) == inside, "element %zu of set %d", e, s);
      for (size_t n = 0; n < nodes; n++)
        CHECK(of_dof[numbering->nodes[e * nodes + n]] == set->of_element[e],
              "DOF of element %zu in set %d", e, s);
    }
  }
  for (int s = 0; s < 2; s++) sp_null_space_destroy(&sets[s]);
  free((void *)at_order_1.of_dof);
  free((void *)parts_of_mesh.part_of_dof);
}

/* Two cubes without common nodes, in a file of format 4.0, bodies A and B of 2^3 elements each, B
 * at x = 2. The solution x + y^2 is in the space at order 2, on both bodies, and B is compared
 * after its mean is matched. The errors: tolerance times a condition number below 1e4. */
static void check_bodies(void) {
  static const char *const cases[] = {
      "boundary.outB=neumann; boundary.outA=robin 1",
      "boundary.outB=neumann; boundary.outA=neumann; material.A.lambda=3",
      "boundary.outB=neumann; boundary.outA=dirichlet",
      "boundary.outB=neumann; boundary.outA=neumann 1; solver.preconditioner=jacobi; "
      "material.A.lambda=1",
      "boundary.outB=robin 2; boundary.outA=robin x, 1+x; solver.preconditioner=jacobi"};
  const char *const common[] = {
      test_text("mesh.file=%s/two_bodies.msh; discretization.order=4", test_fixtures()),
      "problem.lambda=0; solver.tolerance=1e-12", NULL};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const double error = rates_solve(common, TEXTS("problem.solution=x+y^2", cases[c])).max;
    if (c < 3) CHECK(error < 1e-8, "case %zu: max %g", c, error);
  }
  run_case_refused(common,
                   TEXTS("problem.forcing=-1; boundary.outB=neumann 1; boundary.outA=robin 1, 0"),
                   TEXTS("of 8 elements 'B' between (2, 0, 0) and (3, 1, 1) add up to 5,"));
}

/* Given data that balance up to quadrature give the same equations and errors as data that follow
 * from the solution. Data that do not balance, or whose formula jumps inside elements, are
 * refused. */
static void check_quadrature(void) {
  static const char *const common[] = {
      "mesh.elements=8 2 2; problem.lambda=0; solver.tolerance=1e-13; "
      "problem.solution=sin(pi*x)/pi^2+3; boundary.default=neumann 0; "
      "boundary.xmin=neumann -1/pi; boundary.xmax=neumann -1/pi; problem.forcing=sin(pi*x)",
      NULL};
  static const char *const refused[] = {"boundary.xmin=neumann -0.3183",
                                        "boundary.xmin=neumann -0.32; discretization.order=15",
                                        "problem.forcing=x < 0.3 ? 2/pi : 2/pi*(1+1e-3)",
                                        "problem.forcing=x < 0.3 ? 1 : (2/pi-0.3)/0.7"};
  for (int order = 1; order <= 3; order++) {
    const char *const own = test_text("discretization.order=%d", order);
    const char *const derived = "mesh.elements=8 2 2; problem.lambda=0; solver.tolerance=1e-13; "
                                "problem.solution=sin(pi*x)/pi^2+3; boundary.default=neumann";
    CHECK_CLOSE(rates_solve(common, TEXTS(own)).l2, rates_solve(TEXTS(derived, own), NULL).l2,
                1e-11);
  }
  for (size_t c = 0; c < COUNT_OF(refused); c++)
    run_case_refused(common, TEXTS(refused[c]), TEXTS("not compatible"));
}

/* f has the mean zero in each of two rows; then the second one gets 1e-3 more. */
static void check_quadrature_of_parts(void) {
  static const char *const formulas[] = {"cos(2*pi*y)", "cos(2*pi*y) + (y > 2 ? 1e-3 : 0)"};
  AUTO_VALUE(parts) p = {0};
  sp_null_space *null_space, *weak;
  parts_create(2, &p);
  find_null_space(&p, p.free_dofs, 0, &null_space, &weak);
  double *b = test_array(sp_space_dofs(p.space), sizeof *b);
  sp_material material = {.of[SP_KAPPA].value = 1};
  p.problem.materials = (sp_materials){.count = 1, .list = &material, .of_volume = (int[]){0}};
  for (int wrong = 0; wrong < 2; wrong++) {
    sp_jacobian_range range;
    sp_defect defect;
    AUTO(sp_expression) forcing = NULL;
    require(sp_expression_parse(formulas[wrong], "test", NULL, &forcing));
    material.forcing = forcing;
    require(sp_problem_load(&p.problem, p.space, NULL, NULL, b, &range, NULL));
    const sp_status status = sp_null_space_project(null_space, &p.problem, p.space, b, &defect);
    /* The rule of order 3 integrates cos to 1e-2, the rule of order 7 to 1e-8. */
    if (wrong)
      CHECK_FAILS(status, SP_ERR_INPUT, "of 9 elements between (0, 2.5, 0) and (9.2, 3.5, 1.9)");
    else
      CHECK(!status && defect.order == 7 && defect.accepted > 1e-4 && defect.finer < 1e-5,
            "%g, finer %g", defect.accepted, defect.finer);
  }
  sp_null_space_destroy(&null_space);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool cuda = strstr(run_case_device, "cuda");
  require(sp_platform_open(MPI_COMM_WORLD, cuda ? SP_DEVICE_CUDA : SP_DEVICE_HOST,
                           SP_TRANSPORT_AUTO, &platform));
  check_components(1);
  check_quadrature_of_parts();
  check_components(2);
  check_components(5);
  check_determined_parts(1);
  check_determined_parts(5);
  check_determined_by_coefficients();
  check_weights(1, true);
  check_weights(1e-7, true);
  check_weights(1e-7, false);
  sp_platform_close(&platform);
  check_small_lambda();
  check_bodies();
  check_compatibility();
  check_quadrature();
  return check_end();
}
