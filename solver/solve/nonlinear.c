#include "solver/solve/nonlinear.h"

#include <math.h>
#include <string.h>

double sp_nonlinear_change(const sp_solver *s, const double *x, const double *last) {
  double most[2] = {0, 0};
  for (sp_lid i = 0; i < s->space->numbering->owned; i++) {
    most[0] = fmax(most[0], fabs(x[i] - last[i]));
    most[1] = fmax(most[1], fabs(x[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, s->platform->comm);
  return most[0] > 0 ? most[0] / most[1] : 0;
}

sp_status sp_nonlinear_fail(double change) {
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "conditions that depend on u: the solution still changes by %.1e of its largest "
                 "value after %d solves; start nearer to it (problem.initial), or write alpha so "
                 "that it varies less",
                 change, SP_NONLINEAR_MOST);
}

/* Make the system that is linearized at `last`. */
static sp_status linearize_system(sp_solver *s, sp_problem *problem, const double *last) {
  problem->last = (sp_last){last, s->space->numbering};
  SP_TRY(sp_solver_update(s));
  return sp_solver_load(s);
}

sp_status sp_nonlinear_solve(sp_solver *s, sp_problem *problem, const double *start, double *last,
                             double *x, sp_cg_result *result, int *solves) {
  const size_t bytes = sp_space_dofs(s->space) * sizeof *x;
  int64_t iterations = 0;
  double change = INFINITY;
  if (start) {
    memmove(last, start, bytes);
    SP_TRY(linearize_system(s, problem, last));
  }
  for (*solves = 1;; ++*solves) {
    const sp_status status = sp_solver_solve(s, *solves > 1 ? x : start, x, result);
    result->iterations = iterations += result->iterations;
    SP_TRY(status);
    if (*solves > 1 || start) change = sp_nonlinear_change(s, x, last);
    if (change <= s->options.tolerance) return SP_OK;
    if (*solves == SP_NONLINEAR_MOST) return sp_nonlinear_fail(change);
    memcpy(last, x, bytes);
    SP_TRY(linearize_system(s, problem, last));
  }
}
