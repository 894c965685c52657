#include "solver/results/quantities.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/results/crossing.h"
#include "solver/results/extremum.h"

/* Results of one rank for a quantity. */
typedef struct partial {
  double integrals[2]; /* of v, or v^2 for a norm, and of 1 */
  double extremum;     /* the least v; of a maximum the least -v */
  double place[3];
  bool infinite; /* v is not finite at `place` */
  bool pending;  /* of a chunk: not yet added to its rank's */
} partial;

/* Evaluation of all quantities, in chunks of elements. */
typedef struct evaluation {
  const sp_quantities *quantities;
  const sp_space *space;
  const double *x;
  partial *partials; /* [quantities->all], of this rank */
  double *bounds;    /* [quantities->all], of extrema of u: the least value at this rank's nodes */
  sp_rule rule;
  double basis[SP_MAX_RULE * SP_MAX_NQ]; /* [rule.n][Nq] */
} evaluation;

/* One element; too large for the stack. */
typedef struct workspace {
  double nodal[SP_MAX_NODES], place[3 * SP_MAX_NODES]; /* u at the nodes, and their coordinates */
  double candidates[SP_MAX_NODES], selected[3 * SP_MAX_NODES];
  double u[SP_MAX_RULE_POINTS], formula[SP_MAX_RULE_POINTS], weight[SP_MAX_RULE_POINTS],
      jacobian[SP_MAX_RULE_POINTS], inverse[9 * SP_MAX_RULE_POINTS];
  double xyz[3 * SP_MAX_RULE_POINTS], normal[3 * SP_MAX_RULE * SP_MAX_RULE];
  double search[SP_EXTREMUM_WORK];
  int indices[SP_MAX_FACE_NODES];
} workspace;

/* Evaluate the formula at n points, xyz [3][n], and look for values that are not finite. */
static void evaluate_formula(const sp_expression *formula, size_t n, const double *xyz,
                             const double *u, double *value, partial *p) {
  sp_expression_evaluate(formula, n, (const double *const[]){xyz, xyz + n, xyz + 2 * n}, u, value,
                         NULL, NULL);
  for (size_t i = 0; i < n && !p->infinite; i++) {
    if (isfinite(value[i])) continue;
    p->infinite = true;
    for (size_t d = 0; d < 3; d++) p->place[d] = xyz[d * n + i];
  }
}

static void add_integrals(const sp_quantity *q, size_t points, workspace *w, partial *p) {
  const double *v = w->u;
  if (q->formula && !q->type->sign) {
    evaluate_formula(q->formula, points, w->xyz, w->u, w->formula, p);
    v = w->formula;
  }
  for (size_t i = 0; i < points; i++) {
    p->integrals[0] += w->weight[i] * (q->type->summand ? q->type->summand(v[i]) : v[i]);
    p->integrals[1] += w->weight[i];
  }
}

/* Evaluate v at `count` nodes of an element, all nodes or the ones at `indices`. False if v is not
 * finite at one. */
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

/* The smallest and largest of sign * v over the candidates, and the first place of the smallest. */
typedef struct candidate_range {
  double low, high;
  size_t best;
} candidate_range;

static candidate_range find_candidate_range(double sign, size_t count, const double *candidates) {
  candidate_range range = {DBL_MAX, -DBL_MAX, 0};
  for (size_t i = 0; i < count; i++) {
    const double value = sign * candidates[i];
    if (value < range.low) range.best = i;
    range.low = value < range.low ? value : range.low;
    range.high = value > range.high ? value : range.high;
  }
  return range;
}

/* Search an element, or its face f if that is not -1: a formula at the nodes, u also between them.
 * At order 1 the extrema are at nodes. */
static void find_extremum(const evaluation *s, int r, sp_lid e, int f, workspace *w, partial *p) {
  const sp_quantity *q = &s->quantities->list[r];
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int order = s->space->numbering->order;
  const double sign = q->type->sign;
  const sp_rule *gll = &sp_reference_get(order)->gll;
  const size_t nodes = sp_rule_points(gll), nq = (size_t)gll->n;
  const size_t count = f < 0 ? nodes : nq * nq;
  const int *indices = f < 0 ? NULL : w->indices;
  if (!q->type->sign || p->infinite) return;
  if (!find_candidates(q, s->space, e, count, indices, w, p)) return;
  const candidate_range range = find_candidate_range(sign, count, w->candidates);
  const size_t node = indices ? (size_t)indices[range.best] : range.best;
  const double apart = q->formula || order == 1 ? 0 : range.high - range.low;
  const double least = range.low - SP_EXTREMUM_MARGIN * apart;
  if (!(least < p->extremum) || least > s->bounds[r]) return;
  const double below =
      apart > 0 ? sp_extremum_bound(order, f < 0 ? 3 : 2, sign, range.low, w->candidates, w->search)
                : 0;
  const double limit = fmin(p->extremum, s->bounds[r]);
  if (below < -SP_EXTREMUM_VISIBLE * apart && range.low + below < limit) {
    sp_extremum_search search = {order, f, sign, w->nodal, apart, limit, .work = w->search};
    sp_extremum_find(hexes, e, &search);
    if (search.least < range.low - SP_EXTREMUM_VISIBLE * apart && search.least < p->extremum) {
      p->extremum = search.least;
      memcpy(p->place, search.place, sizeof search.place);
    }
  }
  if (!(range.low < p->extremum)) return;
  p->extremum = range.low;
  sp_hexes_coordinates(hexes, e, gll->n, gll->nodes, w->place);
  for (size_t d = 0; d < 3; d++) p->place[d] = w->place[d * nodes + node];
}

