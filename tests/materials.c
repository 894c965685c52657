/* Materials by volume group: where kappa jumps on faces between elements, solutions are exact or
 * converge at the full rate with both operators, on boxes and meshes from files. */
#include <float.h>

#include "mesh/gmsh/gmsh.h"
#include "operators/counts.h"
#include "solver/config/config.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/interfaces.h"
#include "tests/boxes.h"
#include "tests/rates.h"
#include "tests/stage.h"

/* How a mesh of the unit cube is made whose halves x < 1/2 and x > 1/2 are called soft and hard. */
typedef struct source {
  const char *overrides[6]; /* ends in NULL */
  const char *soft, *hard;  /* names of the halves */
} source;

#define REGIONS "region.soft.upper=0.5 1 1", "region.hard.lower=0.5 0 0"
static const source BOX = {{"mesh.elements=2 2 2", REGIONS}, "soft", "hard"};

#define SLAB_FACES                                                                                 \
  "boundary.default=neumann 0", "problem.lambda=0", "solver.tolerance=1e-15",                      \
      "solver.max_iterations=40"
static const char BOX_ENDS[] = "boundary.xmin=dirichlet; boundary.xmax=dirichlet";
static const char FILE_ENDS[] = "boundary.left=dirichlet; boundary.right=dirichlet";

/* -(kappa u')' = 0 with kappa = 1 | K, u(0) = 0 and u(1) = 1: linear in each half, so that every
 * order has it. The final residual, 1e-15 of b, and the rounding of A u are of size eps K per entry
 * in the hard half, which only the soft half with its stiffness of 2 holds in place. A sum of n
 * random entries grows like sqrt(n), up to 70 here. Multigrid must not depend on K: its coarse
 * levels have the same jump. */
static void check_slab(const source *s, const char *kind, int order, double k, const char *ends) {
  const double flux = 2 * k / (k + 1);
  const char *common[RUN_CASE_OVERRIDES] = {
      test_text("%s; discretization.order=%d; material.%s.kappa=%.17g; material.%s.kappa=1; "
                "material.%s.solution=%.17g*x; material.%s.solution=1-%.17g*(1-x)",
                kind, order, s->hard, k, s->soft, s->soft, flux, s->hard, flux / k),
      SLAB_FACES, ends, NULL};
  const sp_results results = run_good(common, s->overrides);
  CHECK(results.have_norms && results.norms.max <= 100 * DBL_EPSILON * k,
        "%s %s N = %d, K = %g: an error of %g", s->overrides[0], kind, order, k, results.norms.max);
  CHECK(results.cg.iterations <= 20, "%s %s N = %d, K = %g: %d iterations", s->overrides[0], kind,
        order, k, (int)results.cg.iterations);
}

static void check_box(bool all) {
  for (int kind = 0; kind < 2; kind++)
    for (int order = all ? 1 : 3; order <= (all ? 8 : 3); order++) {
      check_slab(&BOX, KINDS[kind], order, 100, BOX_ENDS);
      check_slab(&BOX, KINDS[kind], order, 1e6, BOX_ENDS);
    }
  /* The interface in the middle of a coarse grid; regions by number; the other half as default. */
  const source others[] = {
      {{"mesh.elements=2 2 2", REGIONS, "mesh.refine=1"}, "soft", "hard"},
      {{"mesh.elements=2 1 2", REGIONS}, "1", "2"},
      {{"mesh.elements=4 1 2", "region.soft.upper=0.5 1 1"}, "soft", "default"},
  };
  for (int o = 0; o < 3; o++)
    for (int kind = 0; kind < 2; kind++) check_slab(&others[o], KINDS[kind], 4, 100, BOX_ENDS);
  /* One kappa per element: factors stored or recomputed, on all levels. */
  const source geometries[] = {
      {{"mesh.elements=2 2 2", REGIONS, "discretization.geometry=stored"}, "soft", "hard"},
      {{"mesh.elements=2 2 2", REGIONS, "discretization.geometry=trilinear"}, "soft", "hard"},
  };
  for (int g = 0; g < 2; g++)
    for (int kind = 0; kind < 2; kind++) {
      check_slab(&geometries[g], KINDS[kind], 2, 100, BOX_ENDS);
      check_slab(&geometries[g], KINDS[kind], 5, 1e6, BOX_ENDS);
    }
}

