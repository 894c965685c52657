/* Fluxes with their rates, and the balance of all kinds of conditions. */
#include "solver/results/fluxes.h"

#include <float.h>

#include "tests/folders.h"
#include "tests/library_case.h"

static const char *const NAMES[] = {"a", "b", "c"};

/* The results NAMES of a case, of which there are `count`. */
static void find_fluxes(const char *const *common, const char *const *own, int count,
                        double fluxes[3]) {
  ARRAYS_OF_SCOPE;
  sp_case *c = solve_case(MPI_COMM_WORLD, common, own);
  for (int r = 0; r < count; r++) fluxes[r] = number(c, "results", NAMES[r], "value");
  sp_case_close(&c);
}

/* u = sin(1.3 x + 0.2) exp(0.7 y) cos(0.9 z): out of the unit cube through xmin, xmax and zmax. */
#define SMOOTH "problem.solution=sin(1.3*x+0.2)*exp(0.7*y)*cos(0.9*z)"

static void exact_fluxes(double flux[3]) {
  const double of_y = (exp(0.7) - 1) / 0.7, of_z = sin(0.9) / 0.9;
  flux[0] = 1.3 * cos(0.2) * of_y * of_z;
  flux[1] = -1.3 * cos(1.5) * of_y * of_z;
  flux[2] = (cos(0.2) - cos(1.5)) / 1.3 * of_y * 0.9 * sin(0.9);
}

/* The errors of the three fluxes on a cube of n^3 elements. */
static void measure(const char *kind, int order, int n, const char *const *boundary,
                    double errors[3]) {
  double exact[3];
  const char *const common[] = {
      SMOOTH, kind,
      test_text("discretization.order=%d; mesh.elements=%d %d %d; solver.tolerance=1e-14; "
                "result.a=flux over xmin; result.b=flux over xmax; "
                "result.c=flux over surface zmax",
                order, n, n, n),
      NULL};
  find_fluxes(common, boundary, 3, errors);
  exact_fluxes(exact);
  for (int r = 0; r < 3; r++) errors[r] = fabs(errors[r] - exact[r]);
}

/* The rate of the largest of the first `count` errors, since a single one may pass through zero. It
 * may differ from the true rate as in tests/rates.h. Below 1e-11 rounding and the solver's
 * tolerance count. */
static void check_flux_rate(const char *kind, int order, const char *const *boundary, int count,
                            double rate) {
  double errors[2][3], largest[2] = {0, 0};
  const int n = order < 3 ? 4 : 2;
  for (int level = 0; level < 2; level++) {
    measure(kind, order, n << level, boundary, errors[level]);
    for (int r = 0; r < count; r++) largest[level] = fmax(largest[level], errors[level][r]);
  }
  const double observed = log2(largest[0] / largest[1]);
  CHECK(largest[1] < 1e-11 || observed >= rate - 0.3,
        "%s N = %d: errors %.2e, %.2e, rate %.2f instead of %.0f", kind, order, largest[0],
        largest[1], observed, rate);
  CHECK(largest[1] < 0.02, "%s N = %d: an error of %.2e", kind, order, largest[1]);
}

/* Opposite Dirichlet faces meet no other one: rate 2 N. Where all faces are Dirichlet, every edge
 * is shared: N + 1. */
static void check_fluxes(bool all) {
  static const char *const opposite[] = {
      "boundary.default=neumann; boundary.xmin=dirichlet; boundary.xmax=dirichlet", NULL};
  for (int kind = 0; kind < 2; kind++)
    for (int order = 1; order <= 4; order += all ? 1 : 2) {
      check_flux_rate(KINDS[kind], order, opposite, 2, 2 * order);
      check_flux_rate(KINDS[kind], order, NULL, 3, order + 1);
    }
  /* Linear and in the space: each face has its own flux, to rounding. */
  for (int kind = 0; kind < 2; kind++) {
    static const char *const linear[] = {
        "problem.solution=2*x-3*y+z*x; problem.kappa=4; mesh.elements=2 3 2; "
        "discretization.order=2; solver.tolerance=1e-14; result.a=flux over xmin; "
        "result.b=flux over ymax; result.c=flux over zmin",
        NULL};
    const double exact[] = {4 * 2.5, 4 * 3, 4 * 0.5};
    sp_case *c = solve_case(MPI_COMM_WORLD, linear, TEXTS(KINDS[kind]));
    for (int r = 0; r < 3; r++) {
      CHECK_CLOSE(number(c, "results", NAMES[r], "value"), exact[r], 1e-11);
      CHECK_CLOSE(number(c, "results", NAMES[r], "size"), 1, 1e-14);
    }
    sp_case_close(&c);
  }
}

