#include "solver/problem/crossing.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "operators/counts.h"
#include "solver/problem/balance.h"
#include "solver/problem/load.h"
#include "solver/problem/robin.h"

/* ---- The two sides of a surface ---- */

/* Physical Volumes on the sides of a surface between elements; numbers are those of volumes. */
typedef struct sides {
  int low, high;
} sides;

/* The lowest number of the groups that a volume is in. */
static int number_of(const sp_hexes *hexes, int volume) {
  int number = INT_MAX;
  for (int g = 0; g < hexes->volume_group_count; g++)
    if (hexes->volume_groups[g].members[volume] && hexes->volume_groups[g].number < number)
      number = hexes->volume_groups[g].number;
  return number;
}

/* Return the member that a face between elements is on, or -1. */
static int member_of(const sp_hexes *hexes, const bool *members, sp_lid e, int f) {
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  const bool inner = !sp_surface_is_exterior(hexes->surfaces[e][f]);
  return inner && surface >= 0 && members[surface] ? surface : -1;
}

/* both[surface_count]: low <= high; INT_MAX and -INT_MAX for surfaces that are no members or
 * exterior. */
static sp_status find_sides(const sp_mesh *mesh, const bool *members, sides **both) {
  const sp_hexes *hexes = mesh->hexes;
  const int count = hexes->surface_count;
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)count, sizeof **both, "surfaces", both)));
  for (int s = 0; s < count; s++) (*both)[s] = (sides){INT_MAX, INT_MAX}; /* high: its negative */
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int s = member_of(hexes, members, e, f);
      if (s < 0) continue;
      const int number = number_of(hexes, hexes->volumes[e]);
      if (number < (*both)[s].low) (*both)[s].low = number;
      if (-number < (*both)[s].high) (*both)[s].high = -number;
    }
  MPI_Allreduce(MPI_IN_PLACE, *both, 2 * count, MPI_INT, MPI_MIN, mesh->comm);
  for (int s = 0; s < count; s++) (*both)[s].high = -(*both)[s].high;
  return SP_OK;
}

/* Faces of a group, seen from each of their elements. */
enum { EXTERIOR, LOW, HIGH, OTHER, KINDS };

static void count_kinds(const sp_hexes *hexes, const bool *members, const sides *both,
                        sp_gid counts[KINDS]) {
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int s = member_of(hexes, members, e, f), exterior = hexes->surfaces[e][f];
      counts[EXTERIOR] += exterior >= 0 && members[exterior];
      if (s < 0) continue;
      const int number = number_of(hexes, hexes->volumes[e]);
      counts[both[s].low == both[s].high ? OTHER
             : number == both[s].low     ? LOW
             : number == both[s].high    ? HIGH
                                         : OTHER]++;
    }
}

sp_status sp_crossing_check(const char *where, const sp_problem *problem, const sp_mesh *mesh,
                            const bool *members, bool *crosses) {
  sp_gid counts[KINDS] = {0};
  sides *both = NULL;
  int fixed = 0;
  *crosses = false;
  sp_status status = find_sides(mesh, members, &both);
  if (!status) {
    count_kinds(mesh->hexes, members, both, counts);
    MPI_Allreduce(MPI_IN_PLACE, counts, KINDS, SP_MPI_GID, MPI_SUM, mesh->comm);
    for (int s = 0; s < mesh->hexes->surface_count; s++)
      fixed += both[s].low < INT_MAX && problem->part_of_surface[s] < problem->part_count - 1;
  }
  free(both);
  SP_TRY(status);
  *crosses = counts[LOW] + counts[OTHER] > 0 && !fixed;
  if (!*crosses) return SP_OK;
  if (counts[EXTERIOR] > 0)
    return sp_fail(
        SP_ERR_INPUT,
        "%s: expected faces of the boundary or faces between elements, found %lld of the "
        "first and %lld of the second",
        where, (long long)counts[EXTERIOR], (long long)(counts[LOW] + counts[OTHER]));
  if (counts[OTHER] > 0 || counts[LOW] != counts[HIGH])
    return sp_fail(
        SP_ERR_INPUT,
        "%s: a flux between elements goes from the Physical Volume of the lower number to "
        "that of the higher; expected two on the sides of each surface, found one or "
        "others at %lld faces",
        where, (long long)(counts[OTHER] + llabs(counts[LOW] - counts[HIGH])));
  return SP_OK;
}

