#include "solver/problem/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/robin.h"

typedef sp_face_workspace workspace;

sp_status sp_balance_create(const sp_mesh *mesh, sp_balance *balance) {
  *balance = (sp_balance){.surfaces = mesh->hexes->surface.count + 1};
  balance->terms = balance->surfaces + mesh->hexes->volume.count;
  return SP_ALLOCATE("balance", SP_ARRAY(balance->sums.given, balance->surfaces),
                     SP_ARRAY(balance->sums.variation, mesh->hexes->count),
                     SP_ARRAY(balance->flux, balance->terms));
}

void sp_balance_free(sp_balance *balance) {
  SP_FREE(balance->sums.given, balance->sums.variation, balance->flux, balance->dirichlet_dofs,
          balance->dirichlet_load);
  *balance = (sp_balance){0};
}

/* Find the first constrained DOF in [begin, end); `end` if there is none. */
static size_t next_of(const bool *constrained, size_t begin, size_t end) {
  const bool *found = memchr(constrained + begin, true, end - begin);
  return found ? (size_t)(found - constrained) : end;
}

sp_status sp_balance_keep(sp_balance *balance, const sp_space *space, const bool *constrained,
                          const double *load) {
  const size_t local = (size_t)space->numbering->local;
  for (size_t i = next_of(constrained, 0, local); i < local; i = next_of(constrained, i + 1, local))
    balance->dirichlet_count++;
  const size_t count = (size_t)balance->dirichlet_count;
  SP_TRY(sp_allocate(count, sizeof(sp_lid), "balance", &balance->dirichlet_dofs));
  SP_TRY(sp_allocate(count, sizeof(double), "balance", &balance->dirichlet_load));
  size_t i = next_of(constrained, 0, local);
  for (size_t n = 0; n < count; n++, i = next_of(constrained, i + 1, local)) {
    balance->dirichlet_dofs[n] = (sp_lid)i;
    balance->dirichlet_load[n] = load[i];
  }
  return SP_OK;
}

static bool is_zero(const sp_material *material) {
  return !material->lambda_formula && material->lambda == 0;
}

/* u of an element at the operator's quadrature points. */
static const double *find_points(const sp_problem *problem, const sp_space *space, sp_lid e,
                                 const double *x, workspace *w) {
  const int order = space->numbering->order;
  const double *matrix = sp_reference_get(order)->interpolation;
  sp_numbering_gather(space->numbering, e, x, w->nodal);
  if (sp_operator_rows[problem->kind].collocated) return w->nodal;
  sp_tensor_apply(sp_operator_rule(problem->kind, order)->n, order + 1, matrix, matrix, matrix,
                  w->nodal, w->u);
  return w->u;
}

/* The integral of lambda u over an element, with the operator's quadrature. */
static sp_status integrate_absorbed(const sp_problem *problem, const sp_space *space, sp_lid e,
                                    const double *x, workspace *w, double *sum) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(problem->kind, space->numbering->order);
  const size_t points = sp_rule_points(rule);
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  if (is_zero(material)) return SP_OK;
  const double *u = find_points(problem, space, e, x, w);
  SP_TRY(sp_geometry_volume(hexes, e, rule, w->coordinates, w->wj));
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  SP_TRY(sp_material_lambda(material, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) *sum += w->wj[p] * w->lambda[p] * u[p];
  return SP_OK;
}

/* Data shared by all elements, and their sum. */
typedef struct absorption {
  const sp_problem *problem;
  const sp_space *space;
  const double *x;
  double sum;
} absorption;

/* A workspace, and the sum over a chunk of elements. */
typedef struct absorption_workspace {
  workspace w;
  double sum;
} absorption_workspace;

static sp_status absorb(void *context, void *workspace_, size_t begin, size_t end) {
  const absorption *a = context;
  absorption_workspace *w = workspace_;
  w->sum = 0;
  for (size_t e = begin; e < end; e++)
    SP_TRY(integrate_absorbed(a->problem, a->space, (sp_lid)e, a->x, &w->w, &w->sum));
  return SP_OK;
}

static void add_absorbed(void *context, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  const absorption_workspace *w = workspace_;
  ((absorption *)context)->sum += w->sum;
}

/* The integral of lambda u over this rank's elements. */
static sp_status find_absorbed(const sp_problem *problem, const sp_space *space, const double *x,
                               double *out) {
  absorption a = {problem, space, x, 0};
  const size_t count = (size_t)space->mesh->hexes->count;
  const size_t nodes = sp_element_nodes(space->numbering->order);
  const sp_status status =
      sp_loop_sum("balance", count, nodes, &a, sizeof(absorption_workspace), absorb, add_absorbed);
  *out = a.sum;
  return status;
}

