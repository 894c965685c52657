/* Error bars of the answers of a case: the same problem is solved at other orders, from the
 * interpolated solution, and
 *
 *     error of J(u_N)  ~  max |J(u_M) - J(u_N)|,   M = N + 1 and N + 2; 15 for N = 14, 13 for 15.
 *
 * Two orders: symmetric solutions gain only every other one, and one J(u_M) of a hundred is by
 * chance as wrong as J(u_N). At least what solver.tolerance may leave of the answer's scale. */
#pragma once

#include "solver/problem/resolution.h"
#include "solver/run/answers.h"

typedef struct sp_accuracy {
  sp_answers answers; /* of the case */
  double *errors;     /* [answers.count], estimates */
  int order;          /* the last M */
  int64_t iterations; /* of all solves */
  sp_resolution resolution;
  double range; /* of u: largest less smallest */
} sp_accuracy;

/* Raise accuracy->errors to the differences from the answers of an order M, `others`; end with
 * sp_accuracy_free, also after a failure. Errors: SP_ERR_SYSTEM. Local; the same on all ranks. */
sp_status sp_accuracy_compare(double tolerance, const sp_answers *others, sp_accuracy *accuracy);
void sp_accuracy_free(sp_accuracy *accuracy);

/* Print and record the answers with their errors, and a note if the mesh is too coarse. Local. */
void sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report);

/* An element is too coarse if its indicator is above this part of the range of u. */
#define SP_ACCURACY_COARSE 0.01