/* bp3.0 has no points on faces, so a formula may jump there. Fluxes are the same as with two
 * materials, also through faces that meet at the jump. */
static void check_jump(void) {
  static const char *const same[] = {
      "discretization.operator=bp3.0; discretization.order=3; mesh.elements=2 2 2; "
      "mesh.upper=1 1 2; solver.tolerance=1e-13; problem.forcing=1+x; boundary.xmin=dirichlet y; "
      "boundary.ymin=dirichlet x+z; boundary.default=neumann 0; result.a=flux over xmin; "
      "result.b=flux over ymin",
      NULL};
  static const char *const kappa[][2] = {
      {"problem.kappa=z<1?1:100",
       "region.low.upper=1 1 1; problem.kappa=100; material.low.kappa=1"},
      {"problem.kappa=z<1?1:100, z<1?1:100, 10",
       "region.low.upper=1 1 1; problem.kappa=100, 100, 10; material.low.kappa=1, 1, 10"}};
  for (int k = 0; k < 2; k++) {
    double formula[3], materials[3];
    find_fluxes(same, TEXTS(kappa[k][0]), 2, formula);
    find_fluxes(same, TEXTS(kappa[k][1]), 2, materials);
    for (int r = 0; r < 2; r++) CHECK_CLOSE(formula[r], materials[r], 1e-9 * fabs(materials[r]));
  }
}

/* Two materials in layers, kappa = 1 | 10, radii 1 to 1.5 and 1.5 to 2. */
typedef struct layered {
  const char *mesh, *inner, *outer; /* exact solutions */
  const char *inside, *outside;     /* their values on the boundary */
  double flux;                      /* through a layer */
  int refinements[4];               /* of the coarser mesh, by order */
} layered;

/* Solve at one refinement; returns the larger error of the two fluxes. */
static double measure_layers(const layered *c, const char *kind, int order, int refine,
                             sp_error_norms *norms) {
  const char *const common[] = {
      kind,
      test_text("mesh.file=%s/%s; discretization.order=%d; mesh.refine=%d", test_fixtures(),
                c->mesh, order, refine),
      test_text("material.inner.solution=%s; material.outer.solution=%s; "
                "boundary.inside=dirichlet %s; boundary.outside=dirichlet %s",
                c->inner, c->outer, c->inside, c->outside),
      "problem.lambda=0; problem.forcing=0; material.inner.kappa=1; material.outer.kappa=10; "
      "boundary.default=neumann 0; solver.tolerance=1e-13; result.in=flux over inside; "
      "result.out=flux over outside",
      NULL};
  sp_case *run = solve_case(MPI_COMM_WORLD, common, NULL);
  const double imbalance = number(run, "balance", "imbalance", "value");
  CHECK(fabs(imbalance) <= 1e-10 * c->flux, "%s %s N = %d: an imbalance of %g", c->mesh, kind,
        order, imbalance);
  norms->l2 = number(run, "errors", NULL, "L2");
  norms->h1 = number(run, "errors", NULL, "H1");
  const double in = number(run, "results", "in", "value") - c->flux;
  const double out = number(run, "results", "out", "value") + c->flux;
  sp_case_close(&run);
  return fmax(fabs(in), fabs(out));
}

/* Fluxes: rate 2 N, as in check_flux_rate, above 1e-7, where the elements of order 4 are cylinders
 * and spheres. Errors: N + 1 in L2 and N in H1, with the deviation of tests/rates.h. */
