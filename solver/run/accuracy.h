/* Error bars of the answers of a case: the same problem is solved at another order, from the
 * interpolated solution, and
 *
 *     error of J(u_N)  ~  |J(u_M) - J(u_N)|,   M = N + 2, at most 15; M = 13 for N = 15.
 *
 * Two orders more, since symmetric solutions gain only every other order, and so that J(u_M) is
 * never as wrong as J(u_N) by chance. A bar is at least the part of the answer's scale
 * (solver/run/answers.h) that solver.tolerance may leave. */
#ifndef SP_SOLVER_RUN_ACCURACY_H
#define SP_SOLVER_RUN_ACCURACY_H

#include "solver/problem/resolution.h"
#include "solver/run/answers.h"

typedef struct sp_accuracy {
  sp_answers answers; /* of the case */
  double *errors;     /* [answers.count], estimates */
  int order;          /* M */
  int64_t iterations; /* of its solve */
  sp_resolution resolution;
  double range; /* of u: largest less smallest */
} sp_accuracy;

/* Fill accuracy->errors from the answers of order M, `others`; end with sp_accuracy_free, also
 * after a failure. Errors: SP_ERR_SYSTEM. Local; the same on all ranks. */
sp_status sp_accuracy_compare(double tolerance, const sp_answers *others, sp_accuracy *accuracy);
void sp_accuracy_free(sp_accuracy *accuracy);

/* Print and record the answers with their errors, and a note if the mesh is too coarse. Local. */
void sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report);

/* An element is too coarse if its indicator (solver/problem/resolution.h) is above this part of the
 * range of u. */
#define SP_ACCURACY_COARSE 0.01

#endif
