#include "solver/problem/side.h"

#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/surfaces.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/balance.h"
#include "solver/problem/robin.h"

/* The arrays of an element. */
typedef struct workspace {
  sp_face_workspace face;
  double weights[SP_FACE_NODES], direct[SP_FACE_NODES];
  double nodal[SP_ELEMENT_NODES], part[SP_ELEMENT_NODES];
  double at[SP_ELEMENT_POINTS], slopes[3][SP_ELEMENT_POINTS]; /* of u */
  double xyz[3 * SP_ELEMENT_POINTS], wj[SP_ELEMENT_POINTS], factors[SP_FACTORS * SP_ELEMENT_POINTS];
  double kappa[SP_TENSOR * SP_ELEMENT_POINTS], lambda[SP_ELEMENT_POINTS];
  double tail[]; /* of sp_tensor_gradient; results of a chunk of elements, [1 + 2 nodes] each */
} workspace;

/* A loop over elements: of_element adds to what `added` gets and `subtracted` loses, [nodes] each.
 */
typedef struct pass {
  sp_side *side;
  bool (*has)(const sp_side *, sp_lid);
  sp_status (*of_element)(const struct pass *, sp_lid, workspace *, double *, double *);
  double *added, *subtracted; /* L-vectors, NULL for none */
  size_t nodes, tensor;       /* per element; size of the first part of the tail */
  double value[SP_MAX_M * SP_MAX_NQ], derivative[SP_MAX_M * SP_MAX_NQ]; /* of the operator's rule */
} pass;

sp_status sp_side_open(sp_side *s) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t elements = (size_t)hexes->count;
  return SP_ALLOCATE("fluxes", SP_ARRAY(s->keys, hexes->volume.count),
                     SP_ARRAY(s->volumes, hexes->volume.count), SP_ARRAY(s->marked, elements),
                     SP_ARRAY(s->flux, elements));
}

void sp_side_close(sp_side *s) {
  SP_FREE(s->keys, s->volumes, s->marked, s->flux);
}

/* ---- Marks ---- */

static int key_of(const sp_side *s, sp_lid e) {
  return s->keys[s->space->mesh->hexes->volumes[e]];
}

/* True if a line of [boundary] separates the sides of a face: any but a source. */
static bool is_separated(const sp_side *s, sp_lid e, int f) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int part = sp_problem_face_part(s->problem, hexes, e, f);
  const sp_condition condition = part < 0 ? SP_NEUMANN : s->problem->parts[part].condition;
  const bool inner = !sp_surface_is_exterior(hexes->surfaces[e][f]);
  return condition == SP_DIRICHLET || (inner && condition != SP_NEUMANN);
}

/* Mark faces whose other element is on this rank and has another key, and Dirichlet faces. */
static sp_status mark_local(sp_side *s) {
  const sp_mesh *mesh = s->space->mesh;
  const sp_topology *t = mesh->topology;
  const sp_lid first = t->start[2];
  SP_OWNED sp_gid *sums = NULL; /* of the keys on both sides */
  SP_TRY(sp_allocate((size_t)(t->start[3] - first), sizeof *sums, "fluxes", &sums));
  for (sp_lid e = 0; e < t->elements; e++)
    for (int f = 0; f < SP_FACES; f++) sums[t->slots[e][SP_FACE_SLOT + f] - first] += key_of(s, e);
  for (sp_lid e = 0; e < t->elements; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const sp_lid face = t->slots[e][SP_FACE_SLOT + f];
      s->marked[e][f] = is_separated(s, e, f) ||
                        (t->touching[face] == 2 && sums[face - first] != 2 * (sp_gid)key_of(s, e));
    }
  return SP_OK;
}

/* Mark faces whose other element is on another rank and has another key. */
static sp_status mark_shared(sp_side *s) {
  const sp_mesh *mesh = s->space->mesh;
  const sp_lid count = mesh->halo_elements;
  SP_OWNED int(*keys)[SP_FACES] = NULL;
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)count, sizeof *keys, "fluxes", &keys)));
  for (sp_lid e = 0; e < count; e++)
    for (int f = 0; f < SP_FACES; f++)
      keys[e][f] = sp_hexes_is_contact(mesh->hexes, e) ? -1 : key_of(s, e);
  SP_TRY(sp_surfaces_swap(mesh->comm, mesh->topology, count, keys));
  for (sp_lid e = 0; e < count; e++)
    for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(mesh->hexes, e); f++)
      if (keys[e][f] >= 0 && keys[e][f] != key_of(s, e)) s->marked[e][f] = true;
  return SP_OK;
}

