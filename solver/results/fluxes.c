#include "solver/results/fluxes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/robin.h"
#include "solver/results/element_terms.h"

typedef struct workspace {
  sp_element_arrays u;
  int stiff_direction; /* of `stiffness`; -1: none yet */
  double stiffness;    /* of sp_fluxes_stiffness */
  double face_xyz[3 * SP_MAX_FACE_NODES], normal[3 * SP_MAX_FACE_NODES];
  double weights[SP_MAX_FACE_NODES];
  int indices[SP_MAX_FACE_NODES]; /* of the nodes of a face in the element */
  double tail[]; /* of sp_tensor_gradient; results of a chunk of elements, [1 + 2 nodes] each */
} workspace;

/* All faces through which a set takes r_i, with the results of the first passes for the last one.
 * Element e has the faces first[e] to first[e + 1] - 1. */
typedef struct divided_faces {
  size_t nodes;             /* of a face */
  sp_lid *first;            /* [elements + 1] */
  double *weights, *direct; /* [faces][nodes]: w_i and d_i */
  double *noise, *stiffness;
} divided_faces;

/* A loop over elements: of_element computes contributions that `added` gains and `subtracted`
 * loses, [nodes] each. */
typedef struct pass {
  sp_fluxes *fluxes;
  divided_faces *faces;                   /* NULL: not needed */
  bool (*has)(const sp_fluxes *, sp_lid); /* NULL: all elements */
  sp_status (*of_element)(const struct pass *, sp_lid, workspace *, double *, double *);
  double *added, *subtracted; /* L-vectors, NULL for none */
  size_t nodes, tensor;       /* per element; size of the first part of the tail */
  sp_element_terms terms;
} pass;

sp_fluxes sp_fluxes_of_parts(const sp_fluxes *whole) {
  return (sp_fluxes){.problem = whole->problem,
                     .space = whole->space,
                     .x = whole->x,
                     .rest = whole->rest,
                     .weights = whole->weights,
                     .left = whole->left};
}

sp_status sp_fluxes_open(sp_fluxes *s) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t elements = (size_t)hexes->count;
  return SP_ALLOCATE("fluxes", SP_ARRAY(s->keys, hexes->volume.count),
                     SP_ARRAY(s->volumes, hexes->volume.count), SP_ARRAY(s->marked, elements));
}

void sp_fluxes_close(sp_fluxes *s) {
  SP_FREE(s->keys, s->volumes, s->marked);
}

/* True if an element takes r_i through all its faces. */
static bool is_fixed(const sp_fluxes *s, sp_lid e) {
  return s->whole && sp_problem_volume_part(s->problem, s->space->mesh->hexes, e) >= 0;
}

/* ---- Elements of a set ---- */

static bool has_element(const sp_fluxes *s, sp_lid e) {
  return s->volumes[s->space->mesh->hexes->volumes[e]];
}

static bool has_marked(const sp_fluxes *s, sp_lid e) {
  bool some = is_fixed(s, e);
  for (int f = 0; f < SP_FACES; f++) some = some || s->marked[e][f];
  return some && has_element(s, e);
}

/* An element that has a node in common with a marked face has a corner of it. */
static bool touches_marked(const sp_fluxes *s, sp_lid e) {
  const int order = s->space->numbering->order, nq = order + 1;
  const sp_lid *dofs = sp_numbering_nodes(s->space->numbering, e);
  bool some = is_fixed(s, e);
  for (int c = 0; c < SP_CORNERS && !some; c++)
    some = s->weights[dofs[order * ((c & 1) + nq * ((c >> 1 & 1) + nq * (c >> 2)))]] > 0;
  return some && has_element(s, e);
}

/* True if a set takes r_i through face f of an element of it. */
static bool is_divided(const sp_fluxes *s, sp_lid e, int f) {
  return has_element(s, e) && (s->marked[e][f] || is_fixed(s, e));
}

/* The place of face f of an element, which is divided, in the arrays. */
static size_t place_of(const pass *t, sp_lid e, int f) {
  size_t place = (size_t)t->faces->first[e];
  for (int before = 0; before < f; before++) place += is_divided(t->fluxes, e, before);
  return place;
}

