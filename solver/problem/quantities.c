#include "solver/problem/quantities.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/extremum.h"
#include "solver/problem/crossing.h"
#include "solver/problem/groups.h"

enum {
  POINTS = SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE,
  FACE_POINTS = SP_MAX_RULE * SP_MAX_RULE,
  NODES = SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ,
  LIST_SIZE = 400
};

/* ---- Groups ---- */

static sp_status fail_unknown(const sp_result_entry *entry, const sp_hexes *hexes) {
  char surfaces[LIST_SIZE], volumes[LIST_SIZE];
  return sp_fail(SP_ERR_INPUT, "%s: the mesh has no group '%s'; surfaces: %s; volumes: %s",
                 entry->where, entry->group,
                 hexes->group_count
                     ? sp_groups_list(hexes->group_count, hexes->groups, NULL, LIST_SIZE, surfaces)
                     : "none",
                 hexes->volume_group_count
                     ? sp_groups_list(hexes->volume_group_count, hexes->volume_groups, NULL,
                                      LIST_SIZE, volumes)
                     : "none");
}

/* Decide if a line is about a surface or a volume. */
static sp_status choose_kind(const sp_result_entry *entry, const sp_hexes *hexes,
                             bool *on_surface) {
  *on_surface = entry->over == SP_OVER_SURFACE || entry->kind == SP_RESULT_FLUX;
  if (entry->over == SP_OVER_DOMAIN) return SP_OK;
  const bool surface = sp_groups_have(hexes->group_count, hexes->groups, entry->group);
  const bool volume = sp_groups_have(hexes->volume_group_count, hexes->volume_groups, entry->group);
  if (entry->over == SP_OVER_GROUP && !surface && !volume) return fail_unknown(entry, hexes);
  if (entry->kind == SP_RESULT_FLUX && !surface && volume)
    return sp_fail(SP_ERR_INPUT,
                   "%s: '%s' is a volume, but a flux goes through a surface: use a boundary group",
                   entry->where, entry->group);
  if (entry->over == SP_OVER_GROUP && entry->kind != SP_RESULT_FLUX) {
    if (surface && volume)
      return sp_fail(SP_ERR_INPUT,
                     "%s: '%s' is a surface and a volume of the mesh: write 'over surface %s' or "
                     "'over volume %s'",
                     entry->where, entry->group, entry->group, entry->group);
    *on_surface = surface;
  }
  if (*on_surface)
    return sp_groups_check(entry->where, "boundary group", entry->group, hexes->group_count,
                           hexes->groups);
  return sp_groups_check(entry->where, "volume group", entry->group, hexes->volume_group_count,
                         hexes->volume_groups);
}

/* Mark the surfaces or volumes of a line; all volumes for the domain. */
static void mark_members(const sp_result_entry *entry, const sp_hexes *hexes, bool on_surface,
                         bool *members) {
  const int groups = on_surface ? hexes->group_count : hexes->volume_group_count;
  const sp_group *list = on_surface ? hexes->groups : hexes->volume_groups;
  const int count = on_surface ? hexes->surface_count : hexes->volume_count;
  for (int m = 0; m < count; m++) members[m] = entry->over == SP_OVER_DOMAIN;
  for (int g = 0; g < groups && entry->group; g++)
    for (int m = 0; m < count && sp_group_is_called(&list[g], entry->group); m++)
      members[m] = members[m] || list[g].members[m];
}

sp_status sp_quantities_check(const sp_config *config, const sp_mesh *mesh) {
  const sp_operator_kind kind = config->discretization.operator_kind;
  for (int r = 0; r < config->results.count; r++) {
    const sp_result_entry *entry = &config->results.entries[r];
    bool on_surface;
    SP_TRY(choose_kind(entry, mesh->hexes, &on_surface));
    sp_expression *formula = NULL;
    if (entry->formula)
      SP_TRY(sp_expression_parse_of_u(entry->formula, entry->where, config->scope, &formula));
    sp_expression_destroy(&formula);
    if (entry->kind == SP_RESULT_FLUX && !sp_operator_rows[kind].has_stiffness)
      return sp_fail(SP_ERR_INPUT, "%s: the %s problem has no flux; ask for another result",
                     entry->where, sp_operator_name(kind));
  }
  return SP_OK;
}

