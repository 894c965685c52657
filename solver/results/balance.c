#include "solver/results/balance.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "operators/counts.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/linearize.h"
#include "solver/problem/robin.h"

enum { ABSORBED, STORED, SIZE, REACTED, INTEGRALS };

/* Data shared by all elements, and their sums. */
typedef struct absorption {
  const sp_problem *problem;
  const sp_space *space;
  const double *x;
  double sums[INTEGRALS];
} absorption;

/* The sums over a chunk of elements, and the arrays of one; too large for the stack. */
typedef struct workspace {
  double sums[INTEGRALS];
  double nodal[SP_MAX_POINTS], u[SP_MAX_POINTS], rate[SP_MAX_POINTS], lambda[SP_MAX_POINTS];
  double coordinates[3 * SP_MAX_POINTS], wj[SP_MAX_POINTS];
} workspace;

sp_status sp_balance_create(const sp_problem *problem, const sp_space *space, sp_balance *balance) {
  const sp_hexes *hexes = space->mesh->hexes;
  *balance = (sp_balance){.surfaces = hexes->surface.count + 1,
                          .fluxes = {.problem = problem, .space = space, .whole = true}};
  balance->terms = balance->surfaces + hexes->volume.count;
  sp_status status = SP_ALLOCATE("balance", SP_ARRAY(balance->sums.given, balance->surfaces),
                                 SP_ARRAY(balance->sums.variation, hexes->count),
                                 SP_ARRAY(balance->flux, balance->terms));
  if (!status) status = sp_fluxes_open(&balance->fluxes);
  SP_TRY(sp_agree(space->mesh->comm, status));
  for (int v = 0; v < hexes->volume.count; v++) balance->fluxes.volumes[v] = true;
  balance->sums.left_out = (const bool(*)[SP_FACES])balance->fluxes.marked;
  return sp_fluxes_mark(&balance->fluxes);
}

sp_status sp_balance_load(sp_balance *balance, double *scratch) {
  const sp_fluxes *fluxes = &balance->fluxes;
  sp_load_sums *sums = &balance->sums;
  sp_jacobian_range range;
  sums->source = sums->size = 0;
  sums->forcing = (sp_forcing_difference){0};
  memset(sums->given, 0, (size_t)balance->surfaces * sizeof *sums->given);
  return sp_problem_load(fluxes->problem, fluxes->space, NULL, NULL, scratch, &range, sums);
}

void sp_balance_free(sp_balance *balance) {
  sp_fluxes_close(&balance->fluxes);
  SP_FREE(balance->sums.given, balance->sums.variation, balance->sums.sources, balance->sums.fluxes,
          balance->flux);
  *balance = (sp_balance){0};
}

static bool is_zero(const sp_material *material) {
  return !material->of[SP_LAMBDA].formula && material->of[SP_LAMBDA].value == 0 &&
         material->shift == 0;
}

/* The forcing is f(last) - s (u - last), and lambda has grown by s (linearize.h). */
static void add_reaction(const sp_problem *problem, const sp_rule *rule, sp_lid e, workspace *w) {
  const size_t points = sp_rule_points(rule);
  const double *slope = &problem->slope_of_u[(size_t)e * points];
  sp_last_interpolate(&problem->last, rule, e, w->nodal, w->rate);
  for (size_t p = 0; p < points; p++) {
    w->sums[ABSORBED] -= w->wj[p] * slope[p] * w->u[p];
    w->sums[REACTED] -= w->wj[p] * slope[p] * (w->u[p] - w->rate[p]);
    w->sums[SIZE] += w->wj[p] * fabs(slope[p] * w->u[p]);
  }
}

/* Add the integrals of lambda u, of capacity du/dt, of the size of terms that cancel, and of the
 * change of f over an element, with the operator's quadrature. */
