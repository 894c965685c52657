/* The speed of formulas on one core, printed: millions of points per second of processor time, for
 * the value, value and gradient, and both with the Laplacian. Many points per call, and the 8 of an
 * element of order 1.
 *
 *     bench_expression [calls, 150 if it is not given] */
#include <stdlib.h>
#include <time.h>

#include "io/expression.h"
#include "tests/check.h"

enum { POINTS = 1331, ELEMENT = 8, REPEATS = 20 };

static const char *const formulas[] = {
    "sin(pi*x)*cos(3*y)*z", "sin(pi*x)*sin(pi*y)*sin(pi*z)", "exp(-10*((x-0.5)^2+(y-0.5)^2+z^2))",
    "1 + x^2 + 3*x*y - z^3", "x < 0.5 ? sqrt(1 + x*y) : atan2(y, 1 + z)"};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct arrays {
  double x[POINTS], y[POINTS], z[POINTS], value[POINTS], gradient[3][POINTS], laplacian[POINTS];
} arrays;

/* level 0: the value; 1: the gradient too; 2: the Laplacian too. The best of some repetitions,
 * since other programs disturb the clock. */
static double rate(const sp_expression *formula, int level, size_t n, long calls, arrays *a) {
  double *const gradient[3] = {a->gradient[0], a->gradient[1], a->gradient[2]};
  double best = HUGE_VAL;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    const double start = seconds();
    for (long k = 0; k < calls; k++)
      if (level == 0)
        CHECK_OK(sp_expression_evaluate(formula, n, a->x, a->y, a->z, a->value));
      else
        CHECK_OK(sp_expression_evaluate_jet(formula, n, a->x, a->y, a->z, a->value, gradient,
                                            level == 1 ? NULL : a->laplacian));
    best = fmin(best, seconds() - start);
  }
  CHECK(isfinite(a->value[n - 1]), "%s", sp_expression_text(formula));
  return 1e-6 * (double)n * (double)calls / fmax(best, 1e-9);
}

int main(int argc, char **argv) {
  static arrays a;
  MPI_Init(&argc, &argv);
  const long calls = argc > 1 ? atol(argv[1]) : 150;
  for (int i = 0; i < POINTS; i++) {
    a.x[i] = (i + 0.5) / POINTS;
    a.y[i] = 0.3 + 0.5 * a.x[i];
    a.z[i] = 0.9 - a.x[i];
  }
  printf("millions of points per second: value, gradient, Laplacian; the same with %d points per "
         "call\n",
         ELEMENT);
  for (size_t f = 0; f < sizeof formulas / sizeof formulas[0]; f++) {
    sp_expression *formula;
    const sp_status status = sp_expression_parse(formulas[f], "formula", NULL, &formula);
    CHECK_OK(status);
    if (status) continue;
    printf("%-42s", formulas[f]);
    for (int level = 0; level < 3; level++)
      printf(" %6.1f", rate(formula, level, POINTS, calls, &a));
    for (int level = 0; level < 3; level++)
      printf(" %6.1f", rate(formula, level, ELEMENT, 10 * calls, &a));
    printf("\n");
    sp_expression_destroy(&formula);
  }
  return check_end();
}
