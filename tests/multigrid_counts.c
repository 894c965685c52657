/* Iterations of CG with multigrid, through the whole program: within limits on hard and easy cases,
 * the same for all orders, and the same under refinement.
 *
 * The limits are the counts of a prototype, an independent code, plus two: other compilers, other
 * releases of hypre and other numbers of ranks differ by one. The prototype has random right-hand
 * sides. If our count is larger, or the prototype has no such case, the limit is our own count plus
 * two, marked by a comment. */
#include <limits.h>

#include "tests/run_case.h"

/* Settings, each with a separator at its end. */
#define CUBE "mesh.elements=6 6 6; "
#define SMALL "mesh.elements=4 4 4; "
#define SINE "mesh.map=sine; "
#define KERSHAW CUBE "mesh.map=kershaw; "
#define POISSON "problem.lambda=0; "
#define SMOOTH "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)+x*y*z; "
#define CONSTANT "problem.forcing=1; boundary.default=dirichlet 0; "
#define PERIODIC                                                                                   \
  "boundary.xmin=periodic xmax; boundary.ymin=periodic ymax; boundary.zmin=periodic zmax; "        \
  "problem.solution=sin(2*pi*x)*cos(2*pi*y)+sin(4*pi*z)*cos(2*pi*x); "
/* A wave that no mesh here resolves: every node has another value, as if at random. */
#define ROUGH                                                                                      \
  "problem.forcing=sin(9173*x+7919*y*z+1)+cos(8111*z-6007*x*y+2); boundary.default=dirichlet 0; "

#define QUARTERS                                                                                   \
  "mesh.elements=2 2 4; " POISSON "problem.forcing=1; boundary.default=robin 1, 0; "               \
  "region.a.upper=0.5 0.5 1; region.b.lower=0.5 0.5 0; region.c.lower=0.5 0 0; "                   \
  "region.c.upper=1 0.5 1; region.d.lower=0 0.5 0; region.d.upper=0.5 1 1; "                       \
  "material.a.kappa=1e6; material.b.kappa=1e6"

enum { JACOBI, SCHWARZ, SMOOTHERS };
static const char *const SMOOTHER[] = {"solver.smoother=jacobi", "solver.smoother=schwarz"};

typedef struct count_case {
  int most[SMOOTHERS]; /* iterations with degree 4 */
  bool few_ranks_too;  /* in the short list as well */
  const char *own;
} count_case;