/* Add W, and keep w_i, which is zero for a contact. */
static sp_status weigh_faces(const pass *t, sp_lid e, workspace *w, double *weights, double *none) {
  const sp_space *space = t->fluxes->space;
  const int order = space->numbering->order, n = (order + 1) * (order + 1);
  (void)none;
  for (int f = 0; f < SP_FACES; f++) {
    if (!is_divided(t->fluxes, e, f) || sp_hexes_is_contact(space->mesh->hexes, e)) continue;
    double *own = &t->faces->weights[place_of(t, e, f) * t->faces->nodes];
    sp_face_nodes(order, f, w->indices);
    sp_geometry_face(space->mesh->hexes, e, f, &sp_reference_get(order)->gll, w->face_xyz,
                     w->normal);
    for (int q = 0; q < n; q++)
      weights[w->indices[q]] += own[q] = sp_geometry_area(w->normal, n, q);
  }
  return SP_OK;
}

/* Keep the change of the flux through a face by the rounding of x, and the stiffness. */
static sp_status find_noise(const pass *t, sp_lid e, int f, workspace *w) {
  const size_t place = place_of(t, e, f);
  double size = 0;
  for (size_t n = 0; n < t->nodes; n++) size = fmax(size, fabs(w->u.start + w->u.nodal[n]));
  if (w->stiff_direction != f / 2) SP_TRY(sp_fluxes_stiffness(t->fluxes, e, f, &w->stiffness));
  w->stiff_direction = f / 2;
  t->faces->noise[place] = DBL_EPSILON * size * w->stiffness;
  t->faces->stiffness[place] = w->stiffness;
  return SP_OK;
}

/* Keep d_i of a contact: its own flux, A u with the other sign, so that r_i = D_i. Its stiffness is
 * the flux for a difference of 1. Overwrites `work` and the gathered u. */
static sp_status find_direct_contact(const pass *t, sp_lid e, workspace *w, double *work) {
  const sp_rule *gll = &sp_reference_get(t->fluxes->space->numbering->order)->gll;
  const size_t face = t->faces->nodes, place = place_of(t, e, SP_FLUXES_LOW);
  const size_t first[] = {0, t->nodes - face}; /* nodes of the faces */
  double size = 0, conductance = 0;
  SP_TRY(sp_element_apply(&t->terms, e, &w->u, work));
  for (size_t n = 0; n < 2 * face; n++)
    t->faces->direct[place * face + n] = -work[first[n / face] + n % face];
  for (size_t n = 0; n < t->nodes; n++) {
    size = fmax(size, fabs(w->u.start + w->u.nodal[n]));
    w->u.nodal[n] = (1 + gll->nodes[n / face]) / 2;
    work[n] = 0;
  }
  w->u.has_slopes = false;
  SP_TRY(sp_element_apply(&t->terms, e, &w->u, work));
  for (size_t n = 0; n < face; n++) conductance += work[first[1] + n];
  for (size_t side = 0; side < 2; side++) {
    t->faces->noise[place + side] = DBL_EPSILON * size * conductance;
    t->faces->stiffness[place + side] = conductance;
  }
  return SP_OK;
}

/* sum += D, after `gather`, and keep d_i: zero for a contact and a fixed element. */
static sp_status find_direct(const pass *t, sp_lid e, workspace *w, double *sum) {
  const sp_fluxes *s = t->fluxes;
  const sp_rule *gll = &sp_reference_get(s->space->numbering->order)->gll;
  const int n = gll->n;
  if (sp_hexes_is_contact(s->space->mesh->hexes, e) || is_fixed(s, e)) return SP_OK;
  for (int f = 0; f < SP_FACES; f++) {
    if (!s->marked[e][f]) continue;
    const double inwards = f % 2 ? -1 : 1;
    double *own = &t->faces->direct[place_of(t, e, f) * t->faces->nodes];
    SP_TRY(sp_element_flow(&t->terms, e, f / 2, &w->u));
    sp_face_nodes(gll->n - 1, f, w->indices);
    for (int q = 0; q < n * n; q++) {
      own[q] = inwards * gll->weights[q % n] * gll->weights[q / n] * w->u.flow[w->indices[q]];
      sum[w->indices[q]] += own[q];
    }
    SP_TRY(find_noise(t, e, f, w));
  }
  return SP_OK;
}

