/* [result] through the whole program and its run log: integrals, extrema, resistances, and what is
 * refused. tests/fluxes.c has the fluxes. */
#include "tests/library_case.h"
#include "tests/result_log.h"

/* u = x^2 y + z on [0, 2] x [0, 1] x [-1, 1] lies in the space; integrals are sums of products of
 * size one, a few hundred roundings. The solver's part: 1e-14 times a condition number below 1e3.
 */
static void check_integrals(void) {
  static const char *const common[] = {
      "mesh.elements=4 2 2; mesh.lower=0 0 -1; mesh.upper=2 1 1; "
      "region.left.upper=1 1 1; region.right.lower=1 0 -1; problem.solution=x^2*y+z; "
      "problem.kappa=1+x; discretization.order=3; solver.tolerance=1e-14; "
      "result.whole=integral; result.left=integral over left; "
      "result.mean=average over right; result.face=integral over xmax; "
      "result.edge mean=average over surface 4; result.l2=norm; "
      "result.face l2=norm over zmax; result.low=minimum; "
      "result.high=maximum over volume 2; result.face low=minimum over ymax; "
      "result.moment=integral of u*x over left; "
      "result.volume=integral of 1 over right; "
      "result.shifted=average of u-z over surface ymax; "
      "result.sine l2=norm of sin(pi*x) over zmin; "
      "result.least=minimum of (x-1)^2+(y-0.5)^2-u over xmax; "
      "result.most=maximum of u*z over left; "
      "result.face most=maximum of 1/x over xmax",
      NULL};
  const struct {
    double value, size, place[3];
    bool has_place;
  } expected[] = {{8. / 3, 4, {0}, false},
                  {1. / 3, 2, {0}, false},
                  {7. / 6, 2, {0}, false},
                  {4, 2, {0}, false},
                  {4. / 3, 4, {0}, false}, /* 4 is ymax: mean of x^2 */
                  {sqrt(2 * 32. / 15 + 4. / 3), 4, {0}, false},
                  {sqrt(32. / 15 + 8. / 3 + 2), 2, {0}, false},
                  {-1, 4, {0, 0, -1}, false}, /* on whole faces: the place is one of many */
                  {5, 2, {2, 1, 1}, true},
                  {-1, 4, {0, 1, -1}, true},
                  {1. / 4, 2, {0}, false}, /* x^3 y and x z over [0, 1]^2 x [-1, 1] */
                  {2, 2, {0}, false},
                  {4. / 3, 4, {0}, false},
                  {1, 2, {0}, false}, /* sin^2 has the average 1/2; N + 4 Gauss points */
                  {-3.75, 2, {2, 1, 1}, true},
                  {2, 2, {1, 1, 1}, true},
                  {0.5, 2, {2, 0, -1}, false}}; /* not at x = 0, where it is infinite */
  enum { COUNT = COUNT_OF(expected) };
  for (int kind = 0; kind < 2; kind++) {
    const logged log = run(MPI_COMM_WORLD, common, TEXTS(KINDS[kind]));
    CHECK(log.result_count == COUNT, "%d results", log.result_count);
    for (int r = 0; r < COUNT && r < log.result_count; r++) {
      CHECK_CLOSE(log.results[r].value, expected[r].value, 1e-11);
      CHECK_CLOSE(log.results[r].size, expected[r].size, 1e-13);
      for (int d = 0; d < 3 && expected[r].has_place; d++)
        CHECK_CLOSE(log.results[r].place[d], expected[r].place[d], 1e-14);
    }
    CHECK(isnan(log.results[0].place[0]), "an integral has a place");
  }
  /* The projection has results, but no balance. */
  const logged mass =
      run(MPI_COMM_WORLD,
          TEXTS("discretization.operator=mass; problem.solution=x+y^2; discretization.order=2; "
                "mesh.elements=2 2 2; solver.tolerance=1e-14"),
          TEXTS("result.a=integral; result.b=maximum over xmax"));
  CHECK(mass.result_count == 2 && mass.term_count == -1, "%d results, %d terms", mass.result_count,
        mass.term_count);
  CHECK_CLOSE(mass.results[0].value, 5. / 6, 1e-11);
  CHECK_CLOSE(mass.results[1].value, 2, 1e-11);
}

/* Parabolas with their top between nodes, in an element, on a face and in a deformed element: the
 * polynomials are exact, Newton's last step leaves rounding. */
