/* From the case to the problem: which condition holds where, what is refused with which message,
 * and the data computed from formulas and solutions. */
#include "solver/problem/problem.h"

#include "mesh/box.h"
#include "mesh/mesh.h"
#include "mesh/gmsh.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/contacts.h"
#include "solver/problem/dirichlet.h"
#include "solver/problem/errors.h"
#include "solver/problem/kinks.h"
#include "solver/problem/load.h"
#include "solver/problem/robin.h"
#include "tests/check.h"

static sp_platform platform; /* stays open */

/* A mesh, the space on it, and the problem of the last case. */
typedef struct stage {
  sp_mesh *mesh;
  sp_space *space;
  bool *constrained; /* [DOFs], for data */
  double *values;    /* [DOFs] */
  sp_config *config;
  sp_problem *problem;
} stage;

static void stage_create(sp_hexes *hexes, int order, stage *s) {
  *s = (stage){0};
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &s->mesh));
  require(sp_space_create(&platform, s->mesh, order, &s->space));
  const size_t dofs = sp_space_dofs(s->space);
  require(sp_allocate(dofs, sizeof *s->constrained, "test", &s->constrained));
  require(sp_allocate(dofs, sizeof *s->values, "test", &s->values));
}

/* Replace the problem by that of a case, overrides with NULL at the end. */
static sp_status stage_try(stage *s, const char *const *overrides) {
  int count = 0;
  while (overrides[count]) count++;
  sp_problem_destroy(&s->problem);
  sp_config_destroy(&s->config);
  require(sp_config_read(MPI_COMM_WORLD, NULL, count, overrides, &s->config));
  return sp_problem_create(s->config, s->mesh, &s->problem);
}

static const sp_problem *stage_problem(stage *s, const char *const *overrides) {
  require(stage_try(s, overrides));
  return s->problem;
}

static void stage_destroy(stage *s) {
  sp_problem_destroy(&s->problem);
  sp_config_destroy(&s->config);
  free(s->constrained);
  free(s->values);
  sp_space_destroy(&s->space);
  sp_mesh_destroy(&s->mesh);
}

static sp_hexes *make_box(int nx, int ny, int nz, sp_map map) {
  const sp_box box = {.elements = {nx, ny, nz}, .upper = {1, 1, 1}, .map = map};
  sp_hexes *hexes;
  require(sp_box_hexes(MPI_COMM_WORLD, &box, &hexes));
  return hexes;
}

/* ---- What is refused ---- */

/* How far a case gets: created, coefficients, Robin faces, constrained, loaded. */
static sp_status try_case(stage *s, const char *const *overrides) {
  sp_coefficients coefficients;
  sp_jacobian_range range;
  sp_robin robin = {0};
  sp_status status = stage_try(s, overrides);
  const sp_problem *problem = s->problem;
  CHECK(!problem == !!status, "a problem and a failure, or neither");
  if (status) return status;
  const sp_rule *rule = sp_operator_rule(problem->kind, s->space->numbering->order);
  status = sp_coefficients_create(&problem->materials, s->mesh, rule, &coefficients);
  sp_coefficients_free(&coefficients);
  CHECK(!coefficients.kappa && !coefficients.lambda, "coefficients are left");
  if (!status) status = sp_problem_robin(problem, s->space, &robin);
  sp_robin_free(&robin);
  if (!status) status = sp_problem_constraints(problem, s->space, s->constrained, s->values, NULL);
  if (!status) status = sp_problem_load(problem, s->space, s->values, &range, NULL);
  return status;
}

/* Overrides and parts of the message, both ended by NULL. No parts: the case must be accepted. */
typedef struct refusal {
  const char *overrides[6], *parts[5];
} refusal;

