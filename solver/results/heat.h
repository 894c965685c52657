/* Heat that enters and leaves each material: fluxes q = -kappa du/dn through the faces of its
 * elements, those into the material and those out of it added apart. Through faces towards other
 * materials, heated or not, and Dirichlet faces they are those of solver/results/fluxes.h, face by
 * face; through the surfaces where a condition gives q they are its integrals, by surface. So
 *
 *     in + source = out + integral of lambda u over the material
 *
 * to the residual of CG and to rounding. A volume that a line of [boundary] fixes belongs to no
 * material here: what it takes leaves its neighbours. */
#pragma once

#include "solver/results/fluxes.h"

typedef struct sp_heat {
  double source, in, out;
} sp_heat;

/* Fill heat[number of materials with elements], in their order, on all ranks, for the solution of
 * `whole`, the fluxes of all elements, whose noise grows, and its load, with sources and fluxes in
 * `sums`. Visits the elements as often for one material as for many (operators/torn.h). Errors:
 * those of formulas, SP_ERR_SYSTEM. Collective. */
sp_status sp_heat_compute(sp_fluxes *whole, const sp_load_sums *sums, sp_heat *heat);