static void check_extrema(void) {
  static const char *const top[] = {
      "problem.solution=1-(x-0.3)^2-2*(y-0.4)^2-3*(z-0.61)^2+(x-0.3)*(y-0.4); "
      "discretization.order=2; mesh.elements=2 2 3; solver.tolerance=1e-14; "
      "discretization.operator=bp3.0; result.top=maximum; "
      "result.face=maximum over zmin; result.corner=minimum; "
      "result.nodes=maximum of u",
      NULL};
  const logged log = run(MPI_COMM_WORLD, top, NULL);
  const double side = 1 - 3 * 0.61 * 0.61;
  const result_row expected[] = {
      {1, 1, {0.3, 0.4, 0.61}}, {side, 1, {0.3, 0.4, 0}}, {0, 1, {1, 0, 0}}};
  for (int r = 0; r < 2; r++) {
    CHECK_CLOSE(log.results[r].value, expected[r].value, 1e-12);
    for (int d = 0; d < 3; d++) CHECK_CLOSE(log.results[r].place[d], expected[r].place[d], 1e-6);
  }
  CHECK_CLOSE(log.results[2].value, 1 - 0.49 - 2 * 0.16 - 3 * 0.3721 - 0.28, 1e-12);
  CHECK(log.results[3].value < 1 - 1e-3, "a formula is searched at the nodes: %.15g",
        log.results[3].value);
}

/* The least node, at x = 0, does not lead to the minimum, which lies between two others. */
static void check_far_minimum(void) {
  static const char *const well[] = {
      "problem.solution=x*(x-0.55)*(x-0.8); discretization.order=4; mesh.elements=1 2 2; "
      "solver.tolerance=1e-14; result.low=minimum; result.face low=minimum over zmin",
      NULL};
  const logged log = run(MPI_COMM_WORLD, well, NULL);
  const double x = (2.7 + sqrt(2.01)) / 6;
  for (int r = 0; r < 2; r++) {
    CHECK_CLOSE(log.results[r].value, x * (x - 0.55) * (x - 0.8), 1e-12);
    CHECK_CLOSE(log.results[r].place[0], x, 1e-6);
  }
}

/* u is zero on a face, and falls from one corner of it, x and y as `corner` says, to a minimum
 * before the next point of the lattice: at z = 0.1, -0.01. */
static void check_plateau(void) {
  for (int corner = 0; corner < 4; corner++) {
    const logged log =
        run(MPI_COMM_WORLD,
            TEXTS("discretization.order=2; mesh.elements=1 1 4; mesh.upper=1 1 4; "
                  "discretization.operator=bp3.0; solver.tolerance=1e-14; result.low=minimum; "
                  "result.side=minimum over volume slab; region.slab.upper=1 1 1",
                  test_text("problem.solution=z*(z-0.2*%s*%s)", corner & 1 ? "x" : "(1-x)",
                            corner & 2 ? "y" : "(1-y)")),
            NULL);
    for (int r = 0; r < 2; r++) {
      CHECK_CLOSE(log.results[r].value, -0.01, 1e-12);
      CHECK_CLOSE(log.results[r].place[0], corner & 1, 1e-6);
      CHECK_CLOSE(log.results[r].place[2], 0.1, 1e-6);
    }
  }
}

/* Two slabs of kappa 2 and 1/2 between 10 and 0: u falls to 8 and to 0, 8 W flow, and the
 * resistance is 0.5 / 2 + 0.5 / 0.5. All is in the space; the solver leaves 1e-14 times a condition
 * number. */