/* Groups in files of other formats: gmsh.c. */
static void check_geometry(void) {
  const source geometry = {{"mesh.file=" SP_FIXTURES "/slab.geo", "mesh.refine=1"}, "5", "hard"};
  const source by_number = {{"mesh.file=" SP_FIXTURES "/slab.geo"}, "soft", "30"};
  for (int kind = 0; kind < 2; kind++) {
    check_slab(&geometry, KINDS[kind], 3, 100, FILE_ENDS);
    check_slab(&by_number, KINDS[kind], 2, 1e6, FILE_ENDS);
  }
}

/* u = 2 x - x^2 | 3/4 + (x - 1/2) / 100 with kappa = 1 | 100: the flux is 1 at x = 1/2. */
#define KAPPAS "material.soft.kappa=1", "material.hard.kappa=100"
#define BENT "material.soft.solution=2*x-x^2", "material.hard.solution=0.75+0.01*(x-0.5)"

/* Tolerance as for the slab. */
static void check_exact(const char *what, const char *const *own) {
  static const char *const common[] = {
      "mesh.elements=2 2 2",
      REGIONS,
      KAPPAS,
      BENT,
      "discretization.order=3; solver.tolerance=1e-14; solver.max_iterations=60",
      NULL};
  for (int kind = 0; kind < 2; kind++) {
    const char *overrides[RUN_CASE_OVERRIDES] = {KINDS[kind]};
    for (int o = 0; own[o]; o++) overrides[o + 1] = own[o];
    const sp_error_norms norms = rates_solve(common, overrides);
    CHECK(norms.max <= 100 * 100 * DBL_EPSILON, "%s, %s: an error of %g", what, KINDS[kind],
          norms.max);
  }
}

static void check_data(void) {
  check_exact("derived forcing", TEXTS("problem.lambda=0"));
  check_exact("given forcing",
              TEXTS("problem.lambda=0; material.soft.forcing=2; material.hard.forcing=0"));
  check_exact("forcing of [problem]",
              TEXTS("problem.lambda=0; problem.forcing=2; material.hard.forcing=0*x"));
  check_exact("lambda", TEXTS("material.soft.lambda=3; problem.lambda=0"));
  check_exact("a formula for lambda", TEXTS("material.soft.lambda=x; material.hard.lambda=2"));
  check_exact("fluxes and Robin conditions",
              TEXTS("boundary.xmin=neumann; boundary.xmax=robin 2; boundary.ymin=neumann"));
  /* The null space: lambda is zero in both materials, as a number and as a formula. */
  check_exact("a pure Neumann problem", TEXTS("problem.lambda=0; boundary.default=neumann"));
  check_exact("a pure Neumann problem with a formula",
              TEXTS("problem.lambda=0*x; material.soft.lambda=0; boundary.default=neumann"));
  check_exact("lambda in one half", TEXTS("material.soft.lambda=0; boundary.default=neumann"));

  /* The projection has no coefficients; its operator is exact for this u. */
  static const char *const mass[] = {
      "mesh.elements=2 2 2", REGIONS, BENT,
      "discretization.operator=mass; discretization.order=2; solver.tolerance=1e-14", NULL};
  const sp_error_norms norms = rates_solve(mass, NULL);
  CHECK(norms.max <= 1000 * DBL_EPSILON, "an error of %g of the projection", norms.max);
}

/* kappa = g | 10 g and u = (1 + B log(r / 1.5)) exp(z / 2) with B = 1 | 1/10, g = 1 + z / 4: u and
 * kappa du/dr are continuous at r = 1.5. */
static void check_layers(int order) {
  for (int kind = 0; kind < 2; kind++) {
    const char *const common[] = {KINDS[kind], "mesh.file=" SP_FIXTURES "/layers.geo",
                                  "material.inner.solution=(1+log(sqrt(x^2+y^2)/1.5))*exp(z/2); "
                                  "material.outer.solution=(1+log(sqrt(x^2+y^2)/1.5)/10)*exp(z/2); "
                                  "material.inner.kappa=1+z/4; material.outer.kappa=10*(1+z/4); "
                                  "material.outer.lambda=3; solver.tolerance=1e-13",
                                  NULL};
    check_rates(
        order, order == 3 ? 0 : 1, common,
        TEXTS("boundary.inside=neumann; boundary.bottom=robin 1; boundary.default=dirichlet"));
  }
}

