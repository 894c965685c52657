/* The speed of an iteration, and the last line on standard output: the outcome of a run, and advice
 * if it has not converged. All functions are Local. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/terminal.h"

/* ---- Progress ---- */

/* Speed of an iteration and estimate of its end, from its last residuals.
 *
 * A line y = a + b i is fitted by least squares to y_i = log(relative residual) of the last
 * SP_PROGRESS_WINDOW iterations i. The residual reaches the tolerance after
 *
 *     (y_last - log(tolerance)) / -b   more iterations, with y_last of the line.
 *
 * Residuals of CG rise and fall, so there is an estimate only if the fall of the line over the
 * window exceeds the scatter of the residuals about it (root mean square). */
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

/* Write ", 45.6 it/s, about 12 s left", without the parts that are unknown, to text[size]. */
void sp_progress_describe(const sp_progress *progress, double tolerance, double now, size_t size,
                          char *text);

/* ---- Outcome ---- */

typedef struct sp_outcome {
  bool solved;        /* CG has ended, converged or not; else only failures are printed */
  int64_t iterations; /* of it */
  const char *better; /* preconditioner to try instead, NULL if this one is the best */
  const char *cure;   /* advice for this one (solver/linear/preconditioner.h), or NULL */
  bool unbalanced;    /* CG has converged, but the balance does not close */
  double tolerance;
  sp_progress progress;
} sp_outcome;

/* The outcome in a word or two, for the run log and JSON: "converged", "not converged",
 * "interrupted", "fell short of its rate" or "failed". A constant string. */
const char *sp_outcome_word(sp_status status);

/* Print the line for the final `status` of the run. It does not repeat error messages, which main
 * prints on standard error. */
void sp_outcome_print(const sp_outcome *outcome, sp_status status, sp_terminal *terminal);
