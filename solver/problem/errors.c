#include "solver/problem/errors.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"

enum { POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE };

/* The fine rule, the basis at its points, and one element's fields. On the heap, because it is too
 * large for the stack of a debug build. */
typedef struct workspace {
  sp_rule rule;
  int nq;
  double value[SP_MAX_RULE * SP_MAX_NQ], derivative[SP_MAX_RULE * SP_MAX_NQ];
  double nodal[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  double xyz[3 * POINTS], inverse[9 * POINTS], jacobian[POINTS];
  double u[POINTS], gradient[3][POINTS]; /* u_h; d u_h / d (r, s, t) */
  double exact[POINTS], exact_gradient[3][POINTS];
} workspace;

static sp_status workspace_create(int order, workspace **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "error norms", out));
  workspace *w = *out;
  const double *gll = sp_reference_get(order)->gll.nodes;
  w->nq = order + 1;
  sp_rule_gl(order + 4, &w->rule);
  sp_interpolation_matrix(w->nq, gll, w->rule.n, w->rule.nodes, w->value);
  sp_derivative_matrix(w->nq, gll, w->rule.n, w->rule.nodes, w->derivative);
  return SP_OK;
}

/* Fill everything but gradients for one element. */
static sp_status load_element(const sp_problem *problem, const sp_space *space, const double *x,
                              sp_lid e, bool gradients, workspace *w) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order), points = sp_rule_points(&w->rule);
  for (size_t n = 0; n < nodes; n++) w->nodal[n] = x[numbering->nodes[(size_t)e * nodes + n]];
  sp_tensor_apply(w->rule.n, w->nq, w->value, w->value, w->value, w->nodal, w->u);
  sp_hexes_coordinates(mesh->hexes, e, w->rule.n, w->rule.nodes, w->xyz);
  sp_geometry_inverse(mesh->hexes, e, w->rule.n, w->rule.nodes, w->inverse, w->jacobian);
  const sp_expression *solution = sp_materials_of(&problem->materials, mesh->hexes, e)->solution;
  if (!solution) {
    for (size_t p = 0; p < points; p++) w->exact[p] = 0;
    return SP_OK;
  }
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  double *const gradient[3] = {w->exact_gradient[0], w->exact_gradient[1], w->exact_gradient[2]};
  return sp_problem_evaluate(solution, points, xyz, w->exact, gradients ? gradient : NULL, NULL);
}

static double weight_at(const workspace *w, size_t p) {
  const size_t n = (size_t)w->rule.n;
  return w->rule.weights[p % n] * w->rule.weights[p / n % n] * w->rule.weights[p / (n * n)] *
         w->jacobian[p];
}

static void accumulate(workspace *w, sp_error_norms *squares) {
  const int n = w->rule.n;
  const size_t points = sp_rule_points(&w->rule);
  const double *v = w->value, *d = w->derivative;
  sp_tensor_apply(n, w->nq, d, v, v, w->nodal, w->gradient[0]);
  sp_tensor_apply(n, w->nq, v, d, v, w->nodal, w->gradient[1]);
  sp_tensor_apply(n, w->nq, v, v, d, w->nodal, w->gradient[2]);
  for (size_t p = 0; p < points; p++) {
    const double weight = weight_at(w, p), error = w->u[p] - w->exact[p];
    double slope_squared = 0, exact_slope_squared = 0;
    for (size_t c = 0; c < 3; c++) {
      double slope = -w->exact_gradient[c][p];
      for (size_t a = 0; a < 3; a++)
        slope += w->inverse[(3 * a + c) * points + p] * w->gradient[a][p];
      slope_squared += slope * slope;
      exact_slope_squared += w->exact_gradient[c][p] * w->exact_gradient[c][p];
    }
    squares->l2 += weight * error * error;
    squares->h1 += weight * slope_squared;
    squares->solution_l2 += weight * w->exact[p] * w->exact[p];
    squares->solution_h1 += weight * exact_slope_squared;
    if (fabs(error) > squares->max) squares->max = fabs(error);
  }
}

sp_status sp_errors_compute(const sp_problem *problem, const sp_space *space, const double *x,
                            sp_error_norms *norms) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  workspace *w = NULL;
  sp_error_norms squares = {0};
  sp_status status = workspace_create(numbering->order, &w);
  for (sp_lid e = 0; e < mesh->hexes->count && !status; e++) {
    status = load_element(problem, space, x, e, true, w);
    if (!status) accumulate(w, &squares);
  }
  free(w);
  SP_TRY(sp_agree(mesh->comm, status));
  double sums[4] = {squares.l2, squares.h1, squares.solution_l2, squares.solution_h1};
  SP_TRY(sp_reduction_sum(space->platform->reduction, 4, sums, SP_OK));
  MPI_Allreduce(&squares.max, &norms->max, 1, MPI_DOUBLE, MPI_MAX, mesh->comm);
  norms->l2 = sqrt(sums[0]);
  norms->h1 = sqrt(sums[1]);
  norms->solution_l2 = sqrt(sums[2]);
  norms->solution_h1 = sqrt(sums[3]);
  return SP_OK;
}

sp_status sp_errors_integrate(const sp_problem *problem, const sp_space *space, const double *x,
                              double (*integrals)[2]) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  workspace *w = NULL;
  sp_status status = workspace_create(numbering->order, &w);
  for (sp_lid e = 0; e < mesh->hexes->count && !status; e++) {
    status = load_element(problem, space, x, e, false, w);
    const size_t points = status ? 0 : sp_rule_points(&w->rule);
    integrals[e][0] = integrals[e][1] = 0;
    for (size_t p = 0; p < points; p++) {
      integrals[e][0] += weight_at(w, p) * (w->u[p] - w->exact[p]);
      integrals[e][1] += weight_at(w, p);
    }
  }
  free(w);
  return status;
}
