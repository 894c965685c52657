#include "solver/results/heat.h"

#include <math.h>
#include <stdlib.h>

#include "io/rendezvous.h"
#include "operators/space.h"
#include "solver/problem/robin.h"

/* The flux out of a row through faces of a surface that are not marked. */
typedef struct share {
  int row, surface; /* -1: faces of no surface */
  int64_t place;    /* in the order of summation */
  double flux;
} share;

/* The heat of all materials. Rows are materials with elements. */
typedef struct heats {
  sp_fluxes fluxes; /* of all rows, on the torn space */
  sp_problem problem;
  sp_torn torn;
  int rows;
  int *row;      /* [materials + 1], -1 for none; last, fixed volumes */
  sp_heat *heat; /* [rows], the result: source, in and out through marked faces */
  share *given;  /* [given_count], of this rank's faces */
  size_t given_count;
  double *x, *rest, *initial, *history, *extra, *weights, *left; /* on the torn space */
} heats;

static void heats_destroy(heats *h) {
  sp_fluxes_close(&h->fluxes);
  sp_torn_free(&h->torn);
  SP_FREE(h->row, h->given, h->x, h->rest, h->initial, h->history, h->extra, h->weights, h->left);
}

static int row_of(const heats *h, sp_lid e) {
  return h->row[h->fluxes.keys[h->torn.space.mesh->hexes->volumes[e]]];
}

static void add_flux(void *heats_, sp_lid e, int f, double flux) {
  const heats *h = heats_;
  sp_heat *heat = &h->heat[row_of(h, e)];
  (void)f;
  heat->in += fmax(-flux, 0);
  heat->out += fmax(flux, 0);
}

/* Find the rows, and mark the faces between materials. */
static sp_status prepare(const sp_fluxes *whole, heats *h) {
  const sp_problem *problem = whole->problem;
  const sp_materials *materials = &problem->materials;
  const sp_hexes *hexes = whole->space->mesh->hexes;
  sp_fluxes *fluxes = &h->fluxes;
  for (int m = 0; m < materials->count; m++)
    if (materials->list[m].elements > 0) h->heat[h->rows++] = (sp_heat){0};
  sp_status status = sp_fluxes_open(fluxes);
  if (!status)
    status = SP_ALLOCATE("fluxes", SP_ARRAY(h->row, (size_t)materials->count + 1),
                         SP_ARRAY(h->given, problem->face_count));
  SP_TRY(sp_agree(whole->space->mesh->comm, status));
  for (int m = 0, next = 0; m <= materials->count; m++)
    h->row[m] = m < materials->count && materials->list[m].elements > 0 ? next++ : -1;
  for (int v = 0; v < hexes->volume.count; v++) {
    fluxes->keys[v] = problem->part_of_volume[v] >= 0 ? materials->count : materials->of_volume[v];
    fluxes->volumes[v] = h->row[fluxes->keys[v]] >= 0;
  }
  SP_TRY(sp_fluxes_mark(fluxes));
  return sp_torn_create(whole->space, fluxes->keys, &h->torn);
}

/* *out = a vector on the torn space, NULL without one on the whole. */
static sp_status copy(const sp_torn *torn, const double *whole, double **out) {
  if (!whole) return SP_OK;
  const size_t dofs = sp_space_dofs(&torn->space);
  SP_TRY(sp_allocate(dofs, sizeof **out, "fluxes", out));
  for (size_t i = 0; i < dofs; i++) (*out)[i] = whole[torn->from[i]];
  return SP_OK;
}

/* Divide the load without elements among the sets at each DOF, by their masses, and count it as a
 * source of the rows. */
static sp_status divide_extra(const sp_fluxes *whole, heats *h) {
  const size_t dofs = sp_space_dofs(&h->torn.space);
  const sp_numbering *numbering = h->torn.space.numbering;
  const MPI_Comm comm = whole->space->mesh->comm;
  SP_OWNED double *all = NULL, *mine = NULL;
  SP_OWNED int *row = NULL; /* of each DOF */
  if (!whole->problem->extra) return SP_OK;
  sp_status status =
      SP_ALLOCATE("fluxes", SP_ARRAY(all, sp_space_dofs(whole->space)), SP_ARRAY(mine, dofs),
                  SP_ARRAY(row, dofs), SP_ARRAY(h->extra, dofs));
  SP_TRY(sp_agree(comm, status));
  SP_TRY(sp_fluxes_masses(whole, false, all));
  SP_TRY(sp_fluxes_masses(&h->fluxes, false, mine));
  for (size_t i = 0; i < dofs; i++) row[i] = -1;
  for (sp_lid e = 0; e < whole->space->mesh->hexes->count; e++)
    for (size_t n = 0; n < sp_element_nodes(numbering->order); n++)
      row[sp_numbering_nodes(numbering, e)[n]] = row_of(h, e);
  for (sp_lid i = 0; i < numbering->local; i++) {
    const sp_lid from = h->torn.from[i];
    h->extra[i] = all[from] > 0 ? mine[i] / all[from] * whole->problem->extra[from] : 0;
    if (i < numbering->owned && row[i] >= 0) h->heat[row[i]].source += h->extra[i];
  }
  h->problem.extra = h->extra;
  return SP_OK;
}