static sp_status integrate_absorbed(const absorption *a, sp_lid e, workspace *w) {
  const sp_problem *problem = a->problem;
  const sp_numbering *numbering = a->space->numbering;
  const sp_hexes *hexes = a->space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(problem->kind, numbering->order);
  const size_t points = sp_rule_points(rule);
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  const sp_last u = {a->x, numbering}, history = {problem->history, numbering};
  if (!problem->arrays[SP_LAMBDA] && is_zero(material)) return SP_OK;
  sp_last_interpolate(&u, rule, e, w->nodal, w->u);
  SP_TRY(sp_geometry_volume(hexes, e, rule, w->coordinates, w->wj));
  const double *xyz[3] = {w->coordinates, w->coordinates + points, w->coordinates + 2 * points};
  SP_TRY(sp_problem_shifted(problem, hexes, e, 0, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) w->sums[ABSORBED] += w->wj[p] * w->lambda[p] * w->u[p];
  if (material->reaction && problem->slope_of_u) add_reaction(problem, rule, e, w);
  if (material->shift == 0) return SP_OK;
  sp_last_interpolate(&history, rule, e, w->nodal, w->rate);
  SP_TRY(sp_problem_capacity(problem, hexes, e, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) {
    w->sums[STORED] += w->wj[p] * w->lambda[p] * (material->shift * w->u[p] - w->rate[p]);
    w->sums[SIZE] += w->wj[p] * w->lambda[p] * material->shift * fabs(w->u[p]);
  }
  return SP_OK;
}

static sp_status absorb_in_elements(void *context, void *workspace_, size_t begin, size_t end) {
  workspace *w = workspace_;
  memset(w->sums, 0, sizeof w->sums);
  for (size_t e = begin; e < end; e++) SP_TRY(integrate_absorbed(context, (sp_lid)e, w));
  return SP_OK;
}

static void add_absorbed(void *context, void *workspace_, size_t begin, size_t end) {
  (void)begin, (void)end;
  const workspace *w = workspace_;
  for (int k = 0; k < INTEGRALS; k++) ((absorption *)context)->sums[k] += w->sums[k];
}

/* Fill the integrals of f, lambda u and capacity du/dt over this rank's elements. */
static sp_status find_absorbed(const sp_problem *problem, const sp_space *space, const double *x,
                               sp_balance *balance) {
  absorption a = {problem, space, x, {0}};
  const size_t count = (size_t)space->mesh->hexes->count;
  const size_t nodes = sp_element_nodes(space->numbering->order);
  const sp_status status =
      sp_loop_sum("balance", count, nodes, &a, sizeof(workspace), absorb_in_elements, add_absorbed);
  balance->absorbed = a.sums[ABSORBED];
  balance->stored = a.sums[STORED];
  balance->direct = a.sums[SIZE];
  balance->source = balance->sums.source + a.sums[REACTED];
  return status;
}

static double *flux_of(sp_balance *balance, const sp_hexes *hexes, sp_lid e, int f) {
  if (f == SP_FACES) return &balance->flux[balance->surfaces + hexes->volumes[e]];
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return &balance->flux[surface >= 0 ? surface : balance->surfaces - 1];
}

static void add_flux(void *balance_, sp_lid e, int f, double flux) {
  sp_balance *balance = balance_;
  *flux_of(balance, balance->fluxes.space->mesh->hexes, e, f) += flux;
  balance->through += fabs(flux);
}

/* Add alpha u of Robin faces that are not marked, and look for faces of the default. */
static sp_status add_faces(sp_balance *balance, const double *x) {
  const sp_problem *problem = balance->fluxes.problem;
  const sp_space *space = balance->fluxes.space;
  for (sp_lid k = 0; k < problem->face_count; k++) {
    const sp_outer_face *face = &problem->faces[k];
    const sp_lid e = face->element;
    if (face->face == SP_FACES || !face->part) continue;
    if (face->part == &problem->parts[problem->part_count - 1]) balance->has_default = true;
    if (!sp_outer_face_type(face)->has_alpha || balance->fluxes.marked[e][face->face]) continue;
    double flux = 0;
    SP_TRY(sp_robin_flux(face->part, space, e, face->face, x, &flux));
    *flux_of(balance, space->mesh->hexes, e, face->face) += flux;
    balance->direct += fabs(flux);
  }
  return SP_OK;
}

/* The absolute values of fluxes that do not depend on u, surface by surface. */
static double given_fluxes(const sp_balance *balance, const sp_problem *problem) {
  const int fallback = problem->part_count - 1;
  double sum = 0;
  for (int s = 0; s < balance->surfaces; s++) {
    const int part = s + 1 < balance->surfaces ? problem->part_of_surface[s] : fallback;
    const sp_condition_type *type = problem->parts[part].type;
    if (type->terms && !type->has_alpha) sum += fabs(balance->flux[s]);
  }
  return sum;
}

static sp_status sum_up(sp_balance *balance, const sp_problem *problem, const sp_space *space) {
  for (int s = 0; s < balance->surfaces; s++) balance->flux[s] -= balance->sums.given[s];
  double volume[7] = {balance->source,  balance->absorbed, balance->has_default, balance->sums.size,
                      balance->through, balance->stored,   balance->direct};
  SP_TRY(sp_reduction_sum(space->platform->reduction, 7, volume, SP_OK));
  balance->through = volume[4];
  balance->direct = volume[6];
  balance->fluxes.noise += DBL_EPSILON * balance->direct;
  balance->has_default = volume[2] > 0;
  SP_TRY(sp_reduction_sum(space->platform->reduction, balance->terms, balance->flux, SP_OK));
  balance->source = volume[0];
  balance->absorbed = volume[1];
  balance->stored = volume[5];
  balance->data = volume[3] + given_fluxes(balance, problem);
  balance->imbalance = balance->source - balance->removed - balance->absorbed - balance->stored;
  balance->largest = fmax(volume[3], fmax(fabs(balance->absorbed), fabs(balance->stored)));
  for (int s = 0; s < balance->terms; s++) {
    balance->imbalance -= balance->flux[s];
    balance->largest = fmax(balance->largest, fabs(balance->flux[s]));
  }
  return SP_OK;
}

sp_status sp_balance_compute(sp_balance *balance, const double *x, const double *rest,
                             double *const scratch[2]) {
  sp_fluxes *fluxes = &balance->fluxes;
  const sp_problem *problem = fluxes->problem;
  const bool marks_change = problem->has_robin && !rest != !fluxes->rest;
  fluxes->x = x;
  fluxes->rest = rest;
  fluxes->weights = scratch[0];
  fluxes->left = scratch[1];
  if (marks_change) {
    SP_TRY(sp_fluxes_mark(fluxes));
    SP_TRY(sp_balance_load(balance, scratch[0]));
  }
  fluxes->noise = fluxes->stiffness = balance->through = 0;
  for (int t = 0; t < balance->terms; t++) balance->flux[t] = 0;
  sp_status status = find_absorbed(problem, fluxes->space, x, balance);
  if (!status) status = add_faces(balance, x);
  SP_TRY(sp_agree(fluxes->space->mesh->comm, status));
  if (problem->has_dirichlet || problem->has_robin)
    SP_TRY(sp_fluxes_compute(fluxes, add_flux, balance));
  return sum_up(balance, problem, fluxes->space);
}

bool sp_balance_has_part(const sp_balance *balance, const sp_problem *problem, int part) {
  if (sp_condition_is_of_mesh(problem->parts[part].type)) return false;
  return part < problem->part_count - 1 || balance->has_default;
}

double sp_balance_part(const sp_balance *balance, const sp_problem *problem, int part) {
  double flux = part == problem->part_count - 1 ? balance->flux[balance->surfaces - 1] : 0;
  for (int s = 0; s < balance->surfaces - 1; s++)
    if (problem->part_of_surface[s] == part) flux += balance->flux[s];
  for (int v = 0; v < balance->terms - balance->surfaces; v++)
    if (problem->part_of_volume[v] == part) flux += balance->flux[balance->surfaces + v];
  return flux;
}

const char *sp_balance_part_name(const sp_problem *problem, int part) {
  return part == problem->part_count - 1 ? "default" : problem->parts[part].group;
}

double sp_balance_flow(const sp_balance *balance) {
  return fmax(balance->largest, balance->through / 2);
}

sp_status sp_balance_check(const sp_balance *balance, double explained, double tolerance) {
  static const double VISIBLE = 1e-4; /* of the largest term */
  static const double SUMS = 8;       /* roundings of sums of terms that cancel */
  /* With `rest` fluxes are accurate to this share of the noise, which is everything if no heat
   * flows. */
  static const double RESOLVED = 1e-9;
  const double share = fmax(1e-3, 1e4 * tolerance);
  const double imbalance = fabs(balance->imbalance);
  const double flow = sp_balance_flow(balance);
  if (!balance->fluxes.rest && balance->fluxes.noise > share * flow)
    return sp_fail(
        SP_ERR_NOT_CONVERGED,
        "rounding of the solution may change fluxes by %.1e, where %.1e flows: a material "
        "conducts too well for its differences of u; fix its u by a dirichlet line for its "
        "volume, or count u from a reference value",
        balance->fluxes.noise, flow);
  if (imbalance <= VISIBLE * balance->largest || imbalance <= fmin(explained, share * flow) ||
      imbalance <= SUMS * DBL_EPSILON * balance->direct ||
      (balance->fluxes.rest && imbalance <= RESOLVED * balance->fluxes.noise))
    return SP_OK;
  return sp_fail(SP_ERR_NOT_CONVERGED,
                 "the balance does not close: %.2e is missing, %.1e of its largest term, where the "
                 "tolerance allows %.1e; try a smaller solver.tolerance",
                 balance->imbalance, imbalance / balance->largest, fmin(explained, share * flow));
}
