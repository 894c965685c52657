#include "solver/results/errors.h"

#include <math.h>

#include "io/clones.h"
#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"

/* Squares of norms, and the largest error that is not NaN. */
enum { L2, H1, SOLUTION_L2, SOLUTION_H1, NORMS };
typedef struct squares {
  double of[NORMS], max;
} squares;

/* Data shared by all elements. */
typedef struct norms {
  const sp_problem *problem;
  const sp_space *space;
  const double *x; /* NULL: the interpolated solution */
  sp_rule rule;    /* finer than the operator's */
  int nq;
  double value[SP_MAX_RULE * SP_MAX_NQ], derivative[SP_MAX_RULE * SP_MAX_NQ]; /* at its points */
  double weight[SP_MAX_RULE_POINTS]; /* of the tensor rule, without the Jacobian */
  squares sums;
  double (*integrals)[2];
} norms;

/* The fields of one element, and the sums over a chunk of elements. */
typedef struct workspace {
  squares sums;
  double nodal[SP_MAX_NODES];
  double xyz[3 * SP_MAX_RULE_POINTS], inverse[9 * SP_MAX_RULE_POINTS], measure[SP_MAX_RULE_POINTS];
  double u[SP_MAX_RULE_POINTS], gradient[3][SP_MAX_RULE_POINTS]; /* u_h; d u_h / d (r, s, t) */
  double exact[SP_MAX_RULE_POINTS], exact_gradient[3][SP_MAX_RULE_POINTS];
  double tensor[];
} workspace;

static sp_status norms_create(const sp_problem *problem, const sp_space *space, const double *x,
                              norms **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "error norms", out));
  norms *s = *out;
  s->problem = problem;
  s->space = space;
  s->x = x;
  const int order = space->numbering->order;
  const double *gll = sp_reference_get(order)->gll.nodes;
  s->nq = order + 1;
  sp_rule_gl(order + 4, &s->rule);
  const int n = s->rule.n;
  sp_interpolation_matrix(s->nq, gll, n, s->rule.nodes, s->value);
  sp_derivative_matrix(s->nq, gll, n, s->rule.nodes, s->derivative);
  for (int p = 0; p < n * n * n; p++)
    s->weight[p] =
        s->rule.weights[p % n] * s->rule.weights[p / n % n] * s->rule.weights[p / (n * n)];
  return SP_OK;
}

/* w->nodal = the solution at the nodes of an element. */
static sp_status evaluate_nodes(const norms *s, sp_lid e, const sp_expression *solution,
                                workspace *w) {
  const size_t nodes = (size_t)(s->nq * s->nq * s->nq);
  const double *xyz[3] = {w->xyz, w->xyz + nodes, w->xyz + 2 * nodes};
  sp_hexes_coordinates(s->space->mesh->hexes, e, s->nq, sp_reference_get(s->nq - 1)->gll.nodes,
                       w->xyz);
  return sp_problem_evaluate(solution, nodes, xyz, NULL, w->nodal, NULL, NULL);
}

/* Fill the workspace for one element; measure[p] = weight times |J|. Without `gradients`, the
 * gradients may be left unset. */
static sp_status load_element(const norms *s, sp_lid e, bool gradients, workspace *w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t points = sp_rule_points(&s->rule);
  const sp_expression *solution = sp_materials_of(&s->problem->materials, hexes, e)->solution;
  if (s->x)
    sp_numbering_gather(s->space->numbering, e, s->x, w->nodal);
  else
    SP_TRY(evaluate_nodes(s, e, solution, w));
  if (gradients)
    sp_tensor_gradient(s->rule.n, s->nq, s->value, s->derivative, w->nodal, w->tensor,
                       (double *const[]){w->u, w->gradient[0], w->gradient[1], w->gradient[2]});
  else
    sp_tensor_apply(s->rule.n, s->nq, s->value, s->value, s->value, w->nodal, w->u);
  sp_geometry_inverse(hexes, e, s->rule.n, s->rule.nodes, w->xyz, w->inverse, w->measure);
  for (size_t p = 0; p < points; p++) w->measure[p] *= s->weight[p];
  if (!solution) {
    for (size_t p = 0; p < points; p++) w->exact[p] = 0;
    return SP_OK;
  }
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  double *const gradient[3] = {w->exact_gradient[0], w->exact_gradient[1], w->exact_gradient[2]};
  return sp_problem_evaluate(solution, points, xyz, NULL, w->exact, gradients ? gradient : NULL,
                             NULL);
}

