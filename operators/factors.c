#include "operators/factors.h"

#include "mesh/geometry.h"
#include "operators/space.h"

sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors) {
  const size_t points = (size_t)(rule->n * rule->n * rule->n), first = (size_t)element * points;
  SP_TRY(sp_geometry_factors(setup->space->mesh->hexes, element, rule, factors));
  for (size_t f = SP_G_RR; f < SP_G_WJ && setup->kappa; f++)
    for (size_t p = 0; p < points; p++) factors[f * points + p] *= setup->kappa[first + p];
  for (size_t p = 0; p < points && setup->lambda_values; p++)
    factors[SP_G_WJ * points + p] *= setup->lambda_values[first + p];
  return SP_OK;
}