/* sum += D + A u of an element: the integral of kappa grad u . grad l_i + lambda u l_i with the
 * operator's quadrature, and of alpha u l_i over its Robin faces that are not marked. */
static sp_status apply(const pass *t, sp_lid e, workspace *w, double *work, double *sum) {
  const sp_fluxes *s = t->fluxes;
  const int order = s->space->numbering->order, nq = order + 1;
  sp_element_gather(&t->terms, e, &w->u);
  w->stiff_direction = -1;
  if (s->contacts) return find_direct_contact(t, e, w, work);
  if (t->faces) SP_TRY(find_direct(t, e, w, sum));
  SP_TRY(sp_element_apply(&t->terms, e, &w->u, sum));
  for (int f = 0; f < SP_FACES; f++) {
    const int part = sp_problem_face_part(s->problem, s->space->mesh->hexes, e, f);
    if (part < 0 || !s->problem->parts[part].type->has_alpha) continue;
    if (s->marked && s->marked[e][f]) continue;
    SP_TRY(sp_robin_face(&s->problem->parts[part], s->space->mesh->hexes, order, e, f, w->indices,
                         w->weights));
    for (int q = 0; q < nq * nq; q++)
      sum[w->indices[q]] += w->weights[q] * (w->u.start + w->u.nodal[w->indices[q]]);
  }
  return SP_OK;
}

/* The sum of r_i inside an element. */
static double sum_inside(const sp_fluxes *s, sp_lid e) {
  const int nq = s->space->numbering->order + 1;
  double sum = 0;
  for (int k = 1; k < nq - 1; k++)
    for (int j = 1; j < nq - 1; j++)
      for (int i = 1; i < nq - 1; i++)
        sum += s->left[sp_numbering_nodes(s->space->numbering, e)[(k * nq + j) * nq + i]];
  return sum;
}

/* Divide r_i among the faces of an element; flux[SP_FACES + 1] is as on_face gets it. */
static void divide_element(const sp_fluxes *s, const divided_faces *faces, sp_lid e, double *flux) {
  const sp_lid *dofs = sp_numbering_nodes(s->space->numbering, e);
  size_t place = (size_t)faces->first[e];
  int indices[SP_MAX_FACE_NODES];
  for (int f = 0; f < SP_FACES; f++) flux[f] = 0;
  flux[SP_FACES] = is_fixed(s, e) ? sum_inside(s, e) : 0;
  for (int f = 0; f < SP_FACES; f++) {
    if (!is_divided(s, e, f)) continue;
    const double *weights = &faces->weights[place * faces->nodes];
    const double *direct = &faces->direct[place * faces->nodes];
    double *sum = s->marked[e][f] ? &flux[f] : &flux[SP_FACES];
    sp_face_nodes(s->space->numbering->order, f, indices);
    for (size_t q = 0; q < faces->nodes; q++) {
      const sp_lid dof = dofs[indices[q]];
      *sum += direct[q];
      if (weights[q] > 0) *sum += weights[q] * s->left[dof] / s->weights[dof];
    }
    place++;
  }
}

/* Divide r_i, and add up the rounding. */
static void divide(sp_fluxes *s, const divided_faces *faces, sp_fluxes_on_face *on_face,
                   void *context) {
  double flux[SP_FACES + 1];
  for (sp_lid e = 0; e < s->space->mesh->hexes->count; e++) {
    if (faces->first[e] == faces->first[e + 1]) continue;
    divide_element(s, faces, e, flux);
    for (int f = 0; f <= SP_FACES; f++)
      if (f < SP_FACES ? s->marked[e][f] : is_fixed(s, e)) on_face(context, e, f, flux[f]);
  }
  for (sp_lid place = 0; place < faces->first[s->space->mesh->hexes->count]; place++) {
    s->noise += faces->noise[place];
    s->stiffness += faces->stiffness[place];
  }
}

/* ---- Loops ---- */