/* With Jacobi smooth solutions take one or two iterations more than rough right-hand sides. */
static const count_case CASES[] = {
    /* Boundary conditions. Ours with Jacobi is 8, the prototype's 6. */
    {{10, 7}, true, CUBE SINE POISSON SMOOTH "boundary.default=neumann"},
    /* Only lambda determines the mean: in single precision this would not converge. */
    {{8, 8}, true, SMALL "problem.lambda=1e-11; problem.forcing=1+x; boundary.default=neumann 0"},
    {{8, 7}, false, CUBE POISSON PERIODIC},
    {{10, 7}, false, CUBE SINE POISSON SMOOTH "boundary.default=robin 1e-3"},
    {{10, 7}, false, CUBE SINE POISSON SMOOTH "boundary.default=robin 1"},
    {{8, 7}, false, CUBE SINE POISSON SMOOTH "boundary.default=robin 1e4"},
    /* Elements that touch a stiff surface only by edges. Our own, 5 and 4; if Schwarz divides Robin
     * terms among all elements of a node, 173. */
    {{7, 6},
     true,
     "mesh.file=" SP_FIXTURES "/cells.geo; discretization.order=4; " POISSON SMOOTH
     "boundary.default=robin 1e6"},
    /* Soft prisms between hexahedra and tetrahedra. Our own, 16 and 15; Schwarz takes more than 200
     * if ends of columns are held as stiffly as their neighbours. */
    {{18, 17},
     true,
     "mesh.file=" SP_FIXTURES "/cells.geo; discretization.order=4; " POISSON CONSTANT
     "boundary.top=neumann 1; boundary.sides=neumann 0; material.prisms.kappa=1e-6"},
    /* Not in the prototype: one element is its own neighbour. */
    {{11, 7}, true, "mesh.elements=1 4 4; " POISSON PERIODIC},
    {{8, 7}, false, "mesh.elements=1 1 1; " POISSON PERIODIC},

    /* Coefficients. */
    {{11, 8}, /* 9 with Jacobi, the prototype's 8 */
     false,
     CUBE SINE POISSON ROUGH "problem.kappa=exp(4*sin(6*x)*sin(5*y)*sin(7*z))"},
    /* On the faces kappa is 1. */
    {{9, 9}, true, CUBE POISSON CONSTANT "problem.kappa=x > 0.5 ? 1000 : 1"},
    /* Kappa is taken at the nodes, and a node on a face has one value for both sides. So kappa
     * jumps inside elements where this is the larger value, or where hard elements meet soft ones
     * along an edge. Our own, 68 and 58, 7 and 10, where rounding matters: plus a tenth, or two.
     * With samples on levels 86 and 61, 24 and 38. */
    {{75, 64}, false, SMALL POISSON CONSTANT "problem.kappa=x >= 0.5 ? 1000 : 1"},
    {{9, 12},
     false,
     SMALL POISSON CONSTANT "problem.kappa=x > 0.5 ? (y > 0.5 ? (z > 0.5 ? 1000 : 1) : 1) : 1"},
    /* Conductors that touch along an edge. Our own, 11 and 9, plus two; with eigenvectors in all
     * elements Schwarz takes 103. */
    {{13, 11}, true, QUARTERS},
    /* Our own, 26 and 8, 24 and 13. */
    {{28, 9}, true, CUBE SINE POISSON ROUGH "problem.kappa=20, 20, 0.35"},
    {{26, 15},
     true,
     CUBE SINE POISSON ROUGH "problem.kappa=20, 20, 0.35; problem.axes=1,2,3, -1,1,2"},
    {{6, 6}, false, CUBE SINE SMOOTH "problem.lambda=1e8"}, /* our own */

    /* Shapes. */
    {{35, 11}, true, CUBE POISSON ROUGH "mesh.upper=10 1 1"}, /* 33 and 9 */
    {{56, 21}, false, CUBE POISSON CONSTANT "mesh.upper=100 1 1"},
    {{27, 15}, false, KERSHAW POISSON SMOOTH "mesh.epsilon=0.5"},
    {{45, 25}, true, KERSHAW POISSON SMOOTH "mesh.epsilon=0.3"},
    {{76, 54}, false, KERSHAW POISSON SMOOTH "mesh.epsilon=0.1"},
    {{10, 8}, /* 8 with Jacobi, the prototype's 6 */
     true,
     "mesh.file=" SP_INPUTS
     "/blocks.geo; discretization.order=5; problem.solution=sin(2*x+y)*cos(z)+x*y*z; "
     "boundary.bottom=neumann; boundary.top=neumann; boundary.side 1=robin 1"},
    {{8, 8},
     false,
     "mesh.file=" SP_INPUTS "/shell.geo; discretization.order=6; " POISSON
     "problem.forcing=0; problem.solution=1/sqrt(x^2+y^2+z^2); boundary.inside=dirichlet; "
     "boundary.outside=neumann"},

    /* Units do not change iterations, though single precision ends at 1e38. */
    {{10, 8}, true, SMALL SINE POISSON "problem.solution=1e-60*sin(3*x)*y"},
    {{10, 8}, false, SMALL SINE POISSON "problem.solution=1e60*sin(3*x)*y"},
    {{10, 8}, false, SMALL SINE POISSON SMOOTH "problem.kappa=1e-30"},
    {{10, 8}, false, SMALL SINE POISSON CONSTANT "mesh.upper=1e-13 1e-13 1e-13"},
    {{10, 8}, false, SMALL SINE POISSON CONSTANT "mesh.upper=1e13 1e13 1e13"},

    /* Orders. */
    {{10, 8}, false, CUBE SINE POISSON SMOOTH "discretization.order=3"},
    {{10, 8}, false, CUBE SINE POISSON SMOOTH "discretization.order=5"},
    {{10, 8}, false, SMALL SINE POISSON SMOOTH "discretization.order=9"},
    {{10, 8}, false, SMALL SINE POISSON SMOOTH "discretization.order=11"},
    {{10, 8}, false, SMALL SINE POISSON SMOOTH "discretization.order=15"},
#define LARGE "problem.lambda=1e6; "
    {{7, 6}, true, CUBE SINE LARGE SMOOTH "discretization.order=3"},
    {{7, 6}, false, SMALL SINE LARGE SMOOTH "discretization.order=15"},
    {{9, 8}, false, CUBE SINE POISSON SMOOTH "solver.orders=7 3 1"}, /* own */
};

