/* Coarser levels of multigrid through the whole program. The coarsest problem
 * (solver/linear/coarse.h) is at order 1 the operator itself: a direct solution leaves rounding, so
 * CG takes two iterations at most. Mass, operators ruled by their diagonal, coefficients near the
 * ends of single precision, and coefficients that vanish at all nodes of a coarser level. */

#include "tests/random.h"
#include "tests/run_case.h"

#define SMOOTH "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)+x*y*z"
#define MASS "discretization.operator=mass", SMOOTH
#define POISSON "problem.lambda=0", SMOOTH

enum { KEYS = 8 };

typedef struct coarse_case {
  const char *name;
  int most; /* iterations */
  const char *own[KEYS];
} coarse_case;

static const coarse_case CASES[] = {
    {"mass, direct", 2, {MASS, "solver.coarse=direct"}},
    {"few rows", 2, {POISSON, "solver.coarse=amg", "mesh.elements=5 5 5"}},
    {"Dirichlet, direct", 2, {POISSON, "solver.coarse=direct"}},
    {"Neumann, direct", 2, {POISSON, "solver.coarse=direct", "boundary.default=neumann"}},
    {"no free row",
     2,
     {"problem.lambda=1", "problem.solution=x", "mesh.elements=2 2 1", "solver.coarse=direct"}},
    /* The diagonally scaled mass matrix of trilinear elements has a condition number of at most 27
     * (A. J. Wathen, 1987), so that one symmetric sweep is enough. */
    {"mass, amg", 8, {MASS, "solver.coarse=amg"}},
    {"mass, smoothed", 8, {MASS, "solver.coarse=chebyshev"}},
    {"mass, order 4", 8, {MASS, "solver.coarse=amg", "discretization.order=4"}},
    {"mass, larger", 8, {MASS, "solver.coarse=amg", "mesh.elements=20 22 24"}},
    /* hypre makes no second level. */
    {"diagonal, amg", 8, {SMOOTH, "problem.lambda=1e6", "solver.coarse=amg"}},
};

static int iterations(const char *const *own) {
  static const char *const common[] = {
      "mesh.elements=8 8 8; discretization.order=1; solver.preconditioner=multigrid; "
      "solver.tolerance=1e-8; solver.max_iterations=50; solver.criterion=residual",
      NULL};
  return (int)run_good(common, own).cg.iterations;
}

/* Another unit of kappa changes counts by one at most: the cycle is in double precision then. */
static void check_units(const char *order) {
  static const char *const units[] = {"problem.kappa=1", "problem.kappa=1e-36",
                                      "problem.kappa=1e36"};
  int counts[3];
  for (int u = 0; u < 3; u++) counts[u] = iterations(TEXTS(POISSON, order, units[u]));
  CHECK(abs(counts[1] - counts[0]) <= 1 && abs(counts[2] - counts[0]) <= 1,
        "%s: %d iterations, with kappa = 1e-36 %d, with 1e36 %d", order, counts[0], counts[1],
        counts[2]);
}

static int count_with(const char *mesh, const char *own) {
  return (int)run_good(TEXTS("problem.solution=cos(pi*x)*cos(pi*y)+z; problem.lambda=0; "
                             "boundary.default=neumann; solver.max_iterations=100",
                             mesh),
                       TEXTS(own))
      .cg.iterations;
}

/* Coefficients that are zero at all nodes of a coarser level take few iterations more than their
 * means: samples on levels would make these singular. */
static void check_levels(void) {
  static const char *const cases[][3] = {
      {"mesh.elements=4 4 4; discretization.order=4", "problem.lambda=sin(4*pi*x)^2",
       "problem.lambda=0.5"},
      {"mesh.elements=3 3 3; discretization.order=4",
       "boundary.zmax=robin 10*exp(-((x-.5)^2+(y-.5)^2)*900)", "boundary.zmax=robin 0.035"},
      {"mesh.elements=4 4 4; mesh.upper=40 1 1; discretization.order=4; solver.smoother=schwarz",
       "problem.lambda=sin(4*pi*y)^2*sin(4*pi*z)^2", "problem.lambda=0.25"},
      {"mesh.elements=4 4 4; discretization.order=4; boundary.xmin=dirichlet; "
       "solver.smoother_degree=3",
       "problem.kappa=0.01+sin(4*pi*y)^2*sin(4*pi*z)^2", "problem.kappa=0.26"}};
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    const int own = count_with(cases[c][0], cases[c][1]);
    const int mean = count_with(cases[c][0], cases[c][2]);
    /* The smoother has to cope with kappa inside elements; with samples on levels 36. */
    CHECK(own <= mean + (c < 3 ? 3 : 8), "%s: %d iterations, with its mean %d", cases[c][1], own,
          mean);
  }
}

/* Random lambda or alpha on boxes of n^3 elements that vanish at all vertices. */
static void check_random_levels(int count) {
  static const char *const smoothers[] = {"jacobi", "schwarz"}, *const kinds[] = {"bp3.5", "bp3.0"};
  for (int i = 0; i < count; i++) {
    const int n = 2 + (int)random_below(3), order = 3 + (int)random_below(5);
    const double scale = pow(10, (double)random_below(9) - 4);
    const char *mesh = test_text(
        "mesh.elements=%d %d %d; mesh.upper=%d 1 1; discretization.order=%d; solver.smoother=%s; "
        "discretization.operator=%s",
        n, n, n, random_below(3) ? 1 : 30, order, smoothers[random_below(2)],
        kinds[random_below(2)]);
    const bool film = random_below(2);
    const char *start = film ? "boundary.zmax=robin" : "problem.lambda=";
    const char *field = random_below(2) ? test_text("sin(%d*pi*y)^2", n)
                                        : test_text("(1-cos(%d*pi*y))^4/16", 2 * n);
    const int own = count_with(mesh, test_text("%s %g*%s", start, scale, field));
    const int mean = count_with(mesh, test_text("%s %g", start, 0.4 * scale));
    CHECK(own <= mean + 6, "%s, %s %g*%s: %d iterations, with its mean %d", mesh, start, scale,
          field, own, mean);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  for (size_t c = 0; c < COUNT_OF(CASES); c++) {
    const int count = iterations(CASES[c].own);
    CHECK(count <= CASES[c].most, "%s: %d iterations, limit %d", CASES[c].name, count,
          CASES[c].most);
  }
  check_units("discretization.order=1");
  check_units("discretization.order=3");
  check_levels();
  check_random_levels(world_size > 2 ? 2 : 8);
  return check_end();
}