/* ---- One side ---- */

/* L-vectors: w, W, D, and the sum of the normals of faces that are not known; then c, in place of
 * w, and the load. */
enum { OWN, ALL, DIRECT, NORMAL, VECTORS = NORMAL + 3 };

typedef struct side {
  const sp_problem *problem;
  const sp_space *space;
  const double *x;
  const int *own; /* [surface_count], the number of the side whose elements count, INT_MAX: none */
  const bool *volumes; /* [volume_count]: those of this side */
  int number;
  double *vectors[VECTORS];
  double flux; /* of this rank */
} side;

typedef struct workspace {
  sp_face_workspace face;
  double weights[SP_FACE_NODES], direct[SP_FACE_NODES];
  double value[SP_MAX_M * SP_MAX_NQ], derivative[SP_MAX_M * SP_MAX_NQ];
  double nodal[2][SP_ELEMENT_NODES], at[2][SP_ELEMENT_POINTS],
      slopes[2][3][SP_ELEMENT_POINTS]; /* of u and of sum c_i l_i */
  double xyz[3 * SP_ELEMENT_POINTS], wj[SP_ELEMENT_POINTS], factors[SP_FACTORS * SP_ELEMENT_POINTS];
  double kappa[SP_TENSOR * SP_ELEMENT_POINTS], lambda[SP_ELEMENT_POINTS];
  double tensor[];
} workspace;

static const sp_lid *nodes_of(const side *s, sp_lid e) {
  return &s->space->numbering->nodes[(size_t)e * sp_element_nodes(s->space->numbering->order)];
}

/* True if face f is one of S. */
static bool is_own(const side *s, sp_lid e, int f) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return !sp_surface_is_exterior(hexes->surfaces[e][f]) && surface >= 0 &&
         s->own[surface] == s->number;
}

/* The condition that gives the flux of face f; NULL if there is none, as for a source between
 * elements. */
static const sp_boundary_part *condition_of(const side *s, sp_lid e, int f) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int part = sp_problem_face_part(s->problem, hexes, e, f);
  const bool is_source = part >= 0 && s->problem->parts[part].condition == SP_NEUMANN &&
                         !sp_surface_is_exterior(hexes->surfaces[e][f]);
  return part < 0 || is_source ? NULL : &s->problem->parts[part];
}

/* Fill w, W and D, and add the derivatives of S to the flux. */
static sp_status weigh(side *s, workspace *w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int nq = s->space->numbering->order + 1;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES && s->volumes[hexes->volumes[e]]; f++) {
      const bool own = is_own(s, e, f);
      const sp_boundary_part *part = condition_of(s, e, f);
      double flux = 0;
      if (!own && !(part && part->condition == SP_DIRICHLET)) continue;
      SP_TRY(
          sp_face_direct(s->problem, s->space, e, f, s->x, &w->face, w->weights, w->direct, &flux));
      if (own) s->flux += flux;
      for (int q = 0; q < nq * nq; q++) {
        const sp_lid dof = nodes_of(s, e)[w->face.indices[q]];
        if (own) s->vectors[OWN][dof] += w->weights[q];
        s->vectors[ALL][dof] += w->weights[q];
        s->vectors[DIRECT][dof] += w->direct[q];
      }
    }
  return SP_OK;
}

static bool touches(const side *s, const double *vector, sp_lid e) {
  const size_t nodes = sp_element_nodes(s->space->numbering->order);
  bool some = false;
  for (size_t n = 0; n < nodes && !some; n++) some = vector[nodes_of(s, e)[n]] != 0;
  return some && s->volumes[s->space->mesh->hexes->volumes[e]];
}

/* Sum the normals of faces that are neither exterior nor in S nor Dirichlet: those between two
 * elements of the side cancel. */
static void sum_normals(side *s, workspace *w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int order = s->space->numbering->order, n = (order + 1) * (order + 1);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES && touches(s, s->vectors[OWN], e); f++) {
      if (is_own(s, e, f) || condition_of(s, e, f)) continue;
      sp_face_nodes(order, f, w->face.indices);
      sp_geometry_face(hexes, e, f, &sp_reference_get(order)->gll, w->face.xyz, w->face.normal);
      for (int q = 0; q < n; q++)
        for (int d = 0; d < 3; d++)
          s->vectors[NORMAL + d][nodes_of(s, e)[w->face.indices[q]]] += w->face.normal[d * n + q];
    }
}