static sp_status compute_some(void *pass_, void *workspace_, size_t begin, size_t end) {
  const pass *t = pass_;
  workspace *w = workspace_;
  double *result = w->tail + t->tensor;
  w->u.tensor = w->tail;
  for (size_t e = begin; e < end; e++, result += 1 + 2 * t->nodes) {
    result[0] = !t->has || t->has(t->fluxes, (sp_lid)e);
    if (result[0] == 0) continue;
    memset(result + 1, 0, 2 * t->nodes * sizeof *result);
    SP_TRY(t->of_element(t, (sp_lid)e, w, result + 1, result + 1 + t->nodes));
  }
  return SP_OK;
}

static void add_some(void *pass_, void *workspace_, size_t begin, size_t end) {
  const pass *t = pass_;
  const workspace *w = workspace_;
  const double *result = w->tail + t->tensor;
  for (size_t e = begin; e < end; e++, result += 1 + 2 * t->nodes) {
    if (result[0] == 0) continue;
    for (size_t n = 0; n < t->nodes; n++) {
      const sp_lid dof = sp_numbering_nodes(t->fluxes->space->numbering, (sp_lid)e)[n];
      if (t->added) t->added[dof] += result[1 + n];
      if (t->subtracted) t->subtracted[dof] -= result[1 + t->nodes + n];
    }
  }
}

/* Visit the elements on threads. The caller sets `has`, `of_element`, and its results. */
static sp_status visit(sp_fluxes *s, pass t) {
  const int order = s->space->numbering->order;
  const size_t count = (size_t)s->space->mesh->hexes->count;
  t.fluxes = s;
  t.terms = sp_element_terms_of(s->problem, s->space, s->x, s->rest);
  t.nodes = sp_element_nodes(order);
  t.tensor = sp_tensor_gradient_work(t.terms.rule->n, order + 1);
  const size_t chunk = sp_loop_chunk(count, t.nodes);
  const size_t tail = t.tensor + chunk * (1 + 2 * t.nodes);
  return sp_agree(
      s->space->mesh->comm,
      sp_loop_run(&(sp_loop){.what = "fluxes",
                             .count = count,
                             .chunk = chunk,
                             .workspace_bytes = sizeof(workspace) + tail * sizeof(double),
                             .context = &t,
                             .compute = compute_some,
                             .commit = add_some}));
}

sp_status sp_fluxes_masses(const sp_fluxes *s, bool of_set, double *masses) {
  const sp_numbering *numbering = s->space->numbering;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const sp_rule *rule = sp_operator_rule(SP_BP35, numbering->order);
  const size_t nodes = sp_element_nodes(numbering->order);
  SP_OWNED double *work = NULL;
  sp_status status = sp_allocate(4 * nodes, sizeof *work, "fluxes", &work);
  for (sp_lid i = 0; i < numbering->local; i++) masses[i] = 0;
  for (sp_lid e = 0; e < hexes->count && !status; e++) {
    const sp_lid *dofs = sp_numbering_nodes(numbering, e);
    double *wj = work + 3 * nodes;
    if (sp_hexes_is_contact(hexes, e) || (of_set && !has_element(s, e))) continue;
    status = sp_geometry_volume(hexes, e, rule, work, wj);
    for (size_t n = 0; n < nodes; n++) masses[dofs[n]] += wj[n];
  }
  SP_TRY(sp_agree(s->space->mesh->comm, status));
  sp_exchange_now(s->space->exchange, SP_SUM, masses);
  return SP_OK;
}

/* Add the part of problem->extra to `left` that belongs to the set. */
static sp_status add_extra(sp_fluxes *s) {
  const double *extra = s->problem->extra;
  const size_t dofs = sp_space_dofs(s->space);
  SP_OWNED double *mine = NULL, *all = NULL;
  if (!extra) return SP_OK;
  SP_TRY(sp_agree(s->space->mesh->comm,
                  SP_ALLOCATE("fluxes", SP_ARRAY(mine, dofs), SP_ARRAY(all, dofs))));
  SP_TRY(sp_fluxes_masses(s, true, mine));
  SP_TRY(sp_fluxes_masses(s, false, all));
  for (size_t i = 0; i < dofs; i++) s->left[i] += all[i] > 0 ? mine[i] / all[i] * extra[i] : 0;
  return SP_OK;
}

