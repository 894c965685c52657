#include "operators/schwarz/separable.h"

#include <float.h>
#include <math.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "operators/factors.h"
#include "operators/space.h"

/* Coefficients constant in each element need no more points than the geometry. */
enum { GEOMETRY_POINTS = 3 };

/* The sums over an element of the diagonal factors, and of wJ, divided by 8. */
static double sum_factors(size_t points, const double *factors, double c[3]) {
  static const int diagonal[3] = {SP_G_RR, SP_G_SS, SP_G_TT};
  double mass = 0;
  for (int d = 0; d < 3; d++) c[d] = 0;
  for (size_t p = 0; p < points; p++) {
    for (int d = 0; d < 3; d++) c[d] += factors[(size_t)diagonal[d] * points + p] / 8;
    mass += factors[SP_G_WJ * points + p] / 8;
  }
  return mass;
}

/* Model a contact as a thin box: `across` is its coupling in t; couplings along it vanish. */
static void make_thin(double across, sp_separable *box) {
  double *l = box->length;
  l[2] = SP_CONTACT_THIN * fmin(l[0], l[1]);
  box->kappa = across * 2 * l[2] / (l[0] * l[1]);
}

/* `weighted` has coefficients, by element or at the points of `rule`; NULL: none. `factors` has
 * room for the points. */
static sp_status fill_box(const sp_hexes *hexes, sp_lid e, const sp_rule *rule, double lambda,
                          const sp_operator_setup *weighted, double *factors, sp_separable *box) {
  const size_t points = sp_rule_points(rule);
  double c[3];
  SP_TRY(sp_geometry_factors(hexes, e, rule, factors));
  const double volume = sum_factors(points, factors, c);
  const bool contact = weighted && sp_hexes_is_contact(hexes, e);
  if (contact) (void)sp_mesh_fit_box(c, volume, box->length);
  if (weighted) SP_TRY(sp_operator_factors(weighted, e, rule, factors));
  const double mass = lambda * sum_factors(points, factors, c);
  box->lambda = mass / volume;
  if (contact)
    make_thin(c[2], box);
  else
    box->kappa = sp_mesh_fit_box(c, volume, box->length);
  return SP_OK;
}

/* Data shared by all elements. */
typedef struct boxes {
  const sp_hexes *hexes;
  const sp_rule *rule;
  double lambda;
  const sp_operator_setup *weighted;
  sp_separable *list;
} boxes;

static sp_status fill_boxes(void *context, void *factors, size_t begin, size_t end) {
  const boxes *b = context;
  for (size_t e = begin; e < end; e++)
    SP_TRY(fill_box(b->hexes, (sp_lid)e, b->rule, b->lambda, b->weighted, factors, &b->list[e]));
  return SP_OK;
}

sp_status sp_separable_fill(const sp_operator_setup *setup, sp_separable *list) {
  sp_rule coarse;
  sp_rule_gl(GEOMETRY_POINTS, &coarse);
  const bool weighted = setup->kappa || setup->lambda_values;
  const bool at_points = weighted && !setup->by_element;
  const sp_rule *own = sp_operator_rule(setup->kind, setup->space->numbering->order);
  boxes b = {.hexes = setup->space->mesh->hexes,
             .rule = at_points ? own : &coarse,
             .lambda = setup->lambda,
             .weighted = weighted ? setup : NULL,
             .list = list};
  const size_t points = sp_rule_points(b.rule), count = (size_t)b.hexes->count;
  return sp_loop_run(&(sp_loop){.what = "boxes",
                                .count = count,
                                .chunk = sp_loop_chunk(count, SP_FACTORS * points),
                                .workspace_bytes = SP_FACTORS * points * sizeof(double),
                                .context = &b,
                                .compute = fill_boxes});
}

/* Bounds of the eigenvalues of kappa: the traces of kappa and its inverse; exact for a scalar. */
static void bound_kappa(const sp_operator_setup *s, size_t i, size_t each, double bounds[2]) {
  bounds[0] = bounds[1] = s->kappa && !s->is_tensor ? s->kappa[i] : 1;
  if (!s->is_tensor) return;
  double k[6];
  for (size_t c = 0; c < 6; c++) k[c] = s->kappa[(i / each * 6 + c) * each + i % each];
  const double minors[3] = {k[1] * k[2] - k[5] * k[5], k[0] * k[2] - k[4] * k[4],
                            k[0] * k[1] - k[3] * k[3]};
  const double determinant =
      k[0] * minors[0] - k[3] * (k[3] * k[2] - k[4] * k[5]) + k[4] * (k[3] * k[5] - k[4] * k[1]);
  bounds[1] = k[0] + k[1] + k[2];
  bounds[0] = fmax(determinant / (minors[0] + minors[1] + minors[2]), DBL_EPSILON * bounds[1]);
}

void sp_separable_magnitudes(const sp_operator_setup *s, sp_magnitudes *out) {
  const int points = sp_operator_rule(s->kind, s->space->numbering->order)->n;
  const size_t each = s->by_element ? 1 : (size_t)(points * points * points);
  const bool constant = !s->kappa && !s->lambda_values;
  const size_t count = constant ? 1 : (size_t)s->space->mesh->hexes->count * each;
  const double shortest = s->space->mesh->shape.shortest, longest = s->space->mesh->shape.longest;
  const double thin = shortest * shortest / longest, wide = longest * longest / shortest;
  const double smallest_volume = pow(shortest, 3), largest_volume = pow(longest, 3);
  /* Largest, 1 / smallest, absorbing, 1 / conducting, joining, kappa, 1 / kappa. */
  double most[7] = {0, 0, 0, 0, 0, 0, 0};
  for (size_t i = 0; i < count; i++) {
    double kappa[2];
    bound_kappa(s, i, each, kappa);
    const double lambda = s->lambda * (s->lambda_values ? s->lambda_values[i] : 1);
    most[0] = fmax(most[0], fmax(kappa[1] * wide, lambda * largest_volume));
    most[6] = fmax(most[6], 1 / kappa[0]);
    if (!constant && sp_hexes_is_contact(s->space->mesh->hexes, (sp_lid)(i / each))) {
      most[4] = fmax(most[4], kappa[1] * wide);
      continue;
    }
    most[1] = fmax(most[1], 1 / fmax(kappa[0] * thin, lambda * smallest_volume));
    most[2] = fmax(most[2], lambda * largest_volume);
    most[3] = fmax(most[3], 1 / (kappa[0] * thin));
    most[5] = fmax(most[5], kappa[1]);
  }
  for (sp_lid i = 0; i < s->diagonal_count; i++) most[2] = fmax(most[2], s->diagonal_values[i]);
  MPI_Allreduce(MPI_IN_PLACE, most, 7, MPI_DOUBLE, MPI_MAX, s->space->platform->comm);
  *out = (sp_magnitudes){.largest = most[0],
                         .smallest = 1 / most[1],
                         .absorbing = most[2],
                         .conducting = 1 / most[3],
                         .joining = most[4],
                         .jump = most[5] * most[6]};
}