static void check_layered(const layered *c, const char *kind, int order) {
  double flux[2];
  sp_error_norms norms[2];
  for (int level = 0; level < 2; level++)
    flux[level] = measure_layers(c, kind, order, c->refinements[order] + level, &norms[level]);
  const double rate = log2(flux[0] / flux[1]);
  const double l2 = log2(norms[0].l2 / norms[1].l2), h1 = log2(norms[0].h1 / norms[1].h1);
  CHECK(flux[1] < 1e-7 || rate >= 2 * order - 0.3,
        "%s %s N = %d: errors of fluxes %.2e, %.2e, rate %.2f", c->mesh, kind, order, flux[0],
        flux[1], rate);
  CHECK(flux[1] < 2e-3, "%s %s N = %d: an error of %.2e", c->mesh, kind, order, flux[1]);
  CHECK(fabs(l2 - (order + 1)) <= 0.2 && fabs(h1 - order) <= 0.2,
        "%s %s N = %d: rates %.2f in L2 and %.2f in H1", c->mesh, kind, order, l2, h1);
}

/* Cylinders: kappa du/dr is 1 / r, so pi / 2 flows through a quarter of height 1, outwards on the
 * inside. Spheres: it is 1 / r^2, and 4 pi / 6 flows through a sixth. Each order with one
 * of the operators on either mesh; order 2, with the largest problem, only with `all`. */
static void check_layers(bool all) {
  const double pi = acos(-1);
  const layered cases[] = {
      {.mesh = "layers.geo",
       .inner = "1+log(sqrt(x^2+y^2)/1.5)",
       .outer = "1+log(sqrt(x^2+y^2)/1.5)/10",
       .inside = "1-log(1.5)",
       .outside = "1+log(2/1.5)/10",
       .flux = pi / 2,
       .refinements = {[1] = 1}},
      {.mesh = "shells.geo",
       .inner = "1+1/1.5-1/sqrt(x^2+y^2+z^2)",
       .outer = "1+(1/1.5-1/sqrt(x^2+y^2+z^2))/10",
       .inside = "1/1.5",
       .outside = "1+(1/1.5-1/2)/10",
       .flux = 2 * pi / 3,
       .refinements = {[1] = 1, [2] = 1}},
  };
  for (int c = 0; c < 2; c++)
    for (int order = 1; order <= 3; order++)
      if (all || order != 2) check_layered(&cases[c], KINDS[(c + order) % 2], order);
}

/* The imbalance is the sum of the residual over free DOFs, at most sqrt(n) 1e-14 |b|, and rounding
 * of A u, of size eps |A| |u| per DOF. For n below 1e4 and |A| below 1e3 that is less than 1e-10 of
 * the largest term, which is at least of size one. */
static void check_balance(const char *const *terms, const char *const *own) {
  for (int kind = 0; kind < 2; kind++) {
    ARRAYS_OF_SCOPE;
    sp_case *c = solve_case(MPI_COMM_WORLD,
                            TEXTS(KINDS[kind], "discretization.order=3; solver.max_iterations=60; "
                                               "problem.solution=sin(2*x+0.4)*exp(y)+z^2*x"),
                            own);
    double largest = 0, rest = 2 * number(c, "balance", terms[0], "value");
    for (const char *const *term = terms; *term; term++) {
      const double value = number(c, "balance", *term, "value");
      largest = fmax(largest, fabs(value));
      rest -= value;
    }
    const double imbalance = number(c, "balance", "imbalance", "value");
    CHECK(fabs(imbalance - rest) <= 1e-14 * largest, "%s: %g is not the first term without others",
          own[1], imbalance);
    CHECK(largest > 0.1 && fabs(imbalance) <= 1e-10 * largest, "%s, %s: %g of %g", own[1],
          KINDS[kind], imbalance, largest);
    sp_case_close(&c);
  }
}