/* Fill `left` with the load of the elements of the set that have a marked DOF. The load is summed
 * over ranks, so copies are cleared: it counts once. */
static sp_status find_load(sp_fluxes *s) {
  const sp_numbering *numbering = s->space->numbering;
  const sp_hexes *hexes = s->space->mesh->hexes;
  SP_OWNED bool *elements = NULL;
  sp_jacobian_range range;
  SP_TRY(sp_agree(s->space->mesh->comm,
                  sp_allocate((size_t)hexes->count, sizeof *elements, "fluxes", &elements)));
  for (sp_lid e = 0; e < hexes->count; e++) elements[e] = touches_marked(s, e);
  SP_TRY(sp_problem_load(s->problem, s->space, elements, (const bool(*)[SP_FACES])s->marked,
                         s->left, &range, NULL));
  SP_TRY(add_extra(s));
  for (sp_lid i = numbering->owned; i < numbering->local; i++) s->left[i] = 0;
  return SP_OK;
}

static sp_status create_faces(const sp_fluxes *s, divided_faces *faces) {
  const sp_lid elements = s->space->mesh->hexes->count;
  const size_t nq = (size_t)s->space->numbering->order + 1;
  faces->nodes = nq * nq;
  SP_TRY(sp_allocate((size_t)elements + 1, sizeof *faces->first, "fluxes", &faces->first));
  for (sp_lid e = 0; e < elements; e++) {
    faces->first[e + 1] = faces->first[e];
    for (int f = 0; f < SP_FACES; f++) faces->first[e + 1] += is_divided(s, e, f);
  }
  const size_t count = (size_t)faces->first[elements];
  return SP_ALLOCATE("fluxes", SP_ARRAY(faces->weights, count * faces->nodes),
                     SP_ARRAY(faces->direct, count * faces->nodes), SP_ARRAY(faces->noise, count),
                     SP_ARRAY(faces->stiffness, count));
}

static sp_status compute_with(sp_fluxes *s, divided_faces *faces, sp_fluxes_on_face *on_face,
                              void *context) {
  const double before[2] = {s->noise, s->stiffness};
  SP_TRY(sp_agree(s->space->mesh->comm, create_faces(s, faces)));
  for (sp_lid i = 0; i < s->space->numbering->local; i++) s->weights[i] = 0;
  SP_TRY(visit(
      s,
      (pass){.faces = faces, .has = has_marked, .of_element = weigh_faces, .added = s->weights}));
  sp_exchange_now(s->space->exchange, SP_SUM, s->weights);
  SP_TRY(find_load(s));
  SP_TRY(visit(s, (pass){.faces = faces,
                         .has = s->contacts ? has_marked : touches_marked,
                         .of_element = apply,
                         .subtracted = s->left}));
  sp_exchange_now(s->space->exchange, SP_SUM, s->left);
  s->noise = s->stiffness = 0;
  divide(s, faces, on_face, context);
  double sums[2] = {s->noise, s->stiffness};
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, 2, sums, SP_OK));
  s->noise = before[0] + sums[0];
  s->stiffness = fmax(before[1], sums[1]);
  return SP_OK;
}

sp_status sp_fluxes_compute(sp_fluxes *s, sp_fluxes_on_face *on_face, void *context) {
  divided_faces faces = {0};
  const sp_status status = compute_with(s, &faces, on_face, context);
  SP_FREE(faces.first, faces.weights, faces.direct, faces.noise, faces.stiffness);
  return status;
}

sp_status sp_fluxes_residual(sp_fluxes *s) {
  const sp_numbering *numbering = s->space->numbering;
  sp_jacobian_range range;
  SP_TRY(sp_problem_load(s->problem, s->space, NULL, NULL, s->left, &range, NULL));
  for (sp_lid i = numbering->owned; i < numbering->local; i++) s->left[i] = 0;
  SP_TRY(visit(s, (pass){.of_element = apply, .subtracted = s->left}));
  sp_exchange_now(s->space->exchange, SP_SUM, s->left);
  return SP_OK;
}
