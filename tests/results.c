/* [result] of cases: integrals, extrema, resistances, agreement of ranks, and refused lines. Fluxes
 * are in tests/fluxes.c. */
#include "tests/folders.h"
#include "tests/library_case.h"
#include "tests/log_table.h"

/* A result, its exact value, and the known coordinates of its place. */
enum { NO_PLACE = -1 };
typedef struct expected_result {
  const char *name, *definition;
  double value, size;
  int axes;
  double place[3];
} expected_result;

static void check_results(const char *const *settings, int count, const expected_result *expected,
                          double within, double near) {
  ARRAYS_OF_SCOPE;
  static const char *const axes[] = {"x", "y", "z"};
  const char *all[RUN_CASE_OVERRIDES + 1];
  int n = run_case_append(settings, 0, all);
  for (int r = 0; r < count; r++)
    all[n++] = test_text("result.%s=%s", expected[r].name, expected[r].definition);
  all[n] = NULL;
  sp_case *c = solve_case(MPI_COMM_WORLD, all, NULL);
  for (const expected_result *e = expected; e < expected + count; e++) {
    CHECK_CLOSE(number(c, "results", e->name, "value"), e->value, within);
    CHECK_CLOSE(number(c, "results", e->name, "size"), e->size, 1e-13);
    for (int d = 0; d < e->axes; d++)
      CHECK_CLOSE(number(c, "results", e->name, axes[d]), e->place[d], near);
    if (e->axes == NO_PLACE)
      CHECK(isnan(number(c, "results", e->name, "x")), "%s has a place", e->name);
  }
  sp_case_close(&c);
}

/* u = x^2 y + z on [0, 2] x [0, 1] x [-1, 1] lies in the space; integrals are sums of products of
 * size one, a few hundred roundings. The solver's part: 1e-14 times a condition number below 1e3.
 */
static void check_integrals(void) {
  static const expected_result expected[] = {
      {"whole", "integral", 8. / 3, 4, NO_PLACE, {0}},
      {"left", "integral over left", 1. / 3, 2, NO_PLACE, {0}},
      {"mean", "average over right", 7. / 6, 2, NO_PLACE, {0}},
      {"face", "integral over xmax", 4, 2, NO_PLACE, {0}},
      {"edge mean", "average over surface 4", 4. / 3, 4, NO_PLACE, {0}}, /* ymax: mean of x^2 */
      {"l2", "norm", 2.3664319132398464, 4, NO_PLACE, {0}}, /* sqrt(2 32 / 15 + 4 / 3) */
      {"face l2", "norm over zmax", 2.6076809620810595, 2, NO_PLACE, {0}},
      {"low", "minimum", -1, 4, 0, {0}}, /* on whole faces: the place is one of many */
      {"high", "maximum over volume 2", 5, 2, 3, {2, 1, 1}},
      {"face low", "minimum over ymax", -1, 4, 3, {0, 1, -1}},
      {"moment", "integral of u*x over left", 1. / 4, 2, NO_PLACE, {0}}, /* x^3 y and x z */
      {"volume", "integral of 1 over right", 2, 2, NO_PLACE, {0}},
      {"shifted", "average of u-z over surface ymax", 4. / 3, 4, NO_PLACE, {0}},
      {"sine l2", "norm of sin(pi*x) over zmin", 1, 2, NO_PLACE, {0}}, /* N + 4 Gauss points */
      {"least", "minimum of (x-1)^2+(y-0.5)^2-u over xmax", -3.75, 2, 3, {2, 1, 1}},
      {"most", "maximum of u*z over left", 2, 2, 3, {1, 1, 1}},
      {"face most", "maximum of 1/x over xmax", 0.5, 2, 0, {0}}}; /* not at x = 0, where it is
                                                                     infinite */
  for (int kind = 0; kind < 2; kind++)
    check_results(TEXTS("mesh.elements=4 2 2; mesh.lower=0 0 -1; mesh.upper=2 1 1; "
                        "region.left.upper=1 1 1; region.right.lower=1 0 -1; "
                        "problem.solution=x^2*y+z; problem.kappa=1+x; discretization.order=3",
                        KINDS[kind]),
                  COUNT_OF(expected), expected, 1e-11, 1e-14);
}

/* The projection has results, but no balance. */
static void check_mass(void) {
  static const char mass[] = "discretization.operator=mass; problem.solution=x+y^2; "
                             "discretization.order=2; mesh.elements=2 2 2";
  double none;
  check_results(TEXTS(mass), 2,
                (const expected_result[]){{"a", "integral", 5. / 6, 1, NO_PLACE, {0}},
                                          {"b", "maximum over xmax", 2, 1, 0, {0}}},
                1e-11, 0);
  sp_case *c = solve_case(MPI_COMM_WORLD, TEXTS(mass), NULL);
  CHECK(sp_case_value(c, "balance", "imbalance", "value", &none) == SP_CASE_ERROR, "a balance");
  sp_case_close(&c);
}

