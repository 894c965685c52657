#include <math.h>
#include <string.h>

#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/robin.h"
#include "solver/results/fluxes.h"

/* Find the largest |J| grad r_d . kappa grad r_d at 2^3 Gauss points of an element. On a face r_d =
 * 1 or -1, N (N + 1) / 4 times this is the stiffness of a node per quadrature weight: the factor is
 * the integral of the squared derivative of its basis function. An array of kappa counts with its
 * largest value. */
static sp_status find_stiffness(const sp_fluxes *s, sp_lid e, int d, double *stiffness) {
  enum { SAMPLES = 8 };
  static const double nodes[2] = {-0.57735026918962576451, 0.57735026918962576451};
  double points[3 * SAMPLES], inverse[9 * SAMPLES], jacobian[SAMPLES], kappa[SAMPLES];
  double conducted[3 * SAMPLES], largest = 0;
  const sp_hexes *hexes = s->space->mesh->hexes;
  const size_t count =
      sp_rule_points(sp_operator_rule(s->problem->kind, s->space->numbering->order));
  const double *given = sp_problem_array(s->problem, SP_KAPPA, hexes, e, count);
  for (size_t p = 0; p < count && given; p++) largest = fmax(largest, given[p]);
  sp_geometry_inverse(hexes, e, 2, nodes, points, inverse, jacobian);
  const double *xyz[3] = {points, points + SAMPLES, points + 2 * SAMPLES};
  const double *own = &inverse[3 * (size_t)d * SAMPLES];
  memcpy(conducted, own, sizeof conducted);
  for (int p = 0; p < SAMPLES; p++) kappa[p] = largest;
  if (!given)
    SP_TRY(sp_material_conduct(
        sp_materials_of(&s->problem->materials, hexes, e), SAMPLES, xyz, kappa, 1,
        (double *const[]){conducted, conducted + SAMPLES, conducted + 2 * SAMPLES}));
  *stiffness = 0;
  for (int p = 0; p < SAMPLES; p++) {
    double square = 0;
    for (int c = 0; c < 3; c++) square += own[c * SAMPLES + p] * conducted[c * SAMPLES + p];
    *stiffness = fmax(*stiffness, jacobian[p] * kappa[p] * square);
  }
  return SP_OK;
}

sp_status sp_fluxes_stiffness(const sp_fluxes *s, sp_lid e, int f, double *sum) {
  const int order = s->space->numbering->order;
  SP_TRY(find_stiffness(s, e, f / 2, sum));
  *sum *= order * (order + 1); /* the weights of a reference face add up to 4 */
  return SP_OK;
}

/* Decide if the equations beside a Robin face give its flux better than alpha u - g. With `rest`
 * they do, because alpha u - g has no part of it. */
static sp_status is_stiff(const sp_fluxes *s, const sp_outer_face *face, bool *is) {
  *is = s->rest;
  if (*is) return SP_OK;
  const int order = s->space->numbering->order, n = order + 1;
  double values[SP_MAX_FACE_NODES], alpha = 0, stiffness;
  int indices[SP_MAX_FACE_NODES];
  SP_TRY(sp_robin_face(face->part, s->space->mesh->hexes, order, face->element, face->face, indices,
                       values));
  SP_TRY(sp_fluxes_stiffness(s, face->element, face->face, &stiffness));
  for (int q = 0; q < n * n; q++) alpha += values[q];
  *is = alpha > stiffness;
  return SP_OK;
}

/* Mark the faces on which a line of [boundary] separates the sides. A source does not. */
static sp_status mark_conditions(sp_fluxes *s) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  for (sp_lid k = 0; k < s->problem->face_count; k++) {
    const sp_outer_face *face = &s->problem->faces[k];
    const sp_lid e = face->element;
    const int f = face->face;
    if (f >= SP_FACES || !face->part) continue;
    bool *marked = &s->marked[e][f];
    const sp_condition_type *type = face->part->type;
    *marked = type->fixes_u ||
              (type->inserts && !s->whole && !sp_surface_is_exterior(hexes->surfaces[e][f]));
    if (type->has_alpha) SP_TRY(is_stiff(s, face, marked));
  }
  return SP_OK;
}

/* Mark faces between bodies of different keys. Faces beside contacts have conditions. */
static sp_status mark_keys(sp_fluxes *s) {
  const sp_mesh *mesh = s->space->mesh;
  const sp_hexes *hexes = mesh->hexes;
  SP_OWNED int(*across)[SP_FACES] = NULL;
  SP_TRY(
      sp_agree(mesh->comm, sp_allocate((size_t)hexes->count, sizeof *across, "fluxes", &across)));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      across[e][f] = sp_hexes_is_contact(hexes, e) ? -1 : s->keys[hexes->volumes[e]];
  SP_TRY(sp_surfaces_across(mesh->comm, mesh->topology, mesh->halo_elements, across));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(hexes, e); f++)
      if (across[e][f] >= 0 && across[e][f] != s->keys[hexes->volumes[e]]) s->marked[e][f] = true;
  return SP_OK;
}

sp_status sp_fluxes_mark(sp_fluxes *s) {
  SP_TRY(sp_agree(s->space->mesh->comm, mark_conditions(s)));
  return s->whole ? SP_OK : mark_keys(s);
}