/* w becomes c. */
static void find_shares(side *s) {
  static const double VISIBLE = 1e-4; /* far above what conforming faces differ by */
  double *const *v = s->vectors;
  for (sp_lid i = 0; i < s->space->numbering->local; i++) {
    double square = 0;
    for (int d = 0; d < 3; d++) square += v[NORMAL + d][i] * v[NORMAL + d][i];
    const bool known = sqrt(square) <= VISIBLE * v[ALL][i];
    v[OWN][i] = v[OWN][i] > 0 && known ? v[OWN][i] / v[ALL][i] : 0;
  }
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

/* Subtract the integral of kappa grad u . grad v + lambda u v over an element from the flux, with v
 * = sum of c_i l_i and the operator's quadrature, and of alpha u v over its Robin faces. */
static sp_status subtract_element(side *s, sp_lid e, workspace *w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int order = s->space->numbering->order, nq = order + 1;
  const sp_rule *rule = sp_operator_rule(s->problem->kind, order);
  const size_t points = sp_rule_points(rule), nodes = sp_element_nodes(order);
  const sp_material *material = sp_materials_of(&s->problem->materials, hexes, e);
  const double *const of[2] = {s->x, s->vectors[OWN]};
  for (int k = 0; k < 2; k++) {
    for (size_t n = 0; n < nodes; n++) w->nodal[k][n] = of[k][nodes_of(s, e)[n]];
    sp_tensor_gradient(rule->n, nq, w->value, w->derivative, w->nodal[k], w->tensor, w->at[k],
                       (double *const[]){w->slopes[k][0], w->slopes[k][1], w->slopes[k][2]});
  }
  SP_TRY(sp_geometry_volume(hexes, e, rule, w->xyz, w->wj));
  SP_TRY(fill_factors(hexes, e, rule, material, w));
  const double *xyz[3] = {w->xyz, w->xyz + points, w->xyz + 2 * points};
  SP_TRY(sp_material_lambda(material, points, xyz, w->lambda));
  for (size_t p = 0; p < points; p++) {
    double product = 0;
    for (int a = 0, factor = 0; a < 3; a++)
      for (int b = a; b < 3; b++, factor++) {
        const double g = w->factors[(size_t)factor * points + p];
        product += g * w->slopes[0][a][p] * w->slopes[1][b][p];
        if (a != b) product += g * w->slopes[0][b][p] * w->slopes[1][a][p];
      }
    s->flux -= w->kappa[p] * product + w->lambda[p] * w->wj[p] * w->at[0][p] * w->at[1][p];
  }
  for (int f = 0; f < SP_FACES; f++) {
    const sp_boundary_part *part = condition_of(s, e, f);
    if (!part || part->condition != SP_ROBIN) continue;
    SP_TRY(sp_robin_face(part, s->space, e, f, w->face.indices, w->weights));
    for (int q = 0; q < nq * nq; q++)
      s->flux -= w->weights[q] * w->nodal[0][w->face.indices[q]] * w->nodal[1][w->face.indices[q]];
  }
  return SP_OK;
}

static sp_status subtract_elements(side *s, workspace *w) {
  const int order = s->space->numbering->order;
  const sp_rule *rule = sp_operator_rule(s->problem->kind, order);
  const double *gll = sp_reference_get(order)->gll.nodes;
  sp_interpolation_matrix(order + 1, gll, rule->n, rule->nodes, w->value);
  sp_derivative_matrix(order + 1, gll, rule->n, rule->nodes, w->derivative);
  for (sp_lid e = 0; e < s->space->mesh->hexes->count; e++)
    if (touches(s, s->vectors[OWN], e)) SP_TRY(subtract_element(s, e, w));
  return SP_OK;
}

/* Add this rank's part of the flux out of a side to s->flux. */
static sp_status integrate(side *s, workspace *w) {
  const MPI_Comm comm = s->space->mesh->comm;
  const sp_numbering *numbering = s->space->numbering;
  double *load = s->vectors[ALL];
  for (int v = 0; v < VECTORS; v++)
    for (sp_lid i = 0; i < numbering->local; i++) s->vectors[v][i] = 0;
  SP_TRY(sp_agree(comm, weigh(s, w)));
  for (int v = OWN; v <= DIRECT; v++) sp_exchange_now(s->space->exchange, SP_SUM, s->vectors[v]);
  sum_normals(s, w);
  for (int d = 0; d < 3; d++) sp_exchange_now(s->space->exchange, SP_SUM, s->vectors[NORMAL + d]);
  find_shares(s);
  SP_TRY(sp_problem_load_of(s->problem, s->space, s->volumes, load));
  for (sp_lid i = 0; i < numbering->owned; i++)
    s->flux += s->vectors[OWN][i] * (load[i] - s->vectors[DIRECT][i]);
  return sp_agree(comm, subtract_elements(s, w));
}

/* ---- All sides ---- */

/* True if a line of [boundary] fixes u in the volumes of this number. */
static bool is_fixed(const sp_problem *problem, const sp_hexes *hexes, int number) {
  bool fixed = false;
  for (int v = 0; v < hexes->volume_count; v++)
    fixed = fixed || (number_of(hexes, v) == number && problem->part_of_volume[v] >= 0);
  return fixed;
}

/* The next number after `last` among own[surface_count]; INT_MAX after the largest. */
static int next_number(int count, const int *own, int last) {
  int next = INT_MAX;
  for (int s = 0; s < count; s++)
    if (own[s] > last && own[s] < next) next = own[s];
  return next;
}

/* The flux of this rank over the surfaces whose integrated side is the low one, or the high one. */
static sp_status sum_sides(side *s, const sides *both, bool low, int *own, bool *volumes,
                           workspace *w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int count = hexes->surface_count;
  for (int i = 0; i < count; i++) {
    const bool none = both[i].low == INT_MAX;
    const bool takes_low = !none && !is_fixed(s->problem, hexes, both[i].low);
    own[i] = none || takes_low != low ? INT_MAX : low ? both[i].low : both[i].high;
  }
  s->own = own;
  s->volumes = volumes;
  for (int number = next_number(count, own, -1); number < INT_MAX;
       number = next_number(count, own, number)) {
    s->number = number;
    for (int v = 0; v < hexes->volume_count; v++) volumes[v] = number_of(hexes, v) == number;
    SP_TRY(integrate(s, w));
  }
  return SP_OK;
}

static sp_status allocate(side *s, int **own, bool **volumes, workspace **w) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int order = s->space->numbering->order;
  const size_t tensor =
      sp_tensor_gradient_work(sp_operator_rule(s->problem->kind, order)->n, order + 1);
  SP_TRY(sp_allocate((size_t)hexes->surface_count, sizeof **own, "surfaces", own));
  SP_TRY(sp_allocate((size_t)hexes->volume_count, sizeof **volumes, "volumes", volumes));
  for (int v = 0; v < VECTORS; v++)
    SP_TRY(sp_allocate(sp_space_dofs(s->space), sizeof(double), "a flux", &s->vectors[v]));
  return sp_allocate(1, sizeof **w + tensor * sizeof(double), "a flux", w);
}

sp_status sp_crossing_flux(const sp_problem *problem, const sp_space *space, const bool *members,
                           const double *x, double *flux) {
  side s = {.problem = problem, .space = space, .x = x};
  sides *both = NULL;
  int *own = NULL;
  bool *volumes = NULL;
  workspace *w = NULL;
  double out = 0; /* of the low sides */
  sp_status status = find_sides(space->mesh, members, &both);
  if (!status) status = sp_agree(space->mesh->comm, allocate(&s, &own, &volumes, &w));
  if (!status) status = sum_sides(&s, both, true, own, volumes, w);
  out = s.flux;
  s.flux = 0;
  if (!status) status = sum_sides(&s, both, false, own, volumes, w);
  *flux = out - s.flux;
  for (int v = 0; v < VECTORS; v++) free(s.vectors[v]);
  free(both);
  free(own);
  free(volumes);
  free(w);
  SP_TRY(status);
  return sp_reduction_sum(space->platform->reduction, 1, flux, SP_OK);
}