/* Only the smoother at order 1: our own counts, 7 and 5, plus three. */
static const count_case SMOOTHED = {
    {10, 8}, true, CUBE SINE POISSON SMOOTH "solver.coarse=chebyshev"};

/* N = 7, unless `own` says otherwise. As in the prototype, the residual counts. */
static sp_cg_result solve(const char *smoother, const char *degree, const char *const *own) {
  const char *const common[] = {
      "discretization.order=7; solver.preconditioner=multigrid; solver.tolerance=1e-8; "
      "solver.criterion=residual; solver.max_iterations=200",
      smoother, degree, NULL};
  const sp_cg_result cg = run_good(common, own).cg;
  CHECK(cg.iterations > 0, "%s, %s: no iteration", own[0], smoother);
  return cg;
}

static void check_counts(const count_case *c) {
  for (int s = 0; s < SMOOTHERS; s++) {
    const sp_cg_result cg = solve(SMOOTHER[s], "solver.smoother_degree=4", TEXTS(c->own));
    CHECK(cg.iterations <= c->most[s], "%s, %s: %d iterations, limit %d", c->own, SMOOTHER[s],
          (int)cg.iterations, c->most[s]);
  }
}

/* A run repeats its bits, so that its residual shows which smoother `auto` has chosen. */
static void check_choice(int expected, const char *const *own) {
  const char *const degree = "solver.smoother_degree=4";
  const double chosen = solve("solver.smoother=auto", degree, own).residual;
  for (int s = 0; s < SMOOTHERS; s++) {
    const double residual = solve(SMOOTHER[s], degree, own).residual;
    CHECK((residual == chosen) == (s == expected), "%s: residual %.17g by auto, %.17g by %s",
          own[0], chosen, residual, SMOOTHER[s]);
  }
}

/* Thin ones are columns. Their counts are our own, with eigenvectors in all columns 63. */
static void check_thin_quarters(void) {
  const sp_cg_result cg =
      solve(SMOOTHER[SCHWARZ], "solver.smoother_degree=4", TEXTS(QUARTERS, "mesh.upper=1 1 0.02"));
  CHECK(cg.iterations <= 8, "thin quarters: %d iterations, limit 8", (int)cg.iterations);
}

static void check_choices(void) {
  check_choice(JACOBI, TEXTS(SMALL, SINE, SMOOTH));
  check_choice(SCHWARZ, TEXTS(SMALL, SINE, SMOOTH, "mesh.upper=10 1 1"));
  check_choice(SCHWARZ, TEXTS(SMALL, SINE, SMOOTH, "mesh.upper=100 1 1"));
}

/* Elements that single precision does not suit, because they are flat, or flat with jumps along
 * them: it would not converge. Our own, 6, plus two. */
static void check_precision(void) {
  static const char *const cases[] = {
      "mesh.elements=4 4 2; mesh.upper=1 1 1e-7; boundary.xmin=dirichlet 0",
      "mesh.elements=8 4 4; mesh.upper=1e-4 1 1; boundary.zmin=dirichlet 0; "
      "region.soft.lower=0 0 0; "
      "region.soft.upper=1e-4 1 0.5; material.soft.kappa=1e-5"};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const sp_cg_result cg =
        solve("solver.smoother=auto", "solver.smoother_degree=3",
              TEXTS(cases[i], POISSON, "discretization.order=4; problem.forcing=1",
                    "boundary.default=neumann 0"));
    CHECK(cg.iterations <= 8, "%s: %d iterations, limit 8", cases[i], (int)cg.iterations);
  }
}

