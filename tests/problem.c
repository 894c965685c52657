/* From the case to the problem: the condition of each face, messages of refused cases, and the data
 * computed from formulas and solutions. */
#include "mesh/gmsh/gmsh.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "operators/system.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/dirichlet.h"
#include "solver/problem/load.h"
#include "solver/problem/robin.h"
#include "solver/results/errors.h"
#include "solver/results/extremum.h"
#include "tests/folders.h"
#include "tests/stage.h"

/* How far a case gets: created, coefficients, Robin faces, constrained, loaded. */
static sp_status try_case(stage *s, const char *const *overrides) {
  sp_jacobian_range range;
  sp_status status = stage_try(s, overrides);
  const sp_problem *problem = s->problem;
  CHECK(!problem == !!status, "a problem and a failure, or neither");
  if (status) return status;
  sp_operator_setup setup = {.space = s->space, .kind = problem->kind};
  status = sp_coefficients_create(problem, &setup);
  if (!status) status = sp_problem_robin(problem, s->space->numbering->order, &setup);
  sp_system_free_setup(&setup);
  if (!status) status = sp_problem_constraints(problem, s->space, s->constrained, s->values, NULL);
  if (!status) status = sp_problem_load(problem, s->space, NULL, NULL, s->values, &range, NULL);
  return status;
}

/* Overrides and parts of the message, both ended by NULL. No parts: the case must be accepted. */
typedef struct refusal {
  const char *overrides[6], *parts[5];
} refusal;

/* On a mesh, which is destroyed. */
static void check_refusals(sp_hexes *hexes, int order, size_t count, const refusal *refusals) {
  AUTO_VALUE(stage) s = {0};
  stage_create(hexes, order, &s);
  for (; count > 0; count--, refusals++) {
    const sp_status status = try_case(&s, refusals->overrides);
    if (refusals->parts[0])
      check_refusal(refusals->overrides[0], status, refusals->parts);
    else
      CHECK(!status, "%s: %s", refusals->overrides[0], sp_error_message());
  }
}

#define SOLUTION "problem.solution=x"