/* Overrides and parts of the message, both ended by NULL. */
typedef struct refusal {
  const char *overrides[8], *parts[4];
} refusal;

static void check_refused(void) {
  static const char *const box[] = {
      "mesh.elements=4 2 2; discretization.order=2; problem.solution=x", NULL};
  static const refusal of_box[] = {
      {{"material.steel.kappa=2", REGIONS},
       {"[material steel]", "no region 'steel'", "soft, hard"}},
      {{"material.steel.kappa=2"}, {"the mesh has no region 'steel'", "it names none"}},
      {{"material.soft.kappa=2", "material.1.kappa=2", REGIONS},
       {"[material 1]", "in common with [material soft]"}},
      {{"material.soft.kappa=1", "material.hard.kappa=2", "material.default.kappa=3", REGIONS},
       {"[material default]", "no elements are left"}},
      {{"material.soft.kappa=0", REGIONS}, {"material.soft.kappa", "number from 1e-250", "'0'"}},
      {{"material.soft.kappa=x-0.3", REGIONS}, {"material.soft.kappa", "expected a value > 0"}},
      {{"material.soft.kappa=1,1,x-0.3", REGIONS},
       {"material.soft.kappa", "not positive definite at ("}},
      {{"material.soft.kappa=2", "material.soft.axes=1,0,0, 0,1,0", REGIONS},
       {"material.soft.axes", "no kappa has three or six components"}},
      {{"material.soft.kappa=1,2,3", "material.hard.axes=1,0,0, 0,1,0", REGIONS},
       {"material.hard.axes", "no kappa has three or six components"}},
      {{"material.soft.axes=1,0,0, 0,1,0", "discretization.operator=mass", REGIONS},
       {"material.soft.axes", "the mass problem has no axes"}},
      {{"material.soft.lambda=-1", REGIONS}, {"material.soft.lambda", "expected 0 or"}},
      {{"material.soft.kappa=2", "discretization.operator=mass", REGIONS},
       {"material.soft.kappa", "the mass problem has no kappa"}},
      {{"material.soft.lambda=2", "discretization.operator=mass", REGIONS},
       {"material.soft.lambda", "the mass problem has no lambda"}},
      {{"problem.solution=", "material.soft.forcing=1", "material.hard.kappa=2",
        "boundary.default=dirichlet 0", REGIONS},
       {"[material hard] needs problem.solution (a manufactured solution) or problem.forcing"}},
      {{"problem.solution=", "material.soft.forcing=1", "boundary.default=dirichlet 0",
        "region.soft.upper=0.5 1 1"},
       {"8 elements in no [material] need problem.solution (a"}},
      {{"problem.solution=", "problem.forcing=1", "material.soft.solution=x",
        "boundary.default=dirichlet 0", REGIONS},
       {"8 elements in no [material] need problem.solution, because others have one"}},
      {{"problem.solution=", "material.soft.solution=x", "material.hard.forcing=1",
        "boundary.default=dirichlet 0", REGIONS},
       {"[material hard] needs problem.solution, because"}},
      {{"problem.solution=", "material.soft.forcing=x", "material.hard.forcing=1", REGIONS},
       {"'default = dirichlet' needs a formula"}},
      {{"material.soft.kappa=2", "region.soft.upper=0.3 1 1"},
       {"[region soft]", "x = 0.3 cuts through elements", "0.25 and 0.5"}},
      {{"material.soft.kappa=2+x", "discretization.geometry=trilinear", REGIONS},
       {"trilinear", "constant in each material", "use stored or auto"}},
      {{"material.soft.lambda=2+x", "discretization.geometry=trilinear", REGIONS},
       {"constant in each material"}},
      {{"problem.kappa=1,2+x,3", "discretization.geometry=trilinear"},
       {"constant in each material"}},
  };
  for (size_t r = 0; r < COUNT_OF(of_box); r++)
    run_case_refused(box, of_box[r].overrides, of_box[r].parts);

  static const char *const file[] = {"mesh.file=" SP_FIXTURES "/slab.geo",
                                     "discretization.order=2; problem.solution=x", NULL};
  static const refusal of_file[] = {
      {{"material.steel.kappa=2"}, {"the mesh has no Physical Volume 'steel'", "soft", "hard"}},
      {{"material.soft.kappa=2", "material.all.kappa=2"},
       {"[material all]", "in common with [material soft]"}},
      {{"material.hard.kappa=2", "material.30.kappa=2"},
       {"[material 30]", "in common with [material hard]"}},
      {{"material.all.kappa=2", "material.default.kappa=2"},
       {"[material default]", "no elements are left"}},
      {{"region.a.upper=0.5 1 1"}, {"[region a]", "only a box has regions"}},
  };
  for (size_t r = 0; r < COUNT_OF(of_file); r++)
    run_case_refused(file, of_file[r].overrides, of_file[r].parts);
}

