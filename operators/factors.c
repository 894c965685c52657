#include "operators/factors.h"

#include <assert.h>

#include "mesh/geometry.h"
#include "operators/space.h"

sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors) {
  const size_t points = (size_t)(rule->n * rule->n * rule->n);
  const size_t first = (size_t)element * (setup->by_element ? 1 : points);
  const size_t step = setup->by_element ? 0 : 1;
  SP_TRY(sp_geometry_factors(setup->space->mesh->hexes, element, rule, factors));
  for (size_t f = SP_G_RR; f < SP_G_WJ && setup->kappa; f++)
    for (size_t p = 0; p < points; p++) factors[f * points + p] *= setup->kappa[first + step * p];
  for (size_t p = 0; p < points && setup->lambda_values; p++)
    factors[SP_G_WJ * points + p] *= setup->lambda_values[first + step * p];
  return SP_OK;
}

sp_factor_kind sp_operator_factor_kind(const sp_operator_setup *setup) {
  if (setup->geometry != SP_GEOMETRY_TRILINEAR) return SP_FACTORS_STORED;
  return setup->kappa || setup->lambda_values ? SP_FACTORS_SCALED : SP_FACTORS_TRILINEAR;
}

void sp_operator_trilinear(const sp_operator_setup *setup, sp_lid element,
                           double coefficients[24]) {
  sp_geometry_trilinear(setup->space->mesh->hexes, element, coefficients);
  if (sp_operator_factor_kind(setup) != SP_FACTORS_SCALED) return;
  assert(setup->by_element);
  coefficients[0] = setup->kappa ? setup->kappa[element] : 1;
  coefficients[1] = setup->lambda * (setup->lambda_values ? setup->lambda_values[element] : 1);
}
