#include "operators/separable.h"

#include <math.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/space.h"

/* Constant coefficients need no more points than the geometry. */
enum { GEOMETRY_POINTS = 3 };

/* `weighted` has coefficients at the points of `rule`; NULL: there are none. `factors` has room for
 * the points. */
static sp_status fill_box(const sp_hexes *hexes, sp_lid e, const sp_rule *rule, double lambda,
                          const sp_operator_setup *weighted, double *factors, sp_separable *box) {
  static const int diagonal[3] = {SP_G_RR, SP_G_SS, SP_G_TT};
  const size_t points = sp_rule_points(rule);
  double c[3] = {0, 0, 0}, volume = 0, mass = 0;
  SP_TRY(sp_geometry_factors(hexes, e, rule, factors));
  for (size_t p = 0; p < points; p++) volume += factors[SP_G_WJ * points + p] / 8;
  if (weighted) SP_TRY(sp_operator_factors(weighted, e, rule, factors));
  for (size_t p = 0; p < points; p++) {
    for (int d = 0; d < 3; d++) c[d] += factors[(size_t)diagonal[d] * points + p] / 8;
    mass += lambda * factors[SP_G_WJ * points + p] / 8;
  }
  box->kappa = cbrt(c[0] * c[1] * c[2] / volume);
  box->lambda = mass / volume;
  for (int d = 0; d < 3; d++)
    box->length[d] = 2 * sqrt(c[(d + 1) % 3] * c[(d + 2) % 3]) / box->kappa;
  return SP_OK;
}

sp_status sp_separable_fill(const sp_operator_setup *setup, sp_separable *boxes) {
  const sp_hexes *hexes = setup->space->mesh->hexes;
  const sp_rule *own = sp_operator_rule(setup->kind, setup->space->numbering->order);
  double factors[SP_FACTORS * SP_MAX_M * SP_MAX_M * SP_MAX_M];
  sp_rule coarse;
  sp_rule_gl(GEOMETRY_POINTS, &coarse);
  const bool weighted = setup->kappa || setup->lambda_values;
  for (sp_lid e = 0; e < hexes->count; e++)
    SP_TRY(fill_box(hexes, e, weighted ? own : &coarse, setup->lambda, weighted ? setup : NULL,
                    factors, &boxes[e]));
  return SP_OK;
}

sp_status sp_separable_extents(const sp_mesh *mesh, sp_extents *out) {
  double factors[SP_FACTORS * GEOMETRY_POINTS * GEOMETRY_POINTS * GEOMETRY_POINTS];
  double largest[3] = {1, 0, 0}; /* stretch, longest, 1 / shortest */
  sp_status status = SP_OK;
  sp_rule rule;
  sp_rule_gl(GEOMETRY_POINTS, &rule);
  for (sp_lid e = 0; e < mesh->hexes->count && !status; e++) {
    sp_separable box = {0};
    status = fill_box(mesh->hexes, e, &rule, 0, NULL, factors, &box);
    if (status) break;
    const double *l = box.length;
    const double longest = fmax(l[0], fmax(l[1], l[2])), shortest = fmin(l[0], fmin(l[1], l[2]));
    largest[0] = fmax(largest[0], longest / shortest);
    largest[1] = fmax(largest[1], longest);
    largest[2] = fmax(largest[2], 1 / shortest);
  }
  SP_TRY(sp_agree(mesh->comm, status));
  MPI_Allreduce(MPI_IN_PLACE, largest, 3, MPI_DOUBLE, MPI_MAX, mesh->comm);
  *out = (sp_extents){largest[0], 1 / largest[2], largest[1]};
  return SP_OK;
}
