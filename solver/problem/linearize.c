#include "solver/problem/linearize.h"

#include "io/threads.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/evaluate.h"

enum { POINTS = SP_MAX_M * SP_MAX_M * SP_MAX_M, NODES = SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ };

typedef struct workspace {
  double xyz[3 * POINTS], nodal[NODES], u[POINTS];
} workspace;

/* The array of one coefficient, at the points of the operator's rule. */
typedef struct sampling {
  const sp_problem *problem;
  const sp_mesh *mesh;
  const sp_rule *rule;
  sp_coefficient which;
  double *values; /* [elements][points] */
  double matrix[SP_MAX_M * SP_MAX_NQ];
} sampling;

/* w->u = the last u at the points xyz of an element, or where a sequence begins. */
static sp_status find_last(const sampling *s, sp_lid e, const double *xyz[3], workspace *w) {
  const sp_last *last = &s->problem->last;
  const size_t points = sp_rule_points(s->rule);
  if (!last->values && s->problem->begin)
    return sp_problem_evaluate(s->problem->begin, points, xyz, NULL, w->u, NULL, NULL);
  for (size_t p = 0; p < points && !last->values; p++) w->u[p] = 0;
  if (!last->values) return SP_OK;
  const sp_lid *dofs = sp_numbering_nodes(last->numbering, e);
  const int nq = last->numbering->order + 1;
  for (int n = 0; n < nq * nq * nq; n++) w->nodal[n] = last->values[dofs[n]];
  sp_tensor_apply(s->rule->n, nq, s->matrix, s->matrix, s->matrix, w->nodal, w->u);
  return SP_OK;
}

static sp_status sample_elements(void *sampling_, void *workspace_, size_t begin, size_t end) {
  const sampling *s = sampling_;
  workspace *w = workspace_;
  const size_t points = sp_rule_points(s->rule);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  for (size_t e = begin; e < end; e++) {
    const sp_material *m = sp_materials_of(&s->problem->materials, s->mesh->hexes, (sp_lid)e);
    const sp_expression *formula = m->of[s->which].formula;
    double *values = &s->values[e * points];
    if (m->is_contact) continue; /* it has no such array */
    for (size_t p = 0; p < points && !formula; p++) values[p] = m->of[s->which].value;
    if (!formula) continue;
    sp_hexes_coordinates(s->mesh->hexes, (sp_lid)e, s->rule->n, s->rule->nodes, w->xyz);
    if (formula->is_of_u) SP_TRY(find_last(s, (sp_lid)e, xyz, w));
    SP_TRY(sp_problem_evaluate_coefficient(formula, s->which == SP_LAMBDA, points, xyz,
                                           formula->is_of_u ? w->u : NULL, values, NULL));
  }
  return SP_OK;
}

static bool depends_on_u(const sp_problem *problem, sp_coefficient which) {
  for (int i = 0; i < problem->materials.count; i++)
    if (sp_coefficient_is_of_u(&problem->materials.list[i], which)) return true;
  return false;
}

/* Fill the problem's own array, and let it be the coefficient unless another one is given. */
static sp_status sample_coefficient(sp_coefficient which, sp_problem *problem, const sp_mesh *mesh,
                                    int order) {
  double **own = &problem->arrays_of_u[which];
  const double **array = &problem->arrays[which];
  sampling s = {.problem = problem, .mesh = mesh, .which = which};
  s.rule = sp_operator_rule(problem->kind, order);
  const size_t elements = (size_t)mesh->hexes->count, points = sp_rule_points(s.rule);
  if (!depends_on_u(problem, which) || (*array && *array != *own)) return SP_OK;
  if (!*own) SP_TRY(sp_allocate(elements * points, sizeof **own, "coefficients of u", own));
  *array = s.values = *own;
  sp_interpolation_matrix(order + 1, sp_reference_get(order)->gll.nodes, s.rule->n, s.rule->nodes,
                          s.matrix);
  return sp_loop_sum("coefficients of u", elements, points, &s, sizeof(workspace), sample_elements,
                     NULL);
}

sp_status sp_problem_linearize(sp_problem *problem, const sp_mesh *mesh, int order,
                               const sp_numbering *numbering, const double *u) {
  sp_status status = SP_OK;
  problem->last = (sp_last){u, numbering};
  for (sp_coefficient c = 0; c < SP_COEFFICIENTS && !status; c++)
    status = sample_coefficient(c, problem, mesh, order);
  return sp_agree(mesh->comm, status);
}
