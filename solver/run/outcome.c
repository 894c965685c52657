#include "solver/run/outcome.h"

#include <math.h>
#include <stdio.h>

const char *sp_outcome_word(sp_status status) {
  switch (status) {
  case SP_OK:
    return "converged";
  case SP_ERR_NOT_CONVERGED:
    return "not converged";
  case SP_ERR_INTERRUPTED:
    return "interrupted";
  case SP_ERR_STUDY:
    return "fell short of its rate";
  case SP_ERR_INPUT:
  case SP_ERR_SYSTEM:
  case SP_ERR_BREAKDOWN:
  case SP_ERR_ELSEWHERE:
    return "failed";
  }
  return "failed";
}

/* Suggest a limit of iterations: `done` plus `left` plus 20 % of `left`, rounded up to two
 * digits. */
static double suggest_iterations(double done, double left) {
  const double least = done + 1.2 * left;
  const double unit = pow(10, fmax(0, floor(log10(fmax(1, least))) - 1));
  return unit * ceil(least / unit);
}

/* Describe what to try besides another preconditioner. */
static void describe_cure(const sp_outcome *o, size_t size, char *text) {
  static const double MOST = 1e9; /* larger estimates are not useful */
  const double left = sp_progress_iterations_left(&o->progress, o->tolerance);
  const double done = (double)o->iterations, least = 10 + done / 20; /* that confirm an estimate */
  const double wanted = left < 0 ? -1 : suggest_iterations(done, fmax(left, least));
  const double smallest = sp_progress_smallest(&o->progress);
  if (o->better && left == 0) /* more iterations do not help */
    text[0] = '\0';
  else if (sp_progress_stagnates(&o->progress) && o->cure)
    snprintf(text, size, "%s", o->cure);
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
