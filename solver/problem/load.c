#include "solver/problem/load.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/evaluate.h"

enum {
  POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1),
  FACE_POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1)
};

/* ---- Dirichlet data ---- */

/* A face's nodes: their indices in the element, and their coordinates. */
typedef struct face_nodes {
  int count, indices[FACE_POINTS];
  double xyz[3 * FACE_POINTS];
} face_nodes;

static void locate_face(const sp_space *space, sp_lid e, int f, face_nodes *face) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const sp_rule *gll = &sp_reference_get(numbering->order)->gll;
  double normal[3 * FACE_POINTS];
  face->count = gll->n * gll->n;
  sp_face_nodes(numbering->order, f, face->indices);
  sp_geometry_face(mesh->hexes, e, f, gll, face->xyz, normal);
}

/* For each DOF the lowest index of a Dirichlet part that contains it. */
static void mark_parts(const sp_problem *problem, const sp_space *space, double *part_of_dof) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  int indices[FACE_POINTS];
  const int nq = numbering->order + 1;
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int part = sp_problem_face_part(problem, mesh->hexes, e, f);
      if (part < 0 || problem->parts[part].condition != SP_DIRICHLET) continue;
      sp_face_nodes(numbering->order, f, indices);
      for (int n = 0; n < nq * nq; n++) {
        const sp_lid dof =
            numbering->nodes[(size_t)e * sp_element_nodes(numbering->order) + (size_t)indices[n]];
        if (part < part_of_dof[dof]) part_of_dof[dof] = part;
      }
    }
}

static sp_status set_values(const sp_problem *problem, const sp_space *space,
                            const double *part_of_dof, double *values) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int part = sp_problem_face_part(problem, mesh->hexes, e, f);
      if (part < 0 || problem->parts[part].condition != SP_DIRICHLET) continue;
      const sp_expression *formula = problem->parts[part].formula;
      face_nodes face;
      double data[FACE_POINTS];
      locate_face(space, e, f, &face);
      const double *xyz[3] = {face.xyz, face.xyz + face.count, face.xyz + 2 * face.count};
      const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, e);
      SP_TRY(sp_problem_evaluate(formula ? formula : material->solution, (size_t)face.count, xyz,
                                 data, NULL, NULL));
      for (int n = 0; n < face.count; n++) {
        const sp_lid dof =
            numbering
                ->nodes[(size_t)e * sp_element_nodes(numbering->order) + (size_t)face.indices[n]];
        if (part_of_dof[dof] == part && data[n] < values[dof]) values[dof] = data[n];
      }
    }
  return SP_OK;
}

sp_status sp_problem_constraints(const sp_problem *problem, const sp_space *space,
                                 bool *constrained, double *values) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const double none = DBL_MAX;
  double *part_of_dof;
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)numbering->local, sizeof *part_of_dof,
                                          "Dirichlet parts", &part_of_dof)));
  for (sp_lid i = 0; i < numbering->local; i++) part_of_dof[i] = values[i] = none;
  mark_parts(problem, space, part_of_dof);
  sp_exchange_now(space->exchange, SP_MIN, part_of_dof);
  const sp_status status = sp_agree(mesh->comm, set_values(problem, space, part_of_dof, values));
  if (!status) {
    /* A node's coordinates, and so its value, differ by rounding between elements: take the
     * minimum, which is the same on all ranks. */
    sp_exchange_now(space->exchange, SP_MIN, values);
    for (sp_lid i = 0; i < numbering->local; i++) {
      constrained[i] = part_of_dof[i] < none;
      if (!constrained[i]) values[i] = 0;
    }
  }
  free(part_of_dof);
  return status;
}

/* ---- Load vector ---- */

/* The arrays of one element or face; too large for the stack. */
typedef struct workspace {
  double wj[POINTS], coordinates[3 * POINTS];
  double f[POINTS], integral[POINTS]; /* f: the source term; on a face, the flux */
  double laplacian[POINTS], lambda[POINTS], kappa[POINTS];
  double gradient[3][POINTS], kappa_gradient[3][POINTS];
  double normal[3 * FACE_POINTS], alpha[FACE_POINTS], values[(SP_MAX_NQ + 1) * SP_MAX_NQ];
} workspace;

