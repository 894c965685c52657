/* Multigrid with coefficients that vanish at all nodes of a coarser level. */
#include "tests/random.h"
#include "tests/run_case.h"

/* CG's iterations with multigrid. */
static int count_iterations(const char *mesh, const char *own) {
  const char *const common[] = {"problem.solution=cos(pi*x)*cos(pi*y)+z; problem.lambda=0; "
                                "boundary.default=neumann; solver.max_iterations=100",
                                mesh, NULL};
  sp_results results;
  const sp_status status = run_case(MPI_COMM_WORLD, common, TEXTS(own), &results);
  CHECK(!status, "%s, %s: %s", mesh, own, sp_error_message());
  return (int)results.cg.iterations;
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
    const int own = count_iterations(cases[c][0], cases[c][1]);
    const int mean = count_iterations(cases[c][0], cases[c][2]);
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
    const int own = count_iterations(mesh, test_text("%s %g*%s", start, scale, field));
    const int mean = count_iterations(mesh, test_text("%s %g", start, 0.4 * scale));
    CHECK(own <= mean + 6, "%s, %s %g*%s: %d iterations, with its mean %d", mesh, start, scale,
          field, own, mean);
  }
}

int main(int argc, char **argv) {
  run_case_begin(&argc, &argv);
  check_levels();
  check_random_levels(world_size > 2 ? 2 : 8);
  return check_end();
}