/* Parabolas with their top between nodes, in an element, on a face and in a deformed element: the
 * polynomials are exact, Newton's last step leaves rounding. */
static void check_extrema(void) {
  static const char top[] =
      "problem.solution=1-(x-0.3)^2-2*(y-0.4)^2-3*(z-0.61)^2+(x-0.3)*(y-0.4); "
      "discretization.order=2; mesh.elements=2 2 3; discretization.operator=bp3.0";
  static const expected_result expected[] = {
      {"top", "maximum", 1, 1, 3, {0.3, 0.4, 0.61}},
      {"face", "maximum over zmin", 1 - 3 * 0.61 * 0.61, 1, 3, {0.3, 0.4, 0}},
      {"corner", "minimum", 1 - 0.49 - 2 * 0.16 - 3 * 0.3721 - 0.28, 1, 0, {0}}};
  check_results(TEXTS(top), COUNT_OF(expected), expected, 1e-12, 1e-6);
  sp_case *c = solve_case(MPI_COMM_WORLD, TEXTS(top, "result.nodes=maximum of u"), NULL);
  const double most = number(c, "results", "nodes", "value");
  CHECK(most < 1 - 1e-3, "a formula is searched at the nodes: %.15g", most);
  sp_case_close(&c);
}

/* The least node, at x = 0, does not lead to the minimum, which lies between two others. */
static void check_far_minimum(void) {
  const double x = (2.7 + sqrt(2.01)) / 6, least = x * (x - 0.55) * (x - 0.8);
  check_results(TEXTS("problem.solution=x*(x-0.55)*(x-0.8); discretization.order=4; "
                      "mesh.elements=1 2 2"),
                2,
                (const expected_result[]){{"low", "minimum", least, 1, 1, {x}},
                                          {"face low", "minimum over zmin", least, 1, 1, {x}}},
                1e-12, 1e-6);
}

/* u is zero on a face, and falls from one corner of it, with x and y of `corner`, to a minimum
 * before the next point of the lattice: at z = 0.1, -0.01. */
static void check_plateau(void) {
  for (int corner = 0; corner < 4; corner++) {
    const double x = corner & 1, y = corner >> 1;
    const expected_result expected[] = {
        {"low", "minimum", -0.01, 4, 3, {x, y, 0.1}},
        {"side", "minimum over volume slab", -0.01, 1, 3, {x, y, 0.1}}};
    check_results(TEXTS("discretization.order=2; mesh.elements=1 1 4; mesh.upper=1 1 4; "
                        "discretization.operator=bp3.0; region.slab.upper=1 1 1",
                        test_text("problem.solution=z*(z-0.2*%s*%s)", corner & 1 ? "x" : "(1-x)",
                                  corner & 2 ? "y" : "(1-y)")),
                  COUNT_OF(expected), expected, 1e-12, 1e-6);
  }
}

/* Two slabs of kappa 2 and 1/2 between 10 and 0: u falls to 8 and to 0, 8 W flow, and the
 * resistance is 0.5 / 2 + 0.5 / 0.5. All is in the space; the solver leaves 1e-14 times a condition
 * number. */
static void check_materials(void) {
  static const struct {
    const char *table, *row, *member;
    double value;
  } expected[] = {{"materials", "low", "minimum", 8},         {"materials", "low", "average", 9},
                  {"materials", "low", "maximum", 10},        {"materials", "low", "volume", 0.5},
                  {"materials", "high", "minimum", 0},        {"materials", "high", "average", 4},
                  {"materials", "high", "maximum", 8},        {"materials", "high", "volume", 0.5},
                  {"extrema", "minimum", "value", 0},         {"extrema", "minimum", "x", 1},
                  {"extrema", "maximum", "value", 10},        {"extrema", "maximum", "x", 0},
                  {"results", "slabs", "value", 1.25},        {"results", "slabs", "size", 8},
                  {"results", "from volume", "value", 1.125}, {"results", "from volume", "size", 8},
                  {"results", "to volume", "value", 0.75},    {"results", "to volume", "size", 8},
                  {"results", "by number", "value", 1.125},   {"results", "by number", "size", 8}};
  sp_case *c =
      solve_case(MPI_COMM_WORLD,
                 TEXTS("mesh.elements=4 2 2; region.low.upper=0.5 1 1; region.high.lower=0.5 0 0; "
                       "material.low.kappa=2; material.high.kappa=0.5; problem.forcing=0; "
                       "boundary.default=neumann 0; boundary.xmin=dirichlet 10; "
                       "boundary.xmax=dirichlet 0; discretization.order=3; "
                       "result.slabs=resistance over xmin, xmax; "
                       "result.from volume=resistance over low, xmax; "
                       "result.to volume=resistance over xmin, high; "
                       "result.by number=resistance over volume 1, surface 2"),
                 NULL);
  for (size_t n = 0; n < COUNT_OF(expected); n++)
    CHECK_CLOSE(number(c, expected[n].table, expected[n].row, expected[n].member),
                expected[n].value, 1e-10);
  sp_case_close(&c);
}