static double *flux_of(sp_balance *balance, const sp_hexes *hexes, sp_lid e, int f) {
  if (f == SP_FACES) return &balance->flux[balance->surfaces + hexes->volumes[e]];
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return &balance->flux[surface >= 0 ? surface : balance->surfaces - 1];
}

/* Indices, normals and quadrature weights (in w->values) at the nodes of a face. */
static void weigh_face(const sp_space *space, sp_lid e, int f, workspace *w) {
  const int order = space->numbering->order, n = (order + 1) * (order + 1);
  sp_face_nodes(order, f, w->indices);
  sp_geometry_face(space->mesh->hexes, e, f, &sp_reference_get(order)->gll, w->xyz, w->normal);
  for (int q = 0; q < n; q++) w->values[q] = sp_geometry_area(w->normal, n, q);
}

/* w->flow = |J| kappa grad u . grad r_d at the nodes of an element. It is computed at the
 * operator's quadrature points and interpolated: if kappa jumps between elements, nodes have values
 * of both. */
static sp_status find_flow(const sp_problem *problem, const sp_space *space, sp_lid e, int d,
                           const double *x, workspace *w) {
  const sp_hexes *hexes = space->mesh->hexes;
  const sp_reference *reference = sp_reference_get(space->numbering->order);
  const sp_rule *rule = sp_operator_rule(problem->kind, reference->order);
  const bool collocated = sp_operator_rows[problem->kind].collocated;
  const int nq = reference->order + 1, n = rule->n;
  const size_t points = sp_rule_points(rule);
  const double *derivative =
      collocated ? reference->differentiation : reference->gl_differentiation;
  const double *u = find_points(problem, space, e, x, w);
  sp_geometry_inverse(hexes, e, n, rule->nodes, w->coordinates, w->inverse, w->jacobian);
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  double *const along[3] = {w->along, w->along + points, w->along + 2 * points};
  memcpy(w->along, &w->inverse[3 * (size_t)d * points], 3 * points * sizeof(double));
  SP_TRY(sp_material_conduct(sp_materials_of(&problem->materials, hexes, e), points, xyz, w->kappa,
                             1, along));
  double *flow = collocated ? w->flow : w->wj;
  for (size_t p = 0; p < points; p++) {
    flow[p] = 0;
    for (size_t a = 0; a < 3; a++) {
      double part = 0;
      for (size_t c = 0; c < 3; c++) part += w->inverse[(3 * a + c) * points + p] * along[c][p];
      flow[p] += w->jacobian[p] * w->kappa[p] * part * sp_tensor_slope(n, derivative, u, p, (int)a);
    }
  }
  if (collocated) return SP_OK;
  double back[SP_MAX_NQ * SP_MAX_M];
  sp_interpolation_matrix(n, rule->nodes, nq, reference->gll.nodes, back);
  sp_tensor_apply(nq, n, back, back, back, flow, w->flow);
  return SP_OK;
}

sp_status sp_face_direct(const sp_problem *problem, const sp_space *space, sp_lid e, int f,
                         const double *x, sp_face_workspace *w, double *weights, double *direct,
                         double *flux) {
  const sp_rule *gll = &sp_reference_get(space->numbering->order)->gll;
  const int n = gll->n;
  const double inwards = f % 2 ? -1 : 1;
  weigh_face(space, e, f, w);
  for (int q = 0; q < n * n; q++) weights[q] = direct[q] = 0;
  if (sp_hexes_is_contact(space->mesh->hexes, e)) return SP_OK;
  SP_TRY(find_flow(problem, space, e, f / 2, x, w));
  for (int q = 0; q < n * n; q++) {
    weights[q] = w->values[q];
    direct[q] = inwards * gll->weights[q % n] * gll->weights[q / n] * w->flow[w->indices[q]];
    *flux += direct[q];
  }
  return SP_OK;
}

/* ---- All faces, on threads ---- */

/* Data shared by all faces. */
typedef struct faces {
  sp_balance *balance;
  const sp_problem *problem;
  const sp_space *space;
  const double *x;
  double *weights, *direct; /* [local DOFs], set at Dirichlet DOFs */
  const double *
      correction; /* [local DOFs], (r_i - D_i) / W_i at Dirichlet DOFs, r_i inside fixed elements */
} faces;

/* The arrays of one element, and the results of a chunk of faces. */
typedef struct faces_workspace {
  workspace w;
  double results[]; /* [faces][results_of_face] */
} faces_workspace;

/* Count the results of a face: a flux, weights and derivatives. */
static size_t results_of_face(const faces *s) {
  const size_t nq = (size_t)s->space->numbering->order + 1;
  return 1 + 2 * nq * nq;
}

