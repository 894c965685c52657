#include "operators/factors.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/space.h"

/* G_tt wJ = (w A)^2 with the area A dr ds. */
void sp_operator_make_contact(const sp_hexes *hexes, size_t points, double *factors) {
  const double scale = 2 / hexes->file.thickness;
  for (size_t p = 0; p < points; p++) {
    const double across = factors[SP_G_TT * points + p] * factors[SP_G_WJ * points + p];
    for (size_t f = 0; f < SP_FACTORS; f++) factors[f * points + p] = 0;
    factors[SP_G_TT * points + p] = scale * sqrt(across);
  }
}

sp_status sp_operator_factors(const sp_operator_setup *setup, sp_lid element, const sp_rule *rule,
                              double *factors) {
  const sp_backend *backend = setup->space->platform->backend;
  if (setup->alike && backend->read_factors &&
      rule == sp_operator_rule(setup->kind, setup->space->numbering->order) &&
      backend->read_factors(setup, element, factors))
    return SP_OK;
  const size_t points = (size_t)(rule->n * rule->n * rule->n);
  const size_t first = (size_t)element * (setup->by_element ? 1 : points);
  const size_t step = setup->by_element ? 0 : 1;
  const sp_hexes *hexes = setup->space->mesh->hexes;
  const bool contact = sp_hexes_is_contact(hexes, element);
  if (setup->is_tensor && !contact) {
    const sp_geometry_tensor k = {.values = &setup->kappa[6 * first],
                                  .component = setup->by_element ? 1 : (ptrdiff_t)points,
                                  .point = (ptrdiff_t)step};
    SP_TRY(sp_geometry_tensor_factors(hexes, element, rule, &k, factors));
  } else {
    /* The tensor of a contact is a multiple of the identity. */
    const double *kappa = setup->kappa ? &setup->kappa[(setup->is_tensor ? 6 : 1) * first] : NULL;
    SP_TRY(sp_geometry_factors(hexes, element, rule, factors));
    if (contact) sp_operator_make_contact(hexes, points, factors);
    for (size_t f = SP_G_RR; f < SP_G_WJ && kappa; f++)
      for (size_t p = 0; p < points; p++) factors[f * points + p] *= kappa[step * p];
  }
  for (size_t p = 0; p < points && setup->lambda_values; p++)
    factors[SP_G_WJ * points + p] *= setup->lambda_values[first + step * p];
  return SP_OK;
}