sp_status sp_side_mark(sp_side *s) {
  SP_TRY(sp_agree(s->space->mesh->comm, mark_local(s)));
  return mark_shared(s);
}

/* ---- Sums ---- */

static bool has_element(const sp_side *s, sp_lid e) {
  return s->volumes[s->space->mesh->hexes->volumes[e]];
}

static bool has_marked(const sp_side *s, sp_lid e) {
  bool some = false;
  for (int f = 0; f < SP_FACES; f++) some = some || s->marked[e][f];
  return some && has_element(s, e);
}

static bool touches_marked(const sp_side *s, sp_lid e) {
  const size_t nodes = sp_element_nodes(s->space->numbering->order);
  bool some = false;
  for (size_t n = 0; n < nodes && !some; n++)
    some = s->weights[sp_numbering_nodes(s->space->numbering, e)[n]] > 0;
  return some && has_element(s, e);
}

/* Add W and D. */
static sp_status weigh(const pass *p, sp_lid e, workspace *w, double *weights, double *direct) {
  const sp_side *s = p->side;
  const int nq = s->space->numbering->order + 1;
  double flux;
  for (int f = 0; f < SP_FACES; f++) {
    if (!s->marked[e][f]) continue;
    SP_TRY(
        sp_face_direct(s->problem, s->space, e, f, s->x, &w->face, w->weights, w->direct, &flux));
    for (int q = 0; q < nq * nq; q++) {
      weights[w->face.indices[q]] += w->weights[q];
      direct[w->face.indices[q]] += w->direct[q];
    }
  }
  return SP_OK;
}

/* Fill w->factors and w->kappa, whose product is that of the operator. */
static sp_status fill_factors(const sp_hexes *hexes, sp_lid e, const sp_rule *rule,
                              const sp_material *material, workspace *w) {
  const size_t points = sp_rule_points(rule);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  const sp_geometry_tensor k = {.values = w->kappa, .component = (ptrdiff_t)points, .point = 1};
  if (!material->tensor) {
    SP_TRY(sp_geometry_factors(hexes, e, rule, w->factors));
    return sp_material_kappa(material, points, xyz, w->kappa, NULL);
  }
  SP_TRY(sp_material_tensor(material, points, xyz, w->kappa));
  SP_TRY(sp_geometry_tensor_factors(hexes, e, rule, &k, w->factors));
  for (size_t p = 0; p < points; p++) w->kappa[p] = 1;
  return SP_OK;
}

/* At the points of an element, with its u in w->nodal: w->slopes = the flux that is tested with
 * grad v, w->at = what is tested with v. */
