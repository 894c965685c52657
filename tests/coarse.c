/* The coarsest problem of multigrid (solver/linear/coarse.h) through the whole program. At order 1
 * it is the operator itself: a direct solution leaves rounding, so CG takes two iterations at most.
 * Mass, operators ruled by their diagonal, and coefficients near the ends of single precision. */

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

static int iterations(const char *name, const char *const *own) {
  static const char *const common[] = {
      "mesh.elements=8 8 8; discretization.order=1; solver.preconditioner=multigrid; "
      "solver.tolerance=1e-8; solver.max_iterations=50; solver.criterion=residual",
      NULL};
  sp_results results;
  const sp_status status = run_case(MPI_COMM_WORLD, common, own, &results);
  CHECK(status == SP_OK, "%s: %s", name, sp_error_message());
  return (int)results.cg.iterations;
}

/* Another unit of kappa changes counts by one at most: the cycle is in double precision then. */
static void check_units(const char *order) {
  static const char *const units[] = {"problem.kappa=1", "problem.kappa=1e-36",
                                      "problem.kappa=1e36"};
  int counts[3];
  for (int u = 0; u < 3; u++) counts[u] = iterations(units[u], TEXTS(POISSON, order, units[u]));
  CHECK(abs(counts[1] - counts[0]) <= 1 && abs(counts[2] - counts[0]) <= 1,
        "%s: %d iterations, with kappa = 1e-36 %d, with 1e36 %d", order, counts[0], counts[1],
        counts[2]);
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  for (size_t c = 0; c < COUNT_OF(CASES); c++) {
    const int count = iterations(CASES[c].name, CASES[c].own);
    CHECK(count <= CASES[c].most, "%s: %d iterations, limit %d", CASES[c].name, count,
          CASES[c].most);
  }
  check_units("discretization.order=1");
  check_units("discretization.order=3");
  return check_end();
}