/* To nearest, ties to even. */
static uint32_t bfloat16(double value) {
  const float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* If rounding makes a pivot zero or negative, its column of L becomes zero. */
static double inverse_root(double pivot) {
  return pivot > 0 ? 1 / sqrt(pivot) : 0;
}

void sp_operator_round_factors(size_t points, const double *factors, uint32_t *words) {
  uint32_t *jacobians = words + 3 * points;
  for (size_t p = 0; p < points; p++) {
    const double *g = &factors[p];
    const double r = inverse_root(g[SP_G_RR * points]);
    const double rr = g[SP_G_RR * points] * r;
    const double sr = g[SP_G_RS * points] * r, tr = g[SP_G_RT * points] * r;
    const double ss_squared = g[SP_G_SS * points] - sr * sr, s = inverse_root(ss_squared);
    const double ss = ss_squared * s, ts = (g[SP_G_ST * points] - tr * sr) * s;
    const double tt_squared = g[SP_G_TT * points] - tr * tr - ts * ts;
    const double tt = tt_squared * inverse_root(tt_squared);
    words[p] = bfloat16(rr) | bfloat16(sr) << 16;
    words[points + p] = bfloat16(tr) | bfloat16(ss) << 16;
    words[2 * points + p] = bfloat16(ts) | bfloat16(tt) << 16;
    const uint32_t jacobian = bfloat16(g[SP_G_WJ * points]);
    if (p % 2 == 0)
      jacobians[p / 2] = jacobian;
    else
      jacobians[p / 2] |= jacobian << 16;
  }
}

sp_factor_kind sp_operator_factor_kind(const sp_operator_setup *setup) {
  if (setup->geometry != SP_GEOMETRY_TRILINEAR)
    return setup->rounded ? SP_FACTORS_ROUNDED : SP_FACTORS_STORED;
  if (setup->kind == SP_BP35 && setup->space->mesh->shape.affine) return SP_FACTORS_AFFINE;
  return sp_operator_map_kind(setup);
}

sp_factor_kind sp_operator_map_kind(const sp_operator_setup *setup) {
  return setup->kappa || setup->lambda_values ? SP_FACTORS_SCALED : SP_FACTORS_TRILINEAR;
}

void sp_operator_scales(const sp_operator_setup *setup, sp_lid element, double scales[2]) {
  assert(!setup->is_tensor);
  scales[0] = setup->kappa ? setup->kappa[element] : 1;
  scales[1] = setup->lambda * (setup->lambda_values ? setup->lambda_values[element] : 1);
}

/* Replace the map x by L^-1 x, with K = L L^T, and set the scales. */
static void transform_map(const sp_operator_setup *setup, sp_lid element, int count,
                          double *coefficients) {
  const double *k = &setup->kappa[6 * (size_t)element];
  const double xx = sqrt(k[0]), yx = k[3] / xx, zx = k[4] / xx;
  const double yy = sqrt(k[1] - yx * yx), zy = (k[5] - zx * yx) / yy;
  const double zz = sqrt(k[2] - zx * zx - zy * zy);
  for (double *c = coefficients; c < coefficients + count; c += 3) {
    c[0] /= xx;
    c[1] = (c[1] - yx * c[0]) / yy;
    c[2] = (c[2] - zx * c[0] - zy * c[1]) / zz;
  }
  coefficients[0] = xx * yy * zz;
  coefficients[1] =
      coefficients[0] * setup->lambda * (setup->lambda_values ? setup->lambda_values[element] : 1);
}

/* Finish the `count` coefficients of a map. */
static void put_scales(const sp_operator_setup *setup, sp_lid element, int count,
                       double *coefficients) {
  if (sp_operator_map_kind(setup) != SP_FACTORS_SCALED) return;
  assert(setup->by_element);
  if (setup->is_tensor)
    transform_map(setup, element, count, coefficients);
  else
    sp_operator_scales(setup, element, coefficients);
}

void sp_operator_trilinear(const sp_operator_setup *setup, sp_lid element,
                           double coefficients[24]) {
  sp_geometry_trilinear(setup->space->mesh->hexes, element, coefficients);
  put_scales(setup, element, 24, coefficients);
}

static void cross(const double a[3], const double b[3], double c[3]) {
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3, f = (d + 2) % 3;
    c[d] = a[e] * b[f] - a[f] * b[e];
  }
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void sp_operator_affine(const sp_operator_setup *setup, sp_lid element, double *factors) {
  const double *corners = sp_hexes_lattice(setup->space->mesh->hexes, element);
  double map[12] = {0}, adjugate[3][3];
  for (int a = 0; a < 3; a++) /* half the mean of four edges */
    for (int c = 0; c < SP_CORNERS; c++)
      for (int d = 0; d < 3 && !(c >> a & 1); d++)
        map[3 * (a + 1) + d] += (corners[3 * (c + (1 << a)) + d] - corners[3 * c + d]) / 8;
  put_scales(setup, element, 12, map);
  for (int a = 0; a < 3; a++)
    cross(&map[3 + 3 * ((a + 1) % 3)], &map[3 + 3 * ((a + 2) % 3)], adjugate[a]);
  const bool scaled = sp_operator_map_kind(setup) == SP_FACTORS_SCALED;
  const double jacobian = dot(&map[3], adjugate[0]), scale = (scaled ? map[0] : 1) / jacobian;
  for (int a = 0, f = 0; a < 3; a++) /* rr, rs, rt, ss, st, tt */
    for (int b = a; b < 3; b++) factors[f++] = scale * dot(adjugate[a], adjugate[b]);
  factors[SP_G_WJ] = jacobian * (scaled ? map[1] : setup->lambda);
}

/* ---- Choice of the geometry ---- */

sp_geometry_facts sp_geometry_facts_of(const sp_operator_setup *setup) {
  return (sp_geometry_facts){.kind = setup->kind,
                             .order = setup->space->numbering->order,
                             .map_order = setup->space->mesh->hexes->map_order,
                             .affine = setup->space->mesh->shape.affine,
                             .coefficients = setup->kappa || setup->lambda_values,
                             .by_element = setup->by_element};
}

sp_status sp_geometry_choose(const sp_backend *backend, const sp_geometry_facts *facts,
                             sp_geometry_kind request, sp_geometry_kind *out, const char **reason) {
  const bool curved = facts->map_order > 1;
  const bool varying = facts->coefficients && !facts->by_element;
  if (request == SP_GEOMETRY_TRILINEAR && curved)
    return sp_fail(
        SP_ERR_INPUT,
        "discretization.geometry = trilinear is exact for eight-node elements only; this "
        "mesh has elements of order %d: use stored or auto",
        facts->map_order);
  if (request == SP_GEOMETRY_TRILINEAR && varying)
    return sp_fail(
        SP_ERR_INPUT,
        "discretization.geometry = trilinear needs kappa and lambda that are constant in "
        "each material; here one of them is an array or a formula of x, y or z, or there is a "
        "contact: use stored or auto");
  *out = request;
  *reason = "as the case asks";
  if (request != SP_GEOMETRY_AUTO) return SP_OK;
  *out = SP_GEOMETRY_STORED;
  if (varying) {
    *reason = "coefficients at the quadrature points";
  } else if (curved) {
    *reason = "curved elements";
  } else {
    *out = backend->faster_geometry(facts->kind, facts->order, facts->affine);
    const bool trilinear = *out == SP_GEOMETRY_TRILINEAR;
    *reason = trilinear && facts->affine
                  ? "the faster one on this device, with one Jacobian per element"
              : trilinear && facts->coefficients
                  ? "the faster one on this device, kappa and lambda constant per element"
                  : "the faster one on this device";
  }
  return SP_OK;
}