/* Number of partial sums. The order of summation depends only on the number of points, and fills
 * SIMD vectors. */
enum { PARTS = 8 };
typedef struct parts {
  double of[NORMS][PARTS], max[PARTS];
} parts;

/* Add points first .. first + count - 1; count <= PARTS. */
SP_INLINE void add_points(const workspace *w, size_t n, size_t first, size_t count,
                          parts *restrict sums) {
  const double *restrict inverse = &w->inverse[first];
  const double *restrict r = &w->gradient[0][first], *restrict s = &w->gradient[1][first],
                         *restrict t = &w->gradient[2][first];
  const double *restrict slope_0 = &w->exact_gradient[0][first],
                         *restrict slope_1 = &w->exact_gradient[1][first],
                         *restrict slope_2 = &w->exact_gradient[2][first];
  for (size_t k = 0; k < count; k++) {
    const double measure = w->measure[first + k], exact = w->exact[first + k];
    const double error = w->u[first + k] - exact, size = fabs(error);
    const double e_0 =
        slope_0[k] - r[k] * inverse[k] - s[k] * inverse[3 * n + k] - t[k] * inverse[6 * n + k];
    const double e_1 =
        slope_1[k] - r[k] * inverse[n + k] - s[k] * inverse[4 * n + k] - t[k] * inverse[7 * n + k];
    const double e_2 = slope_2[k] - r[k] * inverse[2 * n + k] - s[k] * inverse[5 * n + k] -
                       t[k] * inverse[8 * n + k];
    sums->of[L2][k] += measure * error * error;
    sums->of[H1][k] += measure * (e_0 * e_0 + e_1 * e_1 + e_2 * e_2);
    sums->of[SOLUTION_L2][k] += measure * exact * exact;
    sums->of[SOLUTION_H1][k] +=
        measure * (slope_0[k] * slope_0[k] + slope_1[k] * slope_1[k] + slope_2[k] * slope_2[k]);
    sums->max[k] = size > sums->max[k] ? size : sums->max[k];
  }
}