/* On a mesh, which is destroyed. */
static void check_refusals(sp_hexes *hexes, int order, size_t count, const refusal *refusals) {
  stage s;
  stage_create(hexes, order, &s);
  for (size_t r = 0; r < count; r++) {
    const refusal *it = &refusals[r];
    const sp_status status = try_case(&s, it->overrides);
    if (it->parts[0])
      check_refusal(it->overrides[0], status, it->parts);
    else
      CHECK(!status, "%s: %s", it->overrides[0], sp_error_message());
  }
  stage_destroy(&s);
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
      {{SOLUTION, "boundary.xmin=robin 1+, 1"}, {"(alpha)", "column"}},
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
      {{SOLUTION, "problem.lambda=-2"}, {"problem.lambda", ">= 0", "'-2'"}},
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
      {{SOLUTION, "problem.kappa=1, 1+, 1"}, {"(yy): ", "column"}},
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
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,x,0, 0,0,1"},
       {"problem.axes", "six constants"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,0, 0,z z,1"}, {"(y2): ", "column"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,3, -2,-4,-6"},
       {"problem.axes", "neither zero nor parallel, found '1,2,3, -2,-4,-6'"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,3, 0,0,0"},
       {"neither zero nor parallel"}},
      {{SOLUTION, "problem.kappa=1, 2, 3", "problem.axes=1,2,1/0, 0,0,1"}, {"two finite vectors"}},
      {{SOLUTION, "problem.kappa=2", "problem.axes=1,0,0, 0,1,0"},
       {"problem.axes", "no kappa has three or six components"}},
      {{SOLUTION, "discretization.operator=mass", "problem.axes=1,0,0, 0,1,0"},
       {"problem.axes", "mass problem has no axes"}},
      {{SOLUTION, "problem.kappa=0"}, {"problem.kappa", "> 0", "'0'"}},
      {{SOLUTION, "problem.kappa=1/0"}, {"problem.kappa", "finite number"}},
      {{SOLUTION, "problem.kappa=y"}, {"problem.kappa", "'y' is 0 at (", ", 0, ", "> 0"}},
      {{SOLUTION, "problem.kappa=sqrt(z-0.1)"}, {"problem.kappa", "not finite at ("}},
      /* Formulas. */
      {{"problem.solution=sin(x"}, {"problem.solution", "column"}},
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
  hexes->groups[5].members[5] = false;
  check_refusals(hexes, 2, sizeof refusals / sizeof refusals[0], refusals);
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
    char **name = &hexes->groups[renamed[r].group].name;
    free(*name);
    *name = strdup(renamed[r].name);
  }
  check_refusals(hexes, 2, sizeof refusals / sizeof refusals[0], refusals);
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
  require(sp_gmsh_hexes(MPI_COMM_WORLD, SP_FIXTURES "/cube.geo", &hexes));
  check_refusals(hexes, 1, sizeof refusals / sizeof refusals[0], refusals);
}

/* ---- Coefficients ---- */

/* Constants stay numbers; a formula becomes values at the points, and the mass term's scale 1. The
 * largest lambda is that of all ranks: 1 + x on the GLL points that the face x = 1 has. */
static void check_coefficients(void) {
  static const struct {
    const char *kappa, *lambda;
    bool with_kappa, with_lambda;
    double scale, largest;
  } cases[] = {{"problem.kappa=1", "problem.lambda=3", false, false, 3, 3},
               {"problem.kappa=2", "problem.lambda=0", true, false, 0, 0},
               {"problem.kappa=1", "problem.lambda=1+x", false, true, 1, 2},
               {"problem.kappa=1+y", "problem.lambda=5*x", true, true, 1, 5}};
  stage s;
  stage_create(make_box(4, 2, 2, SP_MAP_NONE), 2, &s);
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    const sp_problem *problem =
        stage_problem(&s, (const char *const[]){SOLUTION, cases[c].kappa, cases[c].lambda, NULL});
    sp_coefficients coefficients;
    require(sp_coefficients_create(&problem->materials, s.mesh, sp_operator_rule(problem->kind, 2),
                                   &coefficients));
    CHECK((coefficients.kappa != NULL) == cases[c].with_kappa &&
              (coefficients.lambda != NULL) == cases[c].with_lambda,
          "arrays of case %zu", c);
    CHECK_CLOSE(coefficients.scale, cases[c].scale, 0);
    CHECK_CLOSE(coefficients.largest_lambda, cases[c].largest, 1e-15 * cases[c].largest);
    sp_coefficients_free(&coefficients);
  }
  stage_destroy(&s);
}

