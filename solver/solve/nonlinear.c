#include "solver/solve/nonlinear.h"

#include <math.h>
#include <string.h>

#include "solver/problem/linearize.h"

/* Largest number of solves of one problem. */
enum { MOST = 50 };

/* The largest |x - last| over the largest |x|, of all ranks. */
static double find_change(const sp_solver *s, const double *x, const double *last) {
  double most[2] = {0, 0};
  for (sp_lid i = 0; i < s->space->numbering->owned; i++) {
    most[0] = fmax(most[0], fabs(x[i] - last[i]));
    most[1] = fmax(most[1], fabs(x[i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, s->platform->comm);
  return most[0] > 0 ? most[0] / most[1] : 0;
}

static sp_status fail_to_converge(double change) {
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "a problem that depends on u: the solution still changes by %.1e of its largest "
                 "value after %d solves; start nearer to it (problem.initial, in time shorter "
                 "steps), or write formulas of u so that they vary less",
                 change, MOST);
}

/* ---- Anderson's acceleration of x -> g(x) ---- */

enum { DEPTH = 3 };

/* L-vectors on the host. */
typedef struct history {
  int steps, count; /* seen; differences that are known */
  size_t dofs;
  double *f, *g;                          /* of the last step: g - x, and g */
  double *changes[DEPTH], *images[DEPTH]; /* of f and of g, newest first */
} history;

static sp_status create_history(const sp_solver *s, history *h) {
  h->dofs = sp_space_dofs(s->space);
  sp_status status = SP_ALLOCATE("acceleration", SP_ARRAY(h->f, h->dofs), SP_ARRAY(h->g, h->dofs));
  for (int i = 0; i < DEPTH && !status; i++)
    status = SP_ALLOCATE("acceleration", SP_ARRAY(h->changes[i], h->dofs),
                         SP_ARRAY(h->images[i], h->dofs));
  return sp_agree(s->platform->comm, status);
}

static void free_history(history *h) {
  SP_FREE(h->f, h->g);
  for (int i = 0; i < DEPTH; i++) SP_FREE(h->changes[i], h->images[i]);
}

/* Take the step from x to g. */
static void remember_step(history *h, const double *x, const double *g) {
  double *change = h->changes[DEPTH - 1], *image = h->images[DEPTH - 1];
  memmove(&h->changes[1], &h->changes[0], (DEPTH - 1) * sizeof *h->changes);
  memmove(&h->images[1], &h->images[0], (DEPTH - 1) * sizeof *h->images);
  h->changes[0] = change;
  h->images[0] = image;
  for (size_t i = 0; i < h->dofs; i++) {
    change[i] = g[i] - x[i] - h->f[i];
    image[i] = g[i] - h->g[i];
    h->f[i] = g[i] - x[i];
    h->g[i] = g[i];
  }
  if (h->steps++ > 0 && h->count < DEPTH) h->count++;
}

/* weights[count] minimize |f - sum of weights times changes|, by Cholesky's method on the normal
 * equations; older changes that nearly depend on newer ones are left out. */
static int solve_least_squares(int count, double gram[DEPTH][DEPTH + 1], double *weights) {
  static const double DEPENDENT = 1e-12;
  double l[DEPTH][DEPTH] = {{0}};
  int used = 0;
  for (; used < count; used++) {
    double pivot = gram[used][used];
    for (int j = 0; j < used; j++) {
      l[used][j] = gram[used][j];
      for (int k = 0; k < j; k++) l[used][j] -= l[used][k] * l[j][k];
      l[used][j] /= l[j][j];
      pivot -= l[used][j] * l[used][j];
    }
    if (!(pivot > DEPENDENT * gram[used][used])) break;
    l[used][used] = sqrt(pivot);
  }
  for (int i = 0; i < used; i++) {
    weights[i] = gram[i][DEPTH];
    for (int j = 0; j < i; j++) weights[i] -= l[i][j] * weights[j];
    weights[i] /= l[i][i];
  }
  for (int i = used - 1; i >= 0; i--) {
    for (int j = i + 1; j < used; j++) weights[i] -= l[j][i] * weights[j];
    weights[i] /= l[i][i];
  }
  return used;
}

/* x = the next point, after the step from x to g. */
static void accelerate(const sp_solver *s, history *h, double *x, const double *g) {
  double gram[DEPTH][DEPTH + 1] = {{0}}, weights[DEPTH];
  remember_step(h, x, g);
  for (int i = 0; i < h->count; i++)
    for (sp_lid n = 0; n < s->space->numbering->owned; n++) {
      const double change = h->changes[i][n];
      for (int j = 0; j <= i; j++) gram[i][j] += change * h->changes[j][n];
      gram[i][DEPTH] += change * h->f[n];
    }
  MPI_Allreduce(MPI_IN_PLACE, gram, DEPTH * (DEPTH + 1), MPI_DOUBLE, MPI_SUM, s->platform->comm);
  const int used = solve_least_squares(h->count, gram, weights);
  memcpy(x, g, h->dofs * sizeof *x);
  for (int i = 0; i < used; i++)
    for (size_t n = 0; n < h->dofs; n++) x[n] -= weights[i] * h->images[i][n];
}

/* ---- The sequence ---- */

/* Solve one linear problem to a tolerance that follows the last change of the solution. */
static sp_status solve_once(sp_solver *s, double change, sp_nonlinear_solver *solve, void *context,
                            const double *last, double *x) {
  static const double LARGEST = 1e-3;
  const double tolerance = s->options.tolerance;
  if (s->options.criterion == SP_CG_ENERGY)
    s->options.tolerance = fmax(tolerance, fmin(change, LARGEST));
  const sp_status status = solve(context, last, x);
  s->options.tolerance = tolerance;
  return status;
}

/* Solve near `last`. If a formula has no value there, go back: halfway to `before`, where the
 * problem before was linearized, and again. */
static sp_status solve_in_domain(sp_solver *s, double change, sp_nonlinear_solver *solve,
                                 void *context, const double *before, double *last, double *x) {
  enum { HALVINGS = 10 };
  for (int n = 0;; n++) {
    const sp_status status = solve_once(s, change, solve, context, last, x);
    if (status != SP_ERR_INPUT || !last || n == HALVINGS) return status;
    for (size_t i = 0; i < sp_space_dofs(s->space); i++) last[i] = (last[i] + before[i]) / 2;
  }
}

sp_status sp_nonlinear_iterate(sp_solver *s, sp_nonlinear_solver *solve, void *context,
                               bool has_last, double *last, double *x, int *solves) {
  const size_t dofs = sp_space_dofs(s->space), bytes = dofs * sizeof *x;
  SP_OWNED double *before = NULL; /* where the last problem was linearized, at first u = 0 */
  history h = {0};
  double change = INFINITY;
  sp_status status =
      sp_agree(s->platform->comm, sp_allocate(dofs, sizeof *before, "solution", &before));
  if (!status && has_last) memcpy(before, x, bytes);
  for (*solves = 1; !status; ++*solves) {
    status = solve_in_domain(s, change, solve, context, before, has_last ? last : NULL, x);
    if (status) break;
    if (has_last) memcpy(before, last, bytes);
    if (has_last) change = find_change(s, x, last);
    if (change <= s->options.tolerance) break;
    if (*solves == MOST) status = fail_to_converge(change);
    if (!status && s->problem->is_picard && has_last && !h.f) status = create_history(s, &h);
    if (status) break;
    if (h.f && s->problem->is_picard)
      accelerate(s, &h, last, x);
    else
      memcpy(last, x, bytes);
    has_last = true;
  }
  free_history(&h);
  return status;
}

/* ---- Steady problems ---- */

typedef struct steady {
  sp_solver *solver;
  sp_problem *problem;
  const double *start;
  sp_cg_result *result;
  int64_t iterations;
  double energy; /* the largest change */
  bool is_ready; /* the system is linearized where the next solve wants it */
} steady;

/* Solve near `last`; NULL: as the solver is loaded. */
static sp_status solve_steady(void *steady_, const double *last, double *x) {
  steady *t = steady_;
  sp_solver *s = t->solver;
  const sp_numbering *numbering = s->space->numbering;
  if (last && !t->is_ready) {
    SP_TRY(sp_problem_linearize(t->problem, s->mesh, numbering->order, numbering, last));
    SP_TRY(sp_solver_update(s));
  }
  if (last) SP_TRY(sp_solver_load(s));
  t->is_ready = false;
  const sp_status status = sp_solver_solve(s, t->start, x, t->result);
  t->start = x;
  t->energy = fmax(t->energy, t->result->energy);
  if (t->energy > 0) t->result->error *= t->result->energy / t->energy;
  t->result->iterations = t->iterations += t->result->iterations;
  return status;
}

sp_status sp_nonlinear_solve(sp_solver *s, sp_problem *problem, const double *start, double *last,
                             double *x, sp_cg_result *result, int *solves) {
  const size_t bytes = sp_space_dofs(s->space) * sizeof *x;
  steady t = {.solver = s, .problem = problem, .start = start, .result = result};
  t.is_ready = start && problem->last.values == start;
  if (start) memmove(last, start, bytes);
  if (start) memmove(x, start, bytes);
  if (t.is_ready) problem->last.values = last;
  return sp_nonlinear_iterate(s, solve_steady, &t, start, last, x, solves);
}