/* A thin layer between two others, with heat that flows across: the same number of iterations for
 * any aspect ratio, jump of kappa and order. Prints the table. */
static void check_layers(void) {
  static const char *const kappa[] = {"1e-8", "1", "1e8"}; /* the layers beside it have 1 */
  static const char *const upper[] = {"1 1 0.6", "1 1 0.06", "1 1 0.006", "1 1 0.0006"};
  static const int orders[] = {2, 4, 8};
  for (size_t o = 0; o < COUNT_OF(orders); o++)
    for (size_t u = 0; u < COUNT_OF(upper); u++) {
      printf("N = %d, %s:", orders[o], upper[u]);
      for (size_t k = 0; k < COUNT_OF(kappa); k++) {
        const double height = strtod(strrchr(upper[u], ' '), NULL);
        const char *const own =
            test_text("discretization.order=%d; mesh.upper=%s; region.thin.lower=0 0 %g; "
                      "region.thin.upper=1 1 %g; material.thin.kappa=%s",
                      orders[o], upper[u], height / 2, height / 2 + height / 6, kappa[k]);
        const sp_cg_result cg =
            solve("solver.smoother=schwarz", "solver.smoother_degree=3",
                  TEXTS("mesh.elements=4 4 6", POISSON, "problem.forcing=1+sin(9*x*y)",
                        "boundary.default=neumann 0", "boundary.zmin=robin 1, 0", own));
        printf(" %d", (int)cg.iterations);
        CHECK(cg.iterations <= 10, "layer: %s: %d iterations, limit 10", own, (int)cg.iterations);
      }
      printf("\n");
    }
}

/* Bars with sides that are free or not: our own counts, 5 to 9, plus two. Only the first bar, with
 * lengths of 1 to 0.2, has no order that is kept. */
static void check_bars(void) {
  static const char *const upper[] = {"mesh.upper=1 0.2 0.2", "mesh.upper=1 0.05 0.05",
                                      "mesh.upper=1 0.01 0.01", "mesh.upper=1e-3 1 1e-3"};
  static const char *const sides[] = {"boundary.default=neumann 0", "boundary.default=dirichlet 0"};
  static const int orders[] = {2, 4, 7};
  for (size_t u = 0; u < COUNT_OF(upper); u++)
    for (size_t o = 0; o < COUNT_OF(orders); o++)
      for (size_t i = 0; i < COUNT_OF(sides); i++) {
        const char *own =
            test_text("discretization.order=%d; %s; %s", orders[o], sides[i], upper[u]);
        const sp_cg_result cg =
            solve("solver.smoother=auto", "solver.smoother_degree=3",
                  TEXTS(SMALL, POISSON, "problem.forcing=sin(9173*x+7919*y*z+1)", own,
                        "boundary.xmin=dirichlet 0", "boundary.ymax=robin 3, 1"));
        CHECK(cg.iterations <= 11, "%s: %d iterations, limit 11", own, (int)cg.iterations);
      }
}

static void check_refinement(void) {
  int least = INT_MAX, most = 0;
  for (int level = 0; level <= 2; level++) {
    const char *refine = test_text("mesh.refine=%d", level);
    const char *const own[] = {"mesh.elements=2 2 2",    SINE,   SMOOTH,
                               "discretization.order=4", refine, NULL};
    const int count =
        (int)solve("solver.smoother=auto", "solver.smoother_degree=3", own).iterations;
    least = count < least ? count : least;
    most = count > most ? count : most;
  }
  CHECK(most - least <= 2, "refinement: %d to %d iterations, limit on the difference 2", least,
        most);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  const bool all = device_sweeps(argc, argv);
  check_counts(&SMOOTHED);
  for (size_t c = 0; c < COUNT_OF(CASES); c++)
    if (all || CASES[c].few_ranks_too) check_counts(&CASES[c]);
  if (all) {
    check_choices();
    check_thin_quarters();
    check_precision();
    check_layers();
    check_bars();
    check_refinement();
  }
  return check_end();
}