/* No heat flows: out of an insulated wall, between walls of one temperature, and the same heat out
 * of one half of a wall and into the other. With a source, walls of one temperature have a
 * resistance, 0. */
static void check_no_heat(void) {
  static const struct {
    const char *settings;
    bool flows;
  } cases[] = {
      {"boundary.xmin=dirichlet 20; boundary.xmax=neumann 0; boundary.ymin=robin 1, 0", false},
      {"boundary.xmin=dirichlet 20; boundary.xmax=robin 3, 60", false},
      {"boundary.xmin=dirichlet 20; boundary.xmax=dirichlet 19+2*y", false},
      {"boundary.xmin=dirichlet 20; boundary.xmax=dirichlet 20; problem.forcing=1", true},
      {"boundary.xmin=dirichlet 20; boundary.xmax=dirichlet 20.001", true},
  };
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    sp_case *c =
        solve_case(MPI_COMM_WORLD,
                   TEXTS("mesh.elements=4 2 2; problem.forcing=0; boundary.default=neumann 0; "
                         "solver.tolerance=; discretization.order=3; output.accuracy=yes; "
                         "result.R=resistance over xmin, xmax",
                         cases[n].settings),
                   NULL);
    const double value = number(c, "results", "R", "value");
    const double bar = number(c, "accuracy", "R", "error");
    CHECK(isnan(value) == !cases[n].flows && isnan(bar) == !cases[n].flows, "%s: %g, bar %g",
          cases[n].settings, value, bar);
    sp_case_close(&c);
  }
}