/* Compute u and the weights at the points of an element. */
static void prepare_element(const evaluation *s, sp_lid e, workspace *w) {
  const size_t n = (size_t)s->rule.n, points = sp_rule_points(&s->rule);
  const double *weights = s->rule.weights;
  sp_tensor_apply(s->rule.n, s->space->numbering->order + 1, s->basis, s->basis, s->basis, w->nodal,
                  w->u);
  sp_geometry_inverse(s->space->mesh->hexes, e, s->rule.n, s->rule.nodes, w->xyz, w->inverse,
                      w->jacobian);
  for (size_t p = 0; p < points; p++)
    w->weight[p] = weights[p % n] * weights[p / n % n] * weights[p / (n * n)] * w->jacobian[p];
}

/* A face between elements counts half from each side. */
static void prepare_face(const evaluation *s, sp_lid e, int f, workspace *w) {
  const int n = s->rule.n, nq = s->space->numbering->order + 1, points = n * n;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const double half = sp_surface_is_exterior(hexes->surfaces[e][f]) ? 1 : 0.5;
  sp_geometry_face(hexes, e, f, &s->rule, w->xyz, w->normal);
  sp_face_nodes(nq - 1, f, w->indices);
  for (int p = 0; p < points; p++) {
    w->weight[p] = half * sp_geometry_area(w->normal, points, p);
    w->u[p] = 0;
    for (int j = 0; j < nq; j++)
      for (int i = 0; i < nq; i++)
        w->u[p] +=
            s->basis[p % n * nq + i] * s->basis[p / n * nq + j] * w->nodal[w->indices[j * nq + i]];
  }
}

/* The first quantity of an element's material. */
static int own_quantity(const evaluation *s, sp_lid e) {
  const sp_quantities *q = s->quantities;
  return q->materials + 3 * q->material_of_volume[s->space->mesh->hexes->volumes[e]];
}

/* The quantity after r that an element may have: of materials only its own. */
static int next_quantity(const evaluation *s, sp_lid e, int r) {
  const sp_quantities *q = s->quantities;
  const int own = own_quantity(s, e), end = q->materials + 3 * q->material_count;
  if (r + 1 < q->materials || r + 1 >= end) return r + 1;
  return r + 1 <= own ? own : r + 1 < own + 3 ? r + 1 : end;
}

static void evaluate_element(const evaluation *s, sp_lid e, workspace *w, partial *partials) {
  const sp_quantities *quantities = s->quantities;
  bool prepared = false;
  for (int r = 0; r < quantities->all; r = next_quantity(s, e, r)) {
    const sp_quantity *q = &quantities->list[r];
    if (!sp_quantity_has_element(q, s->space->mesh->hexes, e)) continue;
    const bool integrates = r < quantities->count || !q->type->sign;
    if (!prepared && integrates) prepare_element(s, e, w);
    prepared = prepared || integrates;
    if (integrates) add_integrals(q, sp_rule_points(&s->rule), w, &partials[r]);
    find_extremum(s, r, e, -1, w, &partials[r]);
  }
}

static void evaluate_face(const evaluation *s, sp_lid e, int f, workspace *w, partial *partials) {
  const size_t points = (size_t)(s->rule.n * s->rule.n);
  bool prepared = false;
  for (int r = 0; r < s->quantities->all; r = next_quantity(s, e, r)) {
    const sp_quantity *q = &s->quantities->list[r];
    if (!sp_quantity_has_face(q, s->space->mesh->hexes, e, f)) continue;
    if (!prepared) prepare_face(s, e, f, w);
    prepared = true;
    add_integrals(q, points, w, &partials[r]);
    find_extremum(s, r, e, f, w, &partials[r]);
  }
}

typedef struct chunk {
  workspace w;
  partial partials[]; /* [quantities->all], of these elements */
} chunk;

