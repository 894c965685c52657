#include "solver/problem/linearize.h"

#include <string.h>

#include "io/threads.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/evaluate.h"

enum { POINTS = SP_MAX_M * SP_MAX_M * SP_MAX_M };

typedef struct workspace {
  double xyz[3 * POINTS], nodal[POINTS], u[POINTS], derivative[3][POINTS];
} workspace;

/* The array of one coefficient, at the points of the operator's rule. */
typedef struct sampling {
  const sp_problem *problem;
  const sp_mesh *mesh;
  const sp_rule *rule;
  sp_coefficient which;
  double *values;  /* [elements][points] */
  double *slope;   /* likewise, of lambda if a forcing depends on u; else NULL */
  bool *is_picard; /* the problem's */
} sampling;

void sp_last_interpolate(const sp_last *last, const sp_rule *rule, sp_lid e, double *work,
                         double *u) {
  double matrix[SP_MAX_M * SP_MAX_NQ];
  memset(u, 0, sp_rule_points(rule) * sizeof *u);
  if (!last->values) return;
  const int nq = last->numbering->order + 1;
  sp_interpolation_matrix(nq, sp_reference_get(nq - 1)->gll.nodes, rule->n, rule->nodes, matrix);
  sp_numbering_gather(last->numbering, e, last->values, work);
  sp_tensor_apply(rule->n, nq, matrix, matrix, matrix, work, u);
}

/* Find s, and add it to values of lambda. */
static sp_status find_slope(const sampling *s, size_t e, const double *xyz[3], workspace *w) {
  const sp_material *m = sp_materials_of(&s->problem->materials, s->mesh->hexes, (sp_lid)e);
  const size_t points = sp_rule_points(s->rule);
  double *lambda = &s->values[e * points], *slope = &s->slope[e * points];
  double *const derivative[3] = {w->derivative[0], w->derivative[1], w->derivative[2]};
  SP_TRY(sp_problem_evaluate(m->reaction, points, xyz, w->u, w->nodal, derivative, NULL));
  SP_TRY(sp_problem_capacity(s->problem, s->mesh->hexes, (sp_lid)e, points, xyz, w->nodal));
  for (size_t p = 0; p < points; p++) {
    const bool is_newton = lambda[p] + m->shift * w->nodal[p] - derivative[0][p] > 0;
    slope[p] = is_newton ? -derivative[0][p] : 0;
    lambda[p] += slope[p];
    if (!is_newton && derivative[0][p] != 0) __atomic_store_n(s->is_picard, true, __ATOMIC_RELAXED);
  }
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
    const bool reacts = s->slope && m->reaction;
    if (!formula && !reacts) continue;
    sp_hexes_coordinates(s->mesh->hexes, (sp_lid)e, s->rule->n, s->rule->nodes, w->xyz);
    sp_last_interpolate(&s->problem->last, s->rule, (sp_lid)e, w->nodal, w->u);
    if (formula)
      SP_TRY(sp_problem_evaluate_coefficient(formula, s->which == SP_LAMBDA, points, xyz,
                                             formula->is_of_u ? w->u : NULL, values, NULL));
    if (reacts) SP_TRY(find_slope(s, e, xyz, w));
  }
  return SP_OK;
}

static bool depends_on_u(const sp_problem *problem, sp_coefficient which) {
  for (int i = 0; i < problem->materials.count; i++)
    if (sp_coefficient_is_of_u(&problem->materials.list[i], which)) return true;
  return false;
}

/* Fill the problem's own array, which becomes the coefficient unless another one is given. */
static sp_status sample_coefficient(sp_coefficient which, sp_problem *problem, const sp_mesh *mesh,
                                    int order) {
  double **own = &problem->arrays_of_u[which];
  const double **array = &problem->arrays[which];
  const bool is_given = *array && *array != *own, of_u = depends_on_u(problem, which);
  const bool reacts = which == SP_LAMBDA && problem->materials.have_reaction;
  sampling s = {.problem = problem, .mesh = mesh, .which = which, .is_picard = &problem->is_picard};
  s.rule = sp_operator_rule(problem->kind, order);
  const size_t elements = (size_t)mesh->hexes->count, points = sp_rule_points(s.rule);
  problem->is_picard = problem->is_picard || of_u || (reacts && is_given);
  if ((!of_u && !reacts) || is_given) return SP_OK;
  if (!*own) SP_TRY(sp_allocate(elements * points, sizeof **own, "coefficients of u", own));
  if (!problem->slope_of_u && reacts)
    SP_TRY(sp_allocate(elements * points, sizeof **own, "coefficients of u", &problem->slope_of_u));
  *array = s.values = *own;
  s.slope = reacts ? problem->slope_of_u : NULL;
  return sp_loop_sum("coefficients of u", elements, points, &s, sizeof(workspace), sample_elements,
                     NULL);
}

sp_status sp_problem_linearize(sp_problem *problem, const sp_mesh *mesh, int order,
                               const sp_numbering *numbering, const double *u) {
  /* The slope s of lambda depends on the capacity. */
  static const sp_coefficient sequence[SP_COEFFICIENTS] = {SP_KAPPA, SP_CAPACITY, SP_LAMBDA};
  sp_status status = SP_OK;
  problem->last = (sp_last){u, numbering};
  problem->is_picard = false;
  for (int c = 0; c < SP_COEFFICIENTS && !status; c++)
    status = sample_coefficient(sequence[c], problem, mesh, order);
  SP_TRY(sp_agree(mesh->comm, status));
  MPI_Allreduce(MPI_IN_PLACE, &problem->is_picard, 1, MPI_C_BOOL, MPI_LOR, mesh->comm);
  return SP_OK;
}