/* w->f at points of one material: the forcing, given or derived from the solution. */
static sp_status evaluate_forcing(const sp_problem *problem, const sp_material *material, size_t n,
                                  const double *xyz[3], workspace *w) {
  double *const gradient[3] = {w->gradient[0], w->gradient[1], w->gradient[2]};
  double *const kappa_gradient[3] = {w->kappa_gradient[0], w->kappa_gradient[1],
                                     w->kappa_gradient[2]};
  double *f = w->f;
  if (material->forcing) return sp_problem_evaluate(material->forcing, n, xyz, f, NULL, NULL);
  if (!sp_operator_rows[problem->kind].has_stiffness)
    return sp_problem_evaluate(material->solution, n, xyz, f, NULL, NULL);
  SP_TRY(sp_material_lambda(material, n, xyz, w->lambda));
  SP_TRY(sp_material_kappa(material, n, xyz, w->kappa, kappa_gradient));
  SP_TRY(sp_problem_evaluate(material->solution, n, xyz, f, gradient, w->laplacian));
  for (size_t p = 0; p < n; p++) {
    f[p] = w->lambda[p] * f[p] - w->kappa[p] * w->laplacian[p];
    for (int d = 0; d < 3; d++) f[p] -= kappa_gradient[d][p] * gradient[d][p];
  }
  return SP_OK;
}

/* wj: weight times |J| at the points of an element. */
static void widen_range(const sp_rule *rule, const double *wj, sp_jacobian_range *range) {
  const int n = rule->n;
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++) {
      const double inverse = 1 / (rule->weights[j] * rule->weights[k]);
      for (int i = 0; i < n; i++) {
        const double jacobian = wj[(k * n + j) * n + i] * inverse / rule->weights[i];
        if (jacobian < range->smallest) range->smallest = jacobian;
        if (jacobian > range->largest) range->largest = jacobian;
      }
    }
}

/* The transposed interpolation from the rule's points to the nodes: the identity for collocation.
 */
static void project(const sp_problem *problem, int order, const double *points, double *nodes) {
  const sp_reference *reference = sp_reference_get(order);
  const int nq = order + 1, m = sp_operator_rule(problem->kind, order)->n;
  const double *matrix = reference->interpolation;
  if (sp_operator_rows[problem->kind].collocated)
    for (size_t n = 0; n < sp_element_nodes(order); n++) nodes[n] = points[n];
  else
    sp_tensor_apply_transposed(m, nq, matrix, matrix, matrix, points, nodes);
}

static sp_status add_volume(const sp_problem *problem, const sp_space *space, sp_lid e,
                            workspace *w, double *load, sp_jacobian_range *range,
                            sp_load_sums *sums) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const sp_rule *rule = sp_operator_rule(problem->kind, numbering->order);
  const size_t points = sp_rule_points(rule), nodes = sp_element_nodes(numbering->order);
  const double *wj = w->wj;
  SP_TRY(sp_geometry_volume(mesh->hexes, e, rule, w->coordinates, w->wj));
  widen_range(rule, wj, range);
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, e);
  SP_TRY(evaluate_forcing(problem, material, points, xyz, w));
  for (size_t p = 0; p < points; p++) w->f[p] *= wj[p];
  for (size_t p = 0; p < points && sums; p++) sums->source += w->f[p];
  project(problem, numbering->order, w->f, w->integral);
  for (size_t n = 0; n < nodes; n++)
    load[numbering->nodes[(size_t)e * nodes + n]] += w->integral[n];
  return SP_OK;
}

/* Surface element times weight at point q of n. */
static double area_element(const double *normal, int n, int q) {
  return sqrt(normal[q] * normal[q] + normal[n + q] * normal[n + q] +
              normal[2 * n + q] * normal[2 * n + q]);
}