SP_INLINE double sum_of(const double part[PARTS]) {
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* A NaN shows in the sums; `max` ignores it. */
SP_CLONES static void add_squares(const norms *s, workspace *w) {
  const size_t n = sp_rule_points(&s->rule);
  parts sums = {0};
  size_t p = 0;
  for (; p + PARTS <= n; p += PARTS) add_points(w, n, p, PARTS, &sums);
  add_points(w, n, p, n - p, &sums);
  for (int i = 0; i < NORMS; i++) w->sums.of[i] += sum_of(sums.of[i]);
  for (int k = 0; k < PARTS; k++) w->sums.max = fmax(w->sums.max, sums.max[k]);
}

static sp_status square_elements(void *context, void *workspace_, size_t begin, size_t end) {
  const norms *s = context;
  workspace *w = workspace_;
  w->sums = (squares){0};
  for (size_t e = begin; e < end; e++) {
    if (sp_hexes_is_contact(s->space->mesh->hexes, (sp_lid)e)) continue;
    SP_TRY(load_element(s, (sp_lid)e, true, w));
    add_squares(s, w);
  }
  return SP_OK;
}

static void add_squared(void *context, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  norms *s = context;
  const workspace *w = workspace_;
  for (int i = 0; i < NORMS; i++) s->sums.of[i] += w->sums.of[i];
  s->sums.max = fmax(s->sums.max, w->sums.max);
}

static sp_status integrate_chunk(void *context, void *workspace_, size_t begin, size_t end) {
  const norms *s = context;
  workspace *w = workspace_;
  const size_t points = sp_rule_points(&s->rule);
  for (size_t e = begin; e < end; e++) {
    SP_TRY(load_element(s, (sp_lid)e, false, w));
    double *integrals = s->integrals[e];
    integrals[0] = integrals[1] = 0;
    for (size_t p = 0; p < points; p++) {
      integrals[0] += w->measure[p] * (w->u[p] - w->exact[p]);
      integrals[1] += w->measure[p];
    }
  }
  return SP_OK;
}

static sp_status visit_elements(norms *s, sp_loop_compute *compute, sp_loop_commit *commit) {
  const size_t tensor = sp_tensor_gradient_work(s->rule.n, s->nq);
  return sp_loop_sum("error norms", (size_t)s->space->mesh->hexes->count, sp_rule_points(&s->rule),
                     s, sizeof(workspace) + tensor * sizeof(double), compute, commit);
}

sp_status sp_errors_compute(const sp_problem *problem, const sp_space *space, const double *x,
                            sp_error_norms *out) {
  SP_OWNED norms *s = NULL;
  sp_status status = norms_create(problem, space, x, &s);
  if (!status) status = visit_elements(s, square_elements, add_squared);
  SP_TRY(sp_agree(space->mesh->comm, status));
  squares all = s->sums;
  SP_TRY(sp_reduction_sum(space->platform->reduction, NORMS, all.of, SP_OK));
  MPI_Allreduce(MPI_IN_PLACE, &all.max, 1, MPI_DOUBLE, MPI_MAX, space->mesh->comm);
  *out = (sp_error_norms){.l2 = sqrt(all.of[L2]),
                          .h1 = sqrt(all.of[H1]),
                          .max = isnan(all.of[L2]) ? NAN : all.max,
                          .solution_l2 = sqrt(all.of[SOLUTION_L2]),
                          .solution_h1 = sqrt(all.of[SOLUTION_H1])};
  return SP_OK;
}

/* For every local element: integrals[e][0] = integral of u_h - u (u = 0 if the problem has no
 * solution), integrals[e][1] = integral of 1, at the points of the norms. Local. */
static sp_status integrate_elements(const sp_problem *problem, const sp_space *space,
                                    const double *x, double (*integrals)[2]) {
  SP_OWNED norms *s = NULL;
  SP_TRY(norms_create(problem, space, x, &s));
  s->integrals = integrals;
  return visit_elements(s, integrate_chunk, NULL);
}

sp_status sp_null_space_match_means(const sp_null_space *null_space, const sp_problem *problem,
                                    const sp_space *space, double *x) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order), elements = (size_t)mesh->hexes->count;
  /* Integrals of u_h - u and of 1, by component and by element. */
  SP_OWNED double(*sums)[2] = NULL, (*integrals)[2] = NULL;
  sp_status status = SP_ALLOCATE("component means", SP_ARRAY(sums, null_space->components),
                                 SP_ARRAY(integrals, elements));
  if (!status) status = integrate_elements(problem, space, x, integrals);
  SP_TRY(sp_agree(mesh->comm, status));
  for (size_t e = 0; e < elements; e++) {
    const int component = null_space->of_dof[numbering->nodes[e * nodes]];
    for (int i = 0; i < 2 && component >= 0; i++) sums[component][i] += integrals[e][i];
  }
  SP_TRY(sp_reduction_sum(space->platform->reduction, 2 * null_space->components, sums[0], SP_OK));
  for (sp_lid i = 0; i < numbering->local; i++) {
    if (null_space->of_dof[i] < 0) continue;
    const double *sum = sums[null_space->of_dof[i]];
    x[i] -= sum[0] / sum[1];
  }
  return SP_OK;
}