/* An error that names the point, after everything has been written. On xmin u is 0. */
static void check_infinite(void) {
  static const char *const common[] = {
      "mesh.elements=4 2 2; problem.solution=x; discretization.order=2; "
      "result.good=average; solver.tolerance=1e-14",
      NULL};
  static const char *const formulas[] = {"result.bad=maximum of 1/x",
                                         "result.bad=integral of log(x-0.5)",
                                         "result.bad=norm of sqrt(u-2) over xmax"};
  static const char *const points[] = {"(0, 0, 0)", "not finite at (0.", "not finite at (1, "};
  for (int f = 0; f < 3; f++) {
    sp_results results;
    CHECK_FAILS(
        run_case(MPI_COMM_WORLD, common, TEXTS("output.log=world.h5", formulas[f]), &results),
        SP_ERR_INPUT, "result.bad");
    CHECK(strstr(sp_error_message(), points[f]), "%s: %s", formulas[f], sp_error_message());
    double values[2] = {0};
    if (world_rank > 0) continue;
    const hid_t file = H5Fopen("world.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const int count = log_table(file, "results", 1, TEXTS("value"), 2, values);
    CHECK(count == 2 && isnan(values[1]), "%s: %d results, %g", formulas[f], count, values[1]);
    CHECK_CLOSE(values[0], 0.5, 1e-12);
    H5Fclose(file);
  }
}

/* On all ranks and on one: the same up to the solver's tolerance and rounding. */
static void check_ranks(const char *const *settings, const char *table, const char *const *rows,
                        const char *const *members) {
  sp_case *all = solve_case(MPI_COMM_WORLD, settings, NULL),
          *one = solve_case(MPI_COMM_SELF, settings, NULL);
  for (; *rows; rows++)
    for (const char *const *member = members; *member; member++) {
      const double expected = number(one, table, *rows, *member);
      CHECK_CLOSE(number(all, table, *rows, *member), expected, 1e-11 * (1 + fabs(expected)));
    }
  sp_case_close(&all);
  sp_case_close(&one);
}

static void check_all_on_ranks(void) {
  const char *const layers[] = {
      test_text("mesh.file=%s/layers.geo", test_fixtures()),
      "discretization.order=3; problem.solution=exp(x)*y+z; boundary.inside=robin 1; "
      "boundary.bottom=neumann; "
      "result.a=integral over inner; result.b=flux over inside; result.c=flux over outside; "
      "result.d=maximum over surface bottom; result.e=average over volume 2; "
      "result.f=minimum; result.g=average of u^2*z over volume inner",
      NULL};
  check_ranks(layers, "results", TEXTS("a", "b", "c", "d", "e", "f", "g"), TEXTS("value", "size"));
  check_ranks(layers, "balance", TEXTS("f", "inside", "bottom", "default"), TEXTS("value"));
  /* Regions that meet at edges, on deformed elements. */
  check_ranks(
      TEXTS("mesh.elements=4 4 4; mesh.map=sine; discretization.order=3; problem.forcing=0; "
            "region.low.upper=0.75 1 0.5; region.core.lower=0.25 0.25 0.5; "
            "region.core.upper=0.75 0.75 0.75; material.low.kappa=1+x; "
            "material.core.kappa=30, 20, 10; material.core.forcing=7; "
            "boundary.xmin=dirichlet y; boundary.zmax=robin 3, 1; "
            "boundary.ymax=neumann z-0.3; boundary.xmax=source 2; "
            "boundary.default=neumann 0"),
      "materials", TEXTS("low", "core", "default"), TEXTS("source", "heat_in", "heat_out"));
  /* A contact that ends inside a body. */
  check_ranks(TEXTS(test_text("mesh.file=%s/sandwich.geo", test_fixtures()),
                    "discretization.order=3; problem.forcing=1+y; boundary.half=contact 0.5; "
                    "boundary.left=dirichlet 0; "
                    "boundary.right=robin 2, 3; boundary.default=neumann 0; output.accuracy=yes; "
                    "problem.kappa=2, 1, 0.5, 0.1, 0, 0.2; result.f=flux over half; "
                    "result.q=flux over right; result.most=maximum"),
              "results", TEXTS("f", "q", "most"), TEXTS("value"));
}

static void check_refused(void) {
  static const struct {
    const char *overrides[6], *parts[4]; /* ended by NULL */
  } refusals[] = {
      {{"result.a=integral over lid"},
       {"result.a", "no group 'lid'; surfaces: xmin, xmax, ymin, ymax, zmin, zmax; volumes: none"}},
      {{"region.core.upper=0.5 1 1", "result.a=integral over kern"}, {"volumes: core"}},
      {{"result.a=flux over lid"}, {"no group 'lid'"}},
      {{"result.a=integral over surface lid"}, {"no boundary group 'lid'", "xmin, xmax"}},
      {{"result.a=integral over volume xmin"}, {"no volume group 'xmin'", "it names none"}},
      {{"region.core.upper=0.5 1 1", "result.a=flux over core"},
       {"result.a", "'core' is a volume, but a flux goes through a surface"}},
      {{"region.core.upper=0.5 1 1", "result.a=average over 1"},
       {"'1' is a surface and a volume of the mesh: write 'surface 1' or 'volume 1' after 'over'"}},
      {{"region.core.upper=0.5 1 1", "result.a=resistance over core, 1"},
       {"write 'surface 1' or 'volume 1' after 'over' or the comma"}},
      {{"region.core.upper=0.5 1 1", "result.a=resistance over core, volume 1"},
       {"'core' and '1' are volumes without a source of heat: write 'by SOURCE'"}},
      {{"result.a=integral of u*v over xmin"},
       {"result.a", "column 3: unknown name 'v'", "x, y, z, u, pi"}},
      {{"problem.forcing=v"}, {"problem.forcing", "column 1: unknown name 'v'", "x, y, z, "}},
      {{"problem.forcing=2*u0"},
       {"column 3: unknown name 'u0': only forcings with problem.initial"}},
      {{"discretization.operator=mass", "output.flux=yes"},
       {"output.flux", "the mass problem has no flux"}},
      {{"discretization.operator=mass", "result.a=flux over xmin"},
       {"result.a", "the mass problem has no flux"}},
      {{"boundary.xmin=periodic xmax", "result.a=flux over xmax"},
       {"result.a", "'xmax' is periodic, so it has no flux"}},
  };
  static const char *const common[] = {"mesh.elements=2 2 2; problem.solution=1+y", NULL};
  for (size_t r = 0; r < COUNT_OF(refusals); r++)
    run_case_refused(common, refusals[r].overrides, refusals[r].parts);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  enter_folder();
  check_integrals();
  check_mass();
  check_extrema();
  check_far_minimum();
  check_plateau();
  check_materials();
  check_no_heat();
  check_infinite();
  check_all_on_ranks();
  check_refused();
  leave_folder(TEXTS("world.h5"));
  return check_end();
}
