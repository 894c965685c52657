/* The answers of a case in one list, to compare two runs: each [result], the minimum and maximum of
 * u, the flux through each line of [boundary] and the default, and each probe. */
#pragma once

#include "solver/problem/dirichlet.h"
#include "solver/results/balance.h"
#include "solver/results/probe.h"
#include "solver/results/quantities.h"
#include "solver/results/rates.h"

typedef struct sp_answer {
  const char *name;  /* of the result or probe; the group of a flux; "u" */
  const char *kind;  /* "average", "flux" ... (sp_result_type), or "probe" */
  const char *table; /* where a run reports it: "results", "extrema", "balance" or "probes" */
  bool pointwise;    /* of one point, whose place in its element changes from run to run */
  double value;
  double scale;   /* size of its terms, for rounding */
  bool own_scale; /* the value itself, of a formula or a resistance */
  sp_dimension dimension;
  bool infinite; /* a flux through a group whose Dirichlet values jump (sp_data_jump) */
  const sp_expression *formula; /* of results and probes; NULL: none */
} sp_answer;

typedef struct sp_answers {
  int count;
  sp_answer *list; /* [count]; names and formulas are owned by sp_wanted: results, extrema, fluxes,
                      probes */
  int results, probes; /* numbers of these */
  const sp_scope *scope;
} sp_answers;

/* The value of answer i, a formula, for values[count] of all answers, and the bar that their bars
 * give it by propagation, to first order,
 *
 *     sum over k of the larger of |R(.., v_k + bar_k, ..) - R| and |R(.., v_k - bar_k, ..) - R|,
 *
 * NaN if one of them is; values of the scope change. Local. */
double sp_answers_formula(const sp_answers *answers, int i, const double *values);
double sp_answers_bar(const sp_answers *answers, int i, const double *values, const double *bars);

/* Fill *out from evaluated results; `jump` is of the Dirichlet data. Two runs of a case have
 * the same answers in the same order. The caller ends with sp_answers_free, also after a failure.
 * Errors: SP_ERR_SYSTEM. Local; the same on all ranks. */
sp_status sp_answers_collect(const sp_quantities *quantities, const sp_problem *problem,
                             const sp_data_jump *jump, const sp_balance *balance,
                             const sp_scope *scope, const sp_probes *probes, sp_answers *out);

/* The last order that error bars of order N come from: N + 2, at most 15; 13 for N = 15. Local. */
int sp_answers_other_order(int order);

void sp_answers_free(sp_answers *answers);

/* ---- Error bars ---- */

/* Error bars of the answers of a case: the same problem is solved at other orders, from the
 * interpolated solution, and
 *
 *     error of J(u_N)  ~  max |J(u_M) - J(u_N)|,   M = N + 1 and N + 2; 15 for N = 14, 13 for 15.
 *
 * Two orders, because symmetric solutions gain only at every other order, and one J(u_M) of a
 * hundred is by chance as wrong as J(u_N). A bar is at least the share of the answer's scale that
 * solver.tolerance may leave. The bar of a formula follows from the bars of its terms. An answer
 * has no bar if it is infinite or seems to grow. It seems to grow if the differences between N, N +
 * 1 and N + 2 have one sign and a ratio of powers from -1 to 1/4 (solver/results/rates.h), and the
 * last difference is at least a hundredth of the answer. In time the error of the steps is
 * added. */
typedef struct sp_accuracy {
  sp_answers answers; /* of the case */
  double *values;     /* [answers.count] */
  double *errors;     /* likewise, estimates; infinite: none */
  double *before;     /* [answers.count], values of the order before the last M */
  int order;          /* the last M */
  int64_t iterations; /* of all solves */
} sp_accuracy;

/* Raise accuracy->errors to the differences from the answers of an order M, `others`; end with
 * sp_accuracy_free, also after a failure. Errors: SP_ERR_SYSTEM. Local; the same on all ranks. */
sp_status sp_accuracy_compare(double tolerance, int order, const sp_answers *others,
                              sp_accuracy *accuracy);

/* Add the error of a scheme of that order in time, from the answers with steps half as long: the
 * difference times 2^order / (2^order - 1). After sp_accuracy_compare. Local. */
void sp_accuracy_add_steps(int order, const sp_answers *others, sp_accuracy *accuracy);
void sp_accuracy_free(sp_accuracy *accuracy);

/* Verdict of an answer that is infinite. */
#define SP_ANSWER_INFINITE "infinite: Dirichlet values jump"
