/* The last line on standard output: what a run came to, and where it has not converged what to try.
 * Local. */
#ifndef SP_SOLVER_RUN_OUTCOME_H
#define SP_SOLVER_RUN_OUTCOME_H

#include "io/terminal.h"
#include "solver/run/progress.h"

typedef struct sp_outcome {
  bool solved;        /* an iteration has ended, converged or not; else only failures have a line */
  int64_t iterations; /* of it */
  const char *better; /* preconditioner to try instead, NULL if this one is the best */
  const char *cure;   /* what helps this one (solver/linear/preconditioner.h), or NULL */
  bool unbalanced;    /* CG has converged, but the balance does not close */
  double tolerance;
  sp_progress progress;
} sp_outcome;

/* The outcome in a word or two, for the run log and JSON: "converged", "not converged",
 * "interrupted", "fell short of its rate" or "failed". A constant string. */
const char *sp_outcome_word(sp_status status);

/* Print the line for the final `status` of the run. Numbers and messages of errors are not
 * repeated: main prints them on standard error. */
void sp_outcome_print(const sp_outcome *outcome, sp_status status, sp_terminal *terminal);

#endif
