#include "solver/run/progress.h"

#include <math.h>
#include <stdio.h>

#include <mpi.h>

/* Straight line fitted to the logarithms of the last residuals. */
typedef struct line {
  double slope, last; /* per iteration; value at the last residual */
  double fall, scatter;
} line;

static int window(const sp_progress *p) {
  return p->count < SP_PROGRESS_WINDOW ? (int)p->count : SP_PROGRESS_WINDOW;
}

/* Return residual i = 0, 1, ... of the window, oldest first. */
static double residual(const sp_progress *p, int i) {
  return p->relative[(p->count - window(p) + i) % SP_PROGRESS_WINDOW];
}

static line fit(const sp_progress *p) {
  const int n = window(p);
  const double middle = 0.5 * (n - 1);
  double mean = 0, xx = 0, xy = 0, squares = 0;
  for (int i = 0; i < n; i++) mean += log(residual(p, i)) / n;
  for (int i = 0; i < n; i++) {
    xx += (i - middle) * (i - middle);
    xy += (i - middle) * (log(residual(p, i)) - mean);
  }
  const double slope = xy / xx;
  for (int i = 0; i < n; i++) {
    const double off = log(residual(p, i)) - mean - slope * (i - middle);
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
  if (p->count >= SP_PROGRESS_WINDOW) p->smallest_before = fmin(p->smallest_before, residual(p, 0));
  p->relative[p->count++ % SP_PROGRESS_WINDOW] = relative;
}

double sp_progress_iterations_left(const sp_progress *p, double tolerance) {
  const int n = window(p);
  if (n < SP_PROGRESS_LEAST) return -1;
  if (residual(p, n - 1) <= tolerance) return 0;
  const line l = fit(p);
  /* The conditions are negated so that residuals of zero, and those that are not finite, give no
   * estimate. */
  if (!(l.fall > l.scatter) || !isfinite(l.fall) || !(tolerance > 0)) return -1;
  return fmax(0, ceil((l.last - log(tolerance)) / -l.slope));
}

bool sp_progress_stagnates(const sp_progress *p) {
  if (p->count < SP_PROGRESS_WINDOW) return false;
  const line l = fit(p);
  const bool is_lower = sp_progress_smallest(p) < 0.9 * p->smallest_before;
  return !(l.fall > l.scatter) && !(is_lower && isfinite(p->smallest_before));
}

double sp_progress_smallest(const sp_progress *p) {
  double smallest = INFINITY;
  for (int i = 0; i < window(p); i++) smallest = fmin(smallest, residual(p, i));
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
