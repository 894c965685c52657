#include "solver/problem/coefficients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/tensor.h"
#include "operators/counts.h"

/* ---- Values in an element ---- */

const double *sp_problem_array(const sp_problem *problem, sp_coefficient which,
                               const sp_hexes *hexes, sp_lid e, size_t n) {
  const double *array = problem->arrays[which];
  return array && !sp_hexes_is_contact(hexes, e) ? &array[(size_t)e * n] : NULL;
}

sp_status sp_problem_conduct(const sp_problem *problem, const sp_hexes *hexes, sp_lid e, size_t n,
                             const double *xyz[3], double *factor, double *const vector[3]) {
  const double *own = sp_problem_array(problem, SP_KAPPA, hexes, e, n);
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  if (!own) return sp_material_conduct(material, n, xyz, factor, 1, vector);
  memcpy(factor, own, n * sizeof *factor);
  return SP_OK;
}

static void add_array(const double *array, double factor, size_t n, double *value) {
  for (size_t p = 0; p < n; p++) value[p] += factor * array[p];
}

sp_status sp_problem_shifted(const sp_problem *problem, const sp_hexes *hexes, sp_lid e,
                             double shift, size_t n, const double *xyz[3], double *value) {
  const double *lambda = sp_problem_array(problem, SP_LAMBDA, hexes, e, n);
  const double *capacity = shift > 0 ? sp_problem_array(problem, SP_CAPACITY, hexes, e, n) : NULL;
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  SP_TRY(sp_material_shifted(material, capacity ? 0 : shift, !lambda, n, xyz, value));
  if (lambda) add_array(lambda, 1, n, value);
  if (capacity) add_array(capacity, shift, n, value);
  return SP_OK;
}

sp_status sp_problem_capacity(const sp_problem *problem, const sp_hexes *hexes, sp_lid e, size_t n,
                              const double *xyz[3], double *value) {
  const double *own = sp_problem_array(problem, SP_CAPACITY, hexes, e, n);
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  if (!own) return sp_material_shifted(material, 1, false, n, xyz, value);
  memcpy(value, own, n * sizeof *value);
  return SP_OK;
}

bool sp_problem_interpolate_kappa(const sp_problem *problem, const sp_space *space, sp_lid e,
                                  int count, const double *const nodes[3], double *kappa) {
  const sp_rule *rule = sp_operator_rule(problem->kind, space->numbering->order);
  const double *own =
      sp_problem_array(problem, SP_KAPPA, space->mesh->hexes, e, sp_rule_points(rule));
  double matrices[3][SP_MAX_NQ * SP_MAX_M];
  if (!own) return false;
  for (int d = 0; d < 3; d++)
    sp_interpolation_matrix(rule->n, rule->nodes, count, nodes[d], matrices[d]);
  sp_tensor_apply(count, rule->n, matrices[0], matrices[1], matrices[2], own, kappa);
  return true;
}

/* ---- Coefficients of an operator ---- */

/* Fill the arrays that are not NULL; `coordinates` has room for the points of an element. With
 * by_element its zeros are one, which does not matter. */
static sp_status fill_coefficients(const sp_problem *problem, const sp_mesh *mesh,
                                   const sp_rule *rule, double *coordinates, sp_coefficients *out) {
  const size_t points = out->per_element;
  const double *xyz[3] = {coordinates, coordinates + points, coordinates + 2 * points};
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    const size_t first = (size_t)e * points;
    const sp_material *material = sp_materials_of(&problem->materials, mesh->hexes, e);
    if (!out->by_element) sp_hexes_coordinates(mesh->hexes, e, rule->n, rule->nodes, coordinates);
    if (out->is_tensor)
      SP_TRY(sp_material_tensor(material, points, xyz, &out->kappa[SP_TENSOR * first]));
    else if (out->kappa)
      SP_TRY(sp_problem_conduct(problem, mesh->hexes, e, points, xyz, &out->kappa[first], NULL));
    if (out->lambda)
      SP_TRY(sp_problem_shifted(problem, mesh->hexes, e, material->shift, points, xyz,
                                &out->lambda[first]));
  }
  return SP_OK;
}