static void check_balances(void) {
  const char *layers = test_text("mesh.file=%s/layers.geo", test_fixtures());
  const char *shell = test_text("mesh.file=%s/shell.geo", test_inputs());
  const char *const cube = "mesh.elements=3 2 2", *const wavy =
                                                      "mesh.elements=3 2 2; mesh.map=sine";
  const struct {
    const char *terms[7], *mesh, *own; /* terms of the balance, ended by NULL */
  } cases[] = {
      {{"f", "default"}, wavy, "problem.lambda=0"},
      {{"f", "lambda u", "default"}, wavy, "problem.lambda=1+x"},
      {{"f", "xmin", "default"},
       wavy,
       "problem.lambda=0; problem.kappa=1+y; boundary.xmin=robin 1+y^2; boundary.default=robin 2"},
      {{"f", "lambda u", "default"}, wavy, "problem.lambda=2; boundary.default=neumann"},
      {{"f", "default", "projection"}, wavy, "problem.lambda=0; boundary.default=neumann"},
      {{"f", "lambda u", "xmin", "ymax", "zmin", "default"},
       wavy,
       "problem.lambda=1; problem.kappa=1+x*y; boundary.xmin=robin 3; boundary.ymax=neumann; "
       "boundary.zmin=dirichlet; boundary.default=dirichlet"},
      {{"f", "ymin", "xmax", "default"},
       wavy,
       "problem.solution=; problem.forcing=exp(x); problem.lambda=0; boundary.ymin=neumann 1+z; "
       "boundary.default=dirichlet y; boundary.xmax=robin 1, 2"},
      {{"f", "lambda u", "default"},
       cube,
       "problem.solution=sin(2*pi*x)*y^2+y*z; problem.lambda=1; boundary.xmin=periodic xmax"},
      {{"f", "lambda u", "default"},
       layers,
       "problem.solution=; problem.forcing=1+x; material.inner.kappa=100; problem.lambda=0; "
       "material.outer.kappa=1+z/4; material.outer.lambda=2; boundary.default=dirichlet 1+z"},
      {{"f", "lambda u", "inside", "outside"},
       shell,
       "problem.lambda=1; boundary.inside=robin 1; boundary.outside=dirichlet"}};
  for (size_t c = 0; c < COUNT_OF(cases); c++)
    check_balance(cases[c].terms, TEXTS(cases[c].mesh, cases[c].own));
}

/* One dimension: 160 / (1 + 1/8 + 1/alpha) flows from 180 behind alpha to 20 behind 8. The
 * tolerance of CG, 1e-10, is relative to the energy; at order 4 on 4 elements a face has |1_F|_A
 * below 20, so fluxes have ten times fewer digits at most. */
static void check_films(void) {
  static const char *const common[] = {
      "mesh.elements=4 4 4; discretization.order=4; problem.forcing=0; boundary.default=neumann 0; "
      "boundary.zmax=robin 8, 160; solver.tolerance=1e-10; result.a=flux over zmin; "
      "result.b=flux over zmax",
      NULL};
  for (int digits = 0; digits <= 20; digits += 4) {
    const double exact = 160 / (1.125 + pow(10, -digits));
    double fluxes[3];
    find_fluxes(common, TEXTS(test_text("constants.a=1e%d; boundary.zmin=robin a, 180*a", digits)),
                2, fluxes);
    CHECK_CLOSE(fluxes[0], -exact, 1e-7 * exact);
    CHECK_CLOSE(fluxes[1], exact, 1e-7 * exact);
  }
}

/* One dimension: 300 behind a film, then kappa = 1 and kappa = 1 / jump, 0 at the end. alpha u - g
 * cancels in all its digits but the last ones. */
static void check_weak_film(void) {
  const char *const common[] = {
      "mesh.elements=8 4 4; region.m.upper=0.5 1 1; discretization.order=2; problem.forcing=0; "
      "material.m.kappa=1; boundary.xmin=robin 20, 6000; boundary.xmax=dirichlet 0; "
      "boundary.default=neumann 0; result.a=flux over xmin; result.b=flux over xmax",
      NULL};
  for (int digits = 6; digits <= 14; digits += 4) {
    const double exact = 300 / (0.55 + 0.5 * pow(10, digits));
    double fluxes[3];
    find_fluxes(common, TEXTS(test_text("material.default.kappa=1e-%d", digits)), 2, fluxes);
    CHECK_CLOSE(fluxes[0], -exact, 1e-7 * exact);
    CHECK_CLOSE(fluxes[1], exact, 1e-7 * exact);
  }
}