/* The mesh may name volumes "5", "default" or none at all; a group may be left without elements. */
static void check_groups(void) {
  static const struct {
    const char *name, *override, *parts[4];
  } cases[] = {{"5", "material.5.kappa=2", {"'5' has two meanings", "write", NULL}},
               {"default", "material.default.kappa=2", {"also has", "its number, 9", NULL}},
               {NULL, "material.9.kappa=2", {"[material 9]: it has no elements", NULL}}};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    AUTO_VALUE(stage) s = {0};
    sp_hexes *hexes;
    require(sp_gmsh_hexes(MPI_COMM_WORLD, SP_FIXTURES "/slab.geo", NULL, NULL, &hexes));
    for (int g = 0; g < hexes->volume.group_count; g++) {
      sp_group *group = &hexes->volume.groups[g];
      if (group->number != 9) continue;
      if (!cases[c].name) group->part_count = 0;
      if (!cases[c].name) continue;
      free(group->name);
      group->name = strdup(cases[c].name);
    }
    stage_create(hexes, 1, &s);
    const sp_status status = stage_try(&s, TEXTS("problem.solution=x", cases[c].override));
    check_refusal(cases[c].override, status, cases[c].parts);
  }
}

/* One constant for all materials stays a number, constants of materials are one number per element.
 */
static void check_coefficients(void) {
  static const struct {
    const char *overrides[3];
    bool with_kappa, with_lambda, at_points;
    double scale, largest;
  } cases[] = {
      {{"material.low.kappa=1"}, false, false, false, 1, 1},
      {{"problem.lambda=1+x"}, false, true, true, 1, 2},
      {{"problem.lambda=0", "problem.kappa=2"}, true, false, false, 0, 0},
      {{"material.low.kappa=2"}, true, false, false, 1, 1},
      {{"material.low.lambda=1"}, false, false, false, 1, 1},
      {{"material.low.lambda=0"}, false, true, false, 1, 1},
      {{"material.low.lambda=5"}, false, true, false, 1, 5},
      {{"material.low.lambda=5", "material.low.kappa=2"}, true, true, false, 1, 5},
      {{"material.low.lambda=5", "material.low.kappa=2+0*x"}, true, true, true, 1, 5},
      {{"material.low.lambda=5+0*x", "material.low.kappa=2"}, true, true, true, 1, 5},
      {{"material.low.lambda=4", "problem.lambda=4"}, false, false, false, 4, 4},
      /* [problem] counts only where it has elements. */
      {{"material.low.lambda=4", "material.default.lambda=4", "problem.kappa=7+x"},
       true,
       false,
       true,
       4,
       4},
  };
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const char *const *own = cases[c].overrides;
    const sp_box_region low = {.name = "low", .where = "", .upper = {0.5, 1, 1}};
    const sp_box box = {
        .elements = {4, 2, 2}, .upper = {1, 1, 1}, .region_count = 1, .regions = &low};
    AUTO_VALUE(stage) s = {0};
    stage_create(box_hexes(MPI_COMM_WORLD, &box, 0), 2, &s);
    const sp_problem *problem =
        stage_problem(&s, TEXTS("problem.solution=x", "problem.lambda=1",
                                "region.low.upper=0.5 1 1", own[0], own[1], own[2]));
    sp_operator_setup values = {.space = s.space, .kind = SP_BP35};
    require(sp_coefficients_create(problem, &values));
    const double *lambda = values.lambda_values;
    CHECK((values.kappa != NULL) == cases[c].with_kappa && !lambda != cases[c].with_lambda,
          "arrays of case %zu", c);
    CHECK_CLOSE(values.lambda, cases[c].scale, 0);
    double largest = lambda ? 0 : values.lambda;
    for (int i = 0; i < s.mesh->hexes->count * (values.by_element ? 1 : 27) && lambda; i++)
      largest = fmax(largest, lambda[i]);
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK_CLOSE(largest, cases[c].largest, 1e-15 * cases[c].largest);
    CHECK(values.by_element == (!cases[c].at_points && (values.kappa || lambda)),
          "by element or at points, case %zu", c);
    for (sp_lid e = 0; e < s.mesh->hexes->count && values.by_element; e++) {
      const sp_material *material = sp_materials_of(&problem->materials, s.mesh->hexes, e);
      CHECK((!values.kappa || values.kappa[e] == material->of[SP_KAPPA].value) &&
                (!lambda || lambda[e] == material->of[SP_LAMBDA].value),
            "element %d of case %zu", (int)e, c);
    }
    sp_system_free_setup(&values);
  }
}