static sp_status compute_faces(void *faces_, void *workspace_, size_t begin, size_t end) {
  const faces *s = faces_;
  faces_workspace *w = workspace_;
  const size_t size = results_of_face(s), n = size / 2;
  double *result = w->results;
  for (size_t k = begin; k < end; k++, result += size) {
    const sp_outer_face *face = &s->problem->faces[k];
    const sp_lid e = face->element;
    const int f = face->face;
    memset(result, 0, size * sizeof *result);
    if (sp_outer_face_has(face, SP_ROBIN))
      SP_TRY(sp_robin_flux(face->part, s->space, e, f, s->x, result));
    if (sp_outer_face_has(face, SP_DIRICHLET))
      SP_TRY(sp_face_direct(s->problem, s->space, e, f, s->x, &w->w, result + 1, result + 1 + n,
                            result));
    if (!face->is_fixed || f == SP_FACES) continue;
    weigh_face(s->space, e, f, &w->w);
    for (size_t q = 0; q < n; q++) result[1 + q] += w->w.values[q];
  }
  return SP_OK;
}

static void add_faces(void *faces_, void *workspace_, size_t begin, size_t end) {
  const faces *s = faces_;
  const faces_workspace *w = workspace_;
  const sp_boundary_part *last = &s->problem->parts[s->problem->part_count - 1];
  const size_t size = results_of_face(s), n = size / 2;
  const double *result = w->results;
  int indices[SP_FACE_NODES];
  for (size_t k = begin; k < end; k++, result += size) {
    const sp_outer_face *face = &s->problem->faces[k];
    if (face->face == SP_FACES) continue;
    if (face->part == last) s->balance->has_default = true;
    if (face->part)
      *flux_of(s->balance, s->space->mesh->hexes, face->element, face->face) += result[0];
    if (!face->is_fixed && !sp_outer_face_has(face, SP_DIRICHLET)) continue;
    sp_face_nodes(s->space->numbering->order, face->face, indices);
    for (size_t q = 0; q < n; q++) {
      const sp_lid dof = sp_numbering_nodes(s->space->numbering, face->element)[indices[q]];
      s->weights[dof] += result[1 + q];
      s->direct[dof] += result[1 + n + q];
    }
  }
}

/* The sum of r_i inside an element. */
static double sum_inside(const faces *s, sp_lid e) {
  const int nq = s->space->numbering->order + 1;
  double sum = 0;
  for (int k = 1; k < nq - 1; k++)
    for (int j = 1; j < nq - 1; j++)
      for (int i = 1; i < nq - 1; i++)
        sum += s->correction[sp_numbering_nodes(s->space->numbering, e)[(k * nq + j) * nq + i]];
  return sum;
}

/* The part of r_i - D_i that a face takes. */
static double sum_on_face(const faces *s, sp_lid e, int f, workspace *w) {
  const int nq = s->space->numbering->order + 1;
  double sum = 0;
  weigh_face(s->space, e, f, w);
  for (int q = 0; q < nq * nq; q++)
    sum += w->values[q] * s->correction[sp_numbering_nodes(s->space->numbering, e)[w->indices[q]]];
  return sum;
}

static sp_status correct_faces(void *faces_, void *workspace_, size_t begin, size_t end) {
  const faces *s = faces_;
  faces_workspace *w = workspace_;
  for (size_t k = begin; k < end; k++) {
    const sp_outer_face *face = &s->problem->faces[k];
    const sp_lid e = face->element;
    double *result = &w->results[k - begin];
    *result = face->face == SP_FACES ? sum_inside(s, e) : 0;
    for (int f = 0; f < SP_FACES && face->face == SP_FACES; f++)
      *result += sum_on_face(s, e, f, &w->w);
    if (sp_outer_face_has(face, SP_DIRICHLET)) *result = sum_on_face(s, e, face->face, &w->w);
  }
  return SP_OK;
}

static void add_corrections(void *faces_, void *workspace_, size_t begin, size_t end) {
  const faces *s = faces_;
  const faces_workspace *w = workspace_;
  for (size_t k = begin; k < end; k++) {
    const sp_outer_face *face = &s->problem->faces[k];
    if (face->part)
      *flux_of(s->balance, s->space->mesh->hexes, face->element, face->face) +=
          w->results[k - begin];
  }
}

static sp_status visit_faces(faces *s, sp_loop_compute *compute, sp_loop_commit *commit) {
  const size_t count = (size_t)s->problem->face_count;
  const size_t chunk = sp_loop_chunk(count, sp_element_nodes(s->space->numbering->order));
  const size_t results = chunk * results_of_face(s);
  return sp_loop_run(
      &(sp_loop){.what = "balance",
                 .count = count,
                 .chunk = chunk,
                 .workspace_bytes = sizeof(faces_workspace) + results * sizeof(double),
                 .context = s,
                 .compute = compute,
                 .commit = commit});
}

