/* Speed of an iteration and estimate of its end, from its last residuals.
 *
 * A line y = a + b i is fitted by least squares to y_i = log(relative residual) of the last
 * SP_PROGRESS_WINDOW iterations i. The residual reaches the tolerance after
 *
 *     (y_last - log(tolerance)) / -b   more iterations, with y_last of the line.
 *
 * Residuals of CG rise and fall, so there is an estimate only if the line falls over the window by
 * more than the residuals scatter about it (root mean square). All functions Local. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_PROGRESS_WINDOW = 50, SP_PROGRESS_LEAST = 4 };

typedef struct sp_progress {
  double began;           /* MPI_Wtime of the first residual */
  int64_t count;          /* residuals so far */
  double smallest_before; /* smallest residual before the window; infinite without one */
  double relative[SP_PROGRESS_WINDOW]; /* of residual number n at n mod SP_PROGRESS_WINDOW */
} sp_progress;

/* Record the relative residual of an iteration. *progress is all zero at first. */
void sp_progress_note(sp_progress *progress, double relative);

/* Estimate how many more iterations reach `tolerance`, at least 0; -1 if the residual does not
 * fall, or there are fewer than SP_PROGRESS_LEAST residuals. */
double sp_progress_iterations_left(const sp_progress *progress, double tolerance);

/* True if there are SP_PROGRESS_WINDOW residuals, they do not fall, and none of them is more than
 * 10 % below all residuals before. */
bool sp_progress_stagnates(const sp_progress *progress);

/* Return the smallest of the last SP_PROGRESS_WINDOW residuals. */
double sp_progress_smallest(const sp_progress *progress);

/* Write ", 45.6 it/s, about 12 s left", as far as known, to text[size]. */
void sp_progress_describe(const sp_progress *progress, double tolerance, double now, size_t size,
                          char *text);