static sp_status evaluate_element(const pass *t, sp_lid e, const sp_rule *rule, workspace *w) {
  static const int at[3][3] = {
      {SP_G_RR, SP_G_RS, SP_G_RT}, {SP_G_RS, SP_G_SS, SP_G_ST}, {SP_G_RT, SP_G_ST, SP_G_TT}};
  const sp_side *s = t->side;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t points = sp_rule_points(rule);
  const sp_material *material = sp_materials_of(&s->problem->materials, hexes, e);
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  sp_tensor_gradient(rule->n, s->space->numbering->order + 1, t->value, t->derivative, w->nodal,
                     w->tail, w->at, (double *const[]){w->slopes[0], w->slopes[1], w->slopes[2]});
  SP_TRY(sp_geometry_volume(hexes, e, rule, w->xyz, w->wj));
  SP_TRY(fill_factors(hexes, e, rule, material, w));
  SP_TRY(sp_material_lambda(material, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) {
    const double u[3] = {w->slopes[0][p], w->slopes[1][p], w->slopes[2][p]};
    for (int a = 0; a < 3; a++) {
      w->slopes[a][p] = 0;
      for (int b = 0; b < 3; b++)
        w->slopes[a][p] += w->kappa[p] * w->factors[(size_t)at[a][b] * points + p] * u[b];
    }
    w->at[p] *= w->lambda[p] * w->wj[p];
  }
  return SP_OK;
}

/* sum = A u of an element: the integral of kappa grad u . grad l_i + lambda u l_i with the
 * operator's quadrature, and of alpha u l_i over its Robin faces. */
static sp_status apply(const pass *t, sp_lid e, workspace *w, double *none, double *sum) {
  const sp_side *s = t->side;
  const int order = s->space->numbering->order, nq = order + 1;
  const sp_rule *rule = sp_operator_rule(s->problem->kind, order);
  (void)none;
  sp_numbering_gather(s->space->numbering, e, s->x, w->nodal);
  SP_TRY(evaluate_element(t, e, rule, w));
  sp_tensor_apply_transposed(rule->n, nq, t->value, t->value, t->value, w->at, sum);
  for (int a = 0; a < 3; a++) {
    const double *matrices[3] = {t->value, t->value, t->value};
    matrices[a] = t->derivative;
    sp_tensor_apply_transposed(rule->n, nq, matrices[0], matrices[1], matrices[2], w->slopes[a],
                               w->part);
    for (size_t n = 0; n < t->nodes; n++) sum[n] += w->part[n];
  }
  for (int f = 0; f < SP_FACES; f++) {
    const int part = sp_problem_face_part(s->problem, s->space->mesh->hexes, e, f);
    if (part < 0 || s->problem->parts[part].condition != SP_ROBIN) continue;
    SP_TRY(sp_robin_face(&s->problem->parts[part], s->space, e, f, w->face.indices, w->weights));
    for (int q = 0; q < nq * nq; q++)
      sum[w->face.indices[q]] += w->weights[q] * w->nodal[w->face.indices[q]];
  }
  return SP_OK;
}

/* Fill the fluxes through the marked faces of an element. */
static sp_status divide(const pass *t, sp_lid e, workspace *w, double *none, double *no_sum) {
  const sp_side *s = t->side;
  const int nq = s->space->numbering->order + 1;
  (void)none, (void)no_sum;
  for (int f = 0; f < SP_FACES; f++) {
    double *flux = &s->flux[e][f];
    *flux = 0;
    if (!s->marked[e][f]) continue;
    SP_TRY(sp_face_direct(s->problem, s->space, e, f, s->x, &w->face, w->weights, w->direct, flux));
    for (int q = 0; q < nq * nq; q++) {
      const sp_lid dof = sp_numbering_nodes(s->space->numbering, e)[w->face.indices[q]];
      if (w->weights[q] > 0) *flux += w->weights[q] * s->left[dof] / s->weights[dof];
    }
  }
  return SP_OK;
}

static sp_status compute_some(void *pass_, void *workspace_, size_t begin, size_t end) {
  const pass *t = pass_;
  workspace *w = workspace_;
  double *result = w->tail + t->tensor;
  for (size_t e = begin; e < end; e++, result += 1 + 2 * t->nodes) {
    result[0] = t->has(t->side, (sp_lid)e);
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
  for (size_t e = begin; e < end; e++, result += 1 + 2 * t->nodes)
    for (size_t n = 0; n < t->nodes && result[0] != 0; n++) {
      const sp_lid dof = sp_numbering_nodes(t->side->space->numbering, (sp_lid)e)[n];
      if (t->added) t->added[dof] += result[1 + n];
      if (t->subtracted) t->subtracted[dof] -= result[1 + t->nodes + n];
    }
}

/* Visit the elements of the side, on threads. */
static sp_status visit(sp_side *s, bool (*has)(const sp_side *, sp_lid),
                       sp_status (*of_element)(const pass *, sp_lid, workspace *, double *,
                                               double *),
                       double *added, double *subtracted) {
  const int order = s->space->numbering->order;
  const sp_rule *rule = sp_operator_rule(s->problem->kind, order);
  const double *gll = sp_reference_get(order)->gll.nodes;
  const size_t count = (size_t)s->space->mesh->hexes->count;
  pass t = {.side = s,
            .has = has,
            .of_element = of_element,
            .added = added,
            .subtracted = subtracted,
            .nodes = sp_element_nodes(order),
            .tensor = sp_tensor_gradient_work(rule->n, order + 1)};
  const size_t chunk = sp_loop_chunk(count, t.nodes);
  const size_t tail = t.tensor + chunk * (1 + 2 * t.nodes);
  sp_interpolation_matrix(order + 1, gll, rule->n, rule->nodes, t.value);
  sp_derivative_matrix(order + 1, gll, rule->n, rule->nodes, t.derivative);
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

sp_status sp_side_compute(sp_side *s, sp_load_sums *sums) {
  const sp_numbering *numbering = s->space->numbering;
  sp_jacobian_range range;
  SP_TRY(sp_problem_load(s->problem, s->space, s->volumes, (const bool(*)[SP_FACES])s->marked,
                         s->left, &range, sums));
  for (sp_lid i = 0; i < numbering->local; i++) {
    s->weights[i] = 0;
    if (i >= numbering->owned) s->left[i] = 0; /* the load counts once */
  }
  SP_TRY(visit(s, has_marked, weigh, s->weights, s->left));
  sp_exchange_now(s->space->exchange, SP_SUM, s->weights);
  SP_TRY(visit(s, touches_marked, apply, NULL, s->left));
  sp_exchange_now(s->space->exchange, SP_SUM, s->left);
  return visit(s, has_marked, divide, NULL, NULL);
}