static void clear_partials(int count, partial *partials) {
  for (int r = 0; r < count; r++) partials[r] = (partial){.extremum = DBL_MAX, .pending = true};
}

/* Clear the quantities that some elements may have, so that many materials cost no more than few.
 */
static void clear_chunk(const evaluation *s, size_t begin, size_t end, chunk *c) {
  const sp_quantities *q = s->quantities;
  const int rest = q->materials + 3 * q->material_count;
  clear_partials(q->materials, c->partials);
  clear_partials(q->all - rest, &c->partials[rest]);
  for (size_t e = begin; e < end && q->material_count > 0; e++)
    clear_partials(3, &c->partials[own_quantity(s, (sp_lid)e)]);
}

/* Add a chunk's quantities by add(s, r, its partial). */
static void join_chunk(evaluation *s, size_t begin, size_t end, chunk *c,
                       void (*add)(const evaluation *, int, const partial *)) {
  for (size_t e = begin; e < end; e++)
    for (int r = 0; r < s->quantities->all; r = next_quantity(s, (sp_lid)e, r)) {
      if (c->partials[r].pending) add(s, r, &c->partials[r]);
      c->partials[r].pending = false;
    }
}

static sp_status evaluate_chunk(void *context, void *workspace_, size_t begin, size_t end) {
  const evaluation *s = context;
  chunk *c = workspace_;
  clear_chunk(s, begin, end, c);
  for (size_t e = begin; e < end; e++) {
    sp_numbering_gather(s->space->numbering, (sp_lid)e, s->x, c->w.nodal);
    evaluate_element(s, (sp_lid)e, &c->w, c->partials);
    for (int f = 0; f < SP_FACES; f++) evaluate_face(s, (sp_lid)e, f, &c->w, c->partials);
  }
  return SP_OK;
}

static void add_partial(const evaluation *s, int r, const partial *more) {
  partial *all = &s->partials[r];
  for (int i = 0; i < 2; i++) all->integrals[i] += more->integrals[i];
  if (!all->infinite && (more->infinite || more->extremum < all->extremum))
    memcpy(all->place, more->place, sizeof all->place);
  all->extremum = fmin(all->extremum, more->extremum);
  all->infinite = all->infinite || more->infinite;
}

/* Add the results of a chunk, in the order of the elements: the first place of several counts. */
static void add_chunk(void *context, void *workspace_, size_t begin, size_t end) {
  join_chunk(context, begin, end, workspace_, add_partial);
}

/* The least value of u, or of -u, at the nodes of some elements that a quantity has. */
static sp_status bound_elements(void *context, void *workspace_, size_t begin, size_t end) {
  const evaluation *s = context;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t nodes = sp_element_nodes(s->space->numbering->order);
  chunk *c = workspace_;
  clear_chunk(s, begin, end, c);
  for (size_t e = begin; e < end; e++) {
    sp_numbering_gather(s->space->numbering, (sp_lid)e, s->x, c->w.nodal);
    for (int r = 0; r < s->quantities->all; r = next_quantity(s, (sp_lid)e, r)) {
      const sp_quantity *q = &s->quantities->list[r];
      if (q->formula || !q->type->sign) continue;
      if (!sp_quantity_has_element(q, hexes, (sp_lid)e)) continue;
      const double low = find_candidate_range(q->type->sign, nodes, c->w.nodal).low;
      if (low < c->partials[r].extremum) c->partials[r].extremum = low;
    }
  }
  return SP_OK;
}

static void lower_bound(const evaluation *s, int r, const partial *more) {
  s->bounds[r] = fmin(s->bounds[r], more->extremum);
}

static void lower_bounds(void *context, void *workspace_, size_t begin, size_t end) {
  join_chunk(context, begin, end, workspace_, lower_bound);
}

/* Bounds spare most elements the search between nodes. */
static sp_status add_all(evaluation *s) {
  const int order = s->space->numbering->order;
  const size_t count = (size_t)s->space->mesh->hexes->count, values = sp_element_nodes(order + 3);
  const size_t bytes = sizeof(chunk) + (size_t)s->quantities->all * sizeof(partial);
  clear_partials(s->quantities->all, s->partials);
  sp_rule_gl(order + 4, &s->rule);
  sp_interpolation_matrix(order + 1, sp_reference_get(order)->gll.nodes, s->rule.n, s->rule.nodes,
                          s->basis);
  for (int r = 0; r < s->quantities->all; r++) s->bounds[r] = DBL_MAX;
  if (order > 1)
    SP_TRY(sp_loop_sum("results", count, values, s, bytes, bound_elements, lower_bounds));
  return sp_loop_sum("results", count, values, s, bytes, evaluate_chunk, add_chunk);
}

