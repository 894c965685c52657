/* The estimate of the remaining time: exact for residuals with a known answer, none without an
 * answer. */

#include "solver/report/outcome.h"

#include <unistd.h>
#include "tests/check.h"

typedef double (*sequence)(int i);

static double falling(int i) {
  return pow(0.5, i);
}
/* Falls by a factor of 10 in 20 iterations, up and down by a third of that meanwhile. */
static double ragged(int i) {
  return pow(10, -0.05 * i + 0.3 * sin(2.0 * i));
}
static double level(int i) {
  return 1e-9 * (1 + 0.2 * sin(i));
}
static double rising(int i) {
  return pow(1.1, i);
}
static double creeping(int i) { /* falls by less than it scatters */
  return pow(10, -0.001 * i + sin(2.0 * i));
}
static double broken(int i) {
  return i % 7 == 3 ? NAN : falling(i);
}
static double vanished(int i) {
  return i < 5 ? falling(i) : 0;
}
static double first_steep(int i) { /* the beginning is outside the window */
  return i < 100 ? pow(0.5, i) : pow(0.5, 100) * pow(0.9, i - 100);
}

/* The state after residuals 0 ... count - 1. */
static sp_progress after(sequence residual, int count) {
  sp_progress p = {0};
  for (int i = 0; i < count; i++) sp_progress_note(&p, residual(i));
  return p;
}

static void test_estimates(void) {
  for (int count = SP_PROGRESS_LEAST; count < 200; count++) {
    sp_progress p = after(falling, count);
    /* Residual number n is 2^-n, and the last one is number count - 1. */
    const int want = 300;
    CHECK(fabs(sp_progress_iterations_left(&p, pow(0.5, want)) - (want - count + 1)) <= 1,
          "%g left after %d", sp_progress_iterations_left(&p, pow(0.5, want)), count);
    CHECK(sp_progress_iterations_left(&p, pow(0.5, count - 1)) == 0, "left at the tolerance");
    CHECK(!sp_progress_stagnates(&p), "stagnates after %d", count);
    for (int s = 0; s < 5; s++) {
      static const sequence none[] = {level, rising, creeping, broken, vanished};
      p = after(none[s], count);
      const double left = sp_progress_iterations_left(&p, 1e-300);
      CHECK(left == -1 || left >= 0, "%g left", left);
      if (count > SP_PROGRESS_WINDOW + 5 && none[s] != vanished)
        CHECK(left == -1, "sequence %d: %g left", s, left);
      if (count > SP_PROGRESS_WINDOW + 5 && (none[s] == level || none[s] == rising))
        CHECK(sp_progress_stagnates(&p), "sequence %d does not stagnate", s);
    }
  }
  sp_progress p = after(ragged, 120);
  /* The error of the slope in the window is at most the error by an amplitude of 0.6 over 50
   * iterations. */
  const double want = (12 - 0.05 * 119) / 0.05, left = sp_progress_iterations_left(&p, 1e-12);
  CHECK(left > 0.6 * want && left < 1.7 * want, "%g left, not about %g", left, want);
  p = after(first_steep, 200);
  CHECK_CLOSE(sp_progress_iterations_left(&p, pow(0.5, 100) * pow(0.9, 199)), 100, 1.01);
  p = after(falling, SP_PROGRESS_LEAST - 1);
  CHECK(sp_progress_iterations_left(&p, 1e-10) == -1, "an estimate from too few residuals");
  CHECK(sp_progress_iterations_left(&(sp_progress){0}, 1e-10) == -1, "an estimate from nothing");
  p = after(creeping, 3 * SP_PROGRESS_WINDOW);
  CHECK(!sp_progress_stagnates(&p), "it falls, if slowly");
  p = after(falling, 10);
  CHECK(sp_progress_iterations_left(&p, 0) == -1, "zero is never reached");
  p = after(level, 80);
  CHECK(fabs(sp_progress_smallest(&p) - 0.8e-9) < 1e-11, "%g", sp_progress_smallest(&p));
}

static void test_texts(void) {
  char text[96];
  sp_progress p = after(falling, 11); /* ten iterations */
  sp_progress_describe(&p, pow(0.5, 50) * 1.001, p.began + 5, sizeof text, text);
  CHECK_TEXT(text, ", 2 it/s, about 20 s left");
  p = after(level, 80);
  sp_progress_describe(&p, 1e-12, p.began + 7.9, sizeof text, text);
  CHECK_TEXT(text, ", 10 it/s");
  p = after(falling, 1);
  sp_progress_describe(&p, 1e-12, p.began + 1, sizeof text, text);
  CHECK_TEXT(text, "");
}

/* The last line for a residual that stays at `factor` times 1e-9: only a useful tolerance is
 * advised. */
static void expect_advice(double factor, const char *words) {
  char text[512] = "";
  sp_outcome o = {
      .solved = true, .iterations = 80, .tolerance = 1e-10, .progress = after(level, 80)};
  for (int i = 0; i < SP_PROGRESS_WINDOW; i++) o.progress.relative[i] *= factor;
  o.progress.smallest_before *= factor;
  sp_terminal terminal = {.prints = true};
  const int kept = dup(STDOUT_FILENO);
  FILE *file = tmpfile();
  fflush(stdout);
  dup2(fileno(file), STDOUT_FILENO);
  sp_outcome_print(&o, SP_ERR_NOT_CONVERGED, &terminal);
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  rewind(file);
  CHECK(fread(text, 1, sizeof text - 1, file) > 0 && strstr(text, words), "%s", text);
  fclose(file);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  test_estimates();
  test_texts();
  expect_advice(1, "try a solver.tolerance above 8.0e-10, since");
  expect_advice(5e9, "try another mesh or other data, since the residual does not fall");
  return check_end();
}
