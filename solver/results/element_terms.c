#include "solver/results/element_terms.h"

#include <string.h>

#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "solver/problem/coefficients.h"

sp_element_terms sp_element_terms_of(const sp_problem *problem, const sp_space *space,
                                     const double *x, const double *rest) {
  const int order = space->numbering->order;
  const double *gll = sp_reference_get(order)->gll.nodes;
  sp_element_terms t = {.problem = problem, .space = space, .x = x, .rest = rest};
  t.rule = sp_operator_rule(problem->kind, order);
  sp_interpolation_matrix(order + 1, gll, t.rule->n, t.rule->nodes, t.value);
  sp_derivative_matrix(order + 1, gll, t.rule->n, t.rule->nodes, t.derivative);
  return t;
}

void sp_element_gather(const sp_element_terms *s, sp_lid e, sp_element_arrays *w) {
  const sp_lid *dofs = sp_numbering_nodes(s->space->numbering, e);
  const size_t nodes = sp_element_nodes(s->space->numbering->order);
  w->start = s->x[dofs[0]];
  w->has_slopes = false;
  w->flow_direction = -1;
  for (size_t n = 0; n < nodes; n++) {
    w->nodal[n] = s->x[dofs[n]] - w->start;
    if (s->rest) w->nodal[n] += s->rest[dofs[n]];
  }
}

/* w->at, w->slopes = u - start and its derivatives at the operator's points, after `gather`. */
static void find_slopes(const sp_element_terms *t, sp_element_arrays *w) {
  if (!w->has_slopes)
    sp_tensor_gradient(t->rule->n, t->space->numbering->order + 1, t->value, t->derivative,
                       w->nodal, w->tensor,
                       (double *const[]){w->at, w->slopes[0], w->slopes[1], w->slopes[2]});
  w->has_slopes = true;
}

sp_status sp_element_flow(const sp_element_terms *t, sp_lid e, int d, sp_element_arrays *w) {
  const sp_hexes *hexes = t->space->mesh->hexes;
  const sp_reference *reference = sp_reference_get(t->space->numbering->order);
  const sp_rule *rule = t->rule;
  const int nq = reference->order + 1, n = rule->n;
  const size_t points = sp_rule_points(rule);
  if (w->flow_direction == d) return SP_OK;
  find_slopes(t, w);
  if (w->flow_direction < 0)
    sp_geometry_inverse(hexes, e, n, rule->nodes, w->xyz, w->inverse, w->jacobian);
  w->flow_direction = d;
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  double *const along[3] = {w->along, w->along + points, w->along + 2 * points};
  memcpy(w->along, &w->inverse[3 * (size_t)d * points], 3 * points * sizeof(double));
  SP_TRY(sp_problem_conduct(t->problem, hexes, e, points, xyz, w->kappa, along));
  const bool collocated = sp_operator_rows[t->problem->kind].collocated;
  double *flow = collocated ? w->flow : w->wj;
  for (size_t p = 0; p < points; p++) {
    flow[p] = 0;
    for (size_t a = 0; a < 3; a++) {
      double part = 0;
      for (size_t c = 0; c < 3; c++) part += w->inverse[(3 * a + c) * points + p] * along[c][p];
      flow[p] += w->jacobian[p] * w->kappa[p] * part * w->slopes[a][p];
    }
  }
  if (collocated) return SP_OK;
  double back[SP_MAX_NQ * SP_MAX_M];
  sp_interpolation_matrix(n, rule->nodes, nq, reference->gll.nodes, back);
  sp_tensor_apply(nq, n, back, back, back, flow, w->flow);
  return SP_OK;
}

/* Fill w->factors and w->kappa, whose product are the operator's factors. */
static sp_status fill_factors(const sp_problem *problem, const sp_hexes *hexes, sp_lid e,
                              const sp_rule *rule, sp_element_arrays *w) {
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  const size_t points = sp_rule_points(rule);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  const sp_geometry_tensor k = {.values = w->kappa, .component = (ptrdiff_t)points, .point = 1};
  if (!material->tensor || problem->arrays[SP_KAPPA]) {
    SP_TRY(sp_geometry_factors(hexes, e, rule, w->factors));
    if (material->is_contact) sp_operator_make_contact(hexes, points, w->factors);
    return sp_problem_conduct(problem, hexes, e, points, xyz, w->kappa, NULL);
  }
  SP_TRY(sp_material_tensor(material, points, xyz, w->kappa));
  SP_TRY(sp_geometry_tensor_factors(hexes, e, rule, &k, w->factors));
  for (size_t p = 0; p < points; p++) w->kappa[p] = 1;
  return SP_OK;
}

/* w->at -= capacity times the history of du/dt (problem.h). */
static sp_status subtract_history(const sp_element_terms *t, sp_lid e, sp_element_arrays *w) {
  const size_t points = sp_rule_points(t->rule);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  const int nq = t->space->numbering->order + 1;
  sp_numbering_gather(t->space->numbering, e, t->problem->history, w->part);
  sp_tensor_apply(t->rule->n, nq, t->value, t->value, t->value, w->part, w->flow);
  SP_TRY(sp_problem_capacity(t->problem, t->space->mesh->hexes, e, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) w->at[p] -= w->flow[p] * w->lambda[p] * w->wj[p];
  return SP_OK;
}

/* At the points of an element: w->slopes = the flux that is tested with grad v, w->at = lambda
 * u + capacity du/dt, which is tested with v. */
static sp_status evaluate_element(const sp_element_terms *t, sp_lid e, sp_element_arrays *w) {
  static const int at[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  const sp_hexes *hexes = t->space->mesh->hexes;
  const sp_rule *rule = t->rule;
  const size_t points = sp_rule_points(rule);
  const sp_material *material = sp_materials_of(&t->problem->materials, hexes, e);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  find_slopes(t, w);
  SP_TRY(sp_geometry_volume(hexes, e, rule, w->xyz, w->wj));
  SP_TRY(fill_factors(t->problem, hexes, e, rule, w));
  SP_TRY(sp_problem_shifted(t->problem, hexes, e, material->shift, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) {
    const double u[3] = {w->slopes[0][p], w->slopes[1][p], w->slopes[2][p]};
    for (int a = 0; a < 3; a++) {
      w->slopes[a][p] = 0;
      for (int b = 0; b < 3; b++)
        w->slopes[a][p] += w->kappa[p] * w->factors[(size_t)at[a][b] * points + p] * u[b];
    }
    w->at[p] = (w->start + w->at[p]) * w->lambda[p] * w->wj[p];
  }
  return t->problem->history && material->shift > 0 ? subtract_history(t, e, w) : SP_OK;
}

sp_status sp_element_apply(const sp_element_terms *t, sp_lid e, sp_element_arrays *w, double *sum) {
  const int nq = t->space->numbering->order + 1;
  SP_TRY(evaluate_element(t, e, w));
  for (int a = -1; a < 3; a++) {
    const double *matrices[3] = {t->value, t->value, t->value};
    if (a >= 0) matrices[a] = t->derivative;
    sp_tensor_apply_transposed(t->rule->n, nq, matrices[0], matrices[1], matrices[2],
                               a < 0 ? w->at : w->slopes[a], w->part);
    for (size_t n = 0; n < sp_grid_points(nq); n++) sum[n] += w->part[n];
  }
  return SP_OK;
}