static void check_box_cases(void) {
  static const refusal refusals[] = {
      {{SOLUTION}, {NULL}},
      {{"problem.forcing=1", "boundary.default=dirichlet 0"}, {NULL}},
      {{"problem.forcing=x", "discretization.operator=mass"}, {NULL}},
      /* Groups by name and by number. */
      {{SOLUTION, "boundary.xmin=neumann", "boundary.2=dirichlet x"}, {NULL}},
      {{SOLUTION, "boundary.wall=neumann"},
       {"boundary.wall", "no boundary group 'wall'", "xmin, xmax, ymin, ymax, zmin, zmax"}},
      {{SOLUTION, "boundary.7=neumann"}, {"no boundary group '7'", "zmax"}},
      {{SOLUTION, "boundary.xmin=neumann", "boundary.1=dirichlet"},
       {"boundary.1", "group '1'", "in common with group 'xmin'"}},
      {{SOLUTION, "boundary.zmax=neumann"}, {"'zmax' has no exterior faces"}},
      /* Missing data. */
      {{"mesh.elements=2 2 2"}, {"problem.solution", "problem.forcing"}},
      {{"problem.forcing=1", "boundary.xmin=neumann"},
       {"boundary.xmin", "'xmin = neumann' needs a formula"}},
      {{"problem.forcing=1", "boundary.xmin=neumann 1"},
       {"'default = dirichlet' needs a formula",
        "to 20 exterior faces, 4 of them in no group, the others in xmax, ymin, ymax, zmin"}},
      {{"problem.forcing=1"}, {"'default = dirichlet' needs a formula"}},
      {{"problem.forcing=1", "boundary.xmin=robin 2"},
       {"boundary.xmin", "'xmin = robin' needs a formula after its alpha"}},
      {{"problem.forcing=1", "boundary.default=robin 2"}, {"'default = robin' needs a formula"}},
      {{"problem.forcing=1", "boundary.default=robin 2, 1"}, {NULL}},
      {{SOLUTION, "boundary.xmin=robin 2"}, {NULL}},
      {{SOLUTION, "boundary.xmin=robin y-0.4, 1"},
       {"boundary.xmin", "(alpha)", "'y-0.4' is -0.4 at (0, 0, ", ">= 0"}},
      {{SOLUTION, "boundary.xmin=robin 1/z"}, {"(alpha)", "not finite at (0, "}},
      {{SOLUTION, "boundary.xmin=robin 1, 1/z"}, {"(g)", "not finite at (0, "}},
      /* The mass problem. */
      {{SOLUTION, "discretization.operator=mass", "problem.lambda=1"},
       {"problem.lambda", "mass problem has no lambda"}},
      {{SOLUTION, "discretization.operator=mass", "problem.kappa=1"},
       {"problem.kappa", "mass problem has no kappa"}},
      {{SOLUTION, "discretization.operator=mass", "boundary.xmin=dirichlet"},
       {"boundary.xmin", "mass problem has no boundary conditions"}},
      /* lambda. */
      {{SOLUTION, "problem.lambda=1+x"}, {NULL}},
      {{SOLUTION, "problem.lambda=x"}, {NULL}},
      {{SOLUTION, "problem.lambda=x-0.3"}, {"problem.lambda", "'x-0.3' is -0.3 at (0, ", ">= 0"}},
      {{SOLUTION, "problem.lambda=1/x"}, {"'1/x'", "not finite at (0, "}},
      {{SOLUTION, "problem.lambda=x > 0.9 ? -1 : 1"}, {"is -1 at (1, "}},
      {{SOLUTION, "problem.lambda=-2"},
       {"problem.lambda", "expected 0 or a finite number", "'-2'"}},
      {{SOLUTION, "problem.lambda=1/0"}, {"finite number"}},
      {{SOLUTION, "problem.lambda=0/0"}, {"finite number"}},
      {{SOLUTION, "problem.lambda=2*pi^2"}, {NULL}},
      {{SOLUTION, "problem.lambda=0"}, {NULL}},
      /* kappa. */
      {{SOLUTION, "problem.kappa=2"}, {NULL}},
      {{SOLUTION, "problem.kappa=1+x*y"}, {NULL}},
      {{SOLUTION, "problem.kappa=20 20 0.35"},
       {"problem.kappa", "one number or one formula, or three or six with commas between, found "
                         "'20 20 0.35'"}},
      {{SOLUTION, "problem.lambda=1, 2"},
       {"problem.lambda", "one number or one formula, found '1, 2'"}},
      /* Tensors. */
      {{SOLUTION, "problem.kappa=20, 20, 0.35"}, {NULL}},
      {{SOLUTION, "problem.kappa=2, 3, max(1, 2), x, 0, y"}, {NULL}},
      {{SOLUTION, "problem.kappa=20, 20"},
       {"problem.kappa", "three (xx, yy, zz) or six", "found 2 in '20, 20'"}},
      {{SOLUTION, "problem.kappa=1,1,1,0,0,0,0"}, {"found 7"}},
      {{SOLUTION, "problem.kappa=1, , 1"}, {"(yy): ", "a formula"}},
      {{SOLUTION, "problem.kappa=1, 0, 1"},
       {"problem.kappa=1, 0, 1': '1, 0, 1' is not positive definite: xx, yy, zz, xy, xz, yz are 1, "
        "0, 1, "}},
      {{SOLUTION, "problem.kappa=1, 1, 1/0"}, {"not positive definite"}},
      {{SOLUTION, "problem.kappa=1, 1, 1, 0, 0/0, 0"}, {"not positive definite"}},
      {{SOLUTION, "problem.kappa=1, 1, 1, 1, 0, 0"}, {"not positive definite"}},
      {{SOLUTION, "problem.kappa=1, 1, 1, x, 0, 0"},
       {"problem.kappa", "not positive definite at (1, ", "are 1, 1, 1, 1, 0, 0"}},
      {{SOLUTION, "problem.kappa=1, 1, 1/z"}, {"(zz): '1/z'", "not finite at ("}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,1,0, 0,0,-3"}, {NULL}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,1,0"},
       {"problem.axes", "six constants", "found '1,1,0'"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,0, 0,z z,1"}, {"(y2): ", "column"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,3, -2,-4,-6"},
       {"problem.axes", "neither zero nor parallel, found '1,2,3, -2,-4,-6'"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,3, 0,0,0"},
       {"neither zero nor parallel"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,1/0, 0,0,1"}, {"two finite vectors"}},
      {{SOLUTION, "discretization.operator=mass", "problem.axes=1,0,0, 0,1,0"},
       {"problem.axes", "mass problem has no axes"}},
      {{SOLUTION, "problem.kappa=1/0"}, {"problem.kappa", "finite number"}},
      {{SOLUTION, "problem.kappa=1e-320"},
       {"problem.kappa", "a finite number from 1e-250 to 1e250"}},
      {{SOLUTION, "problem.kappa=1e308"},
       {"problem.kappa", "a finite number from 1e-250 to 1e250"}},
      {{SOLUTION, "problem.kappa=y"}, {"problem.kappa", "'y' is 0 at (", ", 0, ", "> 0"}},
      {{SOLUTION, "problem.kappa=sqrt(z-0.1)"}, {"problem.kappa", "not finite at ("}},
      /* Formulas. Typos: config.c. */
      {{SOLUTION, "boundary.xmin=dirichlet t"}, {"boundary.xmin", "column", "'t'"}},
      {{"problem.forcing=1/x", "boundary.default=dirichlet 0"},
       {"problem.forcing", "'1/x'", "not finite at (0, "}},
      {{"problem.solution=sqrt(y)"}, {"'sqrt(y)' or a derivative of it", ", 0, "}},
      {{SOLUTION, "boundary.ymax=dirichlet log(x-2)"}, {"boundary.ymax", "'log(x-2)'", ", 1, "}},
      {{SOLUTION, "boundary.ymax=neumann 1/(z-z)"}, {"boundary.ymax", "not finite at"}},
      /* Conditions that are not numbers. */
      {{"problem.forcing=log(x-2) < 0 ? 1 : 2", "boundary.default=dirichlet 0"},
       {"problem.forcing", "'log(x-2) < 0 ? 1 : 2'", "not finite at (0, "}},
      {{SOLUTION, "problem.kappa=1 + (sqrt(z-2) && 1)"}, {"problem.kappa", "not finite at ("}},
  };
  sp_hexes *hexes = make_box(2, 2, 2, SP_MAP_NONE);
  /* zmax keeps its name and its number but loses its surface. */
  hexes->surface.groups[5].part_count = 0;
  check_refusals(hexes, 2, COUNT_OF(refusals), refusals);
}

/* ymax is called "2", which is the number of xmax; xmin "6", the number of zmax, which has no name;
 * zmin "5", its own number. */
static void check_names_like_numbers(void) {
  static const refusal refusals[] = {
      {{SOLUTION, "boundary.2=neumann"},
       {"boundary.2", "'2' has two meanings", "the name of group number 4",
        "the number of group 'xmax': write 4 or xmax"}},
      {{SOLUTION, "boundary.6=neumann"},
       {"boundary.6", "'6' has two meanings", "the name of group number 1", "without a name"}},
      {{SOLUTION, "boundary.ymin=periodic 2"}, {"boundary.ymin", "'2' has two meanings"}},
      {{SOLUTION, "boundary.4=neumann", "boundary.xmax=neumann", "boundary.1=neumann",
        "boundary.5=neumann"},
       {NULL}},
  };
  static const struct {
    int group;
    const char *name;
  } renamed[] = {{0, "6"}, {3, "2"}, {4, "5"}, {5, ""}};
  sp_hexes *hexes = make_box(2, 2, 2, SP_MAP_NONE);
  for (int r = 0; r < 4; r++) {
    char **name = &hexes->surface.groups[renamed[r].group].name;
    free(*name);
    *name = strdup(renamed[r].name);
  }
  check_refusals(hexes, 2, COUNT_OF(refusals), refusals);
}

/* fixtures/cube.geo: "bottom"; "top and bottom" (20), which has bottom's surface; 30 without a
 * name; three sides without a group. */
static void check_file_cases(void) {
  static const refusal refusals[] = {
      {{SOLUTION, "boundary.top and bottom=neumann"}, {NULL}},
      {{SOLUTION, "boundary.bottom=neumann", "boundary.30=neumann"}, {NULL}},
      {{SOLUTION, "boundary.bottom=neumann", "boundary.20=neumann"},
       {"group '20' has a surface in common with group 'bottom'"}},
      {{SOLUTION, "boundary.top=neumann"},
       {"no boundary group 'top'", "bottom", "top and bottom", "30"}},
  };
  sp_hexes *hexes;
  require(
      sp_gmsh_hexes(MPI_COMM_WORLD, test_text("%s/cube.geo", test_fixtures()), NULL, NULL, &hexes));
  check_refusals(hexes, 1, COUNT_OF(refusals), refusals);
}

/* The box without its quarter x > 1/2, y > 1/2. The two faces at the inner edge belong to elements
 * that do not touch each other's face, on several ranks to different ranks. */
static sp_hexes *make_angle(void) {
  sp_hexes *hexes = make_box(4, 4, 8, SP_MAP_NONE);
  sp_lid kept = 0;
  for (sp_lid e = 0; e < hexes->count; e++) {
    const double *corner = &hexes->lattice[(size_t)e * SP_CORNERS * 3];
    if (corner[0] > 0.4 && corner[1] > 0.4) continue;
    double *to = &hexes->lattice[(size_t)kept * SP_CORNERS * 3];
    memmove(to, corner, SP_CORNERS * 3 * sizeof *to);
    memmove(hexes->vertices[kept], hexes->vertices[e], sizeof hexes->vertices[e]);
    memmove(hexes->surfaces[kept], hexes->surfaces[e], sizeof hexes->surfaces[e]);
    hexes->tags[kept] = hexes->tags[e];
    enum { X_HIGH = 1, Y_HIGH = 3 };
    if (to[0] > 0.2 && to[0] < 0.3 && to[1] > 0.4) hexes->surfaces[kept][X_HIGH] = X_HIGH;
    if (to[1] > 0.2 && to[1] < 0.3 && to[0] > 0.4) hexes->surfaces[kept][Y_HIGH] = Y_HIGH;
    kept++;
  }
  hexes->count = kept;
  return hexes;
}

/* u = x + 2 y z and u_h = 3 on the unit cube: norms in closed form. NaN in one entry of u_h reaches
 * the norms on all ranks. */
static void check_error_norms(void) {
  enum { ORDER = 2 };
  AUTO_VALUE(stage) s = {0};
  sp_error_norms norms;
  stage_create(make_box(3, 4, 5, SP_MAP_NONE), ORDER, &s);
  const sp_problem *problem = stage_problem(&s, TEXTS("problem.solution=x + 2*y*z"));
  double *x = s.values;
  for (size_t i = 0; i < sp_space_dofs(s.space); i++) x[i] = 3;
  require(sp_errors_compute(problem, s.space, x, &norms));
  /* integral u = 1; integral u^2 = 1/3 + 4/9 + 2 (1/2) 2 (1/4); integral (3 - u)^2 = 9 - 6 + that.
   */
  const double square = 1.0 / 3 + 4.0 / 9 + 0.5, tolerance = 1e-13;
  CHECK_CLOSE(norms.solution_l2, sqrt(square), tolerance);
  CHECK_CLOSE(norms.l2, sqrt(3 + square), tolerance);
  CHECK_CLOSE(norms.solution_h1, sqrt(1 + 8.0 / 3), tolerance);
  CHECK_CLOSE(norms.h1, sqrt(1 + 8.0 / 3), tolerance);
  /* u is smallest at the point of the rule that is nearest to the origin. */
  sp_rule rule;
  sp_rule_gl(ORDER + 4, &rule);
  const double first = (1 + rule.nodes[0]) / 2;
  CHECK_CLOSE(norms.max, 3 - (first / 3 + 2 * first / 4 * first / 5), tolerance);
  if (world_rank == 0) x[0] = NAN;
  require(sp_errors_compute(problem, s.space, x, &norms));
  CHECK(isnan(norms.l2) && isnan(norms.h1) && isnan(norms.max), "NaN gave %g %g %g", norms.l2,
        norms.h1, norms.max);
}

typedef struct condition {
  const char *name;
  bool (*holds)(const double *point);
} condition;

static bool near(double a, double b) {
  return fabs(a - b) < 1e-9;
}

static bool on_xmax(const double *p) {
  return near(p[0], 1) || (near(p[0], 0.5) && p[1] > 0.5 - 1e-9);
}

static bool on_ymax(const double *p) {
  return near(p[1], 1) || (near(p[1], 0.5) && p[0] > 0.5 - 1e-9);
}

static bool on_zmin(const double *p) {
  return near(p[2], 0);
}

/* The three groups in every order: the first group that contains a node gives its value, which need
 * not be the smallest. */
static void check_order_of_groups(void) {
  static const condition groups[] = {{"xmax", on_xmax}, {"ymax", on_ymax}, {"zmin", on_zmin}};
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  enum { ORDER = 3, NODES = 64 };
  AUTO_VALUE(stage) s = {0};
  stage_create(make_angle(), ORDER, &s);
  const size_t dofs = sp_space_dofs(s.space);
  double xyz[3 * NODES], *least = test_array(dofs, sizeof *least);
  for (int o = 0; o < 6; o++) {
    const char *lines[3];
    for (int g = 0; g < 3; g++)
      lines[g] =
          test_text("boundary.%s=dirichlet %d + x/3", groups[orders[o][g]].name, 10 * (3 - g));
    const sp_problem *problem = stage_problem(
        &s, TEXTS("problem.forcing=1", "boundary.default=neumann 0", lines[0], lines[1], lines[2]));
    CHECK(problem->has_dirichlet, "has_dirichlet on rank %d", world_rank);
    require(sp_problem_constraints(problem, s.space, s.constrained, s.values, NULL));
    for (sp_lid e = 0; e < s.mesh->hexes->count; e++) {
      sp_hexes_coordinates(s.mesh->hexes, e, ORDER + 1, sp_reference_get(ORDER)->gll.nodes, xyz);
      for (int n = 0; n < NODES; n++) {
        const sp_lid dof = s.space->numbering->nodes[e * NODES + n];
        const double point[3] = {xyz[n], xyz[NODES + n], xyz[2 * NODES + n]};
        int first = 0;
        while (first < 3 && !groups[orders[o][first]].holds(point)) first++;
        CHECK(s.constrained[dof] == (first < 3), "at (%g, %g, %g)", point[0], point[1], point[2]);
        CHECK_CLOSE(s.values[dof], first < 3 ? 10 * (3 - first) + point[0] / 3 : 0, 1e-13);
      }
    }
    /* All ranks that hold a DOF have the same bits. */
    memcpy(least, s.values, dofs * sizeof *least);
    sp_exchange_now(s.space->exchange, SP_MIN, least);
    CHECK(memcmp(least, s.values, dofs * sizeof *least) == 0, "holders of a DOF disagree");
  }
}

/* The load vector of a case is s->values. */
static sp_jacobian_range load_of(stage *s, const char *const *overrides) {
  sp_jacobian_range range;
  require(
      sp_problem_load(stage_problem(s, overrides), s->space, NULL, NULL, s->values, &range, NULL));
  return range;
}

/* Data derived from the solution equal the formulas derived by hand. */
static void check_derived_data(const char *operator_is) {
  static const char solution[] = "problem.solution=sin(2*x)*exp(y)*(1+z^2)+0.5";
  static const char forcing[] =
      "problem.forcing=((2+x)*(4-1)+(3+y))*sin(2*x)*exp(y)*(1+z^2)-(2+x)*2*sin(2*x)*exp(y)"
      "-2*cos(2*x)*exp(y)*(1+z^2)+0.5*(3+y)";
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(3, 2, 2, SP_MAP_NONE), 4, &s);
  const size_t dofs = sp_space_dofs(s.space);
  double *derived = test_array(dofs, sizeof *derived);
  load_of(&s,
          TEXTS(operator_is, "problem.lambda=3+y", "problem.kappa=2+x", solution,
                "boundary.default=neumann", "boundary.zmin=dirichlet", "boundary.xmin=robin 1+z"));
  memcpy(derived, s.values, dofs * sizeof *derived);
  const sp_jacobian_range range = load_of(
      &s, TEXTS(operator_is, "problem.lambda=3+y", "problem.kappa=2+x", forcing,
                "boundary.xmin=robin 1+z, 0.5*(1+z)-4*exp(y)*(1+z^2)",
                "boundary.xmax=neumann 6*cos(2)*exp(y)*(1+z^2)",
                "boundary.ymin=neumann -(2+x)*sin(2*x)*(1+z^2)",
                "boundary.ymax=neumann (2+x)*sin(2*x)*e*(1+z^2)",
                "boundary.zmax=neumann (2+x)*2*sin(2*x)*exp(y)", "boundary.zmin=dirichlet 0"));
  /* Each entry sums fewer than 1e3 terms, none larger than the volume times 100. */
  double largest = 0;
  for (size_t i = 0; i < dofs; i++) {
    CHECK_CLOSE(derived[i], s.values[i], 1e-12);
    largest = fmax(largest, fabs(derived[i]));
  }
  CHECK(largest > 1e-3, "all loads are below %g", largest);
  const double jacobian = 1.0 / (6 * 4 * 4);
  CHECK_CLOSE(range.smallest, jacobian, 1e-14);
  CHECK_CLOSE(range.largest, jacobian, 1e-14);
}

/* The sum of the Robin diagonal is the integral of alpha: GLL with N + 1 = 4 points is exact to
 * degree 5, and alpha times the constant surface element has degree 3. All entries are on these
 * faces. */
static void check_robin_diagonal(void) {
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(3, 2, 4, SP_MAP_NONE), 3, &s);
  stage_problem(&s, TEXTS("problem.forcing=1", "boundary.default=neumann 0",
                          "boundary.xmin=robin 1+y*z^2, 0", "boundary.zmax=robin x^3, 0"));
  sp_operator_setup robin = {.space = s.space, .kind = SP_BP35};
  require(sp_problem_robin(s.problem, 3, &robin));
  double sum = 0;
  const sp_lid *dofs = robin.diagonal_dofs;
  for (sp_lid i = 0; i < robin.diagonal_count; i++) {
    CHECK(dofs[i] >= 0 && dofs[i] < s.space->numbering->local, "DOF %d", dofs[i]);
    CHECK(i == 0 || dofs[i] > dofs[i - 1], "DOF %d is listed twice", dofs[i]);
    CHECK(robin.diagonal_values[i] > 0, "value %g", robin.diagonal_values[i]);
    sum += robin.diagonal_values[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK_CLOSE(sum, 1 + 1.0 / 6 + 1.0 / 4, 1e-13);
  sp_system_free_setup(&robin);

  stage_problem(
      &s, TEXTS("problem.forcing=1", "boundary.default=neumann 0", "boundary.xmin=robin 0, 1"));
  robin = (sp_operator_setup){.space = s.space, .kind = SP_BP35};
  require(sp_problem_robin(s.problem, 3, &robin));
  CHECK(robin.diagonal_count == 0, "alpha is zero everywhere");
  sp_system_free_setup(&robin);
}

static void check_jacobian_range(void) {
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(3, 3, 2, SP_MAP_SINE), 2, &s);
  const sp_jacobian_range range = load_of(&s, TEXTS("problem.solution=x"));
  CHECK(range.smallest > 0 && range.smallest < range.largest, "|J| from %g to %g", range.smallest,
        range.largest);
}

/* The bound of rough polynomials is below all their values, and the minimum that is found is the
 * least of many local ones. The bound of x - y z is exact, because the coefficients of a linear
 * function are its values at j / N. */
static void check_bound_of_order(const sp_hexes *hexes, int order) {
  enum { SAMPLES = 21 };
  const int n = order + 1, count = n * n * n;
  const double *nodes = sp_reference_get(order)->gll.nodes;
  double *values = test_array((size_t)count, sizeof *values), places[SAMPLES];
  double *work = test_array(SP_EXTREMUM_WORK, sizeof *work), m[SAMPLES * SP_MAX_NQ];
  double least = INFINITY, lowest = INFINITY, most = -INFINITY;
  for (int i = 0; i < count; i++) {
    values[i] = nodes[i % n] - nodes[i / n % n] * nodes[i / n / n];
    least = fmin(least, values[i]);
  }
  double bound = sp_extremum_bound(order, 3, 1, least, values, work);
  CHECK(fabs(bound) <= 1e-12, "order %d: the bound of x - y z is too low by %g", order, -bound);
  least = INFINITY;
  for (int i = 0; i < count; i++) {
    least = fmin(least, values[i] = sin(7919.0 * i * i + order));
    most = fmax(most, values[i]);
  }
  for (int i = 0; i < SAMPLES; i++) places[i] = -1 + 2.0 * i / (SAMPLES - 1);
  sp_interpolation_matrix(n, nodes, SAMPLES, places, m);
  for (int s = 0; s < SAMPLES * SAMPLES * SAMPLES; s++) {
    const double *x = &m[s % SAMPLES * n], *y = &m[s / SAMPLES % SAMPLES * n];
    const double *z = &m[s / SAMPLES / SAMPLES * n];
    double u = 0;
    for (int i = 0; i < count; i++) u += x[i % n] * y[i / n % n] * z[i / n / n] * values[i];
    lowest = fmin(lowest, u);
  }
  bound = sp_extremum_bound(order, 3, 1, least, values, work);
  CHECK(least + bound <= lowest + 1e-12, "order %d: the bound %g is above a value, %g", order,
        least + bound, lowest);
  sp_extremum_search search = {order, -1, 1, values, most - least, INFINITY, .work = work};
  sp_extremum_find(hexes, 0, &search);
  const double found = search.least;
  CHECK(found <= lowest && found >= least + bound, "order %d: a minimum of %g, but %g is a value",
        order, found, lowest);
}

static void check_bounds(void) {
  AUTO_VALUE(stage) s = {0};
  stage_create(make_box(2, 2, 2, SP_MAP_NONE), 1, &s);
  for (int order = 1; order < SP_MAX_NQ; order++) check_bound_of_order(s.mesh->hexes, order);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  check_box_cases();
  check_names_like_numbers();
  check_file_cases();
  check_order_of_groups();
  check_error_norms();
  check_derived_data("discretization.operator=bp3.5");
  check_derived_data("discretization.operator=bp3.0");
  check_robin_diagonal();
  check_jacobian_range();
  check_bounds();
  sp_platform_close(&platform);
  return check_end();
}
