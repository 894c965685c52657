/* One set-up, 100 right-hand sides: a Gaussian source that moves along x through the unit cube.
 *
 *     mpicc own_load.c $(pkg-config --cflags --libs sp_solve) -lm -o own_load
 *     mpirun -n 4 ./own_load */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sp_solve.h>

static void check(int code) {
  if (code == SP_CASE_OK) return;
  fprintf(stderr, "own_load: %s\n", sp_case_message());
  MPI_Abort(MPI_COMM_WORLD, code);
}

int main(int argc, char **argv) {
  const char *const keys[] = {"mesh.elements=4 4 4", "discretization.order=4",
                              "boundary.default=dirichlet 0", "problem.forcing=0",
                              "result.hottest=maximum"};
  enum { KEYS = sizeof keys / sizeof *keys, SOLVES = 100 };
  int rank;
  sp_case *c;
  sp_case_sizes n;
  sp_case_solution s;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check(sp_case_open(MPI_COMM_WORLD, NULL, KEYS, keys, &c));
  check(sp_case_get_sizes(c, &n));
  double *f = malloc(n.local * sizeof *f), *u = malloc(n.local * sizeof *u);
  double *x = malloc(3 * n.local * sizeof *x), *y = x + n.local, *z = y + n.local;
  check(sp_case_get(c, SP_CASE_POINTS, 3 * n.local, x));
  for (int k = 0; k < SOLVES; k++) {
    const double place = (k + 0.5) / SOLVES;
    double hottest;
    for (size_t i = 0; i < n.local; i++)
      f[i] = exp(-50 * (pow(x[i] - place, 2) + pow(y[i] - 0.5, 2) + pow(z[i] - 0.5, 2)));
    check(sp_case_set(c, SP_CASE_SOURCE, n.local, f));
    check(sp_case_solve(c, n.local, u, &s));
    check(sp_case_value(c, "results", "hottest", "value", &hottest));
    if (rank == 0) printf("%.3f %3lld %.9e\n", place, (long long)s.iterations, hottest);
  }
  sp_case_close(&c);
  free(f);
  free(u);
  free(x);
  MPI_Finalize();
  return 0;
}
