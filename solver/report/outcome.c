#include "solver/report/outcome.h"

#include <math.h>
#include <stdio.h>

/* ---- Progress ---- */

/* Straight line fitted to the logarithms of the last residuals. */
typedef struct line {
  double slope, last; /* per iteration; value at the last residual */
  double fall, scatter;
} line;

static int window_size(const sp_progress *p) {
  return p->count < SP_PROGRESS_WINDOW ? (int)p->count : SP_PROGRESS_WINDOW;
}

/* Return residual i = 0, 1, ... of the window, oldest first. */
static double residual_of_window(const sp_progress *p, int i) {
  return p->relative[(p->count - window_size(p) + i) % SP_PROGRESS_WINDOW];
}

static line fit_residuals(const sp_progress *p) {
  const int n = window_size(p);
  const double middle = 0.5 * (n - 1);
  double mean = 0, xx = 0, xy = 0, squares = 0;
  for (int i = 0; i < n; i++) mean += log(residual_of_window(p, i)) / n;
  for (int i = 0; i < n; i++) {
    xx += (i - middle) * (i - middle);
    xy += (i - middle) * (log(residual_of_window(p, i)) - mean);
  }
  const double slope = xy / xx;
  for (int i = 0; i < n; i++) {
    const double off = log(residual_of_window(p, i)) - mean - slope * (i - middle);
    squares += off * off;
  }
  return (line){.slope = slope,
                .last = mean + slope * middle,
                .fall = -slope * (n - 1),
                .scatter = sqrt(squares / n)};
}

void sp_progress_note(sp_progress *p, double relative) {
  if (p->count == 0) {
    p->began = MPI_Wtime();
    p->smallest_before = INFINITY;
  }
  if (p->count >= SP_PROGRESS_WINDOW)
    p->smallest_before = fmin(p->smallest_before, residual_of_window(p, 0));
  p->relative[p->count++ % SP_PROGRESS_WINDOW] = relative;
}

double sp_progress_iterations_left(const sp_progress *p, double tolerance) {
  const int n = window_size(p);
  if (n < SP_PROGRESS_LEAST) return -1;
  if (residual_of_window(p, n - 1) <= tolerance) return 0;
  const line l = fit_residuals(p);
  /* The conditions are negated so that residuals of zero, or not finite, give no estimate. */
  if (!(l.fall > l.scatter) || !isfinite(l.fall) || !(tolerance > 0)) return -1;
  return fmax(0, ceil((l.last - log(tolerance)) / -l.slope));
}

bool sp_progress_stagnates(const sp_progress *p) {
  if (p->count < SP_PROGRESS_WINDOW) return false;
  const line l = fit_residuals(p);
  const bool is_lower = sp_progress_smallest(p) < 0.9 * p->smallest_before;
  return !(l.fall > l.scatter) && !(is_lower && isfinite(p->smallest_before));
}

double sp_progress_smallest(const sp_progress *p) {
  double smallest = INFINITY;
  for (int i = 0; i < window_size(p); i++) smallest = fmin(smallest, residual_of_window(p, i));
  return smallest;
}

void sp_progress_describe(const sp_progress *p, double tolerance, double now, size_t size,
                          char *text) {
  const double rate = p->count > 1 ? (double)(p->count - 1) / (now - p->began) : 0;
  const double left = sp_progress_iterations_left(p, tolerance);
  text[0] = '\0';
  if (rate <= 0) return;
  if (left < 0)
    snprintf(text, size, ", %.3g it/s", rate);
  else
    snprintf(text, size, ", %.3g it/s, about %.0f s left", rate, left / rate);
}

/* ---- Outcome ---- */

const char *sp_outcome_word(sp_status status) {
  static const char *const words[] = {[SP_OK] = "converged",
                                      [SP_ERR_NOT_CONVERGED] = "not converged",
                                      [SP_ERR_INTERRUPTED] = "interrupted",
                                      [SP_ERR_STUDY] = "fell short of its rate",
                                      [SP_ERR_ELSEWHERE] = NULL};
  return words[status] ? words[status] : "failed";
}

/* Suggest a limit of iterations: `done` plus `left` plus 20 % of `left`, rounded up to two
 * digits. */
static double suggest_iterations(double done, double left) {
  const double least = done + 1.2 * left;
  const double unit = pow(10, fmax(0, floor(log10(fmax(1, least))) - 1));
  return unit * ceil(least / unit);
}

/* Give advice besides another preconditioner. */
static void describe_cure(const sp_outcome *o, size_t size, char *text) {
  static const double MOST = 1e9, MOST_TOLERANCE = 0.1; /* larger ones are not useful */
  const double left = sp_progress_iterations_left(&o->progress, o->tolerance);
  const double done = (double)o->iterations, least = 10 + done / 20; /* that confirm an estimate */
  const double wanted = left < 0 ? -1 : suggest_iterations(done, fmax(left, least));
  const double smallest = sp_progress_smallest(&o->progress);
  if (o->better && left == 0) /* more iterations do not help */
    text[0] = '\0';
  else if (sp_progress_stagnates(&o->progress) && o->cure)
    snprintf(text, size, "%s", o->cure);
  else if (sp_progress_stagnates(&o->progress) && smallest >= MOST_TOLERANCE)
    snprintf(text, size, "another mesh or other data, since the residual does not fall");
  else if (sp_progress_stagnates(&o->progress))
    snprintf(text, size, "a solver.tolerance above %.1e, since the residual no longer falls",
             smallest);
  else if (wanted > 0 && wanted < MOST)
    snprintf(text, size, "solver.max_iterations = %.0f", wanted);
  else
    snprintf(text, size, "a larger solver.max_iterations");
}

static void print_not_converged(const sp_outcome *o, sp_terminal *t) {
  char cure[128];
  describe_cure(o, sizeof cure, cure);
  sp_terminal_print(t, "\n  NOT CONVERGED in %lld iteration%s: try ", (long long)o->iterations,
                    sp_plural(o->iterations));
  if (o->better)
    sp_terminal_print(t, "solver.preconditioner = %s%s", o->better, cure[0] ? ", or " : "");
  sp_terminal_print(t, "%s\n", cure);
}

void sp_outcome_print(const sp_outcome *o, sp_status status, sp_terminal *t) {
  const char *plural = sp_plural(o->iterations);
  if (status == SP_ERR_NOT_CONVERGED && o->solved && o->unbalanced)
    sp_terminal_print(t, "\n  NOT CONVERGED: the balance does not close\n");
  else if (status == SP_ERR_NOT_CONVERGED && o->solved)
    print_not_converged(o, t);
  else if (status == SP_ERR_INTERRUPTED && !o->solved) /* a study */
    sp_terminal_print(t, "\n  INTERRUPTED\n");
  else if (status == SP_ERR_INTERRUPTED)
    sp_terminal_print(t, "\n  INTERRUPTED after %lld iteration%s\n", (long long)o->iterations,
                      plural);
  else if (status)
    sp_terminal_print(t, "\n  FAILED with exit code %d: the reason is on standard error\n",
                      sp_exit_code(status));
  else if (o->solved)
    sp_terminal_print(t, "\n  CONVERGED in %lld iteration%s\n", (long long)o->iterations, plural);
}