sp_status sp_coefficients_create(const sp_problem *problem, const sp_mesh *mesh,
                                 const sp_rule *rule, sp_coefficients *out) {
  const sp_materials *materials = &problem->materials;
  const double lambda = sp_materials_lambda(materials);
  *out = (sp_coefficients){.scale = lambda, .largest_lambda = lambda};
  const bool own_lambda = problem->arrays[SP_LAMBDA] || problem->arrays[SP_CAPACITY];
  const bool with_kappa = problem->arrays[SP_KAPPA] || sp_materials_have_kappa(materials);
  const bool with_lambda = own_lambda || sp_materials_have_lambda(materials);
  if (!with_kappa && !with_lambda) return SP_OK;
  out->by_element =
      !problem->arrays[SP_KAPPA] && !own_lambda && sp_materials_are_constant(materials);
  out->is_tensor = !problem->arrays[SP_KAPPA] && sp_materials_have_tensor(materials);
  const size_t points = sp_rule_points(rule);
  out->per_element = out->by_element ? 1 : points;
  const size_t values = (size_t)mesh->hexes->count * out->per_element;
  double *coordinates;
  sp_status status = sp_allocate(points, 3 * sizeof *coordinates, "coordinates", &coordinates);
  if (!status && with_kappa)
    status = sp_allocate(out->is_tensor ? SP_TENSOR * values : values, sizeof *out->kappa, "kappa",
                         &out->kappa);
  if (!status && with_lambda)
    status = sp_allocate(values, sizeof *out->lambda, "lambda", &out->lambda);
  if (!status) status = fill_coefficients(problem, mesh, rule, coordinates, out);
  free(coordinates);
  SP_TRY(sp_agree(mesh->comm, status));
  if (!with_lambda) return SP_OK;
  out->scale = 1;
  out->largest_lambda = 0;
  for (size_t i = 0; i < values; i++)
    out->largest_lambda = fmax(out->largest_lambda, out->lambda[i]);
  MPI_Allreduce(MPI_IN_PLACE, &out->largest_lambda, 1, MPI_DOUBLE, MPI_MAX, mesh->comm);
  return SP_OK;
}

sp_status sp_coefficients_of_capacity(const sp_problem *problem, const sp_mesh *mesh,
                                      const sp_rule *rule, sp_coefficients *out) {
  const size_t points = sp_rule_points(rule), elements = (size_t)mesh->hexes->count;
  SP_OWNED double *coordinates = NULL;
  *out = (sp_coefficients){.scale = 1};
  out->by_element =
      !problem->arrays[SP_CAPACITY] && sp_materials_capacity_is_constant(&problem->materials);
  out->per_element = out->by_element ? 1 : points;
  const size_t values = elements * out->per_element;
  sp_status status = SP_ALLOCATE("capacity", SP_ARRAY(coordinates, 3 * points),
                                 SP_ARRAY(out->kappa, values), SP_ARRAY(out->lambda, values));
  const double *xyz[3] = {coordinates, coordinates + points, coordinates + 2 * points};
  for (sp_lid e = 0; e < mesh->hexes->count && !status; e++) {
    if (!out->by_element) sp_hexes_coordinates(mesh->hexes, e, rule->n, rule->nodes, coordinates);
    status = sp_problem_capacity(problem, mesh->hexes, e, out->per_element, xyz,
                                 &out->lambda[(size_t)e * out->per_element]);
  }
  return sp_agree(mesh->comm, status);
}

void sp_coefficients_free(sp_coefficients *coefficients) {
  SP_FREE(coefficients->kappa, coefficients->lambda);
  coefficients->kappa = coefficients->lambda = NULL;
}

bool sp_coefficients_have_lambda(const sp_coefficients *coefficients, sp_lid element) {
  if (!coefficients->lambda) return coefficients->scale > 0;
  const double *lambda = &coefficients->lambda[(size_t)element * coefficients->per_element];
  for (size_t p = 0; p < coefficients->per_element; p++)
    if (lambda[p] > 0) return true;
  return false;
}