/* Move the fluxes to the torn space. */
static sp_status move(const sp_fluxes *whole, heats *h) {
  const size_t dofs = sp_space_dofs(&h->torn.space);
  SP_TRY(copy(&h->torn, whole->x, &h->x));
  SP_TRY(copy(&h->torn, whole->rest, &h->rest));
  SP_TRY(copy(&h->torn, whole->problem->initial, &h->initial));
  SP_TRY(copy(&h->torn, whole->problem->history, &h->history));
  SP_TRY(SP_ALLOCATE("fluxes", SP_ARRAY(h->weights, dofs), SP_ARRAY(h->left, dofs)));
  h->problem = *whole->problem;
  h->problem.initial = h->initial;
  h->problem.history = h->history;
  h->problem.extra = NULL;
  h->fluxes.problem = &h->problem;
  h->fluxes.space = &h->torn.space;
  h->fluxes.x = h->x;
  h->fluxes.rest = h->rest;
  h->fluxes.weights = h->weights;
  h->fluxes.left = h->left;
  return SP_OK;
}

static int compare_shares(const void *a_, const void *b_) {
  const share *a = a_, *b = b_;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  if (a->surface != b->surface) return a->surface < b->surface ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* Add up shares of the same row and surface. Returns their new number. */
static size_t merge_shares(size_t count, share *shares) {
  size_t merged = 0;
  for (size_t i = 0; i < count; i++) shares[i].place = (int64_t)i;
  qsort(shares, count, sizeof *shares, compare_shares);
  for (size_t i = 0; i < count; i++) {
    share *last = merged > 0 ? &shares[merged - 1] : NULL;
    if (last && last->row == shares[i].row && last->surface == shares[i].surface)
      last->flux += shares[i].flux;
    else
      shares[merged++] = shares[i];
  }
  return merged;
}

/* Find the fluxes through this rank's faces that are not marked. */
static sp_status find_given(const sp_fluxes *whole, const sp_load_sums *sums, heats *h) {
  const sp_problem *problem = whole->problem;
  const sp_hexes *hexes = whole->space->mesh->hexes;
  for (sp_lid k = 0; k < problem->face_count; k++) {
    const sp_outer_face *face = &problem->faces[k];
    const sp_lid e = face->element;
    const int f = face->face;
    if (f >= SP_FACES || row_of(h, e) < 0 || h->fluxes.marked[e][f]) continue;
    share *given = &h->given[h->given_count++];
    *given = (share){.row = row_of(h, e),
                     .surface = sp_surface_of(hexes->surfaces[e][f]),
                     .flux = -sums->fluxes[k]};
    if (sp_outer_face_type(face)->has_alpha)
      SP_TRY(sp_robin_flux(face->part, whole->space, e, f, whole->x, &given->flux));
  }
  h->given_count = merge_shares(h->given_count, h->given);
  return SP_OK;
}

/* Add the fluxes by surface, of all ranks, to the heat of the rows. */
static sp_status add_given(const heats *h, MPI_Comm comm) {
  SP_OWNED share *all = NULL;
  size_t count;
  SP_TRY(sp_gather_records(comm, h->given, h->given_count, sizeof *all, "fluxes by surface", &all,
                           &count));
  count = merge_shares(count, all);
  for (size_t i = 0; i < count; i++) {
    h->heat[all[i].row].in += fmax(-all[i].flux, 0);
    h->heat[all[i].row].out += fmax(all[i].flux, 0);
  }
  return SP_OK;
}

sp_status sp_heat_compute(sp_fluxes *whole, const sp_load_sums *sums, sp_heat *heat) {
  const sp_mesh *mesh = whole->space->mesh;
  sp_reduction *reduction = whole->space->platform->reduction;
  SP_AUTO_VALUE(heats) h = {.fluxes = sp_fluxes_of_parts(whole), .heat = heat};
  SP_TRY(prepare(whole, &h));
  SP_TRY(sp_agree(mesh->comm, move(whole, &h)));
  SP_TRY(divide_extra(whole, &h));
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    if (row_of(&h, e) >= 0) heat[row_of(&h, e)].source += sums->sources[e];
  SP_TRY(sp_fluxes_compute(&h.fluxes, add_flux, &h));
  whole->noise += h.fluxes.noise;
  whole->stiffness = fmax(whole->stiffness, h.fluxes.stiffness);
  SP_TRY(sp_reduction_sum(reduction, 3 * h.rows, &heat->source, find_given(whole, sums, &h)));
  return add_given(&h, mesh->comm);
}