/* ---- Dirichlet data ---- */

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

/* ---- Error norms ---- */

/* u = x + 2 y z and u_h = 3 on the unit cube: norms in closed form. NaN in one entry of u_h reaches
 * the norms on all ranks. */
static void check_error_norms(void) {
  enum { ORDER = 2 };
  stage s;
  sp_error_norms norms;
  stage_create(make_box(3, 4, 5, SP_MAP_NONE), ORDER, &s);
  const sp_problem *problem =
      stage_problem(&s, (const char *const[]){"problem.solution=x + 2*y*z", NULL});
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
  stage_destroy(&s);
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
  stage s;
  stage_create(make_angle(), ORDER, &s);
  const size_t dofs = sp_space_dofs(s.space);
  double xyz[3 * NODES], *least;
  require(sp_allocate(dofs, sizeof *least, "test", &least));
  for (int o = 0; o < 6; o++) {
    char lines[3][64];
    for (int g = 0; g < 3; g++)
      snprintf(lines[g], sizeof lines[g], "boundary.%s=dirichlet %d + x/3",
               groups[orders[o][g]].name, 10 * (3 - g));
    const sp_problem *problem =
        stage_problem(&s, (const char *const[]){"problem.forcing=1", "boundary.default=neumann 0",
                                                lines[0], lines[1], lines[2], NULL});
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
  free(least);
  stage_destroy(&s);
}

/* ---- Load vector ---- */

/* The load vector of a case is s->values. */
static sp_jacobian_range load_of(stage *s, const char *const *overrides) {
  sp_jacobian_range range;
  require(sp_problem_load(stage_problem(s, overrides), s->space, s->values, &range, NULL));
  return range;
}

/* Data derived from the solution equal the formulas derived by hand. */
static void check_derived_data(const char *operator_is) {
  static const char solution[] = "problem.solution=sin(2*x)*exp(y)*(1+z^2)+0.5";
  static const char forcing[] =
      "problem.forcing=((2+x)*(4-1)+(3+y))*sin(2*x)*exp(y)*(1+z^2)-(2+x)*2*sin(2*x)*exp(y)"
      "-2*cos(2*x)*exp(y)*(1+z^2)+0.5*(3+y)";
  stage s;
  stage_create(make_box(3, 2, 2, SP_MAP_NONE), 4, &s);
  const size_t dofs = sp_space_dofs(s.space);
  double *derived;
  require(sp_allocate(dofs, sizeof *derived, "test", &derived));
  load_of(&s, (const char *const[]){operator_is, "problem.lambda=3+y", "problem.kappa=2+x",
                                    solution, "boundary.default=neumann", "boundary.zmin=dirichlet",
                                    "boundary.xmin=robin 1+z", NULL});
  memcpy(derived, s.values, dofs * sizeof *derived);
  const sp_jacobian_range range = load_of(
      &s, (const char *const[]){operator_is, "problem.lambda=3+y", "problem.kappa=2+x", forcing,
                                "boundary.xmin=robin 1+z, 0.5*(1+z)-4*exp(y)*(1+z^2)",
                                "boundary.xmax=neumann 6*cos(2)*exp(y)*(1+z^2)",
                                "boundary.ymin=neumann -(2+x)*sin(2*x)*(1+z^2)",
                                "boundary.ymax=neumann (2+x)*sin(2*x)*e*(1+z^2)",
                                "boundary.zmax=neumann (2+x)*2*sin(2*x)*exp(y)",
                                "boundary.zmin=dirichlet 0", NULL});
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
  free(derived);
  stage_destroy(&s);
}

/* The sum of the Robin diagonal is the integral of alpha: GLL with N + 1 = 4 points is exact to
 * degree 5, and alpha times the constant surface element has degree 3. All entries are on these
 * faces. */
static void check_robin_diagonal(void) {
  stage s;
  stage_create(make_box(3, 2, 4, SP_MAP_NONE), 3, &s);
  sp_robin robin;
  stage_problem(&s, (const char *const[]){"problem.forcing=1", "boundary.default=neumann 0",
                                          "boundary.xmin=robin 1+y*z^2, 0",
                                          "boundary.zmax=robin x^3, 0", NULL});
  require(sp_problem_robin(s.problem, s.space, &robin));
  double sum = 0;
  for (sp_lid i = 0; i < robin.count; i++) {
    CHECK(robin.dofs[i] >= 0 && robin.dofs[i] < s.space->numbering->local, "DOF %d", robin.dofs[i]);
    CHECK(i == 0 || robin.dofs[i] > robin.dofs[i - 1], "DOF %d is listed twice", robin.dofs[i]);
    CHECK(robin.values[i] > 0, "value %g", robin.values[i]);
    sum += robin.values[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK_CLOSE(sum, 1 + 1.0 / 6 + 1.0 / 4, 1e-13);
  sp_robin_free(&robin);

  stage_problem(&s, (const char *const[]){"problem.forcing=1", "boundary.default=neumann 0",
                                          "boundary.xmin=robin 0, 1", NULL});
  require(sp_problem_robin(s.problem, s.space, &robin));
  CHECK(robin.count == 0, "alpha is zero everywhere");
  sp_robin_free(&robin);
  stage_destroy(&s);
}

/* The divergence theorem on deformed elements: with v = 1 and lambda = 0 the load of a quadratic u
 * adds up to the integral of -div(kappa grad u) and of its flux, which is zero; by bp3.0's
 * quadrature with 4 points, exact to degree 7, which is exact for the degrees at hand: kappa grad u
 * is of degree 2 in the reference coordinates if kappa is linear, the cofactors of the map add two
 * at most. Up to the rounding of sums of size ten. */
static void check_balance(const char *kappa) {
  stage s;
  stage_create(make_box(3, 3, 2, SP_MAP_SINE), 2, &s);
  double sums[2] = {0, 0};
  const sp_jacobian_range range =
      load_of(&s, (const char *const[]){"discretization.operator=bp3.0", "problem.lambda=0", kappa,
                                        "problem.solution=x^2+3*y^2-z^2+x*y+2*z",
                                        "boundary.default=neumann", NULL});
  for (sp_lid i = 0; i < s.space->numbering->owned; i++) {
    sums[0] += s.values[i];
    sums[1] += fabs(s.values[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums[1] > 1, "loads of %g in all", sums[1]);
  CHECK_CLOSE(sums[0], 0, 1e-12 * sums[1]);
  CHECK(range.smallest > 0 && range.smallest < range.largest, "|J| from %g to %g", range.smallest,
        range.largest);
  stage_destroy(&s);
}

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
    stage s;
    sp_gid pairs;
    stage_create(hexes, 1, &s);
    stage_problem(&s, (const char *const[]){SOLUTION, NULL});
    require(sp_problem_count_contacts(s.problem, s.mesh, &pairs));
    CHECK(pairs == (g == 1 || g == 2 ? 6 : 0), "gap %g: %lld pairs", gaps[g], (long long)pairs);
    stage_destroy(&s);
  }
}

/* ---- Notes ---- */

/* The one-dimensional integral of exp(-((x - c) / w)^2 / 2) over n elements of [0, 1] by a rule. */
static double integrate_line(int n, const sp_rule *rule, double c, double w) {
  double sum = 0;
  for (int e = 0; e < n; e++)
    for (int q = 0; q < rule->n; q++) {
      const double x = (e + (1 + rule->nodes[q]) / 2) / n - c;
      sum += rule->weights[q] / (2 * n) * exp(-x * x / (w * w) / 2);
    }
  return sum;
}

static sp_source_integral compare_source(stage *s, const char *const *overrides) {
  sp_source_integral source;
  sp_jacobian_range range;
  sp_load_sums sums = {0};
  const sp_problem *problem = stage_problem(s, overrides);
  require(
      sp_allocate((size_t)s->mesh->hexes->surface_count + 1, sizeof(double), "test", &sums.given));
  require(sp_problem_load(problem, s->space, s->values, &range, &sums));
  require(sp_source_compare(problem, s->space, sums.source, sums.size, &sums.samples, &source));
  free(sums.given);
  return source;
}

/* A Gaussian source whose width is a tenth of an element, in a box of 16^3: the integrals are
 * products of sums on lines. Positions are in units of the element. The source is alone, or its
 * peak is 1e5 above a constant. Neglected elements are 1.5 elements away or more: exp(-112). Errors
 * are of rounding, of sums of up to 2e6 terms of one sign. */
static void check_narrow_source(const char *operator_is, sp_operator_kind kind) {
  enum { N = 16 };
  static const double at[][3] = {
      {0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}, {0.3, 0.62, 0.5}, {0, 0, 0}, {0.1, 0.2, 0.35}};
  for (int order = 2; order <= 7; order++) {
    stage s;
    sp_rule fine;
    stage_create(make_box(N, N, N, SP_MAP_NONE), order, &s);
    sp_rule_gl((order + 4) | 1, &fine);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
      const double w = 0.1 / N, constant = i % 2 ? 1 : 0;
      double own = 1, integral = 1;
      char forcing[300];
      int used = snprintf(forcing, sizeof forcing, "problem.forcing=%g+%g*exp(-(", constant,
                          i % 2 ? 1e5 : 1);
      for (int d = 0; d < 3; d++) {
        const double c = (8 + at[i][d]) / N;
        own *= integrate_line(N, sp_operator_rule(kind, order), c, w);
        integral *= integrate_line(N, &fine, c, w);
        used += snprintf(forcing + used, sizeof forcing - (size_t)used, "%s(%c-%.17g)^2",
                         d ? "+" : "", "xyz"[d], c);
      }
      snprintf(forcing + used, sizeof forcing - (size_t)used, ")/(2*%.17g^2))", w);
      const double factor = i % 2 ? 1e5 : 1, rounding = 1e-9 * (constant + factor * integral);
      const sp_source_integral source = compare_source(
          &s, (const char *const[]){operator_is, forcing,
                                    kind == SP_MASS ? NULL : "boundary.default=dirichlet 0", NULL});
      CHECK(source.points == fine.n, "%d points", source.points);
      CHECK_CLOSE(source.own, constant + factor * own, rounding);
      CHECK_CLOSE(source.size, constant + factor * own, rounding);
      CHECK_CLOSE(source.excess, factor * (integral - own), rounding);
    }
    stage_destroy(&s);
  }
}

/* Sources that no point of GLL sees: a ball in the centre of an element, and a layer that varies in
 * more elements than a sample has on one rank. The finer rule has a point in the centre, of weight
 * 128/450 on a unit interval. The excess of the layer is an estimate, with a standard deviation of
 * at most 1 / sqrt(127) of it, because all ratios of excess and variation are equal (Szegedy: The
 * DLT priority sampling is essentially optimal, 2006); four times that is allowed. And f that is
 * integrated exactly, that is constant, or singular at a centre. */
static void check_hidden_sources(void) {
  static const char zero[] = "boundary.default=dirichlet 0";
  const double weight = 128.0 / 450;
  stage s;
  stage_create(make_box(16, 16, 16, SP_MAP_NONE), 1, &s);
  sp_source_integral source = compare_source(
      &s, (const char *const[]){"problem.forcing=(x-0.53125)^2+(y-0.28125)^2+(z-0.03125)^2<1e-5",
                                zero, NULL});
  CHECK(source.own == 0 && source.size == 0, "%g, %g", source.own, source.size);
  CHECK_CLOSE(source.excess, weight * weight * weight / 4096, 1e-15);
  source =
      compare_source(&s, (const char *const[]){"problem.forcing=abs(z-0.53)<0.01", zero, NULL});
  CHECK(source.own == 0 && source.size == 0, "%g, %g", source.own, source.size);
  CHECK_CLOSE(source.excess, weight / 16, 4 / sqrt(127) * weight / 16);
  source = compare_source(&s, (const char *const[]){"problem.forcing=x+2*y*z-3", zero, NULL});
  CHECK_CLOSE(source.size, 2, 1e-12);
  CHECK_CLOSE(source.excess, 0, 1e-12);
  source = compare_source(&s, (const char *const[]){"problem.forcing=2", zero, NULL});
  CHECK(source.excess == 0, "%g", source.excess);
  source =
      compare_source(&s, (const char *const[]){"problem.forcing=1/abs(x-0.53125)+y", zero, NULL});
  CHECK(isfinite(source.excess) && source.size > 1, "%g", source.excess);
  stage_destroy(&s);
}

/* The jump of the derivative, times the diagonal of an element, and where it is. */
static void check_kinks(void) {
  static const struct {
    const char *solution, *kappa;
    double jump;              /* of the gradient */
    double normal[3], offset; /* of its plane */
    double value;             /* jump of u */
  } cases[] = {{"abs(x-0.3)", "1", 2, {1, 0, 0}, 0.3, 0},
               {"abs(x-0.5)+y^2", "1", 2, {1, 0, 0}, 0.5, 0},
               {"max(x, y)", "1+z", M_SQRT2, {1, -1, 0}, 0, 0},
               {"300+(z < 0.77 ? 0 : 2)", "1", 0, {0, 0, 1}, 0.77, 2},
               {"abs(x)*y+min(x, 1)", "1", 0, {0, 0, 0}, 0, 0},
               {"x < 0.3 ? x : 0.3+(x-0.3)/10", "x < 0.3 ? 1 : 10", 0, {0, 0, 0}, 0, 0},
               {"sin(200*x)*exp(y)", "1", 0, {0, 0, 0}, 0, 0}};
  stage s;
  stage_create(make_box(4, 4, 4, SP_MAP_NONE), 2, &s);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sp_kink kink;
    const char *solution = test_text("problem.solution=%s", cases[i].solution);
    const char *kappa = test_text("problem.kappa=%s", cases[i].kappa);
    stage_problem(&s, (const char *const[]){solution, kappa, NULL});
    require(sp_problem_find_kink(s.problem, s.mesh, &kink));
    const double expected = cases[i].jump * sqrt(3) / 4 + cases[i].value;
    double distance = -cases[i].offset;
    for (int d = 0; d < 3; d++) distance += cases[i].normal[d] * kink.at[d];
    /* What is smooth differs along a line by its second derivative times the line, 2^-24 of the
     * diagonal, times that diagonal. */
    CHECK_CLOSE(kink.jump, expected, 1e-6);
    if (expected > 0) CHECK_CLOSE(distance, 0, 1e-6);
    CHECK((kink.jump > 1e-3 * kink.scale) == (expected > 0), "%s: %g of %g", cases[i].solution,
          kink.jump, kink.scale);
  }
  stage_destroy(&s);
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
  stage s;
  stage_create(make_box(4, 3, 2, SP_MAP_NONE), 3, &s);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const *lines = cases[i].lines;
    sp_data_jump jump;
    stage_problem(
        &s, (const char *const[]){"problem.solution=x+y", lines[0], lines[1], lines[2], NULL});
    require(sp_problem_constraints(s.problem, s.space, s.constrained, s.values, &jump));
    CHECK_CLOSE(jump.size, cases[i].size, 1e-14);
    CHECK_CLOSE(jump.largest, cases[i].largest, 1e-14);
    if (cases[i].size > 0)
      CHECK(jump.parts[0] == cases[i].parts[0] && jump.parts[1] == cases[i].parts[1],
            "case %d: parts %d and %d", (int)i, jump.parts[0], jump.parts[1]);
  }
  stage_destroy(&s);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  check_box_cases();
  check_contacts();
  check_names_like_numbers();
  check_file_cases();
  check_coefficients();
  check_order_of_groups();
  check_error_norms();
  check_derived_data("discretization.operator=bp3.5");
  check_derived_data("discretization.operator=bp3.0");
  check_robin_diagonal();
  check_balance("problem.kappa=1");
  check_balance("problem.kappa=2+x-0.4*y");
  check_narrow_source("discretization.operator=bp3.5", SP_BP35);
  check_narrow_source("discretization.operator=bp3.0", SP_BP30);
  check_narrow_source("discretization.operator=mass", SP_MASS);
  check_hidden_sources();
  check_kinks();
  check_data_jumps();
  sp_platform_close(&platform);
  return check_end();
}