/* Join the results of all ranks, `count` quantities at once; a place comes from the lowest rank
 * that has the least v, or a v that is not finite. */
static sp_status join_ranks(const sp_space *space, int count, partial *partials) {
  typedef struct least {
    double value;
    int rank;
  } least;
  MPI_Comm comm = space->mesh->comm;
  SP_OWNED double(*integrals)[2] = NULL, (*places)[3] = NULL;
  SP_OWNED least *list = NULL;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("results", SP_ARRAY(integrals, count), SP_ARRAY(places, count),
                                    SP_ARRAY(list, count))));
  const int rank = sp_comm_rank(comm);
  for (int r = 0; r < count; r++) {
    memcpy(integrals[r], partials[r].integrals, sizeof integrals[r]);
    list[r] = (least){partials[r].infinite ? -INFINITY : partials[r].extremum, rank};
  }
  SP_TRY(sp_reduction_sum(space->platform->reduction, 2 * count, *integrals, SP_OK));
  MPI_Allreduce(MPI_IN_PLACE, list, count, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  for (int r = 0; r < count; r++)
    if (list[r].rank == rank) memcpy(places[r], partials[r].place, sizeof places[r]);
  MPI_Allreduce(MPI_IN_PLACE, places, count * (int)sizeof *places, MPI_BYTE, MPI_BOR, comm);
  for (int r = 0; r < count; r++) {
    memcpy(partials[r].integrals, integrals[r], sizeof integrals[r]);
    memcpy(partials[r].place, places[r], sizeof places[r]);
    partials[r].extremum = list[r].value;
    partials[r].infinite = list[r].value == -INFINITY;
  }
  return SP_OK;
}

static sp_status find_value(sp_balance *balance, const partial *all, sp_quantity *q) {
  if (q->type->combine) return SP_OK;
  q->size = all->integrals[1];
  memcpy(q->place, all->place, sizeof q->place);
  if (q->crosses) return sp_crossing_flux(&balance->fluxes, q->members, &q->value);
  q->value = q->type->sign    ? q->type->sign * all->extremum
             : q->type->value ? q->type->value(all->integrals[0], q->size)
                              : all->integrals[0];
  if (q->formula && all->infinite) q->value = NAN;
  if (!q->type->through) return SP_OK;
  q->value = 0;
  for (int s = 0; s < balance->surfaces - 1; s++)
    if (q->members[s]) q->value += balance->flux[s];
  return SP_OK;
}

/* Results of other results, which come before them. */
static void combine_results(sp_quantities *quantities, const sp_balance *balance,
                            const sp_scope *scope, const sp_probes *probes) {
  for (int p = 0; p < probes->count; p++) sp_scope_set_value(scope, p, probes->list[p].value);
  for (int r = 0; r < quantities->count; r++) {
    sp_quantity *q = &quantities->list[r];
    if (q->type->combine) q->value = q->type->combine(quantities, balance, q);
    sp_scope_set_value(scope, probes->count + r, q->value);
  }
}

sp_status sp_quantities_evaluate(sp_quantities *quantities, const sp_space *space,
                                 sp_balance *balance, const sp_scope *scope,
                                 const sp_probes *probes, const double *x) {
  evaluation s = {.quantities = quantities, .space = space, .x = x};
  const size_t all = (size_t)quantities->all;
  sp_status status = SP_ALLOCATE("results", SP_ARRAY(s.partials, all), SP_ARRAY(s.bounds, all));
  if (!status) status = add_all(&s);
  status = sp_agree(space->mesh->comm, status);
  if (!status) status = join_ranks(space, quantities->all, s.partials);
  for (int r = 0; r < quantities->all && !status; r++)
    status = find_value(balance, &s.partials[r], &quantities->list[r]);
  SP_FREE(s.partials, s.bounds);
  if (!status) combine_results(quantities, balance, scope, probes);
  return status;
}

sp_status sp_quantities_check_finite(const sp_quantities *quantities) {
  bool all_finite = true;
  for (int r = 0; r < quantities->count; r++) {
    const sp_quantity *q = &quantities->list[r];
    const bool good = isfinite(q->value), of_results = q->type->of_results;
    if (of_results && !good && all_finite)
      return sp_fail(SP_ERR_INPUT, "%s: '%s' is not finite, as it is %g", q->formula->where,
                     q->formula->text, q->value);
    all_finite = all_finite && good;
    if (q->formula && !of_results && isnan(q->value))
      return sp_fail(SP_ERR_INPUT, "%s: '%s' is not finite at (%.12g, %.12g, %.12g)",
                     q->formula->where, q->formula->text, q->place[0], q->place[1], q->place[2]);
  }
  return SP_OK;
}