/* ---- Creation ---- */

static sp_status fill(const sp_config *config, const sp_hexes *hexes, const sp_problem *problem,
                      sp_quantities *quantities) {
  for (int r = 0; r < quantities->count; r++) {
    const sp_result_entry *entry = &config->results.entries[r];
    sp_quantity *q = &quantities->list[r];
    *q = (sp_quantity){.name = entry->name, .group = entry->group, .kind = entry->kind};
    if (entry->formula)
      SP_TRY(sp_expression_parse_of_u(entry->formula, entry->where, config->scope, &q->formula));
    SP_TRY(choose_kind(entry, hexes, &q->on_surface));
    const int count = q->on_surface ? hexes->surface_count : hexes->volume_count;
    SP_TRY(sp_allocate((size_t)count, sizeof *q->members, "results", &q->members));
    mark_members(entry, hexes, q->on_surface, q->members);
    for (int s = 0; s < count && q->kind == SP_RESULT_FLUX; s++) {
      const int part = q->members[s] ? problem->part_of_surface[s] : -1;
      if (part >= 0 && problem->parts[part].condition == SP_PERIODIC)
        return sp_fail(SP_ERR_INPUT, "%s: '%s' is periodic, so it has no flux out of the domain",
                       entry->where, entry->group);
    }
  }
  for (int r = quantities->count; r < quantities->all; r++) {
    sp_quantity *q = &quantities->list[r];
    const int count = hexes->volume_count;
    *q = (sp_quantity){.name = "u",
                       .kind = r == quantities->count ? SP_RESULT_MINIMUM : SP_RESULT_MAXIMUM};
    SP_TRY(sp_allocate((size_t)count, sizeof *q->members, "results", &q->members));
    for (int v = 0; v < count; v++) q->members[v] = true;
  }
  return SP_OK;
}

static bool has_face(const sp_quantity *q, const sp_hexes *hexes, sp_lid e, int f) {
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return q->on_surface && surface >= 0 && q->members[surface];
}

static bool has_element(const sp_quantity *q, const sp_hexes *hexes, sp_lid e) {
  return !q->on_surface && q->members[hexes->volumes[e]];
}

/* A group without elements or faces has no average. */
static sp_status check_size(const sp_config *config, const sp_mesh *mesh, const sp_quantity *q,
                            int r) {
  int some = 0;
  for (sp_lid e = 0; e < mesh->hexes->count && !some; e++) {
    some = has_element(q, mesh->hexes, e);
    for (int f = 0; f < SP_FACES && !some; f++) some = has_face(q, mesh->hexes, e, f);
  }
  MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, mesh->comm);
  if (some) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: %s '%s' has no %s", config->results.entries[r].where,
                 q->on_surface ? "boundary group" : "volume group", q->group,
                 q->on_surface ? "faces" : "elements");
}

sp_status sp_quantities_create(const sp_config *config, const sp_mesh *mesh,
                               const sp_problem *problem, sp_quantities **out) {
  sp_quantities *quantities;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *quantities, "results", &quantities);
  if (!status) {
    const int count = config->results.count;
    status = sp_allocate((size_t)count + 2, sizeof *quantities->list, "results", &quantities->list);
    if (!status) quantities->count = count, quantities->all = count + 2;
    if (!status) status = fill(config, mesh->hexes, problem, quantities);
  }
  status = sp_agree(mesh->comm, status);
  for (int r = 0; r < config->results.count && !status; r++)
    status = check_size(config, mesh, &quantities->list[r], r);
  for (int r = 0; r < config->results.count && !status; r++)
    if (quantities->list[r].kind == SP_RESULT_FLUX)
      status = sp_crossing_check(config->results.entries[r].where, problem, mesh,
                                 quantities->list[r].members, &quantities->list[r].crosses);
  if (status)
    sp_quantities_destroy(&quantities);
  else
    *out = quantities;
  return status;
}