/* The absolute values of Neumann fluxes, surface by surface. */
static double neumann_fluxes(const sp_balance *balance, const sp_problem *problem) {
  const int fallback = problem->part_count - 1;
  double sum = 0;
  for (int s = 0; s < balance->surfaces; s++) {
    const int part = s + 1 < balance->surfaces ? problem->part_of_surface[s] : fallback;
    if (problem->parts[part].condition == SP_NEUMANN) sum += fabs(balance->flux[s]);
  }
  return sum;
}

static sp_status sum_up(sp_balance *balance, const sp_problem *problem, const sp_space *space) {
  for (int s = 0; s < balance->surfaces; s++) balance->flux[s] -= balance->sums.given[s];
  double volume[4] = {balance->sums.source, balance->absorbed, balance->has_default,
                      balance->sums.size};
  SP_TRY(sp_reduction_sum(space->platform->reduction, 4, volume, SP_OK));
  balance->has_default = volume[2] > 0;
  SP_TRY(sp_reduction_sum(space->platform->reduction, balance->terms, balance->flux, SP_OK));
  balance->source = volume[0];
  balance->absorbed = volume[1];
  balance->data = volume[3] + neumann_fluxes(balance, problem);
  balance->imbalance = balance->source - balance->removed - balance->absorbed;
  balance->largest = fmax(volume[3], fabs(balance->absorbed));
  for (int s = 0; s < balance->terms; s++) {
    balance->imbalance -= balance->flux[s];
    balance->largest = fmax(balance->largest, fabs(balance->flux[s]));
  }
  return SP_OK;
}

sp_status sp_balance_compute(sp_balance *balance, const sp_problem *problem, const sp_space *space,
                             const double *x, double *ax, double *scratch) {
  const MPI_Comm comm = space->mesh->comm;
  /* Use only weights and derivatives at Dirichlet DOFs. */
  for (sp_lid k = 0; k < balance->dirichlet_count; k++) {
    const sp_lid i = balance->dirichlet_dofs[k];
    balance->dirichlet_load[k] -= ax[i];
    scratch[i] = ax[i] = 0;
  }
  const double *residual = balance->dirichlet_load;
  double *correction = ax; /* in the memory of `direct` */
  faces s = {balance, problem, space, x, scratch, ax, correction};
  sp_status status = find_absorbed(problem, space, x, &balance->absorbed);
  if (!status) status = visit_faces(&s, compute_faces, add_faces);
  SP_TRY(sp_agree(comm, status));
  if (problem->has_dirichlet) {
    sp_exchange_now(space->exchange, SP_SUM, s.weights);
    sp_exchange_now(space->exchange, SP_SUM, s.direct);
    for (sp_lid k = 0; k < balance->dirichlet_count; k++) {
      const sp_lid i = balance->dirichlet_dofs[k];
      const double left = residual[k] - s.direct[i];
      correction[i] = s.weights[i] > 0 ? left / s.weights[i] : left;
    }
    SP_TRY(sp_agree(comm, visit_faces(&s, correct_faces, add_corrections)));
  }
  return sum_up(balance, problem, space);
}

bool sp_balance_has_part(const sp_balance *balance, const sp_problem *problem, int part) {
  const sp_condition condition = problem->parts[part].condition;
  if (condition == SP_PERIODIC || condition == SP_CONTACT) return false;
  return part < problem->part_count - 1 || balance->has_default;
}

double sp_balance_part(const sp_balance *balance, const sp_problem *problem, int part) {
  double flux = part == problem->part_count - 1 ? balance->flux[balance->surfaces - 1] : 0;
  for (int s = 0; s < balance->surfaces - 1; s++)
    if (problem->part_of_surface[s] == part) flux += balance->flux[s];
  for (int v = 0; v < balance->terms - balance->surfaces; v++)
    if (problem->part_of_volume[v] == part) flux += balance->flux[balance->surfaces + v];
  return flux;
}

const char *sp_balance_part_name(const sp_problem *problem, int part) {
  return part == problem->part_count - 1 ? "default" : problem->parts[part].group;
}

sp_status sp_balance_check(const sp_balance *balance, double explained, double rounding) {
  static const double VISIBLE = 1e-4; /* of the largest term */
  const double imbalance = fabs(balance->imbalance);
  const bool is_zero = balance->data == 0 && balance->largest <= rounding;
  if (imbalance <= VISIBLE * balance->largest || imbalance <= explained || is_zero) return SP_OK;
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "the balance does not close: %.2e is missing, %.1e of its largest term, where the "
                 "tolerance allows %.1e; rounding may hide %.1e. If alpha is very large, alpha u - "
                 "g is lost in rounding: give that group a dirichlet value, or count u from a "
                 "reference value; else try a smaller solver.tolerance",
                 balance->imbalance, imbalance / balance->largest, explained, rounding);
}
