#include "operators/separable.h"

#include <math.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/space.h"

/* Constant coefficients need no more points than the geometry. */
enum { GEOMETRY_POINTS = 3 };

typedef struct means {
  double c[3], volume, lambda;
} means;

static sp_status find_means(const sp_operator_setup *setup, sp_lid e, const sp_rule *rule,
                            means *out) {
  static const int diagonal[3] = {SP_G_RR, SP_G_SS, SP_G_TT};
  const size_t points = sp_rule_points(rule);
  double factors[SP_FACTORS * SP_MAX_M * SP_MAX_M * SP_MAX_M];
  *out = (means){0};
  SP_TRY(sp_geometry_factors(setup->space->mesh->hexes, e, rule, factors));
  for (size_t p = 0; p < points; p++) out->volume += factors[SP_G_WJ * points + p] / 8;
  if (setup->kappa || setup->lambda_values) SP_TRY(sp_operator_factors(setup, e, rule, factors));
  for (size_t p = 0; p < points; p++) {
    for (int d = 0; d < 3; d++) out->c[d] += factors[(size_t)diagonal[d] * points + p] / 8;
    out->lambda += setup->lambda * factors[SP_G_WJ * points + p] / 8;
  }
  out->lambda /= out->volume;
  return SP_OK;
}

sp_status sp_separable_fill(const sp_operator_setup *setup, sp_separable *boxes) {
  const int order = setup->space->numbering->order;
  sp_rule coarse;
  sp_rule_gl(GEOMETRY_POINTS, &coarse);
  const bool coefficients = setup->kappa || setup->lambda_values;
  const sp_rule *rule = coefficients ? sp_operator_rule(setup->kind, order) : &coarse;
  for (sp_lid e = 0; e < setup->space->mesh->hexes->count; e++) {
    means m;
    SP_TRY(find_means(setup, e, rule, &m));
    sp_separable *box = &boxes[e];
    box->kappa = cbrt(m.c[0] * m.c[1] * m.c[2] / m.volume);
    box->lambda = m.lambda;
    for (int d = 0; d < 3; d++)
      box->length[d] = 2 * sqrt(m.c[(d + 1) % 3] * m.c[(d + 2) % 3]) / box->kappa;
  }
  return SP_OK;
}

double sp_separable_stretch(MPI_Comm comm, sp_lid elements, const sp_separable *boxes) {
  double largest = 1;
  for (sp_lid e = 0; e < elements; e++) {
    const double *l = boxes[e].length;
    const double longest = fmax(l[0], fmax(l[1], l[2])), shortest = fmin(l[0], fmin(l[1], l[2]));
    largest = fmax(largest, longest / shortest);
  }
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  return largest;
}