void sp_quantities_destroy(sp_quantities **quantities) {
  if (!*quantities) return;
  for (int r = 0; r < (*quantities)->all; r++) {
    sp_expression_destroy(&(*quantities)->list[r].formula);
    free((*quantities)->list[r].members);
  }
  free((*quantities)->list);
  free(*quantities);
  *quantities = NULL;
}

/* ---- Evaluation ---- */

/* The rule, the basis at its points, and one element; too large for the stack. */
typedef struct workspace {
  sp_rule rule;
  double basis[SP_MAX_RULE * SP_MAX_NQ]; /* [rule.n][Nq] */
  double nodal[NODES], place[3 * NODES]; /* u at the nodes, and their coordinates */
  double candidates[NODES], selected[3 * NODES];
  double u[POINTS], formula[POINTS], weight[POINTS], jacobian[POINTS], inverse[9 * POINTS];
  double xyz[3 * POINTS], normal[3 * FACE_POINTS];
  int indices[SP_MAX_NQ * SP_MAX_NQ];
} workspace;

/* Results of one rank for a quantity. */
typedef struct partial {
  double integrals[2]; /* of v, or v^2 for a norm, and of 1 */
  double extremum;     /* the least v; of a maximum the least -v */
  double place[3];
  bool infinite; /* v is not finite at `place` */
} partial;

static bool is_extremum(sp_result_kind kind) {
  return kind == SP_RESULT_MINIMUM || kind == SP_RESULT_MAXIMUM;
}

/* Evaluate the formula at n points, xyz [3][n], and look for values that are not finite. */
static void evaluate_formula(const sp_expression *formula, size_t n, const double *xyz,
                             const double *u, double *value, partial *p) {
  sp_expression_evaluate_of_u(formula, n, xyz, xyz + n, xyz + 2 * n, u, value);
  for (size_t i = 0; i < n && !p->infinite; i++) {
    if (isfinite(value[i])) continue;
    p->infinite = true;
    for (size_t d = 0; d < 3; d++) p->place[d] = xyz[d * n + i];
  }
}

static void add_integrals(const sp_quantity *q, size_t points, workspace *w, partial *p) {
  const double *v = w->u;
  if (q->formula && !is_extremum(q->kind)) {
    evaluate_formula(q->formula, points, w->xyz, w->u, w->formula, p);
    v = w->formula;
  }
  for (size_t i = 0; i < points; i++) {
    p->integrals[0] += w->weight[i] * v[i] * (q->kind == SP_RESULT_NORM ? v[i] : 1);
    p->integrals[1] += w->weight[i];
  }
}

/* Values of v at the nodes of an element, or at `indices`. False if v is not finite at one. */
static bool find_candidates(const sp_quantity *q, const sp_space *space, sp_lid e, size_t count,
                            const int *indices, workspace *w, partial *p) {
  const sp_rule *gll = &sp_reference_get(space->numbering->order)->gll;
  const size_t nodes = sp_rule_points(gll);
  for (size_t i = 0; i < count; i++) w->candidates[i] = w->nodal[indices ? (size_t)indices[i] : i];
  if (!q->formula) return true;
  sp_hexes_coordinates(space->mesh->hexes, e, gll->n, gll->nodes, w->place);
  for (size_t d = 0; d < 3; d++)
    for (size_t i = 0; i < count; i++)
      w->selected[d * count + i] = w->place[d * nodes + (indices ? (size_t)indices[i] : i)];
  evaluate_formula(q->formula, count, w->selected, w->candidates, w->formula, p);
  memcpy(w->candidates, w->formula, count * sizeof *w->candidates);
  return !p->infinite;
}

/* Search an element, or its face f if that is not -1: a formula at the nodes, u between them too.
 */