/* w->f, g times the surface element, at the points of a Neumann or Robin face. */
static sp_status evaluate_flux(const sp_material *material, const sp_boundary_part *part, int n,
                               const double *xyz[3], workspace *w) {
  const size_t count = (size_t)n;
  const double *normal = w->normal;
  double *flux = w->f;
  if (part->formula) {
    SP_TRY(sp_problem_evaluate(part->formula, count, xyz, flux, NULL, NULL));
    for (int q = 0; q < n; q++) flux[q] *= area_element(normal, n, q);
    return SP_OK;
  }
  double *const slopes[3] = {w->gradient[0], w->gradient[1], w->gradient[2]};
  SP_TRY(sp_material_kappa(material, count, xyz, w->kappa, NULL));
  for (int q = 0; q < n; q++) w->alpha[q] = 0;
  if (part->alpha)
    SP_TRY(sp_problem_evaluate_coefficient(part->alpha, true, count, xyz, w->alpha, NULL));
  SP_TRY(sp_problem_evaluate(material->solution, count, xyz, flux, slopes, NULL));
  for (int q = 0; q < n; q++)
    flux[q] = w->alpha[q] * flux[q] * area_element(normal, n, q) +
              w->kappa[q] * (slopes[0][q] * normal[q] + slopes[1][q] * normal[n + q] +
                             slopes[2][q] * normal[2 * n + q]);
  return SP_OK;
}

static sp_status add_face(const sp_problem *problem, const sp_space *space, sp_lid e, int f,
                          const sp_boundary_part *part, workspace *w, double *load,
                          sp_load_sums *sums) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const int order = numbering->order, nq = order + 1;
  const sp_rule *gll = &sp_reference_get(order)->gll;
  const sp_rule *rule = part->condition == SP_ROBIN ? gll : sp_operator_rule(problem->kind, order);
  const int m = rule->n, points = m * m;
  const double *values = w->values, *flux = w->f;
  int indices[FACE_POINTS];
  sp_geometry_face(mesh->hexes, e, f, rule, w->coordinates, w->normal);
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, e);
  SP_TRY(evaluate_flux(material, part, points, xyz, w));
  const int surface = mesh->hexes->surfaces[e][f];
  for (int q = 0; q < points && sums; q++)
    sums->given[surface >= 0 ? surface : mesh->hexes->surface_count] += flux[q];
  sp_interpolation_matrix(nq, gll->nodes, m, rule->nodes, w->values);
  sp_face_nodes(order, f, indices);
  for (int j = 0; j < nq; j++)
    for (int i = 0; i < nq; i++) {
      double integral = 0;
      for (int b = 0; b < m; b++)
        for (int a = 0; a < m; a++)
          integral += values[a * nq + i] * values[b * nq + j] * flux[b * m + a];
      load[numbering->nodes[(size_t)e * sp_element_nodes(numbering->order) +
                            (size_t)indices[j * nq + i]]] += integral;
    }
  return SP_OK;
}

static sp_status add_elements(const sp_problem *problem, const sp_space *space, workspace *w,
                              double *load, sp_jacobian_range *range, sp_load_sums *sums) {
  const sp_mesh *mesh = space->mesh;
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    SP_TRY(add_volume(problem, space, e, w, load, range, sums));
    for (int f = 0; f < SP_FACES; f++) {
      const int part = sp_problem_face_part(problem, mesh->hexes, e, f);
      if (part >= 0 && (problem->parts[part].condition == SP_NEUMANN ||
                        problem->parts[part].condition == SP_ROBIN))
        SP_TRY(add_face(problem, space, e, f, &problem->parts[part], w, load, sums));
    }
  }
  return SP_OK;
}

sp_status sp_problem_load(const sp_problem *problem, const sp_space *space, double *load,
                          sp_jacobian_range *range, sp_load_sums *sums) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  *range = (sp_jacobian_range){DBL_MAX, 0};
  for (sp_lid i = 0; i < numbering->local; i++) load[i] = 0;
  workspace *w;
  sp_status status = sp_allocate(1, sizeof *w, "load vector", &w);
  if (!status) status = add_elements(problem, space, w, load, range, sums);
  free(w);
  SP_TRY(sp_agree(mesh->comm, status));
  MPI_Allreduce(MPI_IN_PLACE, &range->smallest, 1, MPI_DOUBLE, MPI_MIN, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &range->largest, 1, MPI_DOUBLE, MPI_MAX, mesh->comm);
  sp_exchange_now(space->exchange, SP_SUM, load);
  return SP_OK;
}
