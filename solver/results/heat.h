/* Heat that enters and leaves each material: fluxes q = -kappa du/dn through the faces of its
 * elements, summed separately in and out. Fluxes through Dirichlet faces and faces towards other
 * materials, heated or not, come face by face from solver/results/fluxes.h. Where a condition gives
 * q, they are its integrals, by surface. So
 *
 *     in + source = out + integral of lambda u over the material
 *
 * to the residual of CG and to rounding. A volume that a line of [boundary] fixes belongs to no
 * material here: the heat that it takes leaves its neighbours. */
#pragma once

#include "solver/results/fluxes.h"

typedef struct sp_heat {
  double source, in, out;
} sp_heat;

/* Fill heat[number of materials with elements], in their order, on all ranks. `whole` has the
 * solution and the fluxes of all elements; its noise grows. `sums` has the sources and fluxes of
 * the load. One visit of the elements serves all materials (sp_torn). Errors: SP_ERR_INPUT
 * of formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_heat_compute(sp_fluxes *whole, const sp_load_sums *sums, sp_heat *heat);