static void find_extremum(const sp_quantity *q, const sp_space *space, sp_lid e, int f,
                          workspace *w, partial *p) {
  static const double VISIBLE = 1e-12; /* of the range */
  const int order = space->numbering->order;
  const sp_rule *gll = &sp_reference_get(order)->gll;
  const size_t nodes = sp_rule_points(gll), nq = (size_t)gll->n;
  const size_t count = f < 0 ? nodes : nq * nq;
  const int *indices = f < 0 ? NULL : w->indices;
  const double sign = q->kind == SP_RESULT_MAXIMUM ? -1 : 1;
  double range[2] = {DBL_MAX, -DBL_MAX}, place[3]; /* of sign * v */
  size_t best = 0;
  if (!is_extremum(q->kind) || p->infinite) return;
  if (!find_candidates(q, space, e, count, indices, w, p)) return;
  for (size_t i = 0; i < count; i++) {
    const double value = sign * w->candidates[i];
    if (value < range[0]) best = i;
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
  }
  const size_t node = indices ? (size_t)indices[best] : best;
  const double apart = q->formula ? 0 : range[1] - range[0];
  if (!(range[0] - SP_EXTREMUM_MARGIN * apart < p->extremum)) return;
  if (apart > 0) {
    const double value =
        sp_extremum_find(space->mesh->hexes, e, order, f, (int)node, sign, w->nodal, apart, place);
    if (value < range[0] - VISIBLE * apart && value < p->extremum) {
      p->extremum = value;
      memcpy(p->place, place, sizeof place);
    }
  }
  if (!(range[0] < p->extremum)) return;
  p->extremum = range[0];
  sp_hexes_coordinates(space->mesh->hexes, e, gll->n, gll->nodes, w->place);
  for (size_t d = 0; d < 3; d++) p->place[d] = w->place[d * nodes + node];
}

/* Compute u and the weights at the points of an element. */
static void prepare_element(const sp_space *space, sp_lid e, workspace *w) {
  const size_t n = (size_t)w->rule.n, points = sp_rule_points(&w->rule);
  const double *weights = w->rule.weights;
  sp_tensor_apply(w->rule.n, space->numbering->order + 1, w->basis, w->basis, w->basis, w->nodal,
                  w->u);
  sp_geometry_inverse(space->mesh->hexes, e, w->rule.n, w->rule.nodes, w->xyz, w->inverse,
                      w->jacobian);
  for (size_t p = 0; p < points; p++)
    w->weight[p] = weights[p % n] * weights[p / n % n] * weights[p / (n * n)] * w->jacobian[p];
}

/* A face between elements counts half from each side. */
static void prepare_face(const sp_space *space, sp_lid e, int f, workspace *w) {
  const int n = w->rule.n, nq = space->numbering->order + 1, points = n * n;
  const double half = sp_surface_is_exterior(space->mesh->hexes->surfaces[e][f]) ? 1 : 0.5;
  sp_geometry_face(space->mesh->hexes, e, f, &w->rule, w->xyz, w->normal);
  sp_face_nodes(space->numbering->order, f, w->indices);
  for (int p = 0; p < points; p++) {
    const double *normal = w->normal;
    w->weight[p] = half * sqrt(normal[p] * normal[p] + normal[points + p] * normal[points + p] +
                               normal[2 * points + p] * normal[2 * points + p]);
    w->u[p] = 0;
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++)
        w->u[p] +=
            w->basis[p % n * nq + i] * w->basis[p / n * nq + j] * w->nodal[w->indices[j * nq + i]];
  }
}

static void add_element(const sp_quantities *quantities, const sp_space *space, sp_lid e,
                        workspace *w, partial *partials) {
  const sp_hexes *hexes = space->mesh->hexes;
  bool prepared = false;
  for (int r = 0; r < quantities->all; r++) {
    const sp_quantity *q = &quantities->list[r];
    if (!has_element(q, hexes, e)) continue;
    if (!prepared && r < quantities->count) prepare_element(space, e, w);
    prepared = true;
    if (r < quantities->count) add_integrals(q, sp_rule_points(&w->rule), w, &partials[r]);
    find_extremum(q, space, e, -1, w, &partials[r]);
  }
}

static void add_face(const sp_quantities *quantities, const sp_space *space, sp_lid e, int f,
                     workspace *w, partial *partials) {
  const size_t points = (size_t)(w->rule.n * w->rule.n);
  bool prepared = false;
  for (int r = 0; r < quantities->all; r++) {
    const sp_quantity *q = &quantities->list[r];
    if (!has_face(q, space->mesh->hexes, e, f)) continue;
    if (!prepared) prepare_face(space, e, f, w);
    prepared = true;
    add_integrals(q, points, w, &partials[r]);
    find_extremum(q, space, e, f, w, &partials[r]);
  }
}