/* Two layers of thickness 2 and area 1, kappa = k and 1, between 10 and 0: 5 / (1 / k + 1) flows.
 * In the first one u differs by 10 / k, below its rounding for k > 1e15. The part of u below its
 * rounding is solved to 1e-6 of its energy. With edges of 1 its energy norm is about sqrt(s) 10
 * epsilon, s = N (N + 1) k, and an error e of u changes a flux by at most sqrt(s) ||e||_A
 * (solver/results/fluxes.h). */
static void check_jumps(bool all) {
  const char *const common[] = {
      test_text("mesh.file=%s/stack.msh", test_fixtures()),
      "discretization.order=3; problem.forcing=0; boundary.xmin=dirichlet 10; "
      "boundary.xmax=dirichlet 0; boundary.default=neumann 0; material.B.kappa=1; "
      "result.a=flux over cut; result.b=flux over xmin; result.c=flux over xmax",
      NULL};
  for (int digits = all ? 2 : 4; digits <= 16; digits += all ? 2 : 6)
    for (int kind = 0; kind < 2; kind++) {
      const double exact = 5 / (pow(10, -digits) + 1);
      const double signs[] = {1, -1, 1};
      const double tolerance = 1e-7 * exact + 12 * pow(10, digits) * 10 * DBL_EPSILON * 1e-6;
      double fluxes[3];
      find_fluxes(common, TEXTS(KINDS[kind], test_text("material.A.kappa=1e%d", digits)), 3,
                  fluxes);
      for (int r = 0; r < 3; r++) CHECK_CLOSE(fluxes[r], signs[r] * exact, tolerance);
    }
}

/* A flux that u shows in its last digits only: q / kappa is 1e-16 of u. */
static void check_faint(void) {
  double fluxes[3];
  find_fluxes(
      TEXTS("mesh.elements=2 1 4; discretization.order=3; problem.forcing=0; problem.kappa=1e9; "
            "boundary.zmin=dirichlet 139; boundary.zmax=neumann 1e-5; "
            "boundary.default=neumann 0; result.a=flux over zmin; solver.tolerance="),
      NULL, 1, fluxes);
  CHECK_CLOSE(fluxes[0], 1e-5, 1e-9);
}

/* x + rest solves the equations better than x by the digits that `refine` requests: kappa = 1e12 on
 * one half of the box makes the rounding of x visible in A x. The solver then repeats its bits. */
static void check_refined(void) {
  ARRAYS_OF_SCOPE;
  sp_case *c =
      solve_case(MPI_COMM_WORLD,
                 TEXTS("mesh.elements=4 2 3; discretization.order=3; discretization.operator=bp3.0",
                       "problem.kappa=x<0.5?1e12:1; problem.forcing=0; boundary.default=neumann 0",
                       "boundary.xmin=dirichlet 10; boundary.xmax=dirichlet 0; solver.tolerance="),
                 NULL);
  sp_solver *solver = c->run->solver;
  const size_t dofs = local_of(c);
  double *x = solve(c), *rest = test_array(2 * dofs, sizeof *rest), *left = rest + dofs;
  double sums[2] = {0};
  require(sp_solver_refine(solver, x, rest));
  sp_fluxes fluxes = {.problem = c->run->problem, .space = solver->space, .x = x, .left = left};
  for (int refined = 0; refined < 2; refined++) {
    fluxes.rest = refined ? rest : NULL;
    require(sp_fluxes_residual(&fluxes));
    for (sp_lid i = 0; i < solver->space->numbering->owned; i++)
      if (!solver->system->setup.constrained[i]) sums[refined] += fabs(left[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums[0] > 1e-6 && sums[1] < 1e-3 * sums[0], "residuals %.2e and %.2e", sums[0], sums[1]);
  CHECK(same_bits(c, solve(c), x), "another solution after a refinement");
  sp_case_close(&c);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  check_fluxes(all);
  check_jump();
  check_layers(all);
  check_balances();
  check_films();
  check_weak_film();
  check_jumps(all);
  check_faint();
  check_refined();
  return check_end();
}