/* u = x y | x y + c with kappa = 1 | k, where x = 1/2 is between materials, and between two ranks
 * for some numbers of these: u jumps by c, and kappa du/dx = k y by k - 1 at y = 1. On the edges of
 * faces other faces may also count, but jumps appear inside them: up to the last inner GLL point of
 * order 4 in the last of four elements. */
static void check_jumps(sp_operator_kind kind) {
  const double inner = 0.75 + (1 + sqrt(3.0 / 7)) / 8;
  static const struct { double c, k; } cases[] = {{0, 1}, {0.25, 1}, {0, 3}, {-0.5, 0.5}};
  for (size_t n = 0; n < COUNT_OF(cases); n++) {
    const double c = cases[n].c, k = kind == SP_MASS ? 1 : cases[n].k;
    const char *solution = test_text("material.high.solution=x*y+%g", c);
    const char *kappa =
        test_text(kind == SP_MASS ? "material.high.kappa=" : "material.high.kappa=%g", k);
    const sp_box_region high = {
        .name = "high", .where = "", .lower = {0.5, 0, 0}, .upper = {1, 1, 1}};
    const sp_box box = {
        .elements = {4, 4, 2}, .upper = {1, 1, 1}, .region_count = 1, .regions = &high};
    AUTO_VALUE(stage) s = {0};
    sp_interface_jumps jumps;
    stage_create(box_hexes(MPI_COMM_WORLD, &box, 0), 4, &s);
    stage_problem(&s, TEXTS("problem.solution=x*y", "region.high.lower=0.5 0 0", solution, kappa,
                            kind == SP_MASS ? "discretization.operator=mass"
                                            : "discretization.operator=bp3.0"));
    require(sp_problem_jumps(s.problem, s.space, &jumps));
    CHECK_CLOSE(jumps.solution, fabs(c), 10 * DBL_EPSILON);
    CHECK(jumps.flux >= fabs(k - 1) * inner - 100 * DBL_EPSILON &&
              jumps.flux <= fabs(k - 1) + 100 * DBL_EPSILON,
          "a jump of %g with k = %g", jumps.flux, k);
    CHECK_CLOSE(jumps.solution_size, fmax(0.5, 1 + c), 10 * DBL_EPSILON);
    CHECK(kind == SP_MASS ? jumps.flux_size == 0 : jumps.flux_size > 0, "%g", jumps.flux_size);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  check_box(all);
  check_geometry();
  check_data();
  for (int order = all ? 1 : 2; order <= (all ? 3 : 2); order++) check_layers(order);
  check_refused();
  require(sp_platform_open(MPI_COMM_WORLD, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &platform));
  check_groups();
  check_coefficients();
  check_jumps(SP_BP30);
  check_jumps(SP_MASS);
  sp_platform_close(&platform);
  return check_end();
}
