#include "solver/problem/coefficients.h"

#include <math.h>
#include <stdlib.h>

#include "operators/kinds.h"
#include "solver/problem/evaluate.h"

/* A constant is evaluated and checked here; *formula is NULL then. */
static sp_status parse_coefficient(const sp_formula *text, bool zero_allowed, double *constant,
                                   sp_expression **formula) {
  const double origin = 0;
  SP_TRY(sp_expression_parse(text->text, text->where, formula));
  if (!sp_expression_is_constant(*formula)) return SP_OK;
  sp_expression_evaluate(*formula, 1, &origin, &origin, &origin, constant);
  sp_expression_destroy(formula);
  const bool good = zero_allowed ? *constant >= 0 : *constant > 0;
  if (!good || isinf(*constant))
    return sp_fail(SP_ERR_INPUT, "%s: expected a finite number %s 0, found '%s'", text->where,
                   zero_allowed ? ">=" : ">", text->text);
  return SP_OK;
}

sp_status sp_material_parse(const sp_config *config, sp_material *out) {
  *out = (sp_material){.kappa = 1};
  const sp_operator_row *row = &sp_operator_rows[config->discretization.operator_kind];
  if (!row->has_stiffness) {
    const bool lambda = config->problem.lambda_given;
    if (lambda || config->problem.kappa_given)
      return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no %s; remove it",
                     lambda ? config->problem.lambda.where : config->problem.kappa.where, row->name,
                     lambda ? "lambda" : "kappa");
    return SP_OK;
  }
  SP_TRY(parse_coefficient(&config->problem.lambda, true, &out->lambda, &out->lambda_formula));
  return parse_coefficient(&config->problem.kappa, false, &out->kappa, &out->kappa_formula);
}

void sp_material_free(sp_material *material) {
  sp_expression_destroy(&material->lambda_formula);
  sp_expression_destroy(&material->kappa_formula);
}

bool sp_material_has_kappa(const sp_material *material) {
  return material->kappa_formula || material->kappa != 1;
}

bool sp_material_has_lambda(const sp_material *material) {
  return material->lambda_formula;
}

sp_status sp_material_kappa(const sp_material *material, size_t n, const double *xyz[3],
                            double *value, double *const gradient[3]) {
  if (material->kappa_formula)
    return sp_problem_evaluate_coefficient(material->kappa_formula, false, n, xyz, value, gradient);
  for (size_t p = 0; p < n; p++) {
    value[p] = material->kappa;
    for (int d = 0; d < 3 && gradient; d++) gradient[d][p] = 0;
  }
  return SP_OK;
}

sp_status sp_material_lambda(const sp_material *material, size_t n, const double *xyz[3],
                             double *value) {
  if (material->lambda_formula)
    return sp_problem_evaluate_coefficient(material->lambda_formula, true, n, xyz, value, NULL);
  for (size_t p = 0; p < n; p++) value[p] = material->lambda;
  return SP_OK;
}

/* Fill the arrays that are not NULL; `coordinates` has room for the points of an element. */
static sp_status fill(const sp_material *material, const sp_mesh *mesh, const sp_rule *rule,
                      double *coordinates, double *kappa, double *lambda) {
  const size_t points = sp_rule_points(rule);
  const double *xyz[3] = {coordinates, coordinates + points, coordinates + 2 * points};
  for (sp_lid e = 0; e < mesh->hexes->count; e++) {
    const size_t first = (size_t)e * points;
    sp_hexes_coordinates(mesh->hexes, e, rule->n, rule->nodes, coordinates);
    if (kappa) SP_TRY(sp_material_kappa(material, points, xyz, &kappa[first], NULL));
    if (lambda) SP_TRY(sp_material_lambda(material, points, xyz, &lambda[first]));
  }
  return SP_OK;
}

sp_status sp_coefficients_create(const sp_material *material, const sp_mesh *mesh,
                                 const sp_rule *rule, sp_coefficients *out) {
  *out = (sp_coefficients){.scale = material->lambda, .largest_lambda = material->lambda};
  const bool with_kappa = sp_material_has_kappa(material);
  const bool with_lambda = sp_material_has_lambda(material);
  if (!with_kappa && !with_lambda) return SP_OK;
  const size_t points = sp_rule_points(rule);
  const size_t values = (size_t)mesh->hexes->count * points;
  double *coordinates;
  sp_status status = sp_allocate(points, 3 * sizeof *coordinates, "coordinates", &coordinates);
  if (!status && with_kappa) status = sp_allocate(values, sizeof *out->kappa, "kappa", &out->kappa);
  if (!status && with_lambda)
    status = sp_allocate(values, sizeof *out->lambda, "lambda", &out->lambda);
  if (!status) status = fill(material, mesh, rule, coordinates, out->kappa, out->lambda);
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

void sp_coefficients_free(sp_coefficients *coefficients) {
  free(coefficients->kappa);
  free(coefficients->lambda);
  coefficients->kappa = coefficients->lambda = NULL;
}

double sp_coefficients_predicted_bytes(const sp_material *material, double elements,
                                       const sp_rule *rule) {
  const int arrays = sp_material_has_kappa(material) + sp_material_has_lambda(material);
  return arrays * elements * (double)(sp_rule_points(rule) * sizeof(double));
}
