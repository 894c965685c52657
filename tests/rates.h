/* Observed rates of convergence, through the whole program.
 *
 * error = C h^rate (1 + c h + ...), so the rate observed between h and h/2 differs from the true
 * one by about c h / (2 ln 2). With h = 1/4 or 1/8 on the coarser mesh and c of order one that is
 * up to 0.2; a lost order shows as 1. A higher rate is also an error.
 *
 * The solver's part of the error: CG stops at |r| <= 1e-13 |b|. So the relative error is at most
 * 1e-13 times the root of the condition number in the energy norm, and 1e-13 times the condition
 * number in the Euclidean norm. With Jacobi this number is below 1e4 here (it grows like N^2/h^2;
 * N/h <= 32), and u is of size one: less than 1e-9, and rates are judged ten times above. */
#pragma once

#include "tests/check.h"
#include "tests/run_case.h"

/* Entire, not symmetric, of size one, and of unlike wave numbers in x, y and z. */
#define RATES_SMOOTH "problem.solution=sin(2.9*x+0.4)*cos(2.3*y-0.3)*exp(0.9*z)+x*y*z"
#define RATES_SOLVER                                                                               \
  "solver.tolerance=1e-13; solver.preconditioner=jacobi; solver.max_iterations=4000"
static const double RATES_DEVIATION = 0.2, RATES_FLOOR = 1e-8;

/* Solve the case of the overrides in `common` and `own` (NULL at their ends; `own` may be NULL).
 * Collective over MPI_COMM_WORLD, as all here. */
static inline sp_error_norms rates_solve(const char *const *common, const char *const *own) {
  const sp_results results = run_good(common, own);
  CHECK(results.have_norms, "%s: no errors", common[0]);
  return results.norms;
}

/* Check the rates N + 1 in L2 and N in H1 between the refinements `coarse` and coarse + 1 of a
 * case. `common` has its name for messages first, then operator, mesh and solution; `own` has the
 * rest. */
static inline void check_rates(int order, int coarse, const char *const *common,
                               const char *const *own) {
  const char *first = own && own[0] ? own[0] : "";
  sp_error_norms norms[2];
  for (int level = 0; level < 2; level++) {
    const char *overrides[RUN_CASE_OVERRIDES] = {0};
    const int count = run_case_append(common, 0, overrides);
    overrides[count] = test_text("discretization.order=%d; mesh.refine=%d", order, coarse + level);
    norms[level] = rates_solve(overrides, own);
  }
  const double l2 = log2(norms[0].l2 / norms[1].l2), h1 = log2(norms[0].h1 / norms[1].h1);
  CHECK(norms[1].l2 > RATES_FLOOR, "%s %s N = %d: an L2 error of %g says nothing about rates",
        common[0], first, order, norms[1].l2);
  CHECK(fabs(l2 - (order + 1)) <= RATES_DEVIATION, "%s %s N = %d: L2 rate %.3f", common[0], first,
        order, l2);
  CHECK(fabs(h1 - order) <= RATES_DEVIATION, "%s %s N = %d: H1 rate %.3f", common[0], first, order,
        h1);
}

/* The rates of RATES_SMOOTH on a deformed box. */
static inline void check_smooth(const char *kind, int order, const char *const *own) {
  const char *const common[] = {kind, "mesh.elements=2 2 2; mesh.map=sine", RATES_SMOOTH,
                                RATES_SOLVER, NULL};
  check_rates(order, order < 3 ? 2 : 1, common, own);
}