static void check_materials(void) {
  static const char *const slabs[] = {
      "mesh.elements=4 2 2; region.low.upper=0.5 1 1; region.high.lower=0.5 0 0; "
      "material.low.kappa=2; material.high.kappa=0.5; problem.forcing=0; "
      "boundary.default=neumann 0; boundary.xmin=dirichlet 10; "
      "boundary.xmax=dirichlet 0; discretization.order=3; solver.tolerance=1e-14; "
      "result.slabs=resistance over xmin, xmax; "
      "result.from volume=resistance over low, xmax; "
      "result.to volume=resistance over xmin, high; "
      "result.by number=resistance over volume 1, surface 2",
      NULL};
  static const char *const of_material[] = {"minimum", "average", "maximum", "volume"};
  static const char *const of_extremum[] = {"value", "x"};
  static const double resistances[] = {1.25, 9. / 8, 0.75, 9. / 8};
  static const double materials[2][4] = {{8, 9, 10, 0.5}, {0, 4, 8, 0.5}};
  sp_results results;
  CHECK_OK(run_case(MPI_COMM_WORLD, slabs, TEXTS("output.log=world.h5"), &results));
  if (world_rank > 0) return;
  double found[4][4] = {{0}}, extrema[2][2], values[4][2] = {{0}};
  static const char *const of_result[] = {"value", "size"};
  const hid_t file = H5Fopen("world.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(log_table(file, "materials", 4, of_material, 4, &found[0][0]) == 2, "not two materials");
  CHECK(log_table(file, "extrema", 2, of_extremum, 2, &extrema[0][0]) == 2, "not two extrema");
  CHECK(log_table(file, "results", 2, of_result, 4, &values[0][0]) == 4, "not four results");
  H5Fclose(file);
  for (int m = 0; m < 2; m++)
    for (int c = 0; c < 4; c++) CHECK_CLOSE(found[m][c], materials[m][c], 1e-10);
  for (int i = 0; i < 2; i++) {
    CHECK_CLOSE(extrema[i][0], i == 0 ? 0 : 10, 1e-10);
    CHECK_CLOSE(extrema[i][1], i == 0 ? 1 : 0, 1e-14);
  }
  for (int i = 0; i < 4; i++) {
    CHECK_CLOSE(values[i][0], resistances[i], 1e-10);
    CHECK_CLOSE(values[i][1], 8, 1e-10);
  }
}

/* No heat flows: out of an insulated wall, between walls of one temperature, and as much out of one
 * half of a wall as into the other. With a source, walls of one temperature have a resistance, 0.
 */
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
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const char *const arguments[] = {
        "mesh.elements=4 2 2; problem.forcing=0; boundary.default=neumann 0",
        "discretization.order=3; result.R=resistance over xmin, xmax", cases[c].settings, NULL};
    sp_results results;
    CHECK_OK(run_case(MPI_COMM_WORLD, arguments,
                      TEXTS("output.log=world.h5", "output.accuracy=yes"), &results));
    if (world_rank > 0) continue;
    double value = 0, bars[16] = {0};
    const hid_t file = H5Fopen("world.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(log_table(file, "results", 1, TEXTS("value"), 1, &value) == 1, "not one result");
    CHECK(log_table(file, "accuracy", 1, TEXTS("error"), COUNT_OF(bars), bars) > 1, "no bars");
    H5Fclose(file);
    CHECK(isnan(value) == !cases[c].flows && isnan(bars[0]) == !cases[c].flows, "%s: %g, bar %g",
          cases[c].settings, value, bars[0]);
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
    logged out = {.result_count = -1};
    if (world_rank > 0) continue;
    read_log("world.h5", &out);
    CHECK(out.result_count == 2 && isnan(out.results[1].value), "%s: %d results, %g", formulas[f],
          out.result_count, out.results[1].value);
    CHECK_CLOSE(out.results[0].value, 0.5, 1e-12);
  }
}

/* On all ranks and on one: the same but for the solver's tolerance and rounding. */
static void check_ranks(const char *const *settings, const char *table, const char *const *rows,
                        const char *const *members) {
  const char *keys[RUN_CASE_OVERRIDES + 1] = {run_case_device, "backend.share=yes",
                                              "discretization.order=3", "solver.tolerance=1e-14"};
  keys[run_case_append(settings, 4, keys)] = NULL;
  sp_case *all = open_keys(keys), *one = open_on(MPI_COMM_SELF, keys);
  (void)solve(all), (void)solve(one);
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
      "problem.solution=exp(x)*y+z; boundary.inside=robin 1; boundary.bottom=neumann; "
      "result.a=integral over inner; result.b=flux over inside; result.c=flux over outside; "
      "result.d=maximum over surface bottom; result.e=average over volume 2; "
      "result.f=minimum; result.g=average of u^2*z over volume inner",
      NULL};
  check_ranks(layers, "results", TEXTS("a", "b", "c", "d", "e", "f", "g"), TEXTS("value", "size"));
  check_ranks(layers, "balance", TEXTS("f", "inside", "bottom"), TEXTS("value"));
  /* Regions that meet at edges, on deformed elements. */
  check_ranks(TEXTS("mesh.elements=4 4 4; mesh.map=sine; problem.forcing=0; "
                    "region.low.upper=0.75 1 0.5; region.core.lower=0.25 0.25 0.5; "
                    "region.core.upper=0.75 0.75 0.75; material.low.kappa=1+x; "
                    "material.core.kappa=30, 20, 10; material.core.forcing=7; "
                    "boundary.xmin=dirichlet y; boundary.zmax=robin 3, 1; "
                    "boundary.ymax=neumann z-0.3; boundary.xmax=source 2; "
                    "boundary.default=neumann 0"),
              "materials", TEXTS("low", "core", "default"), TEXTS("source", "heat_in", "heat_out"));
  /* A contact that ends inside a body. */
  check_ranks(TEXTS(test_text("mesh.file=%s/sandwich.geo", test_fixtures()),
                    "problem.forcing=1+y; boundary.half=contact 0.5; boundary.left=dirichlet 0; "
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
      {{"problem.forcing=u"}, {"problem.forcing", "column 1: unknown name 'u'", "x, y, z, pi"}},
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
