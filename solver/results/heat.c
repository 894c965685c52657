#include "solver/results/heat.h"

#include <math.h>
#include <stdlib.h>

#include "solver/problem/robin.h"

static void add(double flux, sp_heat *heat) {
  heat->out += fmax(flux, 0);
  heat->in += fmax(-flux, 0);
}

static void add_flux(void *heat, sp_lid e, int f, double flux) {
  (void)e, (void)f;
  add(flux, heat);
}

/* given[surfaces] = the fluxes by surface through faces of the set that are not marked. */
static sp_status find_given(const sp_fluxes *s, int surfaces, double *given) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  for (int i = 0; i < surfaces; i++) given[i] = -given[i];
  for (sp_lid k = 0; k < s->problem->face_count; k++) {
    const sp_outer_face *face = &s->problem->faces[k];
    const sp_lid e = face->element;
    if (!sp_outer_face_has(face, SP_ROBIN) || s->marked[e][face->face]) continue;
    const int surface = sp_surface_of(hexes->surfaces[e][face->face]);
    if (s->volumes[hexes->volumes[e]])
      SP_TRY(sp_robin_flux(face->part, s->space, e, face->face, s->x,
                           &given[surface >= 0 ? surface : surfaces - 1]));
  }
  return SP_OK;
}

static sp_status add_material(sp_fluxes *s, int material, sp_load_sums *sums, sp_heat *heat) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int surfaces = hexes->surface.count + 1;
  sp_heat mine = {0};
  sums->source = 0;
  for (int i = 0; i < surfaces; i++) sums->given[i] = 0;
  for (int v = 0; v < hexes->volume.count; v++)
    s->volumes[v] =
        s->problem->materials.of_volume[v] == material && s->problem->part_of_volume[v] < 0;
  SP_TRY(sp_fluxes_compute(s, sums, add_flux, &mine));
  SP_TRY(sp_agree(s->space->mesh->comm, find_given(s, surfaces, sums->given)));
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, surfaces, sums->given, SP_OK));
  double all[3] = {sums->source, mine.in, mine.out};
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, 3, all, SP_OK));
  *heat = (sp_heat){all[0], all[1], all[2]};
  for (int i = 0; i < surfaces; i++) add(sums->given[i], heat);
  return SP_OK;
}

sp_status sp_heat_compute(sp_fluxes *whole, sp_heat *heat) {
  const sp_problem *problem = whole->problem;
  const sp_mesh *mesh = whole->space->mesh;
  const size_t surfaces = (size_t)mesh->hexes->surface.count + 1;
  sp_fluxes fluxes = sp_fluxes_of_parts(whole);
  sp_load_sums sums = {0};
  sp_status status = sp_fluxes_open(&fluxes);
  if (!status) status = sp_allocate(surfaces, sizeof(double), "fluxes", &sums.given);
  status = sp_agree(mesh->comm, status);
  for (int v = 0; v < mesh->hexes->volume.count && !status; v++)
    fluxes.keys[v] = problem->part_of_volume[v] >= 0 ? problem->materials.count
                                                     : problem->materials.of_volume[v];
  if (!status) status = sp_fluxes_mark(&fluxes);
  for (int m = 0; m < problem->materials.count && !status; m++)
    if (problem->materials.list[m].elements > 0) status = add_material(&fluxes, m, &sums, heat++);
  whole->noise += fluxes.noise;
  sp_fluxes_close(&fluxes);
  free(sums.given);
  return status;
}
