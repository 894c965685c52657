/* The last line on standard output: the outcome of a run, and advice if it has not converged. All
 * functions are Local. */
#pragma once

#include "io/terminal.h"
#include "solver/run/progress.h"

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