static void add_elements(const sp_quantities *quantities, const sp_space *space, const double *x,
                         workspace *w, partial *partials) {
  const sp_numbering *numbering = space->numbering;
  const size_t nodes = sp_element_nodes(numbering->order);
  for (int r = 0; r < quantities->all; r++) partials[r].extremum = DBL_MAX;
  sp_rule_gl(numbering->order + 4, &w->rule);
  sp_interpolation_matrix(numbering->order + 1, sp_reference_get(numbering->order)->gll.nodes,
                          w->rule.n, w->rule.nodes, w->basis);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    for (size_t n = 0; n < nodes; n++) w->nodal[n] = x[numbering->nodes[(size_t)e * nodes + n]];
    add_element(quantities, space, e, w, partials);
    for (int f = 0; f < SP_FACES; f++) add_face(quantities, space, e, f, w, partials);
  }
}

/* Find the least `value` of all ranks; the place is that of the lowest rank that has it. */
static double find_place(MPI_Comm comm, double value, const partial *mine, sp_quantity *q) {
  struct {
    double value;
    int rank;
  } best = {.value = value};
  MPI_Comm_rank(comm, &best.rank);
  MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  memcpy(q->place, mine->place, sizeof q->place);
  MPI_Bcast(q->place, 3, MPI_DOUBLE, best.rank, comm);
  return best.value;
}

static sp_status finish(const sp_problem *problem, const sp_space *space, const sp_balance *balance,
                        const double *x, partial *mine, sp_quantity *q) {
  SP_TRY(sp_reduction_sum(space->platform->reduction, 2, mine->integrals, SP_OK));
  q->size = mine->integrals[1];
  q->value = mine->integrals[0];
  if (q->kind == SP_RESULT_AVERAGE) q->value /= q->size;
  if (q->kind == SP_RESULT_NORM) q->value = sqrt(q->value);
  if (q->formula && find_place(space->mesh->comm, mine->infinite ? 0 : 1, mine, q) == 0) {
    q->value = NAN;
    return SP_OK;
  }
  if (is_extremum(q->kind)) {
    const double least = find_place(space->mesh->comm, mine->extremum, mine, q);
    q->value = q->kind == SP_RESULT_MAXIMUM ? -least : least;
  }
  if (q->crosses) return sp_crossing_flux(problem, space, q->members, x, &q->value);
  if (q->kind == SP_RESULT_FLUX) {
    q->value = 0;
    for (int s = 0; s < space->mesh->hexes->surface_count; s++)
      if (q->members[s]) q->value += balance->flux[s];
  }
  return SP_OK;
}

sp_status sp_quantities_evaluate(sp_quantities *quantities, const sp_problem *problem,
                                 const sp_space *space, const sp_balance *balance,
                                 const double *x) {
  workspace *w = NULL;
  partial *partials;
  sp_status status = sp_allocate((size_t)quantities->all, sizeof *partials, "results", &partials);
  if (!status) status = sp_allocate(1, sizeof *w, "results", &w);
  status = sp_agree(space->mesh->comm, status);
  if (!status) add_elements(quantities, space, x, w, partials);
  for (int r = 0; r < quantities->all && !status; r++)
    status = finish(problem, space, balance, x, &partials[r], &quantities->list[r]);
  free(w);
  free(partials);
  return status;
}

sp_status sp_quantities_check_finite(const sp_quantities *quantities) {
  for (int r = 0; r < quantities->count; r++) {
    const sp_quantity *q = &quantities->list[r];
    if (q->formula && isnan(q->value))
      return sp_fail(SP_ERR_INPUT, "%s: '%s' is not finite at (%.12g, %.12g, %.12g)",
                     sp_expression_where(q->formula), sp_expression_text(q->formula), q->place[0],
                     q->place[1], q->place[2]);
  }
  return SP_OK;
}
