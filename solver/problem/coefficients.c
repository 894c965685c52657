#include "solver/problem/coefficients.h"

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

/* Of lambda, and of each component of kappa. */
static size_t values_per_element(const sp_operator_setup *s) {
  return s->by_element ? 1 : sp_rule_points(sp_operator_rule(s->kind, s->space->numbering->order));
}

/* Fill the arrays that are not NULL. With by_element `coordinates` are zeros, which does not
 * matter. */
static sp_status fill_coefficients(const sp_problem *problem, const sp_operator_setup *s,
                                   double *kappa, double *lambda) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(s->kind, s->space->numbering->order);
  const size_t points = values_per_element(s);
  SP_OWNED double *coordinates = NULL;
  SP_TRY(sp_allocate(3 * points, sizeof *coordinates, "coordinates", &coordinates));
  const double *xyz[3] = {coordinates, coordinates + points, coordinates + 2 * points};
  for (sp_lid e = 0; e < hexes->count; e++) {
    const size_t first = (size_t)e * points;
    const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
    if (!s->by_element) sp_hexes_coordinates(hexes, e, rule->n, rule->nodes, coordinates);
    if (s->is_tensor)
      SP_TRY(sp_material_tensor(material, points, xyz, &kappa[SP_TENSOR * first]));
    else if (kappa)
      SP_TRY(sp_problem_conduct(problem, hexes, e, points, xyz, &kappa[first], NULL));
    if (lambda)
      SP_TRY(sp_problem_shifted(problem, hexes, e, material->shift, points, xyz, &lambda[first]));
  }
  return SP_OK;
}

sp_status sp_coefficients_create(const sp_problem *problem, sp_operator_setup *setup) {
  const sp_mesh *mesh = setup->space->mesh;
  const sp_materials *materials = &problem->materials;
  const bool own_kappa = problem->arrays[SP_KAPPA];
  const bool own_lambda = problem->arrays[SP_LAMBDA] || problem->arrays[SP_CAPACITY];
  const bool with_kappa = own_kappa || materials->have_kappa;
  const bool with_lambda = own_lambda || sp_materials_have_lambda(materials);
  setup->lambda = with_lambda ? 1 : sp_materials_lambda(materials);
  if (!with_kappa && !with_lambda) return SP_OK;
  setup->by_element = !own_kappa && !own_lambda && sp_materials_are_constant(materials);
  setup->is_tensor = !own_kappa && materials->have_tensor;
  const size_t values = (size_t)mesh->hexes->count * values_per_element(setup);
  double *kappa = NULL, *lambda = NULL;
  sp_status status = SP_OK;
  if (with_kappa)
    status =
        sp_allocate(setup->is_tensor ? SP_TENSOR * values : values, sizeof *kappa, "kappa", &kappa);
  if (!status && with_lambda) status = sp_allocate(values, sizeof *lambda, "lambda", &lambda);
  if (!status) status = fill_coefficients(problem, setup, kappa, lambda);
  setup->kappa = kappa;
  setup->lambda_values = lambda;
  return sp_agree(mesh->comm, status);
}

sp_status sp_coefficients_of_mass(const sp_problem *problem, bool of_capacity,
                                  sp_operator_setup *setup) {
  const sp_hexes *hexes = setup->space->mesh->hexes;
  setup->lambda = 1;
  setup->by_element =
      !of_capacity || (!problem->arrays[SP_CAPACITY] && !problem->materials.capacity_varies);
  const sp_rule *rule = sp_operator_rule(setup->kind, setup->space->numbering->order);
  const size_t points = values_per_element(setup), values = (size_t)hexes->count * points;
  SP_OWNED double *coordinates = NULL;
  double *kappa = NULL, *lambda = NULL;
  sp_status status = SP_ALLOCATE("capacity", SP_ARRAY(coordinates, 3 * points),
                                 SP_ARRAY(kappa, values), SP_ARRAY(lambda, values));
  const double *xyz[3] = {coordinates, coordinates + points, coordinates + 2 * points};
  for (sp_lid e = 0; e < hexes->count && !status; e++) {
    double *own = &lambda[(size_t)e * points];
    if (!setup->by_element) sp_hexes_coordinates(hexes, e, rule->n, rule->nodes, coordinates);
    if (of_capacity)
      status = sp_problem_capacity(problem, hexes, e, points, xyz, own);
    else
      *own = 1;
  }
  setup->kappa = kappa;
  setup->lambda_values = lambda;
  return sp_agree(setup->space->mesh->comm, status);
}

bool sp_coefficients_have_lambda(const sp_operator_setup *setup, sp_lid element) {
  if (!setup->lambda_values) return setup->lambda > 0;
  const size_t points = values_per_element(setup);
  const double *lambda = &setup->lambda_values[(size_t)element * points];
  for (size_t p = 0; p < points; p++)
    if (lambda[p] > 0) return true;
  return false;
}
